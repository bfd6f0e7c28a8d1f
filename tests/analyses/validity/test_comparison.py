"""Measured against true scores: regret, reliability, and pairs told apart rightly or wrongly."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.systems import pairs_within
from analyses.shared.measure import Measure, Measures, Scores
from analyses.validity.comparison import (
    JointUsers,
    PairVerdicts,
    block_sums,
    ratio_of,
    regret,
    reliability,
)

P = Measures([Measure("P", 5)])


def scores(values: np.ndarray, users: list[str]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[0]))
    return Scores(values[np.newaxis], P, systems, np.array(users))


def resample_jointly(
    first: Scores, second: Scores, *, replicates: int, seed: int
) -> tuple[NDArray[np.float64], ...]:
    drawn = JointUsers.of(first, second, replicates=replicates, seed=seed)
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
    found = PairVerdicts.of(*(np.array([value]) for value in case), alpha=0.05)
    names = ("right", "wrong", "false positive", "missed", "no difference")
    assert found.shares().tolist() == [float(name == name_of(*case)) for name in names]


def test_an_inversion_need_not_be_significant_but_truly_there() -> None:
    measured, true = np.array([-0.1, -0.1, 0.0]), np.array([0.2, 0.2, 0.2])
    found = PairVerdicts.of(measured, np.ones(3), true, np.array([0.01, 0.2, 0.01]), alpha=0.05)
    assert found.inverted.tolist() == [True, False, False]


def test_a_ratio_over_subsets_counts_the_pairs_of_each(rng: np.random.Generator) -> None:
    some, among = rng.random((2, 3, 10)) < 0.4, rng.random((2, 3, 10)) < 0.7
    subsets = np.array([[True, True, True, True, False], [False, True, True, True, True]])
    weights = pairs_within(subsets)
    found = ratio_of(some, among, weights)
    for n, within in enumerate(weights.astype(bool)):
        assert found[n] == pytest.approx(ratio_of(some[..., within], among[..., within]))
