"""Metrics corrected for sampled negatives, in Python and on the command line."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from click.testing import CliRunner
from numpy.typing import NDArray

import harness
from analyses.sampled.corrected_metrics import Corrected, compare, students
from analyses.sampled.correction import Settings, bias_left, correct
from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import SampleDesign, SampledRanks
from analyses.shared.measure import Measure, Measures
from harness.cli.main import main
from qrels import FullRanks
from runs import InputError
from tests.drawn import points_of, segments_of

N, M, MISUSED = 900, 60, 2
Integers = NDArray[np.int64]


def _full(n_users: int = 300) -> dict[str, Integers]:
    """Ranks by a good and a poor system, and by one that is as good as the first."""
    rng = np.random.default_rng(4)
    ease = rng.beta(0.5, 6, n_users)
    factors = {"good": 1.0, "poor": 3.0, "twin": 1.0}
    return {
        name: 1
        + (np.minimum(factor * ease * rng.uniform(0.7, 1.3, n_users), 1) * (N - 1)).astype(int)
        for name, factor in factors.items()
    }


def _sampled(full: dict[str, Integers], *, seed: int = 1) -> dict[str, SampledRanks]:
    rng = np.random.default_rng(seed)
    return {
        name: SampledRanks.of(
            1 + rng.binomial(M, (ranks - 1) / (N - 1)), n_negatives=M, n_candidates=N
        )
        for name, ranks in full.items()
    }


@pytest.fixture(scope="module")
def corrected() -> Corrected:
    metrics = ["Recall@10", "AUC"]
    return correct(_sampled(_full()), metrics=metrics, estimator="bv(gamma=0.1)", replicates=200)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampled") / "ranks.csv"
    frame = pd.DataFrame({name: ranks.rank for name, ranks in _sampled(_full(80)).items()})
    frame.to_csv(path, index_label="user")
    return path


def test_standard_errors_are_those_of_the_whole_fit_on_resampled_users(
    corrected: Corrected,
) -> None:
    fitted = find_estimator("bv(gamma=0.1)").fit(_sampled(_full())["poor"])
    resampled = fitted.estimator.fit_cells(fitted.cells.resampled(200, seed=0))
    again = resampled.estimates(["Recall@10"]).std(ddof=1)
    assert corrected.errors[0, 1] == pytest.approx(again, rel=1e-12)


def test_systems_that_differ_are_told_apart_and_twins_are_not(corrected: Corrected) -> None:
    assert corrected.differences_frame()["told_apart"].tolist()[3:] == [True, False, True]


def test_one_pair_has_the_p_value_of_its_bootstrap_and_many_have_larger_ones() -> None:
    values, drawn = np.array([[1.0, 0.0, 0.0]]), np.random.default_rng(1).normal(size=(1, 3, 500))
    replicates = values[..., np.newaxis] + drawn
    alone = compare(values[:, :2], replicates[:, :2], n_users=10**9)
    together = compare(values, replicates, n_users=10**9)
    off = np.abs(drawn[0, 0] - drawn[0, 1])
    assert alone["p"][0, 0] == (1 + (off >= 1.0).sum()) / 501
    assert together["p"][0, 0] > alone["p"][0, 0]
    assert together["lower"][0, 0] < alone["lower"][0, 0]


@pytest.mark.slow
def test_comparisons_of_many_systems_keep_within_their_memory(
    peak_megabytes: Callable[[], float],
) -> None:
    """Differences of 4,950 pairs in 1,000 replicates take 38 MB, and ten such arrays were held."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(1, 100))
    replicates = values[..., None] + rng.normal(size=(1, 100, 1000))
    compared = compare(values, replicates, n_users=50)
    assert peak_megabytes() < 150
    first, second = np.triu_indices(100, k=1)
    errors = (replicates[:, first] - replicates[:, second]).std(axis=-1, ddof=1)
    np.testing.assert_allclose(compared["standard_error"], errors)


