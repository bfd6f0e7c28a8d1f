import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from runs import Numbering

ALL = np.arange(4, dtype=np.int32)


@pytest.fixture
def small() -> Ratings:
    """Users u, v, w, x rated ab, abc, cd, d; nobody rated e."""
    user = np.array([0, 0, 1, 1, 1, 2, 2, 3], dtype=np.int32)
    item = np.array([0, 1, 0, 1, 2, 2, 3, 3], dtype=np.int32)
    users, items = Numbering.of(["u", "v", "w", "x"]), Numbering.of(["a", "b", "c", "d", "e"])
    return Ratings(users, items, user, item, np.full(len(user), 3.0))


def by_the_formula(ratings: Ratings, *, smoothing: float) -> NDArray[np.float64]:
    """Go through users, items and histories one by one."""
    rated = ratings.matrix().toarray() > 0
    together = rated.T.astype(float) @ rated
    share = rated.sum(axis=0) / rated.sum()
    scores = np.empty(rated.shape)
    for user, item in np.ndindex(rated.shape):
        others = np.delete(together[:, item], item).sum()
        scores[user, item] = np.log(share[item])
        for known in np.flatnonzero(rated[user]):
            likely = 0.0 if known == item or others == 0 else together[known, item] / others
            scores[user, item] += np.log1p((1 - smoothing) * likely / (smoothing * share[known]))
    return scores


def test_an_item_without_training_ratings_cannot_be_scored(small: Ratings) -> None:
    scores = recommenders.train("uir-item", {}, small, seed=1).score_batch(ALL)
    assert np.isnan(scores[:, 4]).all()
    assert np.isfinite(scores[:, :4]).all()


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.001, 0.3, 0.99])
def test_scores_follow_the_formula_pair_by_pair(ratings: Ratings, smoothing: float) -> None:
    few = ratings.select(ratings.user < 12)
    scorer = recommenders.train("uir-item", {"smoothing": smoothing}, few, seed=1)
    known = few.item_counts() > 0
    scores = scorer.score_batch(np.arange(12, dtype=np.int32))[:, known]
    with np.errstate(divide="ignore"):
        expected = by_the_formula(few, smoothing=smoothing)[:12, known]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
