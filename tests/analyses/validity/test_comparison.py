"""Measured against true scores: regret, reliability, and pairs told apart rightly or wrongly."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from analyses.intervals.resampling import resampled_users, run_noise
from analyses.intervals.systems import pair_masks
from analyses.shared.families import N_CROSSED
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.work import ScoresWork, Truth
from analyses.significance.question import Question
from analyses.validity.comparison import (
    Comparison,
    JointUsers,
    block_sums,
    mark_best_systems,
    regret,
    regret_share,
    reliability,
    with_higher_better,
)
from analyses.validity.pair_verdicts import PairVerdicts, resampled_rates, share_of_pairs
from runs import InputError

P = Measures([Measure("P", 5)])


def scores(values: np.ndarray, users: list[str]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[0]))
    return Scores(values[np.newaxis], P, systems, np.array(users))


def resample_jointly(
    first: Scores, second: Scores, *, replicates: int, seed: int
) -> tuple[NDArray[np.float64], ...]:
    drawn = JointUsers.of_scores(first, second, replicates=replicates, seed=seed)
    return tuple(drawn.means(scores.values, scores.users) for scores in (first, second))


def test_the_same_users_in_another_order_are_drawn_together(rng: np.random.Generator) -> None:
    values, users = rng.random((3, 20)), [f"u{number}" for number in range(20)]
    order = rng.permutation(20)
    there = scores(values[:, order], [users[n] for n in order])
    first, second = resample_jointly(scores(values, users), there, replicates=50, seed=1)
    assert first.tolist() == second.tolist()


def test_users_of_one_alone_are_drawn_on_their_own(rng: np.random.Generator) -> None:
    values = rng.random((1, 200))
    first, second = resample_jointly(
        scores(values, [f"a{n}" for n in range(200)]),
        scores(values, [f"b{n}" for n in range(200)]),
        replicates=400,
        seed=1,
    )
    # The standard error of a correlation of nothing is 1 / sqrt 400.
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0.0, abs=0.2)
    for means in (first, second):
        assert means.std() == pytest.approx(values.std() / np.sqrt(200), rel=0.15)


def test_blocks_hold_the_same_users_on_both_sides(rng: np.random.Generator) -> None:
    users = [f"u{number}" for number in range(12)]
    values, blocks, order = rng.random((2, 12)), np.arange(12) % 3, rng.permutation(12)
    there = scores(values[:, order], [users[n] for n in order])
    sums = block_sums(there, np.array(users), blocks, seed=1)
    for block in range(3):
        assert sums[0, block] == pytest.approx(values[:, blocks == block].sum(axis=1))


def test_reliability_is_the_mean_over_all_halvings_of_the_users(rng: np.random.Generator) -> None:
    """Flanagan and Rulon: 4 cov(a, b) / var(a + b), of the sums a and b of the halves."""
    values = rng.random((5, 1)) + rng.random((5, 6))
    halves = []
    for half in combinations(range(6), 3):
        a = values[:, half].sum(axis=1)
        b = values.sum(axis=1) - a
        halves.append(4 * np.cov(a, b)[0, 1] / np.var(a + b, ddof=1))
    assert reliability(values) == pytest.approx(np.mean(halves))


@pytest.mark.parametrize("values", [np.ones((3, 4)), np.array([[0.1], [0.3]])])
def test_of_equal_systems_and_of_one_user_nothing_is_known(values: np.ndarray) -> None:
    assert np.isnan(reliability(values))


def test_regret_is_what_the_best_system_has_more() -> None:
    assert regret(np.array([3.0, 1.0, 2.0]), np.array([0.1, 0.9, 0.5])) == pytest.approx(0.8)


def test_of_systems_that_tie_as_first_the_mean_counts() -> None:
    assert regret(np.array([3.0, 3.0, 2.0]), np.array([0.1, 0.9, 0.5])) == pytest.approx(0.4)


DIFFERENCES = (-0.2, 0.0, 0.2)
LEVELS = (0.01, 0.05, 0.5)
CASES = list(product(DIFFERENCES, LEVELS, DIFFERENCES, LEVELS))


def name_of(measured: float, p: float, true: float, true_p: float) -> str:
    """Say what a pair is, in words of the definition."""
    if p > 0.05:
        return "missed" if true_p <= 0.05 else "no difference"
    if true_p > 0.05 or measured * true == 0:
        return "false positive"
    return "right" if measured * true > 0 else "wrong"


@pytest.mark.parametrize("case", CASES)
def test_every_pair_is_what_its_definition_says(case: tuple[float, ...]) -> None:
    found = PairVerdicts.of_differences(*(np.array([value]) for value in case), alpha=0.05)
    names = ("right", "wrong", "false positive", "missed", "no difference")
    assert found.shares().tolist() == [float(name == name_of(*case)) for name in names]


def test_an_inversion_need_not_be_significant_but_truly_there() -> None:
    measured, true = np.array([-0.1, -0.1, 0.0]), np.array([0.2, 0.2, 0.2])
    found = PairVerdicts.of_differences(
        measured, np.ones(3), true, np.array([0.01, 0.2, 0.01]), alpha=0.05
    )
    assert found.inverted.tolist() == [True, False, False]


def test_a_ratio_over_subsets_counts_the_pairs_of_each(rng: np.random.Generator) -> None:
    some, among = rng.random((2, 3, 10)) < 0.4, rng.random((2, 3, 10)) < 0.7
    subsets = np.array([[True, True, True, True, False], [False, True, True, True, True]])
    weights = pair_masks(subsets)
    found = share_of_pairs(some, among, weights)
    for n, within in enumerate(weights.astype(bool)):
        assert found[n] == pytest.approx(share_of_pairs(some[..., within], among[..., within]))


def test_reliability_of_every_measure_is_as_if_it_were_alone(rng: np.random.Generator) -> None:
    values = rng.random((2, 5, 1)) + rng.random((2, 5, 6))
    assert reliability(values).tolist() == [reliability(own) for own in values]


def test_reliability_of_two_users_by_hand() -> None:
    """Sums of 1, 2 and 6 have a variance of 14/3; users have 2/9 and 32/9, together 34/9."""
    values = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 5.0]])
    assert reliability(values) == pytest.approx(2 / 1 * (1 - (34 / 9) / (14 / 3)))


def test_reliability_is_not_below_0_nor_above_1() -> None:
    # Users who disagree in everything.
    assert reliability(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]])) == 0
    assert reliability(np.array([[0.0, 0.0], [1.0, 1.0]])) == 1


def test_systems_that_tie_to_ten_decimals_are_all_first() -> None:
    found = mark_best_systems(np.array([[0.3, 0.3 + 1e-13, 0.2], [0.1, 0.3, 0.2]]))
    assert found.tolist() == [[True, True, False], [False, True, False]]


def test_regret_and_its_share_are_along_the_last_axis() -> None:
    estimates = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 0.5], [5.0, 5.0, 0.0]])
    truth = np.array([[0.1, 0.9, 0.5], [0.1, 0.9, 0.5], [0.1, 0.9, 0.5]])
    lost = regret(estimates, truth)
    assert lost.tolist() == pytest.approx([0.8, 0.0, 0.4])
    assert regret_share(lost, truth).tolist() == pytest.approx([1.0, 0.0, 0.5])
    assert np.isnan(regret_share(np.zeros(1), np.full((1, 3), 0.5))).all()


def test_shares_and_rates_of_a_case_by_hand() -> None:
    """Of six pairs two are right, one is wrong, one a false positive, one missed, one nothing.

    The wrong pair and the one that is missed are inverted: the share of 4 true differences is 2/4.
    """
    measured = np.array([0.1, 0.1, -0.1, 0.1, -0.1, 0.1])
    p = np.array([0.05, 0.01, 0.01, 0.01, 0.06, 0.5])
    true = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
    true_p = np.array([0.05, 0.01, 0.01, 0.06, 0.01, 0.5])
    found = PairVerdicts.of_differences(measured, p, true, true_p, alpha=0.05)
    assert found.shares().tolist() == pytest.approx([2 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6])
    assert found.rates().tolist() == pytest.approx([2 / 4, 1 / 4, 2 / 4])
    weights = np.array([[1.0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    np.testing.assert_allclose(found.rates(weights), [[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]])


def test_verdicts_of_means_are_those_of_all_pairs() -> None:
    """The systems a and b are in the other order than truly; c is last by both."""
    found = PairVerdicts.of_means(
        np.array([0.5, 0.4, 0.1]), np.zeros(3), np.array([0.4, 0.5, 0.1]), np.zeros(3), alpha=0.05
    )
    assert found.wrong.tolist() == [True, False, False]
    assert found.right.tolist() == [False, True, True]


def test_users_whom_the_blocks_do_not_know_get_blocks_of_their_own(
    rng: np.random.Generator,
) -> None:
    """Of twelve users of the truth three are known, in the blocks 2, 0 and 1."""
    users = np.array(["u03", "u01", "u11"])
    values = rng.random((2, 12))
    there = scores(values, [f"u{number:02}" for number in range(12)])
    sums = block_sums(there, users, np.array([2, 0, 1]), seed=1)
    assert sums.shape == (1, 3, 2)
    np.testing.assert_allclose(sums.sum(axis=1)[0], values.sum(axis=1))
    only = np.zeros((2, 12))
    only[:, [1, 3, 11]] = [10.0, 100.0, 1000.0]
    of_known = block_sums(replace(there, values=only[None]), users, np.array([2, 0, 1]), seed=1)
    assert of_known[0, :, 0].tolist() == [10, 1000, 100]
    # Nine others in three blocks of three, or nearly: none gets all.
    ones = block_sums(
        replace(there, values=np.ones((1, 2, 12))), users, np.array([2, 0, 1]), seed=1
    )
    assert ones[0, :, 0].min() >= 2


def test_means_need_a_value_for_each_user() -> None:
    there = scores(np.ones((2, 3)), ["u0", "u1", "u2"])
    users = JointUsers.of_scores(there, there, replicates=2, seed=1)
    with pytest.raises(ValueError, match="values of shape \\(1, 2, 1\\) do not fit 3 users"):
        users.means(there.values[..., :1], there.users)


def test_blocks_must_be_those_of_the_users() -> None:
    there = scores(np.ones((2, 3)), ["u0", "u1", "u2"])
    with pytest.raises(ValueError, match="blocks of shape \\(3,\\) do not fit 2 users"):
        block_sums(there, np.array(["u0", "u1"]), np.array([0, 1, 0]), seed=1)


def test_scores_of_which_less_is_better_change_their_sign() -> None:
    measures = Measures([Measure("P", 5), Measure("ARP", 5)], lower_is_better_for=["ARP"])
    runs = RunDeviations(
        np.array([[0.1, -0.1], [0.2, -0.2]]), np.array([0, 0]), np.ones(1, dtype=np.bool_)
    )
    values = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    users = np.array(["u0", "u1"])
    known = Scores(values, measures, ("a",), users, runs)
    found = with_higher_better(known)
    assert found.values.tolist() == [[[1, 2]], [[-3, -4]]]
    assert found.runs is not None
    assert found.runs.values.tolist() == [[0.1, -0.1], [-0.2, 0.2]]
    assert with_higher_better(replace(known, runs=None)).runs is None
    rising = replace(known, measures=Measures([Measure("P", 5), Measure("AP", 5)]))
    assert with_higher_better(rising).values.tolist() == values.tolist()


NDCG, AP, ARP = Measure("nDCG", 10), Measure("AP", 10), Measure("ARP", 10)


def scored(values: Any, measures: Measures, *, systems: str = "s") -> Scores:
    known = np.asarray(values, dtype=np.float64)
    users = np.array([f"u{number:02}" for number in range(known.shape[2])])
    return Scores(known, measures, tuple(f"{systems}{n}" for n in range(known.shape[1])), users)


def compared(measured: Scores, true: Scores, *references: Measure) -> Comparison:
    truth = Truth(true, references or (true.measures[0],), "of a made world")
    return Comparison.of_work(ScoresWork(measured, known_truth=truth))


def test_every_measure_is_compared_with_itself_and_with_each_reference(
    rng: np.random.Generator,
) -> None:
    """The truth knows AP, nDCG and ARP, of which less is better, in this order."""
    measured = scored(
        rng.random((3, 3, 4)), Measures([NDCG, Measure("P", 10), ARP], lower_is_better_for=["ARP"])
    )
    true = scored(rng.random((3, 3, 4)), Measures([AP, NDCG, ARP], lower_is_better_for=["ARP"]))
    found = compared(measured, true, AP, NDCG)
    assert found.measured.measures == (NDCG, ARP)
    assert found.references.tolist() == [[1, 2], [0, 0], [1, 1]]
    means, true_means = found.means()
    np.testing.assert_allclose(means, [[1], [-1]] * measured.values[[0, 2]].mean(axis=2))
    expected = true.values.mean(axis=2) * [[1], [1], [-1]]
    np.testing.assert_allclose(true_means, expected[[[1, 2], [0, 0], [1, 1]]])


def test_what_is_attainable_is_the_tau_of_two_noisy_values(rng: np.random.Generator) -> None:
    """Of reliabilities r and t, 2 / pi times the arcsine of the root of r t."""
    worth = rng.random((2, 5, 1))
    measured, true = (scored(worth + rng.random((2, 5, 6)), Measures([NDCG, AP])) for _ in "ab")
    found = compared(measured, true, AP).attainable()
    of_measured = [reliability(own) for own in measured.values]
    of_true = [reliability(own) for own in true.values]
    for truth, references in enumerate([[0, 1], [1, 1]]):
        for measure, reference in enumerate(references):
            root = np.sqrt(of_measured[measure] * of_true[reference])
            assert found[truth, measure] == pytest.approx(2 / np.pi * np.arcsin(root))


def test_p_values_are_of_measured_and_true_differences(rng: np.random.Generator) -> None:
    measured, true = (scored(rng.random((2, 3, 8)), Measures([NDCG, AP])) for _ in "ab")
    comparison = compared(measured, true, AP)
    work = ScoresWork(measured)
    p, true_p = comparison.p_values(work, Question(test="t"))
    assert p.shape == (2, 3)
    assert true_p.shape == (2, 2, 3)
    expected = ttest_rel(measured.values[1, 0], measured.values[1, 2]).pvalue
    assert p[1, 1] == pytest.approx(expected)
    expected = ttest_rel(true.values[1, 1], true.values[1, 2]).pvalue
    assert true_p[1, 0, 2] == true_p[0, 1, 2] == pytest.approx(expected)
    adjusted, _ = comparison.p_values(work, Question(test="t", correction="bonferroni"))
    np.testing.assert_allclose(adjusted, np.minimum(3 * p, 1))


def test_a_truth_must_have_the_measures_and_the_systems(rng: np.random.Generator) -> None:
    measured = scored(rng.random((1, 3, 4)), Measures([NDCG]))
    with pytest.raises(InputError, match="the truth has no scores of nDCG@10"):
        compared(measured, scored(rng.random((1, 3, 4)), Measures([AP])))
    with pytest.raises(InputError, match="s0, s1 and s2, got t0, t1 and t2"):
        compared(measured, scored(rng.random((1, 3, 4)), Measures([NDCG]), systems="t"))


def drawn_rates(
    comparison: Comparison, weights: NDArray[np.float64], *, factor: int = 1
) -> NDArray[np.float64]:
    """Rates of users drawn so often, each tested by scipy; p-values times a factor."""
    again = np.repeat(np.arange(len(weights)), weights.astype(int))
    verdicts = []
    for measured, number in ((True, 0), (False, 1)):
        own = (comparison.measured if measured else comparison.true).values[number][:, again]
        pairs = [*combinations(own, 2)]
        p = [min(factor * ttest_rel(one, other).pvalue, 1.0) for one, other in pairs]
        verdicts += [np.array([one.mean() - other.mean() for one, other in pairs]), np.array(p)]
    return PairVerdicts.of_differences(*verdicts, alpha=0.05).rates()


@pytest.mark.parametrize(("correction", "factor"), [("none", 1), ("bonferroni", 6)])
def test_resampled_rates_are_those_of_the_t_test_on_the_users_drawn(
    correction: str, factor: int, rng: np.random.Generator
) -> None:
    """Ten users; the reference is the second true measure, and the first is of no report."""
    worth = 0.15 * np.arange(4)[:, None]
    measured, true = (scored(worth + rng.random((2, 4, 10)), Measures([NDCG, AP])) for _ in "ab")
    comparison = compared(measured, true, AP)
    users = JointUsers.of_scores(measured, true, replicates=25, seed=3)
    groups = np.array([[1.0, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]])
    question = Question.model_validate({"test": "t", "correction": correction})
    rates, crossed = resampled_rates(comparison, [0], users, question, groups)
    assert rates.shape == (3, 2, 2, 25)
    assert crossed.shape == (3, 2, 2, N_CROSSED, 2)
    for replicate, weights in enumerate(resampled_users(0, 25, n_users=10, seed=3)):
        expected = drawn_rates(comparison, weights, factor=factor)
        np.testing.assert_allclose(rates[:, 1, 0, replicate], expected)
    assert np.isnan(rates[:, :, 1]).all()
    np.testing.assert_array_equal(crossed[:, :, 0, :, 0], rates[:, :, 0, :N_CROSSED])


def test_resampled_rates_are_only_of_tests_and_corrections_of_means(
    rng: np.random.Generator,
) -> None:
    measured = scored(rng.random((1, 4, 10)), Measures([NDCG]))
    comparison = compared(measured, measured)
    users = JointUsers.of_scores(measured, measured, replicates=5, seed=3)
    asked = {
        ("t", "none"): True,
        ("exact", "holm"): True,
        ("wilcoxon", "none"): False,
        ("t", "tukey"): False,
        ("sign", "max-t"): False,
    }
    for (test, correction), is_known in asked.items():
        question = Question.model_validate({"test": test, "correction": correction})
        rates, crossed = resampled_rates(comparison, [0], users, question, np.ones((1, 6)))
        assert np.isfinite(rates[2]).any() == is_known
        assert np.isfinite(crossed[2]).any() == is_known


def test_resampled_rates_have_the_chance_of_runs(rng: np.random.Generator) -> None:
    """Runs move both means of a pair; deviations over users stay what they are."""
    values = np.stack([np.linspace(0, 1, 10), np.linspace(0.1, 1.2, 10)])
    runs = RunDeviations(
        np.array([[5.0, -5.0, 2.0, -2.0]]), np.array([0, 0, 1, 1]), np.ones(2, dtype=np.bool_)
    )
    measured = replace(scored(values[None], Measures([NDCG])), runs=runs)
    true = scored(values[None], Measures([NDCG]))
    comparison = compared(measured, true)
    users = JointUsers.of_scores(measured, true, replicates=40, seed=3)
    rates, _ = resampled_rates(comparison, [0], users, Question(test="t"), np.ones((1, 1)))
    noise = np.asarray(run_noise(runs, replicates=40, seed=3))[0]
    for replicate, weights in enumerate(resampled_users(0, 40, n_users=10, seed=3)):
        gap = ((values[0] - values[1]) * weights).sum() / 10
        moved = gap + noise[0, replicate] - noise[1, replicate]
        assert rates[2, 0, 0, replicate] == float(moved * gap < 0)
    assert {*rates[2, 0, 0].tolist()} == {0.0, 1.0}


def test_pairs_are_tested_alike_however_many_at_a_time(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = scored(0.1 * np.arange(4)[:, None] + rng.random((1, 4, 10)), Measures([NDCG]))
    comparison = compared(measured, measured)
    users = JointUsers.of_scores(measured, measured, replicates=5, seed=3)
    whole, _ = resampled_rates(comparison, [0], users, Question(test="t"), np.ones((1, 6)))
    monkeypatch.setattr("analyses.validity.pair_verdicts.CELLS_AT_ONCE", 1)
    one_by_one, _ = resampled_rates(comparison, [0], users, Question(test="t"), np.ones((1, 6)))
    np.testing.assert_array_equal(one_by_one, whole)