def test_a_replicate_is_divided_by_the_standard_error_of_the_others() -> None:
    drawn = np.random.default_rng(1).normal(size=(1, 3, 100))
    drawn -= drawn.mean(axis=2, keepdims=True)
    found = compare(np.zeros((1, 3)), drawn, n_users=10**9)
    pairs = np.stack([drawn[0, a] - drawn[0, b] for a, b in ((0, 1), (0, 2), (1, 2))])
    others = np.stack([np.delete(pairs, n, axis=1).std(axis=1, ddof=1) for n in range(100)], axis=1)
    largest = (np.abs(pairs) / others).max(axis=0)
    reach = np.quantile(largest, 0.95) * pairs.std(axis=1, ddof=1)
    assert found["upper"][0] == pytest.approx(reach, rel=1e-3)
    internal = (np.abs(pairs) / pairs.std(axis=1, ddof=1, keepdims=True)).max(axis=0)
    assert np.quantile(largest, 0.95) > 1.01 * np.quantile(internal, 0.95)


def test_intervals_of_pairs_that_are_alike_are_no_narrower_than_their_median() -> None:
    drawn = np.random.default_rng(1).normal(size=(1, 4, 500)) * [[1.0], [2.0], [4.0], [90.0]]
    alike = np.array([[True, True, False, True, False, False]])
    found = compare(np.zeros((1, 4)), drawn, n_users=10**9, alike=alike)
    reach, errors = found["upper"][0], found["standard_error"][0]
    usual = np.median(errors[[0, 1, 3]])
    expected = np.where(alike[0], np.maximum(errors, usual), errors)
    assert errors[0] < usual < errors[3]
    assert reach / expected == pytest.approx(reach[5] / errors[5])


def test_the_guess_of_the_bias_is_near_that_among_the_exact_ranks(corrected: Corrected) -> None:
    full = FullRanks.of(_full()["poor"], n_candidates=N)
    metric = rank_metric("Recall@10")
    expected = find_estimator("bv(gamma=0.1)").fit_cells(Cells.expected(full, M))
    exact = expected.estimates([metric]).item() - metric.exact(full)
    assert corrected.bias[0, 1] == pytest.approx(exact, abs=0.4 * abs(exact))


def test_the_steep_guess_is_the_better_one_where_many_items_are_first() -> None:
    full = FullRanks.of(1 + ((N - 1) * np.linspace(0, 1, 3000) ** 4).astype(int), n_candidates=N)
    fits, metric = find_estimator("mle").fit_cells(Cells.expected(full, M)), rank_metric("AP")
    off = fits.estimates([metric]).item() - metric.exact(full)
    smooth, steep = bias_left(fits, (metric,))[:, 0]
    assert off < steep < smooth < 0


def _of_three(n_users: int, *, power: float) -> FullRanks:
    """Three different ranks of each user, 1 + floor(N u^power) with u uniform."""
    shares = np.diff(np.linspace(0, 1, N + 1) ** (1 / power))
    random = np.random.default_rng(1)
    ranks = [1 + random.choice(N, 3, replace=False, p=shares) for _ in range(n_users)]
    return FullRanks.of(np.ravel(ranks), n_candidates=N, user=np.arange(n_users).repeat(3))


def test_the_guess_for_several_items_has_most_of_the_bias_where_ranks_are_steep() -> None:
    """First items rank higher than the distribution that all items share."""
    full, metric = _of_three(2000, power=8), rank_metric("nDCG@10")
    fits = find_estimator("mle").fit_cells(Cells.expected(full, 100))
    off = fits.estimates([metric]).item() - metric.exact(full)
    smooth, steep = bias_left(fits, (metric,))[:, 0]
    assert off < smooth < 0.7 * off
    assert off < steep < 0.7 * off


