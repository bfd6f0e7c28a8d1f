"""Chance over systems and over worlds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from analyses.intervals.resampling import resampled_users
from analyses.intervals.systems import over_worlds, pairs_within, taus_within
from analyses.ordering import tau_b
from analyses.shared.families import CROSSED, Families, WithinSubsets, families_by_likeness
from analyses.shared.measure import Measure, Measures, Scores
from tests.analyses.made import unrelated


def marks(subsets: list[list[int]], n_systems: int) -> np.ndarray:
    return np.array([[number in some for number in range(n_systems)] for some in subsets])


def test_pairs_within_subsets_are_those_of_their_members() -> None:
    subsets = [[0, 1, 4], [1, 2, 3]]
    every = list(combinations(range(5), 2))
    expected = [[float(set(pair) <= set(some)) for pair in every] for some in subsets]
    assert pairs_within(marks(subsets, 5)).tolist() == expected


def test_taus_within_subsets_are_those_of_their_members_alone(rng: np.random.Generator) -> None:
    # Few values, so that systems tie, and all of a subset now and then.
    estimates, references = rng.integers(0, 2, (2, 3, 7, 9)) / 3
    subsets = unrelated(9).subsets(seed=1) & (np.arange(9) < 5)
    found = taus_within(estimates, references[:, :1], subsets)
    assert np.isnan(found).any()
    for subset, taus in zip(subsets, found.swapaxes(0, 1), strict=True):
        alone = tau_b(estimates[..., subset], references[:, :1, subset])
        np.testing.assert_array_equal(taus, alone)


def test_systems_that_differ_below_the_last_decimal_tie_within_subsets() -> None:
    scores = np.array([[[0.1, 0.1 + 1e-15, 0.3]]])
    (((tau,),),) = taus_within(scores, scores, marks([[0, 1]], 3))
    assert np.isnan(tau)


def test_the_interval_of_a_mean_is_student_s(rng: np.random.Generator) -> None:
    values = rng.normal(size=20)
    within = np.array([values[some].mean() for some in unrelated(20).subsets(seed=1)])
    reach = WithinSubsets(20, within).reach()
    error = values.std(ddof=1) / np.sqrt(20)
    # 200 subsets say a standard deviation to 5 %, and 2.093 is the quantile of t on 19 degrees.
    assert float(reach) == pytest.approx(2.093 * error, rel=0.2)


@pytest.mark.parametrize("spreads", [(0.0, 0.0), (0.3, 0.2)], ids=["interaction", "all"])
def test_the_interaction_of_users_and_systems_counts_once(
    spreads: tuple[float, float], rng: np.random.Generator
) -> None:
    """Of the mean of users + systems + interaction the variance is known."""
    n_systems, n_users, n_studies = 16, 25, 60
    systems, users = (
        spread * rng.normal(size=(n_studies, n))
        for spread, n in zip(spreads, (n_systems, n_users), strict=True)
    )
    values = rng.normal(size=(n_studies, n_systems, n_users))
    values += systems[:, :, None] + users[:, None]
    subsets = unrelated(n_systems).subsets(seed=1)
    weights = resampled_users(0, 200, n_users=n_users, seed=1) / n_users
    shares = subsets / subsets.sum(axis=1, keepdims=True)
    within = WithinSubsets(
        n_systems,
        values.mean(axis=2) @ shares.T,
        weights[:CROSSED] @ values.swapaxes(1, 2) @ shares[:CROSSED].T,
    )
    over_users = (values.mean(axis=1) @ weights.T).var(axis=1)
    known = spreads[0] ** 2 / n_systems + spreads[1] ** 2 / n_users + 1 / (n_systems * n_users)
    # No variance is less than that over either alone, which is too much where there is no other.
    for of_differences in (False, True):
        found = (over_users + within.beyond(over_users, are_differences=of_differences)).mean()
        assert found == pytest.approx(known, rel=0.25)
    assert (over_users + within.variances).mean() > known + 0.7 / (n_systems * n_users)
    # Of differences the share is that of all, as single ones are uncertain; less is left of none
    # than the variance over systems, which is 2.4 times too large at most: (16 15 / (12 11) - 1) 3.
    many = 10 * over_users
    share = within.beyond(many, are_differences=True) / within.variances
    assert np.ptp(share) == pytest.approx(0)
    none = within.beyond(np.zeros(n_studies), are_differences=True) / within.variances
    assert none == pytest.approx(np.full(n_studies, max(share[0], 11 / 27)))


@pytest.mark.parametrize("families", [np.arange(7), np.arange(20) % 4])
def test_few_systems_or_families_have_no_interval(families: np.ndarray) -> None:
    few = Families(families)
    assert len(few.subsets(seed=1)) == 0
    assert np.isnan(WithinSubsets(few.n, np.empty((3, 0))).reach()).all()
    (caution,) = few.cautions()
    assert "too few for an interval" in caution


def test_families_are_drawn_as_wholes() -> None:
    of = np.arange(12) % 6
    for some in Families(of).subsets(seed=1):
        assert {*of[some]}.isdisjoint(of[~some])
        assert len({*of[some]}) == 4


@pytest.mark.parametrize("n_users", [60, 400])
def test_systems_that_err_alike_are_one_family_unless_it_is_known(
    n_users: int, rng: np.random.Generator
) -> None:
    of = np.arange(12) // 2
    values = rng.normal(size=(2, 6, n_users))[:, of] + 0.3 * rng.normal(size=(2, 12, n_users))
    values += rng.normal(size=(12, 1)) + 3 * rng.normal(size=n_users)
    names = tuple(f"s{number}" for number in range(12))
    users = np.arange(n_users).astype(np.str_)
    scores = Scores(values, Measures([Measure("P", 5), Measure("AP", 5)]), names, users)
    found = families_by_likeness(scores)
    assert len(found.cautions()) == 1
    assert (found.of[:, None] == found.of).tolist() == (of[:, None] == of).tolist()
    known = families_by_likeness(scores, dict.fromkeys(names[:5], "one"))
    assert len({*known.of[:5]}) == 1
    assert known.of[5] not in known.of[:5]


@pytest.mark.parametrize("n_same", [30, 31])
def test_users_for_whom_systems_do_not_differ_are_a_caution(
    n_same: int, rng: np.random.Generator
) -> None:
    values = rng.normal(size=(1, 12, 60))
    values[:, :, :n_same] = 0
    names = tuple(f"s{number}" for number in range(12))
    scores = Scores(values, Measures([Measure("P")]), names, np.arange(60).astype(np.str_))
    found = families_by_likeness(scores, {name: name for name in names})
    assert found.same == n_same / 60
    assert ["systems score the same" in each for each in found.cautions()] == [True] * (n_same > 30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_systems", "n_families"),
    [(8, 8), (20, 5), *(pytest.param(*n, marks=pytest.mark.validity) for n in ((20, 20), (50, 6)))],
)
@pytest.mark.parametrize("correlation", [0.3, pytest.param(0.9, marks=pytest.mark.validity)])
def test_intervals_over_systems_hold_tau_of_the_population(
    n_systems: int, n_families: int, correlation: float, rng: np.random.Generator
) -> None:
    """Of normal systems tau is 2 / pi arcsin of the correlation (Kendall), in families too."""
    truly = 2 / np.pi * np.arcsin(correlation)
    families, held = Families(np.arange(n_systems) % n_families), 0
    for draw in range(100):
        shared, own = rng.normal(size=(2, n_families)), rng.normal(size=(2, n_systems))
        if n_families < n_systems:
            own = np.sqrt(0.6) * shared[:, families.of] + np.sqrt(0.4) * own
        true, measured = own[0], correlation * own[0] + np.sqrt(1 - correlation**2) * own[1]
        subsets = families.subsets(seed=draw)
        within = taus_within(measured[None, None], true[None, None], subsets)[0, :, 0]
        tau = tau_b(measured, true)
        held += abs(tau - truly) <= float(WithinSubsets(families.n, within).reach())
    assert held >= 88


def test_the_interval_over_worlds_is_student_s(rng: np.random.Generator) -> None:
    values = rng.normal(size=(4, 10))
    known = stats.t.interval(0.95, 9, values.mean(axis=1), stats.sem(values, axis=1))
    for limit, expected in zip(over_worlds(values), known, strict=True):
        assert limit == pytest.approx(expected)


def test_intervals_that_hold_at_once_are_those_of_a_higher_level(rng: np.random.Generator) -> None:
    values = rng.normal(size=10)
    known = stats.t.interval(0.99, 9, values.mean(), stats.sem(values))
    assert over_worlds(values, at_once=5) == pytest.approx(known)


def test_worlds_in_which_a_value_is_undefined_are_left_out(rng: np.random.Generator) -> None:
    values = rng.random(6)
    holed = np.insert(values, [0, 3], np.nan)
    assert over_worlds(holed) == pytest.approx(over_worlds(values))


@pytest.mark.parametrize("n_systems", [8, 20])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_intervals_over_worlds_hold_the_mean_tau_of_all_worlds(
    n_systems: int, correlation: float, rng: np.random.Generator
) -> None:
    """Of normal systems mean tau is 2 / pi arcsin of the correlation (Kendall)."""
    truly = 2 / np.pi * np.arcsin(correlation)
    true, noise = rng.normal(size=(2, 1000, 10, n_systems))
    measured = correlation * true + np.sqrt(1 - correlation**2) * noise
    low, high = over_worlds(tau_b(measured, true), limits=(-1.0, 1.0))
    assert ((low <= truly) & (truly <= high)).mean() >= 0.9
