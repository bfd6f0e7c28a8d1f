"""Effects, their intervals, equivalence and variance components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import ttest_ind

from analyses.shared.scores import RunDeviations
from analyses.significance.effects import (
    Components,
    Effects,
    effects,
    mean_limits,
    variance_components,
)
from analyses.significance.permutation import pair_indices
from tests.analyses.significance.references import Floats, pair_scores, some_scores


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng, n_users=40)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_those_of_scipy(level: float, scores: Floats) -> None:
    first, second = pair_indices(4)
    test = stats.ttest_rel(scores[:, first], scores[:, second], axis=2)
    expected, found = test.confidence_interval(level), effects(scores, level=level)
    np.testing.assert_allclose([found.lower, found.upper], expected, rtol=1e-9)


BOTH = np.array([True, True])


def of(differences: list[float]) -> Effects:
    return effects(pair_scores(differences))


def test_differences_are_those_of_the_means(scores: Floats) -> None:
    means = scores.mean(axis=2)
    first, second = np.triu_indices(4, k=1)
    np.testing.assert_allclose(effects(scores).differences, means[:, first] - means[:, second])


def test_relative_differences_are_shares_of_the_second_mean(scores: Floats) -> None:
    means = scores.mean(axis=2)
    first, second = np.triu_indices(4, k=1)
    expected = means[:, first] / means[:, second] - 1
    np.testing.assert_allclose(effects(scores).relative, expected, rtol=1e-9, atol=1e-12)


def test_the_standardised_effect_is_the_mean_over_the_standard_deviation(scores: Floats) -> None:
    first, second = np.triu_indices(4, k=1)
    differences = scores[:, first] - scores[:, second]
    expected = differences.mean(axis=2) / differences.std(axis=2, ddof=1)
    np.testing.assert_allclose(effects(scores).standardised, expected)


def test_shares_count_users() -> None:
    found = of([0.1 + 0.2 - 0.3, 0.5, 0.5, -0.5])
    shares = [found.better.item(), found.worse.item(), found.equal.item()]
    assert shares == [0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([0.0, 0.0], 0.0), ([0.3, 0.1 + 0.2], np.inf), ([-2.0, -2.0], -np.inf)],
)
def test_differences_without_spread_have_an_effect_too(
    differences: list[float], expected: float
) -> None:
    assert of(differences).standardised == expected


def test_runs_widen_intervals_as_welch_does() -> None:
    """Of users who differ by the same, what is left is Welch's t-test of the runs."""
    runs = [np.array([0.1, 0.4, 0.2, 0.5]), np.array([0.3, 0.2, 0.1])]
    scores = np.repeat([[[run.mean()] for run in runs]], 50, axis=2)
    apart = np.concatenate([run - run.mean() for run in runs])[None]
    found = effects(scores, runs=RunDeviations(apart, np.array([0, 0, 0, 0, 1, 1, 1]), BOTH))
    expected = ttest_ind(*runs, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose([found.lower.item(), found.upper.item()], expected)


@pytest.mark.parametrize("n_runs", [2, 5])
def test_intervals_hold_the_difference_over_users_and_runs(
    rng: np.random.Generator, n_runs: int
) -> None:
    n_users, trials, held = 60, 400, 0
    systems = np.repeat([0, 1], n_runs)
    for _ in range(trials):
        of_runs = rng.normal(0, 0.05, (2 * n_runs, 1))
        of_users = np.repeat(rng.normal(0, 0.15, (2, n_users)), n_runs, axis=0)
        values = of_runs + of_users + rng.normal(0, 0.1, (2 * n_runs, n_users))
        scores = np.stack([values[systems == system].mean(axis=0) for system in (0, 1)])[None]
        apart = values.mean(axis=1) - scores[0].mean(axis=1)[systems]
        found = effects(scores, runs=RunDeviations(apart[None], systems, BOTH))
        held += found.lower.item() <= 0 <= found.upper.item()
    assert 0.93 <= held / trials <= 0.995


# Brennan (2001, Generalizability Theory), synthetic data set no. 3: ten persons, twelve items.
BRENNAN = np.array(
    [
        [5, 6, 5, 5, 5, 3, 4, 5, 6, 7, 3, 3],
        [9, 3, 7, 7, 7, 5, 5, 5, 7, 7, 5, 2],
        [3, 4, 3, 3, 5, 3, 3, 5, 6, 5, 1, 6],
        [7, 5, 5, 3, 3, 1, 4, 3, 5, 3, 3, 5],
        [9, 2, 9, 7, 7, 7, 3, 7, 2, 7, 5, 3],
        [3, 4, 3, 5, 3, 3, 6, 3, 4, 5, 1, 2],
        [7, 3, 7, 7, 7, 5, 5, 7, 5, 5, 5, 4],
        [5, 8, 5, 7, 7, 5, 5, 4, 3, 2, 1, 1],
        [9, 9, 8, 8, 6, 6, 6, 5, 5, 8, 1, 1],
        [4, 4, 4, 3, 3, 5, 6, 5, 5, 7, 1, 1],
    ],
    dtype=np.float64,
)[None]


def test_components_are_those_of_brennans_table() -> None:
    found = variance_components(BRENNAN)
    parts = [found.systems, found.users, found.interaction]
    assert np.concatenate(parts).round(4).tolist() == [0.6258, 0.8840, 2.7872]


def test_coefficients_and_their_interval_are_those_of_brennan() -> None:
    found = variance_components(BRENNAN, level=0.8)
    values = [found.relative, found.relative_low, found.relative_high, found.absolute]
    assert np.concatenate(values).round(4).tolist() == [0.7293, 0.5410, 0.8764, 0.6716]


def test_users_for_a_reliability_are_those_that_reach_it() -> None:
    # As Urbano, Marrero & Martin (2013) compute them.
    assert [n.tolist() for n in variance_components(BRENNAN).required_users(0.95)] == [[85], [112]]


def test_systems_that_are_alike_are_never_told_apart_reliably(rng: np.random.Generator) -> None:
    found = variance_components(np.tile(rng.random(20), (1, 3, 1)))
    assert found.systems.tolist() == [0.0]
    noisy = variance_components(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    assert [n.tolist() for n in noisy.required_users(0.95)] == [[np.inf], [np.inf]]


def test_limits_of_means_are_those_of_students_t(rng: np.random.Generator) -> None:
    scores = rng.random((2, 3, 9))
    for level in (0.8, 0.95):
        low, high = mean_limits(scores, level=level)
        errors = stats.t.ppf((1 + level) / 2, 8) * scores.std(axis=2, ddof=1) / 3
        np.testing.assert_allclose(low, scores.mean(axis=2) - errors)
        np.testing.assert_allclose(high, scores.mean(axis=2) + errors)
    alone = mean_limits(scores[:, :, :1], level=0.95)
    assert np.isnan(alone).all()
    two, _ = mean_limits(scores[:, :, :2], level=0.95)
    assert np.isfinite(two).all()


def test_limits_of_means_are_over_runs_too() -> None:
    """Of users who score the same, what is left is Student's t of the four runs."""
    run = np.array([0.1, 0.4, 0.2, 0.5])
    scores = np.full((1, 1, 50), run.mean())
    runs = RunDeviations((run - run.mean())[None], np.zeros(4, dtype=int), np.array([True]))
    low, high = mean_limits(scores, level=0.95, runs=runs)
    expected = stats.ttest_1samp(run, 0.0).confidence_interval(0.95)
    assert [low.item(), high.item()] == pytest.approx([*map(float, expected)])


def test_shares_are_of_the_whole_variance() -> None:
    found = variance_components(BRENNAN)
    parts = np.array([0.6258, 0.8840, 2.7872])
    np.testing.assert_allclose(found.shares, [parts / parts.sum()], atol=1e-4)


def test_limits_of_reliability_are_of_95_percent_and_not_below_0() -> None:
    """Feldt: 1 - F (1 - reliability), with 9 and 99 degrees of freedom."""
    found = variance_components(BRENNAN)
    unreliability = 1 - found.relative
    for tail, limit in ((0.975, found.relative_low), (0.025, found.relative_high)):
        np.testing.assert_allclose(limit, 1 - stats.f.ppf(tail, 9, 99) * unreliability)
    noisy = variance_components(np.random.default_rng(1).random((1, 3, 4)))
    assert noisy.relative_low.tolist() == [0]


def test_one_user_is_enough_at_least() -> None:
    nothing = np.zeros(2)
    parts = Components(
        systems=np.array([1.0, 0.0]),
        users=np.array([0.5, 0.5]),
        interaction=np.array([1e-12, 0.2]),
        relative=nothing,
        relative_low=nothing,
        relative_high=nothing,
        absolute=nothing,
    )
    first, second = parts.required_users(0.5)
    assert first.tolist() == [1, np.inf]
    assert second.tolist() == [1, np.inf]
    # Of odds of 4, (0.5 + 1.5) / 1 takes 8 users exactly.
    whole = Components(*(np.array([n]) for n in (1.0, 0.5, 1.5)), *[nothing[:1]] * 4)
    assert [n.tolist() for n in whole.required_users(0.8)] == [[6], [8]]


def test_users_that_are_alike_have_no_variance(rng: np.random.Generator) -> None:
    """By system and user there are 3 and 20: sums of rounding errors are none."""
    by_system = variance_components(np.tile(rng.random((3, 1)), (1, 1, 20)))
    assert by_system.users.tolist() == [0.0]
    assert by_system.interaction.tolist() == [0.0]
    assert by_system.relative.tolist() == [1.0]