def test_users_with_several_items_get_a_caution_where_ranks_are_steep() -> None:
    for power, expected in ((12, True), (1.5, False)):
        sample = SampleDesign((100,)).draw(_of_three(500, power=power), seed=1)
        found = correct({"s": sample}, metrics=["nDCG@10"], replicates=100)
        assert any("bias" in caution for caution in found.cautions()) == expected


def test_the_range_holds_what_each_guess_of_the_bias_leaves(corrected: Corrected) -> None:
    (low, high), (range_low, range_high) = corrected.limits, corrected.range
    for bias in (0, corrected.bias, corrected.steep_bias):
        assert (range_low <= np.clip(low - bias, 0, 1) + 1e-12).all()
        assert (range_high >= np.clip(high - bias, 0, 1) - 1e-12).all()
    assert (range_low >= 0).all()
    assert (range_high <= 1).all()


def test_intervals_of_few_users_are_those_of_student() -> None:
    values = np.array([[1.0, 0.0]])
    replicates = values[..., np.newaxis] + np.random.default_rng(1).normal(size=(1, 2, 500))
    many, few = (compare(values, replicates, n_users=n) for n in (10**9, 10))
    reach = (many["upper"] - 1) / many["standard_error"]
    as_students = scipy.stats.t.isf(scipy.stats.norm.sf(reach), 9) * np.sqrt(10 / 9)
    assert (few["upper"] - 1) / few["standard_error"] == pytest.approx(as_students, rel=1e-3)
    assert few["p"] > many["p"]


@pytest.mark.parametrize("n_others", [0, 14])
def test_what_few_users_show_has_no_range_and_is_not_tested(n_others: int) -> None:
    ranks = [1] * 40 + [5] * n_others
    of_all = {"few": ranks, "many": [*range(1, len(ranks) + 1)]}
    samples: Any = {
        name: SampledRanks.of(own, n_negatives=M, n_candidates=N) for name, own in of_all.items()
    }
    found = correct(samples, metrics=["nDCG@10", "AUC"], replicates=100)
    assert np.isnan(found.range)[:, :, 0].all()
    assert not np.isnan(found.range)[:, :, 1].any()
    assert np.isnan(found.differences()["p"]).all()
    assert "no pair is tested" in found.conclusion()
    assert found.groups() == [("", "a"), ("", "a")]
    assert found.differences_frame()["told_apart"].isna().all()
    assert any("under few:" in caution for caution in found.cautions())
    enough = {"few": samples["many"], "many": samples["many"]}
    assert not np.isnan(correct(enough, metrics=["AUC"], replicates=100).range).any()


def test_the_range_of_a_difference_holds_what_the_bias_of_either_system_leaves(
    corrected: Corrected,
) -> None:
    found, guesses = corrected.differences(), (corrected.bias, corrected.steep_bias)
    for pair, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        of_either = ([0.0, *(guess[0, n] for guess in guesses)] for n in (a, b))
        for of_a, of_b in product(*of_either):
            assert found["range_low"][0, pair] <= found["lower"][0, pair] - of_a + of_b + 1e-12
            assert found["range_high"][0, pair] >= found["upper"][0, pair] - of_a + of_b - 1e-12


def test_users_differ_by_the_ranks_of_items_of_the_same_place() -> None:
    of_two = FullRanks.of([1, 2] * 20 + [1, 3], n_candidates=N, user=np.arange(21).repeat(2))
    sample = SampleDesign((M,)).draw(of_two, seed=1)
    found = correct({"s": replace(sample, rank=of_two.rank)}, metrics=["AUC"], replicates=100)
    assert found.differing.tolist() == [1]


def test_samples_of_several_sizes_are_corrected() -> None:
    some = _full()["good"]
    sizes = np.where(np.arange(len(some)) % 2, M, M - 1)
    ranks = 1 + np.random.default_rng(1).binomial(sizes, (some - 1) / (N - 1))
    sample = SampledRanks.of(ranks, n_negatives=sizes, n_candidates=N)
    found = correct({"s": sample}, metrics=["Recall@1", "AUC"], replicates=100)
    assert found.uncorrected[0] == (ranks == 1).mean()
    assert found.uncorrected[1] == pytest.approx(1 - ((ranks - 1) / sizes).mean())
    assert found.negatives == (M - 1, M)


