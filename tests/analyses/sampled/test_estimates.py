"""The study of sampled metrics and their corrections."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from analyses.sampled.estimates import Estimates, estimates
from analyses.sampled.expectation.metrics import rank_metric
from analyses.shared.evidence import read_evidence, to_evidence
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import expected_of_users, mean_adaptive_size
from tests.analyses.sampled.studied import study

N = 60
BEST, WORST = FullRanks.of([1] * 30, n_candidates=N), FullRanks.of([N] * 30, n_candidates=N)
SPREAD = FullRanks.of(range(1, 31), n_candidates=N)
SHIFTED = FullRanks.of(range(3, 33), n_candidates=N)
SEVERAL = FullRanks.of([1, 9, 4, 20], n_candidates=[50, 50, 70, 70], user=[0, 0, 5, 5])


def _studied(n_jobs: int = 1, **asked: Any) -> Estimates:
    settings: dict[str, Any] = {"negatives": 10, "repeats": 5, "seed": 3} | asked
    systems = {"spread": SPREAD, "shifted": SHIFTED}
    return study(estimates, systems, **settings, n_jobs=n_jobs)


@pytest.fixture(scope="module")
def result() -> Estimates:
    return _studied()


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(result: Estimates) -> None:
    assert to_evidence(result) == to_evidence(_studied(n_jobs=3))


def test_a_system_is_estimated_alone_as_among_others(result: Estimates) -> None:
    alone = study(estimates, {"shifted": SHIFTED}, negatives=10, repeats=5, seed=3)
    assert (alone.estimated[:, :, 0] == result.estimated[:, :, 1]).all()


def test_systems_that_are_sampled_independently_share_nothing(result: Estimates) -> None:
    twins = {"one": SPREAD, "two": SPREAD}
    asked: dict[str, Any] = {"negatives": 10, "repeats": 5, "seed": 3}
    shared, apart = (
        study(estimates, twins, **asked, draws=draws) for draws in ("shared", "independent")
    )
    assert (shared.estimated[:, :, 0] == shared.estimated[:, :, 1]).all()
    assert (apart.estimated[:, :, 0] == shared.estimated[:, :, 0]).all()
    assert (apart.estimated[:, 1, 0] != apart.estimated[:, 1, 1]).any()
    assert (apart.estimated[:, 1, 0, 1:] != apart.estimated[:, 1, 1, :-1]).any()
    assert "independently for each system" in apart.caption()
    assert "that the systems share" in result.caption()


def test_the_result_survives_being_kept(result: Estimates, tmp_path: Path) -> None:
    (tmp_path / "sampled.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "sampled.npz", Estimates)
    assert back.to_frame().equals(result.to_frame())


def test_all_negatives_without_replacement_give_the_exact_metrics() -> None:
    found = _studied(negatives=N - 1, replace=False, estimators=["uncorrected"])
    np.testing.assert_allclose(found.mean[0], found.exact, atol=1e-12)


def test_exact_curves_have_no_relative_error() -> None:
    found = _studied(
        negatives=N - 1, replace=False, estimators=["uncorrected"], metrics=["Recall@3"]
    )
    np.testing.assert_allclose(found.errors, 0, atol=1e-9)


def test_cutoffs_before_the_first_relevant_item_are_counted_as_left_out(result: Estimates) -> None:
    assert result.zero_cutoffs[0].tolist() == [0, 2]


def test_metrics_of_whole_lists_have_no_curve(result: Estimates) -> None:
    assert np.isnan(result.errors[:, result.metrics.index("AUC")]).all()


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
def test_the_uncorrected_metric_is_near_its_expectation(replace: bool) -> None:
    asked: dict[str, Any] = {"metrics": ["AP@10"], "estimators": ["uncorrected"]}
    systems = {"several": SEVERAL}
    found = study(estimates, systems, **asked, negatives=20, replace=replace, repeats=300, seed=1)
    expected = expected_of_users("AP@10", SEVERAL, m=20, replace=replace).mean()
    error = found.to_frame()["standard_error"].item()
    assert abs(found.mean.item() - expected) < 4 * error


def test_the_frame_has_a_row_for_each_estimator_metric_and_system(result: Estimates) -> None:
    frame = result.to_frame()
    assert len(frame) == 5 * 4 * 2
    assert not frame.duplicated(["estimator", "metric", "cutoff", "system"]).any()


def test_rows_of_the_frame_carry_their_own_numbers(result: Estimates) -> None:
    rows = result.to_frame().query("estimator == 'MLE(iters=100)' and metric == 'nDCG'")
    row = rows[rows["system"] == "shifted"]
    assert row["mean"].item() == result.estimated[4, 1, 1].mean()


@pytest.mark.slow
def test_systems_far_apart_are_always_in_order() -> None:
    found = study(estimates, {"worst": WORST, "best": BEST}, repeats=3, negatives=20, seed=1)
    assert (found.orders()["correct"] == 3).all()


@pytest.mark.slow
def test_the_best_system_wins() -> None:
    found = study(estimates, {"worst": WORST, "best": BEST}, repeats=3, negatives=20, seed=1)
    assert (found.numbers[5] == 1).all()


def test_of_systems_that_tie_in_a_sample_none_wins() -> None:
    found = _studied(negatives=5, metrics=["Recall@10"], estimators=["uncorrected"])
    assert (found.estimated == 1).all()
    assert found.numbers[5].item() == 0


@pytest.mark.slow
def test_true_ties_have_no_order() -> None:
    found = study(estimates, {"a": SPREAD, "b": SPREAD}, repeats=3, negatives=20, seed=1)
    assert (found.orders()["repeats"] == 0).all()
    assert np.isnan(found.numbers[5]).all()


@pytest.mark.slow
def test_one_system_has_no_pairs() -> None:
    assert study(estimates, {"a": SPREAD}, repeats=2, negatives=20, seed=1).orders().empty


def test_cutoffs_deeper_than_the_grid_are_estimated() -> None:
    deep = FullRanks.of([150, 300], n_candidates=2000)
    found = study(
        estimates,
        {"deep": deep},
        metrics=["Recall@200"],
        estimators=["bv(gamma=1)"],
        negatives=50,
        repeats=2,
        seed=1,
    )
    assert np.isfinite(found.estimated).all()


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"repeats": 1}, "`repeats` must be at least 2, got 1"),
        ({"negatives": 0}, "at least 1 negative, got 0"),
        ({"negatives": N}, "must not be above the irrelevant candidates, 59 for some user"),
        ({"metrics": []}, "at least one metric"),
        ({"metrics": ["P"]}, "P of a whole list is the same for all systems"),
        ({"metrics": ["AP", "MAP"]}, "the metric AP is duplicated"),
        ({"estimators": ["bv(gamma=0)"]}, "`gamma` must be above 0"),
        ({"estimators": ["adaptive-mle"], "n_max": 30}, "`n0`, 11, times a power of 2, got 30"),
        ({"estimators": ["ht-plugin"]}, "for samples of a proposal"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        _studied(**asked)


def test_systems_of_different_users_are_refused() -> None:
    with pytest.raises(InputError, match="different users"):
        study(estimates, {"a": SPREAD, "b": SEVERAL}, seed=1)
    among_more = FullRanks.of(SPREAD.rank, n_candidates=N + 1)
    with pytest.raises(InputError, match="'a' and 'b' have different numbers of candidates"):
        study(estimates, {"a": SPREAD, "b": among_more}, seed=1)


def test_the_figure_has_a_curve_for_each_estimator_and_the_exact_one(result: Estimates) -> None:
    labels = result.plot(metric="AP").get_legend_handles_labels()[1]
    assert labels == ["exact", *result.names]


def test_a_metric_that_was_not_studied_is_not_drawn(result: Estimates) -> None:
    with pytest.raises(InputError, match=r"there are Recall@10, .* got P"):
        result.plot(metric="P")


def test_the_caption_says_what_was_sampled(result: Estimates) -> None:
    caption = result.caption()
    for fact in ("m = 10.", "with replacement", "n = 60", "5 samples", "seed 3", "MLE(iters=100)"):
        assert fact in caption


def test_what_is_expected_is_what_samples_come_to() -> None:
    found = _studied(estimators=["bv(gamma=0.1)", "uncorrected"], metrics=["AP"], repeats=400)
    error = found.sd / np.sqrt(400)
    assert (np.abs(found.mean - found.expected) < 4 * error).all()


def test_adaptive_samples_are_expected_to_be_what_they_are_on_average() -> None:
    found = _studied(estimators=["adaptive-mle"], n_max=44)
    assert (found.expected == found.mean).all()


def test_a_pooled_prior_is_expected_to_be_learned() -> None:
    priors = ("pooled:mle", "mle", "uniform")
    estimators = [f"bv(gamma=0.1,prior={prior})" for prior in priors]
    pooled, own, uniform = _studied(estimators=estimators, metrics=["AP"]).expected
    assert (pooled == own).all()
    assert (pooled != uniform).all()


def test_more_users_lessen_noise_and_leave_bias(result: Estimates) -> None:
    many = _studied(users=3000)
    assert (many.numbers[0] == result.numbers[0]).all()
    np.testing.assert_allclose(many.numbers[1], result.numbers[1] / 10)


def test_without_bias_intervals_cover_and_with_much_they_do_not(result: Estimates) -> None:
    plain, auc, ap = 0, result.metrics.index("AUC"), result.metrics.index("AP")
    assert result.numbers[4, plain, auc] == pytest.approx(95, abs=0.01)
    assert _studied(users=3000).numbers[4, plain, ap] < 1


def test_intervals_are_as_wide_as_users_and_samples_are_noisy(result: Estimates) -> None:
    metric = rank_metric("AP")
    scores = np.array([metric.of_users(ranks) for ranks in (SPREAD, SHIFTED)])
    plain, place = 0, result.metrics.index("AP")
    noise = np.hypot(result.sd[plain, place], scores.std(axis=1) / np.sqrt(scores.shape[1]))
    off = (result.expected - result.exact)[plain, place] / noise
    held = norm.cdf(1.96 - off) - norm.cdf(-1.96 - off)
    assert result.numbers[4, plain, place] == pytest.approx(100 * held.mean())


def test_pairs_are_in_order_in_samples_as_often_as_normal_differences_are(
    result: Estimates,
) -> None:
    samples = np.diff(result.estimated, axis=2)[:, :, 0]
    off = np.diff(result.expected)[..., 0] * np.sign(np.diff(result.exact))[..., 0]
    noisy = samples.std(axis=2) > 0
    shares = norm.cdf(off / np.where(noisy, samples.std(axis=2, ddof=1), 1.0))
    assert noisy.any()
    np.testing.assert_allclose(result.numbers[3][noisy], shares[noisy], rtol=1e-9)


def test_orders_of_so_many_users_come_to_those_that_are_expected() -> None:
    expected, at_last = _studied(users=10**9).numbers[2:4]
    np.testing.assert_allclose(at_last, expected, atol=1e-9)


def test_advice_tells_comparing_from_reporting(result: Estimates) -> None:
    said = result.findings()[result.metrics.index("AUC")]
    assert said.startswith("AUC from 10 negatives of 30 users. To compare systems: Uncorrected,")
    assert "To report a level: " in said


def test_estimators_whose_intervals_do_not_cover_are_said_not_to() -> None:
    (said,) = _studied(estimators=["uncorrected"], metrics=["AP"], users=3000).findings()
    assert "those of no estimator do as they should" in said


def test_adaptive_samples_are_of_users_with_one_relevant_item_each() -> None:
    with pytest.raises(InputError, match="one relevant item each"):
        study(estimates, {"several": SEVERAL}, estimators=["adaptive-mle"], negatives=5, seed=1)


@pytest.mark.slow
def test_adaptive_samples_score_as_many_items_as_expected() -> None:
    found = _studied(estimators=["mle", "adaptive-mle"], n_max=44, repeats=200)
    expected = mean_adaptive_size(SPREAD.rank, n_candidates=N, n0=11, n_max=44).mean()
    assert found.scored[0].tolist() == [11, 11]
    assert found.scored[1, 0] == pytest.approx(expected, rel=0.02)


def test_only_estimators_that_ask_get_adaptive_samples() -> None:
    together, alone = (_studied(estimators=e) for e in (["adaptive-mle", "mle"], ["mle"]))
    assert (together.estimated[1] == alone.estimated[0]).all()
    assert ": 11 to 11 items; m = 10; adaptive ones" in together.caption()
    assert "adaptive" not in alone.caption()
