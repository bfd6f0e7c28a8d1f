import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.kernels.embeddings import cosine_neighbours
from recommenders.shared.scorers import LinearItemScorer
from tests.recommenders.test_krichene import four_users

DIRECTIONS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, -0.6], [0.0, 0.0]])


def test_scores_sum_the_cosines_of_nearest_neighbours() -> None:
    """Cosines: ab .6, ac 0, ad .8, bc .8, bd 0, cd -.6; with K = 1 a and d are mutual, b and c.

    So u, who rated a and b, gets a, b of neither and d .8, c .8; x, who rated d, gets a .8.
    """
    scorer = LinearItemScorer(four_users(), cosine_neighbours(DIRECTIONS, count=1))
    scores = scorer.score_batch(np.array([0, 3], dtype=np.int32))
    nan = np.nan
    expected = [[nan, nan, 0.8, 0.8, nan], [0.8, nan, nan, nan, nan]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


@pytest.mark.slow
def test_bm25_can_be_trained_on(ratings: Ratings) -> None:
    scorer = recommenders.train("als-knn", {"weighting": "bm25"}, ratings, seed=1)
    assert np.isfinite(scorer.score_batch(np.array([0], dtype=np.int32))).any()