def test_differences_are_tested_by_an_estimator_of_their_own_unless_one_is_chosen() -> None:
    samples: Any = _sampled(_full(40))
    asked: dict[str, Any] = {"metrics": ["nDCG@10"], "replicates": 100}
    both, mle, bv = (
        correct(samples, **asked, estimator=name) for name in (None, "mle", "bv(gamma=0.01)")
    )
    np.testing.assert_array_equal(both.values, mle.values)
    np.testing.assert_array_equal(both.differences()["p"], bv.differences()["p"])
    assert (both.differences()["p"] != mle.differences()["p"]).any()


def test_a_range_wider_than_its_value_and_deep_cut_offs_are_cautions(corrected: Corrected) -> None:
    useless = replace(corrected, steep_bias=np.full_like(corrected.bias, -1.0))
    assert any("Recall@10 cannot be" in each for each in useless.cautions())
    of_one = replace(corrected, steep_bias=corrected.bias - [0.0, 1.0, 0.0])
    assert any("Recall@10 of poor cannot be" in each for each in of_one.cautions())
    for factor, expected in ((1.01, True), (-1.01, True), (0.99, False)):
        hidden = replace(corrected, steep_bias=factor * corrected.errors)
        assert any(each.startswith("Estimates of") for each in hidden.cautions()) == expected
    asked = ["Recall@60", "Recall@61"]
    found = correct(_sampled(_full(40)), metrics=asked, replicates=100)
    assert any("Recall@61 is larger" in caution for caution in found.cautions())


def test_where_users_are_too_few_no_more_negatives_are_asked_for() -> None:
    few = SampleDesign((100,)).draw(FullRanks.of(_full(30)["good"], n_candidates=N), seed=1)
    found = correct({"s": few}, metrics=["Recall@10", "AP"], replicates=100).cautions()
    assert any("30 users" in each and "Recall@10 and AP cannot" in each for each in found)
    assert not any(each.startswith("For ") for each in found)


def test_where_negatives_are_too_few_the_number_that_tells_a_cut_off_is_given() -> None:
    full = FullRanks.of(1 + (5000 * np.linspace(0, 0.999, 600) ** 8).astype(int), n_candidates=5001)
    sample = SampleDesign((30,)).draw(full, seed=1)
    found = correct({"s": sample}, metrics=["nDCG@10", "AP"], replicates=100).cautions()
    assert any("From 30 negatives, nDCG@10 and AP cannot" in each for each in found)
    assert any(each.startswith("For nDCG@10, draw 500 negatives") for each in found)
    assert not any("600 users" in each for each in found)


def test_negatives_of_known_probabilities_estimate_auc_by_default() -> None:
    sample = _sampled(_full(40))["good"]
    above = np.asarray(sample.above * (N - 1), dtype=np.float64)
    weighted = replace(sample, inverse_mass_above=above)
    found = correct({"a": weighted}, replicates=100)
    assert found.estimator == "HT"
    assert "bias" not in found.caption()
    assert "bias" in correct({"a": sample}, metrics=["AUC"], replicates=100).caption()
    assert found.values.item() == pytest.approx(found.uncorrected.item(), abs=1e-9)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"estimator": "adaptive"}, "estimator.*no estimator is called 'adaptive'"),
        ({"metrics": ["APP"]}, "metrics.* did you mean 'AP'"),
        ({"estimator": "ht-plugin", "metrics": ["AUC"]}, "system 'good': HT needs the prob"),
        ({"estimator": "ht-plugin", "metrics": ["AP"]}, "only AUC is estimated, not AP"),
        ({"what": 1}, "has no argument 'what'"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        correct(_sampled(_full(20)), **asked)


def test_the_front_door_corrects(table: Path) -> None:
    asked: dict[str, Any] = {"negatives": M, "candidates": N, "replicates": 100}
    found = harness.correct(table, **asked, metrics=["AP"])
    by_frame = harness.correct(pd.read_csv(table), **asked, metrics=["AP"])
    assert (found.values == by_frame.values).all()


def test_the_command_prints_estimates_differences_and_sentences(table: Path) -> None:
    asked = ("--negatives", str(M), "--candidates", str(N), "--measure", "AUC", "--quiet")
    run = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["correct", str(table), *asked])
    assert run.exit_code == 0, run.stderr
    assert "AUC, good" in run.stdout
    assert "2 of 3 pairs of systems" in run.stdout


