"""Families of systems, subsets of them, and the chance over systems that these show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analyses.intervals.resampling import resampled_users
from analyses.intervals.systems import taus_within
from analyses.ordering import tau_b
from analyses.shared.families import (
    CROSSED,
    Families,
    WithinSubsets,
    families_by_likeness,
    reach_of,
)
from analyses.shared.measure import Measure, Measures, Scores
from tests.analyses.made import unrelated


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


@pytest.mark.parametrize(
    ("n_systems", "n_families", "n_drawn"), [(8, 8, 6), (8, 5, 4), (20, 10, 8)]
)
def test_three_quarters_of_the_families_are_drawn_two_hundred_times(
    n_systems: int, n_families: int, n_drawn: int
) -> None:
    """Of 5, 3.75 are 4; of 10, 7.5 are 8."""
    families = Families(np.arange(n_systems) % n_families)
    assert (families.n, families.n_systems) == (n_families, n_systems)
    subsets = families.subsets(seed=3)
    assert subsets.shape == (200, n_systems)
    assert {len({*families.of[some]}) for some in subsets} == {n_drawn}
    # Each family is drawn as often as the others.
    share = n_drawn / n_families
    error = np.sqrt(share * (1 - share) / 200)
    np.testing.assert_allclose(subsets.mean(axis=0), share, atol=4.5 * error)


def test_the_variance_over_systems_is_a_delete_d_jackknife() -> None:
    """Of 8 families, 6 are in a subset: 6 / 2 times the variance over subsets."""
    values = np.array([[1.0, 2.0, 4.0, 5.0], [1.0, np.nan, 3.0, np.nan]])
    found = WithinSubsets(8, values)
    assert found.variances.tolist() == pytest.approx([3 * 2.5, 3 * 1.0])
    # Student's t of 7 degrees of freedom.
    assert found.reach().tolist() == pytest.approx([2.364624 * np.sqrt(7.5), 2.364624 * np.sqrt(3)])


def test_the_interaction_is_what_is_left_without_the_means_of_rows_and_columns() -> None:
    """What is left is .5 or -.5 in each of four cells: 4 x .25 on 1 degree, times 3."""
    crossed = np.array([[0.0, 1.0], [4.0, 7.0]])
    found = WithinSubsets(8, np.zeros(2), crossed)
    assert found.interaction == pytest.approx(3 * 4 * 0.25)
    additive = WithinSubsets(8, np.zeros(2), np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert additive.interaction == pytest.approx(0)
    assert WithinSubsets(8, np.zeros((3, 2))).interaction.tolist() == [0, 0, 0]


def test_no_more_of_the_interaction_is_taken_off_than_the_variance_over_users() -> None:
    """Of variances 7.5 over systems, 3 are of the interaction."""
    values, crossed = np.array([1.0, 2.0, 4.0, 5.0]), np.array([[0.0, 1.0], [4.0, 7.0]])
    found = WithinSubsets(8, values, crossed)
    assert found.beyond(np.array(5.0)) == pytest.approx(4.5)
    assert found.beyond(np.array(2.0)) == pytest.approx(5.5)
    # Over both: users on no end of degrees, systems on 7.
    expected = reach_of([(np.array(5.0), np.inf), (np.array(4.5), 7)])
    assert found.reach_over_both(np.array(5.0)) == pytest.approx(float(expected))


def test_several_sources_have_degrees_of_freedom_by_satterthwaite() -> None:
    """Variances 1 on 4 and 3 on 9 degrees: 16 / (1 / 4 + 9 / 9) = 12.8."""
    reach = reach_of([(np.array([1.0]), 4), (np.array([3.0]), 9)])
    assert reach == pytest.approx(2 * stats.t.ppf(0.975, 12.8))
    wide = reach_of([(np.array([1.0]), 4), (np.array([3.0]), 9)], level=0.99)
    assert wide == pytest.approx(2 * stats.t.ppf(0.995, 12.8))
    # A source without variance changes nothing, and without any variance nothing is reached.
    assert reach_of([(np.array([0.0]), 4), (np.array([3.0]), 9)]) == pytest.approx(
        np.sqrt(3) * stats.t.ppf(0.975, 9)
    )
    assert reach_of([(np.array([0.0]), 4)]) == 0


@pytest.mark.parametrize(
    ("n_systems", "n_families", "named"),
    [
        (7, 7, "7 systems are too few"),
        (8, 4, "4 families of systems are too few"),
        (8, 8, "8 systems, intervals"),
        (11, 11, "11 systems, intervals"),
        (12, 12, ""),
    ],
)
def test_few_systems_are_a_caution(n_systems: int, n_families: int, named: str) -> None:
    cautions = Families(np.arange(n_systems) % n_families).cautions()
    assert [named in caution for caution in cautions] == [True] * (named != "")


def test_changes_reach_all_numbers() -> None:
    within = WithinSubsets(8, np.ones(3), np.full((2, 2), 2.0), np.full(4, 3.0))
    found = within.changed(lambda numbers: 10 * numbers)
    assert found.values.tolist() == [10] * 3
    assert found.crossed is not None
    assert found.resampled is not None
    assert (found.crossed == 20).all()
    assert (found.resampled == 30).all()
    alone = WithinSubsets(8, np.ones(3)).changed(lambda numbers: 10 * numbers)
    assert (alone.crossed, alone.resampled) == (None, None)
