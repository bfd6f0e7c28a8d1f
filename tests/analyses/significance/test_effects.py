import numpy as np
import pytest

from analyses.significance.effects import Effects, effects
from analyses.significance.paired.confidence_intervals import t_intervals
from runs import InputError
from tests.analyses.paired.references import Floats, pair_scores, some_scores


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


def test_a_level_out_of_range_is_refused(scores: Floats) -> None:
    with pytest.raises(InputError, match=r"`level` must lie between 0 and 1, got 95\."):
        effects(scores, level=95)