@pytest.mark.slow
@pytest.mark.validity
def test_files_of_a_hundred_negatives_have_intervals_that_hold_what_is_exact(
    tmp_path: Path,
) -> None:
    """As the guide begins: a file, `--negatives 100` and `--candidates`; metrics without bias."""
    full, metrics, path = _full(400), ["Recall@50", "AUC"], tmp_path / "sampled.csv"
    ranked = [FullRanks.of(ranks, n_candidates=N) for ranks in full.values()]
    exact = np.array([[rank_metric(name).exact(ranks) for ranks in ranked] for name in metrics])
    apart, hits = exact[:, [0, 0, 1]] - exact[:, [1, 2, 2]], []
    asked: dict[str, Any] = {"negatives": 100, "candidates": N, "metrics": metrics}
    for seed in range(100):
        columns = {
            name: SampleDesign((100,)).draw(ranks, seed=seed).rank
            for name, ranks in zip(full, ranked, strict=True)
        }
        pd.DataFrame(columns).to_csv(path, index_label="user")
        found = harness.correct(path, **asked, replicates=100, seed=seed)
        lower, upper = found.limits
        pairs = found.differences()
        of_pairs = (pairs["lower"] <= apart) & (apart <= pairs["upper"])
        hits.append(
            np.stack([((lower <= exact) & (exact <= upper)).mean(axis=1), of_pairs.mean(axis=1)])
        )
    assert (np.mean(hits, axis=0) >= 0.95).all()


def test_ranks_must_be_sampled_ranks() -> None:
    with pytest.raises(InputError, match="the ranks of 'x' must be SampledRanks"):
        correct({"x": [1]})  # type: ignore[dict-item]


# Numbers that are stated by hand

VALUES = np.array([[0.8, 0.5, 0.45], [0.3, 0.2, 0.1]])


def stated(**changes: Any) -> Corrected:
    """Two metrics of three systems of 25 users; errors of .01, of which the third has .2."""
    noise = np.random.default_rng(6).normal(size=(2, 3, 400)) * [[0.01], [0.01], [0.2]]
    nothing = np.zeros((2, 3))
    facts: dict[str, Any] = {
        "measures": Measures([Measure("AUC"), Measure("Recall@10")]),
        "systems": ("a", "b", "c"),
        "population": "One item of each of 25 users",
        "n_irrelevant": 899,
        "replace": True,
        "estimator": "MLE",
        "test_estimator": "BV",
        "n_users": 25,
        "differing": np.array([25, 15, 20]),
        "negatives": (60, 60),
        "uncorrected": VALUES + 0.1,
        "values": VALUES,
        "bias": nothing,
        "steep_bias": nothing,
        "replicates": VALUES[..., None] + noise,
        "contrasted": VALUES,
        "contrasted_replicates": VALUES[..., None] + noise / 10,
    }
    return Corrected(**facts | changes)


