"""Chance over systems and over worlds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from analyses.intervals.systems import interval_over_worlds, pair_masks, subset_taus
from analyses.ordering import tau_b
from tests.analyses.made import unrelated


def marks(subsets: list[list[int]], n_systems: int) -> np.ndarray:
    return np.array([[number in some for number in range(n_systems)] for some in subsets])


def test_pairs_within_subsets_are_those_of_their_members() -> None:
    subsets = [[0, 1, 4], [1, 2, 3]]
    every = list(combinations(range(5), 2))
    expected = [[float(set(pair) <= set(some)) for pair in every] for some in subsets]
    assert pair_masks(marks(subsets, 5)).tolist() == expected


def test_taus_within_subsets_are_those_of_their_members_alone(rng: np.random.Generator) -> None:
    # Few values, so that systems tie, and all of a subset now and then.
    estimates, references = rng.integers(0, 2, (2, 3, 7, 9)) / 3
    subsets = unrelated(9).subsets(seed=1) & (np.arange(9) < 5)
    found = subset_taus(estimates, references[:, :1], subsets)
    assert np.isnan(found).any()
    for subset, taus in zip(subsets, found.swapaxes(0, 1), strict=True):
        alone = tau_b(estimates[..., subset], references[:, :1, subset])
        np.testing.assert_array_equal(taus, alone)


def test_systems_that_differ_below_the_last_decimal_tie_within_subsets() -> None:
    scores = np.array([[[0.1, 0.1 + 1e-15, 0.3]]])
    (((tau,),),) = subset_taus(scores, scores, marks([[0, 1]], 3))
    assert np.isnan(tau)


def test_the_interval_over_worlds_is_student_s(rng: np.random.Generator) -> None:
    values = rng.normal(size=(4, 10))
    known = stats.t.interval(0.95, 9, values.mean(axis=1), stats.sem(values, axis=1))
    for limit, expected in zip(interval_over_worlds(values), known, strict=True):
        assert limit == pytest.approx(expected)


def test_intervals_that_hold_at_once_are_those_of_a_higher_level(rng: np.random.Generator) -> None:
    values = rng.normal(size=10)
    known = stats.t.interval(0.99, 9, values.mean(), stats.sem(values))
    assert interval_over_worlds(values, at_once=5) == pytest.approx(known)


def test_worlds_in_which_a_value_is_undefined_are_left_out(rng: np.random.Generator) -> None:
    values = rng.random(6)
    holed = np.insert(values, [0, 3], np.nan)
    assert interval_over_worlds(holed) == pytest.approx(interval_over_worlds(values))


@pytest.mark.parametrize("n_systems", [8, 20])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_intervals_over_worlds_hold_the_mean_tau_of_all_worlds(
    n_systems: int, correlation: float, rng: np.random.Generator
) -> None:
    """Of normal systems mean tau is 2 / pi arcsin of the correlation (Kendall)."""
    truly = 2 / np.pi * np.arcsin(correlation)
    true, noise = rng.normal(size=(2, 1000, 10, n_systems))
    measured = correlation * true + np.sqrt(1 - correlation**2) * noise
    low, high = interval_over_worlds(tau_b(measured, true), bounds=(-1.0, 1.0))
    assert ((low <= truly) & (truly <= high)).mean() >= 0.9
