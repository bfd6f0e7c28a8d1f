import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.graded_loss import Settings, graded_loss, keep_graded
from analyses.intervals.random_loss import RandomLoss
from qrels import Qrels
from tests.analyses.test_popularity import work_of

N = 40


def one_user() -> tuple[Qrels, NDArray[np.intp]]:
    """A user who judged items with 1, 2, 3, ... ratings."""
    qrels = Qrels(
        np.array([0, N]),
        np.arange(N, dtype=np.int32),
        np.ones(N, dtype=np.int32),
        relevance_level=1,
    )
    return qrels, np.arange(1, N + 1)


@pytest.mark.parametrize("level", [1.0, 0.5, 0.01])
def test_as_many_are_kept_as_the_level_says(level: float) -> None:
    qrels, counts = one_user()
    kept = keep_graded(qrels, counts, gamma=1.0, level=level, n_samples=5, seed=1)
    assert kept.sum(axis=0).tolist() == [max(1, round(level * N))] * 5


@pytest.mark.parametrize("gamma", [-1.0, 1.0])
def test_the_first_of_a_draw_has_the_chances_that_are_asked_for(gamma: float) -> None:
    qrels, counts = one_user()
    n_samples = 4000
    kept = keep_graded(qrels, counts, gamma=gamma, level=1 / N, n_samples=n_samples, seed=3)
    chances = counts**-gamma / (counts**-gamma).sum()
    error = np.sqrt(chances * (1 - chances) / n_samples)
    assert (np.abs(kept.mean(axis=1) - chances) < 4 * error).all()


def test_an_item_without_ratings_counts_as_one_with_one() -> None:
    qrels, _ = one_user()
    none, one = (
        keep_graded(qrels, counts, gamma=1.0, level=0.5, n_samples=20, seed=1)
        for counts in (np.arange(N) % 2, np.ones(N, dtype=np.intp))
    )
    np.testing.assert_array_equal(none, one)


def test_a_study_has_curves_that_begin_at_one() -> None:
    result = graded_loss(work_of(), Settings(samples=4, replicates=5))
    assert isinstance(result, RandomLoss)
    assert (result.taus[:, 0] == 1).all()
    assert "to the power of -1" in result.caption()
    assert set(result.frames()) == {
        "graded_loss",
        "graded_loss_areas",
        "graded_loss_area_differences",
    }