def test_limits_are_those_of_students_t_within_0_and_1() -> None:
    """To the farther of the percentiles; 1.96 becomes 2.064 (25 / 24)^½ for 25 users."""
    found = stated()
    errors = found.replicates.std(axis=2, ddof=1)
    np.testing.assert_allclose(found.errors, errors)
    percentiles = np.quantile(found.replicates, [0.025, 0.975], axis=2)
    widest = np.abs(percentiles - VALUES).max(axis=0)
    factor = scipy.stats.t.isf(scipy.stats.norm.sf(1.96), 24) * np.sqrt(25 / 24) / 1.96
    reach = factor * widest
    low, high = found.limits
    np.testing.assert_allclose(low, (VALUES - reach).clip(0, 1), rtol=1e-3)
    np.testing.assert_allclose(high, (VALUES + reach).clip(0, 1), rtol=1e-3)
    assert low[1, 2] == 0
    near = stated(values=VALUES + 0.195, replicates=stated().replicates + 0.195)
    assert near.limits[1][0, 0] == 1


def test_two_users_at_least_are_taken_for_the_quantile() -> None:
    expected = scipy.stats.t.isf(scipy.stats.norm.sf(1.5), 1) * np.sqrt(2)
    assert students(1.5, 1) == students(1.5, 2) == pytest.approx(expected)
    of_three = scipy.stats.t.isf(scipy.stats.norm.sf(np.array([0.5, 3.0])), 2) * np.sqrt(1.5)
    np.testing.assert_allclose(students(np.array([0.5, 3.0]), 3), of_three)


def test_systems_with_fewer_than_15_differing_users_have_no_limits_letters_or_tests() -> None:
    found = stated(differing=np.array([25, 14, 15]))
    assert np.isnan(found.limits[0]).tolist() == [[False, True, False]] * 2
    assert np.isnan(found.range[1]).tolist() == [[False, True, False]] * 2
    assert [letters[1] for letters in found.groups()] == ["", ""]
    differences = found.differences()
    for name in ("lower", "upper", "range_low", "range_high", "p"):
        assert np.isnan(differences[name]).tolist() == [[True, False, True]] * 2
    assert np.isfinite(differences["difference"]).all()


def test_ranges_take_off_the_most_and_the_least_bias_that_is_guessed_or_none() -> None:
    bias = np.array([[0.02, -0.02, np.nan], [0.01, 0.0, 0.0]])
    steep = np.array([[0.03, -0.05, np.nan], [-0.02, 0.0, 0.0]])
    found = stated(bias=bias, steep_bias=steep)
    low, high = found.limits
    most = np.array([[0.03, 0.0, 0.0], [0.01, 0.0, 0.0]])
    least = np.array([[0.0, -0.05, 0.0], [-0.02, 0.0, 0.0]])
    np.testing.assert_allclose(found.range[0], (low - most).clip(0, 1))
    np.testing.assert_allclose(found.range[1], (high - least).clip(0, 1))
    differences = found.differences()
    for pair, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        expected = differences["lower"][:, pair] - most[:, a] + least[:, b]
        np.testing.assert_allclose(differences["range_low"][:, pair], expected.clip(-1, 1))
        expected = differences["upper"][:, pair] - least[:, a] + most[:, b]
        np.testing.assert_allclose(differences["range_high"][:, pair], expected.clip(-1, 1))


def test_intervals_of_pairs_that_the_tests_tell_apart_stay_as_narrow_as_they_are() -> None:
    found = stated()
    tested = compare(found.contrasted, found.contrasted_replicates, n_users=25)
    assert (tested["p"] < 0.05).tolist() == [[True, True, False], [True, True, True]]
    alike = tested["p"] >= 0.05
    expected = compare(found.values, found.replicates, n_users=25, alike=alike)
    differences = found.differences()
    np.testing.assert_array_equal(differences["lower"], expected["lower"])
    np.testing.assert_array_equal(differences["p"], tested["p"])
    np.testing.assert_array_equal(differences["tested"], tested["difference"])
    assert found.groups() == [("a", "b", "b"), ("a", "b", "c")]


