"""Errors of estimates against the items scored for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.sampled.cost import Cost, cost
from analyses.sampled.estimates import estimates
from analyses.sampled.samples.designs import require_rising, sizes_suited
from analyses.shared.evidence import read_evidence, to_evidence
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import mean_adaptive_size
from tests.analyses.sampled.studied import study

N = 90
SPREAD = FullRanks.of(range(1, 31), n_candidates=N)
SHIFTED = FullRanks.of(range(3, 33), n_candidates=N)
DEEP = FullRanks.of(range(60, 90), n_candidates=N)
SEVERAL = FullRanks.of([1, 9, 4, 20], n_candidates=[50, 50, 70, 70], user=[0, 0, 5, 5])
ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "bv(gamma=0.1)",
    "bv(gamma=0.01)",
    "mle(iters=100)",
    "adaptive-mle(iters=50)",
)
SYSTEMS = {"spread": SPREAD, "shifted": SHIFTED}


def _studied(n_jobs: int = 1, **asked: Any) -> Cost:
    settings = {"estimators": ESTIMATORS, "sizes": [5, 10, 40], "negatives": 10, "repeats": 4}
    return study(cost, SYSTEMS, **settings | asked, seed=3, n_jobs=n_jobs)


@pytest.fixture(scope="module")
def result() -> Cost:
    return _studied()


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(result: Cost) -> None:
    assert to_evidence(result) == to_evidence(_studied(n_jobs=3))


def test_the_result_survives_being_kept(result: Cost, tmp_path: Path) -> None:
    (tmp_path / "cost.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "cost.npz", Cost)
    assert back.to_frame().equals(result.to_frame())
    assert back.caption() == result.caption()


@pytest.mark.parametrize("estimator", ["mle", "adaptive-mle"])
def test_errors_are_those_of_the_study_of_one_size(estimator: str) -> None:
    asked: dict[str, Any] = {"metrics": ["nDCG@10"], "estimators": [estimator], "seed": 3}
    one = study(estimates, SYSTEMS, **asked, negatives=10, repeats=4)
    many = study(cost, SYSTEMS, **asked, sizes=[5, 10], repeats=4)
    assert (many.errors[-1] == one.errors[0]).all()
    assert (many.scored[-1] == one.scored[0]).all()


def test_all_negatives_without_replacement_leave_no_error() -> None:
    found = _studied(sizes=[N - 1], replace=False, estimators=["uncorrected"])
    np.testing.assert_allclose(found.errors[:, :3], 0, atol=1e-9)


def test_more_negatives_leave_less_error(result: Cost) -> None:
    assert result.estimators[:: len(ESTIMATORS)] == ("Uncorrected",) * 3
    errors = result.errors[:: len(ESTIMATORS), :3].mean(axis=(2, 3))
    assert (np.diff(errors, axis=0) < 0).all()


def test_estimators_see_only_the_samples_that_they_are_for(result: Cost) -> None:
    samples = {"m = 5", "m = 10", "m = 40"}
    for estimator in result.distinct:
        own = {s for s, e in zip(result.samples, result.estimators, strict=True) if e == estimator}
        grown = {"6 to 24", "11 to 22", "41 to 41"}
        assert own == (grown if estimator.startswith("A") else samples)


def test_samples_of_one_size_score_the_negatives_and_the_relevant_item(result: Cost) -> None:
    assert result.scored[:: len(ESTIMATORS)].tolist() == [[6, 6], [11, 11], [41, 41]]


@pytest.mark.slow
def test_adaptive_samples_score_as_many_items_as_expected() -> None:
    found = _studied(estimators=["adaptive-mle"], sizes=[10], repeats=200)
    expected = mean_adaptive_size(SPREAD.rank, n_candidates=N, n0=11, n_max=22).mean()
    assert found.scored[-1, 0] == pytest.approx(expected, rel=0.03)


def test_rows_of_the_frame_carry_their_own_numbers(result: Cost) -> None:
    frame = result.to_frame()
    assert not frame.duplicated(["system", "metric", "estimator", "sample"]).any()
    rows = frame.query("estimator == 'MLE(iters=100)' and sample == 'm = 40'")
    row = rows.query("metric == 'nDCG' and system == 'shifted'")
    way = [*zip(result.estimators, result.samples, strict=True)].index(("MLE(iters=100)", "m = 40"))
    assert row["error"].item() == result.errors[way, 1, 1].mean()
    assert row["share"].item() == pytest.approx(41 / N)
    assert row["zero_cutoffs"].item() == 2


def test_systems_with_no_truth_to_err_from_do_not_count() -> None:
    asked: dict[str, Any] = {"estimators": ["mle"], "sizes": [10], "repeats": 2, "seed": 1}
    alone = study(cost, {"spread": SPREAD}, **asked).plot()
    beside = study(cost, {"spread": SPREAD, "deep": DEEP}, **asked).plot()
    (one,), (other,) = (axes.lines for axes in (alone, beside))
    assert np.array_equal(one.get_ydata(), other.get_ydata())


@pytest.mark.slow
def test_errors_are_of_the_whole_curve_whatever_the_cutoff() -> None:
    asked: dict[str, Any] = {"metrics": ["AP@10", "AP@20", "AP"], "estimators": ["mle"]}
    errors = _studied(**asked).errors
    assert (errors == errors[:, :1]).all()


def test_the_mean_of_the_candidates_is_that_of_the_users() -> None:
    unequal = FullRanks.of([1, 9, 4], n_candidates=[50, 50, 80], user=[0, 0, 5])
    found = study(cost, {"unequal": unequal}, sizes=[5], repeats=2, seed=1)
    assert found.mean_candidates == 65


def test_sizes_begin_small_where_candidates_are_few() -> None:
    assert sizes_suited(FullRanks.of([1, 7], n_candidates=20)) == (5,)
    assert sizes_suited(FullRanks.of([1, 2], n_candidates=2)) == (1,)


def test_sizes_fit_users_most_of_whose_candidates_are_relevant() -> None:
    assert sizes_suited(FullRanks.of(range(1, 59), n_candidates=60, user=[0] * 58)) == (2,)


def test_samples_suit_the_candidates_by_default() -> None:
    roomy = {"roomy": FullRanks.of([1, 30], n_candidates=700)}
    found = study(cost, roomy, estimators=["mle", "adaptive-mle"], repeats=2, seed=1)
    assert found.samples[::2] == tuple(f"m = {m}" for m in (10, 20, 50, 100, 200))
    grown = ("11 to 176", "21 to 168", "51 to 204", "101 to 202", "201 to 201")
    assert found.samples[1::2] == grown


@pytest.mark.parametrize("negatives", [[], [5, 2], [3, 3]])
def test_numbers_of_negatives_must_rise(negatives: list[int]) -> None:
    with pytest.raises(InputError, match="`negatives` must rise"):
        require_rising(negatives)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"repeats": 1}, "`repeats` must be at least 2, got 1"),
        ({"sizes": [0, 5]}, "at least 1 negative, got 0"),
        ({"sizes": [5, N]}, "must not be above the irrelevant candidates, 89"),
        ({"metrics": ["best"]}, "no metric of ranks is called 'best'"),
        ({"estimators": ["ht-plugin"]}, "for samples of a proposal"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        _studied(**asked)


def test_adaptive_samples_of_users_with_several_relevant_items_are_refused() -> None:
    with pytest.raises(InputError, match="one relevant item each"):
        study(cost, {"several": SEVERAL}, estimators=["adaptive-mle"], sizes=[5], seed=1)


def test_every_estimator_has_a_curve_over_its_own_samples(result: Cost) -> None:
    axes = result.plot(part="AP")
    lengths = {line.get_label(): len(np.asarray(line.get_xdata())) for line in axes.lines}
    assert lengths == {name: result.names.count(name) for name in result.names}


def test_a_metric_that_was_not_studied_is_not_drawn(result: Cost) -> None:
    with pytest.raises(InputError, match="there are Recall@10, nDCG@10, AP to draw, got AUC"):
        result.plot(part="AUC")


@pytest.mark.parametrize("system", [SPREAD, DEEP])
def test_errors_that_a_logarithmic_axis_lacks_are_drawn_without_a_warning(
    system: FullRanks,
) -> None:
    asked: dict[str, Any] = {"estimators": ["uncorrected"], "replace": False, "repeats": 2}
    found = study(cost, {"one": system}, **asked, sizes=[N - 1], seed=1)
    found.plot().figure.canvas.draw()


def test_the_caption_says_what_was_sampled(result: Cost) -> None:
    facts = (
        "with replacement",
        "n = 90",
        "4 samples",
        "seed 3",
        "41 to 41 items",
        "up to 2 of",
    )
    for fact in facts:
        assert fact in result.caption()
