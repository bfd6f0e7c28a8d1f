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
from analyses.sampled.correction import Corrected, bias_left, compare, correct
from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import SampleDesign, SampledRanks
from harness.cli.main import main
from qrels import FullRanks
from runs import InputError

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