def test_frames_have_a_row_for_each_system_and_each_pair() -> None:
    found = stated()
    frame = found.to_frame().set_index(["metric", "system"])
    assert len(frame) == 6
    row: Any = frame.loc[("Recall@10", "b")]
    assert (row.estimator, row.estimate) == ("MLE", 0.2)
    assert row.uncorrected == pytest.approx(0.3)
    assert row.standard_error == found.errors[1, 1]
    assert (row.lower, row.upper) == (found.limits[0][1, 1], found.limits[1][1, 1])
    assert (row.range_low, row.range_high) == (found.range[0][1, 1], found.range[1][1, 1])
    assert frame.groups.tolist() == ["a", "b", "b", "a", "b", "c"]
    pairs = found.differences_frame().set_index(["metric", "system_a", "system_b"])
    assert pairs.difference["AUC", "a", "c"] == pytest.approx(0.35)
    assert pairs.told_apart.tolist() == [True, True, False, True, True, True]


def test_tables_have_errors_and_ranges() -> None:
    found = stated()
    table = found.estimated()
    name, plain, corrected_, limits, letters = table.rows[4]
    assert (name, letters) == ("Recall@10, b", "b")
    assert plain == pytest.approx(0.3)
    assert corrected_ == f"0.2000 ± {found.errors[1, 1]:.4f}"
    low, high = (end[1, 1] for end in found.range)
    assert limits == f"[{low:.4f}, {high:.4f}]"
    pairs = found.compared()
    name, difference, limits, p = pairs.rows[1]
    differences = found.differences()
    assert name == "AUC, a - c"
    assert difference == f"0.3500 ± {differences['standard_error'][0, 1]:.4f}"
    low, high = (differences[end][0, 1] for end in ("range_low", "range_high"))
    assert limits == f"[{low:.4f}, {high:.4f}]"
    assert p == differences["p"][0, 1]
    few = stated(differing=np.array([25, 14, 15])).estimated()
    assert [row[3] == "" for row in few.rows] == [False, True, False] * 2


@pytest.mark.slow
def test_the_figure_has_estimates_limits_ranges_and_what_was_sampled() -> None:
    found = stated(bias=np.full((2, 3), 0.05))
    ax = found.plot(metric="Recall@10")
    assert points_of(ax.lines[0]) == [(0.3, 0), (0.2, 1), (0.1, 2)]
    ends = [*zip(*(end[1] for end in found.range), strict=True)]
    ends += [*zip(*(end[1] for end in found.limits), strict=True)]
    rows = [0, 1, 2, 0, 1, 2]
    expected = [((low, row), (high, row)) for (low, high), row in zip(ends, rows, strict=True)]
    np.testing.assert_allclose(segments_of(ax), expected)
    thin, thick = (float(np.ravel(lines.get_linewidth())[0]) for lines in ax.collections)
    assert thin < thick
    assert ax.get_ylim() == (2.5, -1.5)
    texts = {text.get_text(): text.get_position() for text in ax.texts}
    assert {text: y for text, (_, y) in texts.items()} == {
        "sampled": -1,
        "0.4000": 0,
        "0.3000": 1,
        "0.2000": 2,
    }
    assert all(x > 1 for x, _ in texts.values())
    assert found.plot().get_title() == "AUC"


def test_findings_count_pairs_and_name_the_better_system_first() -> None:
    assert [*stated().findings()] == [
        "By AUC, 2 of 3 pairs of systems differ significantly (a above b and a above c).",
        "By Recall@10, 3 of 3 pairs of systems differ significantly (a above b, a above c and b "
        "above c).",
    ]
    turned = stated(contrasted=-VALUES, contrasted_replicates=-stated().contrasted_replicates)
    assert "(b above a and c above a)" in turned.findings()[0]
    few = stated(differing=np.array([25, 14, 14]))
    assert few.findings()[0] == "By AUC, no pair is tested."


