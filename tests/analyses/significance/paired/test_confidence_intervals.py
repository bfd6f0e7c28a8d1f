import numpy as np
import pytest
from scipy import stats

from analyses.intervals.resampling import resampled_users
from analyses.significance.effects import bootstrap_intervals, t_intervals
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import Floats, pair_scores, some_scores


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng, n_users=40)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_t_intervals_are_those_of_scipy(level: float, scores: Floats) -> None:
    first, second = pair_indices(4)
    test = stats.ttest_rel(scores[:, first], scores[:, second], axis=2)
    expected = test.confidence_interval(level)
    np.testing.assert_allclose(t_intervals(scores, level=level), expected, rtol=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_bootstrap_intervals_are_percentiles_of_resampled_means(
    level: float, scores: Floats
) -> None:
    first, second = pair_indices(4)
    counts = resampled_users(0, 300, n_users=40, seed=5)
    means = (scores[:, first] - scores[:, second]) @ counts.T / 40
    expected = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=2)
    found = bootstrap_intervals(scores, level=level, replicates=300, seed=5)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_measures_done_apart_have_the_same_intervals(
    scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = bootstrap_intervals(scores, level=0.9, replicates=100, seed=5)
    monkeypatch.setattr("analyses.significance.effects.MOST_VALUES", 1)
    apart = bootstrap_intervals(scores, level=0.9, replicates=100, seed=5)
    np.testing.assert_array_equal(together, apart)


def test_a_single_user_has_no_t_interval() -> None:
    assert np.isnan(t_intervals(pair_scores([1.0]), level=0.95)).all()
