import numpy as np
import pytest
from scipy.stats import ttest_ind

from analyses.shared.measure import RunDeviations
from analyses.significance.effects import Effects, effects, t_intervals
from runs import InputError
from tests.analyses.paired.references import Floats, pair_scores, some_scores

BOTH = np.array([True, True])


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng, n_users=40)


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


def test_nothing_is_a_share_of_a_mean_of_zero() -> None:
    assert np.isnan(of([1.0, 2.0]).relative)


def test_a_negative_baseline_keeps_the_direction() -> None:
    assert effects(np.array([[[-1.0, -1.0], [-2.0, -2.0]]])).relative == 0.5


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([0.0, 0.0], 0.0), ([0.3, 0.1 + 0.2], np.inf), ([-2.0, -2.0], -np.inf)],
)
def test_differences_without_spread_have_an_effect_too(
    differences: list[float], expected: float
) -> None:
    assert of(differences).standardised == expected


def test_a_single_user_has_a_difference_but_no_spread() -> None:
    found = of([2.0])
    assert found.differences == 2.0
    assert np.isnan([found.standardised, found.lower, found.upper]).all()


def test_intervals_are_those_of_t(scores: Floats) -> None:
    found = effects(scores, level=0.9)
    np.testing.assert_array_equal([found.lower, found.upper], t_intervals(scores, level=0.9))


def test_single_runs_leave_the_intervals_as_they_are(scores: Floats) -> None:
    none = RunDeviations(
        np.zeros(scores.shape[:2]), np.arange(scores.shape[1]), np.array([True] * 4)
    )
    found, plain = effects(scores, runs=none), effects(scores)
    np.testing.assert_allclose(found.lower, plain.lower, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.upper, plain.upper, rtol=1e-12, atol=1e-15)


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


def test_a_level_out_of_range_is_refused(scores: Floats) -> None:
    with pytest.raises(InputError, match=r"`level` must lie between 0 and 1, got 95\."):
        effects(scores, level=95)
