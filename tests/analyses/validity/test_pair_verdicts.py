from itertools import combinations, product

import numpy as np
import pytest

from analyses.intervals.systems import pairs_within
from analyses.validity.pair_verdicts import PairVerdicts, ratio_of

DIFFERENCES = (-0.2, 0.0, 0.2)
P = (0.01, 0.05, 0.5)
CASES = list(product(DIFFERENCES, P, DIFFERENCES, P))


def name_of(measured: float, p: float, true: float, true_p: float) -> str:
    """Say what a pair is, in words of the definition."""
    if p > 0.05:
        return "unfound" if true_p <= 0.05 else "no difference"
    if true_p > 0.05 or measured * true == 0:
        return "unsure"
    return "right" if measured * true > 0 else "wrong"


@pytest.mark.parametrize("case", CASES)
def test_every_pair_is_what_its_definition_says(case: tuple[float, ...]) -> None:
    found = PairVerdicts.of(*(np.array([value]) for value in case), alpha=0.05)
    names = ("right", "wrong", "unsure", "unfound", "no difference")
    assert found.shares().tolist() == [float(name == name_of(*case)) for name in names]


def test_one_pair_among_one_is_all_of_them_and_among_none_nothing() -> None:
    one, none = np.array([True, False]), np.array([False, False])
    assert ratio_of(one, one) == 1
    assert np.isnan(ratio_of(none, none))


def test_an_inversion_need_not_be_significant_but_truly_there() -> None:
    measured, true = np.array([-0.1, -0.1, 0.0]), np.array([0.2, 0.2, 0.2])
    found = PairVerdicts.of(measured, np.ones(3), true, np.array([0.01, 0.2, 0.01]), alpha=0.05)
    assert found.inverted.tolist() == [True, False, False]


def test_pairs_within_subsets_are_those_of_their_members() -> None:
    subsets = np.array([[0, 1, 4], [1, 2, 3]])
    every = list(combinations(range(5), 2))
    expected = [[float(set(pair) <= set(some)) for pair in every] for some in subsets.tolist()]
    assert pairs_within(subsets, 5).tolist() == expected


def test_a_ratio_over_subsets_counts_the_pairs_of_each(rng: np.random.Generator) -> None:
    some, among = rng.random((2, 3, 10)) < 0.4, rng.random((2, 3, 10)) < 0.7
    subsets = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    weights = pairs_within(subsets, 5)
    found = ratio_of(some, among, weights)
    for n, within in enumerate(weights.astype(bool)):
        assert found[n] == pytest.approx(ratio_of(some[..., within], among[..., within]))
