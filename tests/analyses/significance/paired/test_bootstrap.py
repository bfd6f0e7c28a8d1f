import numpy as np
import pytest

from analyses.intervals.resampling import resampled_users
from analyses.significance.paired_tests import sakai_test, t_test
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import Floats, pair_scores, some_scores

B, SEED = 400, 11


@pytest.fixture
def scores(rng: np.random.Generator) -> Floats:
    return some_scores(rng, n_users=25)


def replicates_of(differences: Floats) -> Floats:
    """Absolute t of every centred sample, with plain repetition of users."""
    centred = differences - differences.mean()
    counts = resampled_users(0, B, n_users=len(differences), seed=SEED).astype(int)
    samples = [np.repeat(centred, count) for count in counts]
    means = np.array([sample.mean() for sample in samples])
    deviations = np.array([sample.std(ddof=1) for sample in samples])
    return np.asarray(np.abs(means / deviations) * np.sqrt(len(differences)))


@pytest.mark.slow
def test_it_counts_what_a_plain_loop_counts(scores: Floats) -> None:
    first, second = pair_indices(4)
    differences = (scores[:, first] - scores[:, second]).reshape(-1, scores.shape[2])
    expected = []
    for row in differences:
        observed = abs(row.mean()) / row.std(ddof=1) * np.sqrt(len(row))
        expected.append((1 + (replicates_of(row) >= observed).sum()) / (B + 1))
    p = sakai_test(scores, replicates=B, seed=SEED)
    np.testing.assert_array_equal(p.ravel(), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block", [1, 33, 512])
def test_neither_blocks_nor_jobs_change_a_bit(
    n_jobs: int, block: int, scores: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sakai_test(scores, replicates=B, seed=SEED)
    monkeypatch.setattr("analyses.significance.paired_tests.MOST_VALUES", 1)
    found = sakai_test(scores, replicates=B, seed=SEED, n_jobs=n_jobs, block=block)
    np.testing.assert_array_equal(found, expected)


def test_a_measure_alone_is_tested_as_among_others(scores: Floats) -> None:
    together = sakai_test(scores, replicates=B, seed=SEED)
    np.testing.assert_array_equal(together[1:], sakai_test(scores[1:], replicates=B, seed=SEED))


def test_it_comes_near_the_t_test_for_many_users(rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=2000) - 0.045 * np.arange(4)[:, np.newaxis]
    p = sakai_test(scores, replicates=2000, seed=0)
    np.testing.assert_allclose(p, t_test(scores), atol=0.05)


def test_equal_means_have_a_p_value_of_one() -> None:
    assert sakai_test(pair_scores([1 / 3, 1 / 3, -2 / 3]), replicates=99, seed=0) == 1.0


@pytest.mark.parametrize("differences", [[0.3] * 5, [0.3, 0.1 + 0.2, 0.6 / 2]])
def test_a_constant_difference_has_the_smallest_p_value(differences: list[float]) -> None:
    assert sakai_test(pair_scores(differences), replicates=99, seed=0) == 0.01


def test_thirds_that_differ_by_a_third_differ_by_a_constant() -> None:
    """On the grid these differences are not quite equal."""
    scores = np.array([[[1 / 3, 2 / 3, 1.0], [0.0, 1 / 3, 2 / 3]]])
    assert sakai_test(scores, replicates=99, seed=0) == 0.01


def test_the_seed_matters(scores: Floats) -> None:
    one, other = (sakai_test(scores, replicates=B, seed=seed) for seed in (1, 2))
    assert (one != other).any()