def test_five_pairs_are_named_among_many() -> None:
    values = np.arange(4.0)[None] / 10
    replicates = values[..., None] + 1e-4 * np.random.default_rng(1).normal(size=(1, 4, 400))
    found = stated(
        measures=Measures([Measure("AUC")]),
        systems=("a", "b", "c", "d"),
        differing=np.full(4, 25),
        **dict.fromkeys(["uncorrected", "values", "contrasted"], values),
        **dict.fromkeys(["bias", "steep_bias"], np.zeros((1, 4))),
        **dict.fromkeys(["replicates", "contrasted_replicates"], replicates),
    )
    (sentence,) = found.findings()
    assert sentence.startswith("By AUC, 6 of 6 pairs of systems differ significantly (among them ")
    assert sentence.count(" above ") == 5


@pytest.mark.parametrize(("n_users", "are_few"), [(19, True), (20, False)])
def test_fewer_than_20_users_are_a_caution(n_users: int, are_few: bool) -> None:
    found = stated(n_users=n_users, differing=np.full(3, 15)).cautions()
    assert any(f"{n_users} users are few" in caution for caution in found) == are_few


def test_negatives_and_what_extends_ranges_are_in_the_caption() -> None:
    assert "from 60 negatives" in stated().caption()
    assert "from 60 to 1,000 negatives" in stated(negatives=(60, 1000)).caption()
    unknown = np.full((2, 3), np.nan)
    assert "extended by the bias" in stated().caption()
    assert "extended by the bias" not in stated(bias=unknown).caption()


def test_an_interval_wider_than_its_estimate_is_noise_and_a_range_bias() -> None:
    """Of c, with errors of .2, Recall@10 is .1: the interval from 0 to .55 is wider."""
    noisy, *others = stated().cautions()
    assert noisy.startswith("With 25 users and 60 negatives, AUC of c and Recall@10 of c cannot")
    biased = stated(steep_bias=np.array([[0.0] * 3, [0.0, 0.2, 0.0]])).cautions()
    assert any("From 60 negatives, Recall@10 of b cannot" in each for each in biased)
    # Ten candidates of 899 are one of 90 negatives.
    assert any("For Recall@10 of b and c, draw 90 negatives or more" in each for each in biased)
    assert not any("cannot be estimated well: the range" in each for each in others)


def test_cautions_are_about_the_fewest_negatives() -> None:
    """A cut-off of 10 is larger than 5 negatives, whatever the most are."""
    (*_, sentence) = stated(negatives=(5, 60)).cautions()
    assert sentence == "The cut-off of Recall@10 is larger than 5 negatives."
    assert not any("is larger than" in each for each in stated(negatives=(10, 60)).cautions())


def test_a_thousand_replicates_are_drawn_of_four_metrics() -> None:
    """As docs/methods/sampled-metrics.md has it; 100 are the fewest."""
    settings = Settings()
    assert (settings.replicates, settings.estimator) == (1000, None)
    assert Settings(replicates=100).replicates == 100
    with pytest.raises(ValueError, match="replicates"):
        Settings(replicates=99)


def test_a_difference_that_never_varies_is_as_far_as_all_replicates() -> None:
    """It has no standard error, and the data are counted among the replicates."""
    replicates = np.zeros((1, 2, 99))
    found = compare(np.zeros((1, 2)), replicates, n_users=25)
    assert found["p"].tolist() == [[1.0]]
    assert found["standard_error"].tolist() == [[0.0]]
    assert found["lower"].tolist() == found["upper"].tolist() == [[0.0]]


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = stated()
    whole = compare(found.values, found.replicates, n_users=25)
    monkeypatch.setattr("analyses.sampled.corrected_metrics.NUMBERS_AT_ONCE", 1)
    parts = compare(found.values, found.replicates, n_users=25)
    for name, values in whole.items():
        np.testing.assert_array_equal(parts[name], values)
