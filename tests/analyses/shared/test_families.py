"""Families of systems, subsets of them, and the chance over systems that these show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analyses.intervals.resampling import resampled_users
from analyses.intervals.systems import subset_taus
from analyses.ordering import tau_b
from analyses.shared.families import (
    N_CROSSED,
    Families,
    SubsetValues,
    families_by_similarity,
    half_widths_from,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from tests.analyses.made import unrelated


def test_the_interval_of_a_mean_is_student_s(rng: np.random.Generator) -> None:
    values = rng.normal(size=20)
    within = np.array([values[some].mean() for some in unrelated(20).subsets(seed=1)])
    reach = SubsetValues(20, within).half_widths_over_both(np.zeros(()))
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
    within = SubsetValues(
        n_systems,
        values.mean(axis=2) @ shares.T,
        weights[:N_CROSSED] @ values.swapaxes(1, 2) @ shares[:N_CROSSED].T,
    )
    over_users = (values.mean(axis=1) @ weights.T).var(axis=1)
    known = spreads[0] ** 2 / n_systems + spreads[1] ** 2 / n_users + 1 / (n_systems * n_users)
    # No variance is less than that over either alone, which is too much where there is no other.
    for of_differences in (False, True):
        found = (
            over_users + within.added_variances(over_users, are_differences=of_differences)
        ).mean()
        assert found == pytest.approx(known, rel=0.25)
    assert (over_users + within.variances).mean() > known + 0.7 / (n_systems * n_users)
    # Of differences the share is that of all, as single ones are uncertain; less is left of none
    # than the variance over systems, which is 2.4 times too large at most: (16 15 / (12 11) - 1) 3.
    many = 10 * over_users
    share = within.added_variances(many, are_differences=True) / within.variances
    assert np.ptp(share) == pytest.approx(0)
    none = within.added_variances(np.zeros(n_studies), are_differences=True) / within.variances
    assert none == pytest.approx(np.full(n_studies, max(share[0], 11 / 27)))


@pytest.mark.parametrize("families", [np.arange(7), np.arange(20) % 4])
def test_few_systems_or_families_have_no_interval(families: np.ndarray) -> None:
    few = Families(families)
    assert len(few.subsets(seed=1)) == 0
    assert np.isnan(
        SubsetValues(few.n_families, np.empty((3, 0))).half_widths_over_both(np.zeros(3))
    ).all()
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
    found = families_by_similarity(scores)
    assert len(found.cautions()) == 1
    assert (found.family_numbers[:, None] == found.family_numbers).tolist() == (
        of[:, None] == of
    ).tolist()
    known = families_by_similarity(scores, dict.fromkeys(names[:5], "one"))
    assert len({*known.family_numbers[:5]}) == 1
    assert known.family_numbers[5] not in known.family_numbers[:5]


@pytest.mark.parametrize(
    ("names", "versions"),
    [
        (("bm25-s0", "ease", "bm25-s1", "slim", "bm25-s2"), ("bm25-s0", "bm25-s1")),
        (("als_seed1", "ease", "slim", "bpr", "als_seed12"), ("als_seed1", "als_seed12")),
        (("uwmt7a1", "uwmt7a2", "ok8alx", "brkly", "cor"), ("uwmt7a1", "uwmt7a2")),
        (("bm25", "ease", "slim", "als", "bpr"), ()),
        (("1", "2", "3", "4", "a"), ()),
    ],
)
def test_names_that_suggest_a_family_are_a_caution_if_every_system_is_alone(
    names: tuple[str, ...], versions: tuple[str, ...], rng: np.random.Generator
) -> None:
    """Unrelated scores put no two systems together; a name of each family answers the question."""
    names = (*names, "x", "y", "z")
    users = np.arange(400).astype(np.str_)
    values = rng.normal(size=(1, len(names), 400))
    scores = Scores(values, Measures([Measure("P")]), names, users)
    families = families_by_similarity(scores)
    assert families.n_families == len(names)
    assert families.versions == versions
    cautions = [caution for caution in families.cautions() if "`replicates`" in caution]
    assert len(cautions) == (versions != ())
    assert all(name in cautions[0] for name in versions)
    assert families_by_similarity(scores, {name: name for name in names}).versions == ()


def test_systems_that_are_all_numbered_alike_suggest_no_family(rng: np.random.Generator) -> None:
    names = tuple(f"run{number}" for number in range(8))
    users = np.arange(400).astype(np.str_)
    values = rng.normal(size=(1, len(names), 400))
    families = families_by_similarity(Scores(values, Measures([Measure("P")]), names, users))
    assert families.n_families == 8
    assert families.versions == ()


@pytest.mark.parametrize("n_same", [30, 31, 45])
def test_users_for_whom_systems_do_not_differ_are_a_caution(
    n_same: int, rng: np.random.Generator
) -> None:
    values = rng.normal(size=(1, 12, 60))
    values[:, :, :n_same] = 0
    names = tuple(f"s{number}" for number in range(12))
    scores = Scores(values, Measures([Measure("P")]), names, np.arange(60).astype(np.str_))
    found = families_by_similarity(scores, {name: name for name in names})
    assert found.share_of_ties == n_same / 60
    share = f"systems score the same for {n_same / 60:.0%}".replace("%", " %")
    assert [share in each for each in found.cautions()] == [True] * (n_same > 30)


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
            own = np.sqrt(0.6) * shared[:, families.family_numbers] + np.sqrt(0.4) * own
        true, measured = own[0], correlation * own[0] + np.sqrt(1 - correlation**2) * own[1]
        subsets = families.subsets(seed=draw)
        within = subset_taus(measured[None, None], true[None, None], subsets)[0, :, 0]
        tau = tau_b(measured, true)
        found = SubsetValues(families.n_families, within)
        held += abs(tau - truly) <= float(found.half_widths_over_both(np.zeros(())))
    assert held >= 88


@pytest.mark.parametrize(
    ("n_systems", "n_families", "n_drawn"), [(8, 8, 6), (8, 5, 4), (20, 10, 8)]
)
def test_three_quarters_of_the_families_are_drawn_two_hundred_times(
    n_systems: int, n_families: int, n_drawn: int
) -> None:
    """Of 5, 3.75 are 4; of 10, 7.5 are 8."""
    families = Families(np.arange(n_systems) % n_families)
    assert (families.n_families, families.n_systems) == (n_families, n_systems)
    subsets = families.subsets(seed=3)
    assert subsets.shape == (200, n_systems)
    assert {len({*families.family_numbers[some]}) for some in subsets} == {n_drawn}
    # Each family is drawn as often as the others.
    share = n_drawn / n_families
    error = np.sqrt(share * (1 - share) / 200)
    np.testing.assert_allclose(subsets.mean(axis=0), share, atol=4.5 * error)


def test_the_variance_over_systems_is_a_delete_d_jackknife() -> None:
    """Of 8 families, 6 are in a subset: 6 / 2 times the variance over subsets."""
    values = np.array([[1.0, 2.0, 4.0, 5.0], [1.0, np.nan, 3.0, np.nan]])
    found = SubsetValues(8, values)
    assert found.variances.tolist() == pytest.approx([3 * 2.5, 3 * 1.0])
    # Student's t of 7 degrees of freedom.
    assert found.half_widths_over_both(np.zeros(2)).tolist() == pytest.approx(
        [2.364624 * np.sqrt(7.5), 2.364624 * np.sqrt(3)]
    )


def test_the_interaction_is_what_is_left_without_the_means_of_rows_and_columns() -> None:
    """What is left is .5 or -.5 in each of four cells: 4 x .25 on 1 degree, times 3."""
    crossed = np.array([[0.0, 1.0], [4.0, 7.0]])
    found = SubsetValues(8, np.zeros(2), crossed)
    assert found.interaction_variances == pytest.approx(3 * 4 * 0.25)
    additive = SubsetValues(8, np.zeros(2), np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert additive.interaction_variances == pytest.approx(0)
    assert SubsetValues(8, np.zeros((3, 2))).interaction_variances.tolist() == [0, 0, 0]


def test_no_more_of_the_interaction_is_taken_off_than_the_variance_over_users() -> None:
    """Of variances 7.5 over systems, 3 are of the interaction."""
    values, crossed = np.array([1.0, 2.0, 4.0, 5.0]), np.array([[0.0, 1.0], [4.0, 7.0]])
    found = SubsetValues(8, values, crossed)
    assert found.added_variances(np.array(5.0)) == pytest.approx(4.5)
    assert found.added_variances(np.array(2.0)) == pytest.approx(5.5)
    # Over both: users on no end of degrees, systems on 7.
    expected = half_widths_from([(np.array(5.0), np.inf), (np.array(4.5), 7)])
    assert found.half_widths_over_both(np.array(5.0)) == pytest.approx(float(expected))


def test_several_sources_have_degrees_of_freedom_by_satterthwaite() -> None:
    """Variances 1 on 4 and 3 on 9 degrees: 16 / (1 / 4 + 9 / 9) = 12.8."""
    reach = half_widths_from([(np.array([1.0]), 4), (np.array([3.0]), 9)])
    assert reach == pytest.approx(2 * stats.t.ppf(0.975, 12.8))
    wide = half_widths_from([(np.array([1.0]), 4), (np.array([3.0]), 9)], level=0.99)
    assert wide == pytest.approx(2 * stats.t.ppf(0.995, 12.8))
    # A source without variance changes nothing, and without any variance nothing is reached.
    assert half_widths_from([(np.array([0.0]), 4), (np.array([3.0]), 9)]) == pytest.approx(
        np.sqrt(3) * stats.t.ppf(0.975, 9)
    )
    assert half_widths_from([(np.array([0.0]), 4)]) == 0


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
    within = SubsetValues(8, np.ones(3), np.full((2, 2), 2.0), np.full(4, 3.0))
    found = within.transformed(lambda numbers: 10 * numbers)
    assert found.values.tolist() == [10] * 3
    assert found.crossed is not None
    assert found.resampled is not None
    assert (found.crossed == 20).all()
    assert (found.resampled == 30).all()
    alone = SubsetValues(8, np.ones(3)).transformed(lambda numbers: 10 * numbers)
    assert (alone.crossed, alone.resampled) == (None, None)


def test_no_systems_are_no_families() -> None:
    assert Families(np.array([], dtype=np.intp)).n_families == 0


def test_subsets_that_are_shared_cannot_be_changed() -> None:
    subsets = unrelated(8).subsets(seed=1)
    assert subsets is unrelated(8).subsets(seed=1)
    with pytest.raises(ValueError, match="read-only"):
        subsets[0, 0] = True


def scores_of(values: np.ndarray) -> Scores:
    """Scores of systems a, b, ... by measures P, AP, ..."""
    n_measures, n_systems, n_users = values.shape
    names = tuple("abcdefghijkl"[:n_systems])
    measures = Measures([Measure(name) for name in ("P", "AP", "RR")[:n_measures]])
    return Scores(values, measures, names, np.arange(n_users).astype(np.str_))


def grouped(values: np.ndarray) -> list[list[int]]:
    """Group systems by average linkage, in plain loops, until none correlate by .3."""
    n_measures, n_systems, _ = values.shape
    rest = values - values.mean(axis=1, keepdims=True)
    likeness = np.zeros((n_systems, n_systems))
    for of_measure in rest:
        if np.ptp(of_measure) > 0:
            likeness += np.corrcoef(of_measure) / n_measures
    groups = [[system] for system in range(n_systems)]
    while len(groups) > 1:
        means = {
            (a, b): likeness[np.ix_(groups[a], groups[b])].mean()
            for b in range(len(groups))
            for a in range(b)
        }
        (a, b), largest = max(means.items(), key=lambda pair: pair[1])
        if largest < 0.3:
            break
        groups[a] = sorted(groups[a] + groups.pop(b))
    return sorted(groups)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_systems_are_joined_whose_deviations_correlate_by_a_third_or_so(
    scale: float, rng: np.random.Generator
) -> None:
    """By one of three measures, all systems score the same for all users."""
    for _ in range(5):
        shared = rng.normal(size=(3, 4, 30))[:, np.arange(9) % 4]
        values = scale * (shared + rng.uniform(0.5, 2.0) * rng.normal(size=(3, 9, 30)))
        values[2] = 1.0
        of = families_by_similarity(scores_of(values)).family_numbers
        found = [np.flatnonzero(of == family).tolist() for family in range(of.max() + 1)]
        assert sorted(found) == grouped(values)


def test_one_system_without_a_family_is_one_and_two_that_are_alike_are_one() -> None:
    values = np.random.default_rng(1).normal(size=(1, 8, 50))
    values[0, 1] = values[0, 0] + 0.01 * values[0, 1]
    names = "abcdefgh"
    alone = families_by_similarity(scores_of(values), {name: name for name in names[1:]})
    assert alone.n_families == 8
    assert alone.by_similarity
    two = families_by_similarity(scores_of(values), {name: name for name in names[2:]})
    assert two.n_families == 7
    assert two.family_numbers[0] == two.family_numbers[1]
    all_known = families_by_similarity(scores_of(values), dict.fromkeys(names, "one"))
    assert (all_known.n_families, all_known.by_similarity, all_known.share_of_ties) == (
        1,
        False,
        0.0,
    )


def test_the_interaction_of_many_measures_is_that_of_each() -> None:
    """Of a table of 3 resamples and 4 subsets, 2 x 3 degrees of freedom."""
    crossed = np.random.default_rng(2).normal(size=(2, 5, 3, 4))
    found = SubsetValues(8, np.zeros((2, 5, 6)), crossed).interaction_variances
    rest = crossed - crossed.mean(axis=-1, keepdims=True)
    rest = rest - rest.mean(axis=-2, keepdims=True)
    np.testing.assert_allclose(found, 3 * (rest**2).sum(axis=(-2, -1)) / 6)
    assert SubsetValues(8, np.zeros((2, 5, 6))).interaction_variances.shape == (2, 5)


def test_of_a_single_resample_or_family_nothing_is_divided_by_0() -> None:
    """Freedom and the number of families that are left out are 1 at least."""
    crossed = np.array([[0.0, 1.0, 5.0]])
    assert SubsetValues(8, np.zeros(3), crossed).interaction_variances == 0
    alone = SubsetValues(1, np.array([1.0, 3.0]))
    assert alone.variances == pytest.approx(1.0)


def test_of_differences_without_interaction_all_variances_are_left() -> None:
    """Of 8 families, 6 are in a subset: (8 x 7 / (6 x 5) - 1) x 3 = 2.6 times is too large."""
    values = np.array([[1.0, 2.0, 4.0, 5.0], [1.0, 1.0, 3.0, 3.0]])
    variances = np.array([7.5, 3.0])
    found = SubsetValues(8, values)
    users = np.array([100.0, 0.1])
    np.testing.assert_allclose(found.added_variances(users, are_differences=True), variances)
    nothing = SubsetValues(8, np.zeros((2, 4))).added_variances(users, are_differences=True)
    np.testing.assert_allclose(nothing, [0.0, 0.0])
    # One has an interaction of .6, of a total of 7.5: a share of .08 is taken off.
    crossed = np.stack([np.array([[0.0, 1.0], [4.0, 4.2]]), np.zeros((2, 2))])
    shared = SubsetValues(8, values, crossed)
    share = 3 * 4 * 0.2**2 / 7.5
    np.testing.assert_allclose(shared.interaction_variances, [3 * 4 * 0.2**2, 0])
    expected = [7.5 * (1 - share), 3.0]
    np.testing.assert_allclose(shared.added_variances(users, are_differences=True), expected)
    # No more is taken off than there is, and what is too large by 2.6 is left.
    all_shared = SubsetValues(8, values[:1], 100 * crossed[:1])
    left = all_shared.added_variances(np.array([0.5]), are_differences=True)
    np.testing.assert_allclose(left, [7.5 / 2.6 - 0.5])


def test_small_variances_reach_as_large_ones_do() -> None:
    for scale in (1e-6, 1.0):
        reach = half_widths_from([(np.array([scale, 0.0]), 4), (np.array([3 * scale, 0.0]), 9)])
        expected = 2 * np.sqrt(scale) * stats.t.ppf(0.975, 12.8)
        np.testing.assert_allclose(reach, [expected, 0])
