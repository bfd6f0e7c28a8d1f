import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.als_knn import ALSKNNSettings, item_factors
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


def test_factors_solve_least_squares_with_confidence_that_grows_with_ratings(
    ratings: Ratings,
) -> None:
    """The weight of a rated pair is 1 + alpha r: equation 5 of Hu, Koren & Volinsky."""
    from lenskit.als import ImplicitMFScorer

    from recommenders.shared.lenskit_bridge import trained

    settings = ALSKNNSettings(factors=4, weight=0.5, regularization=3.0)
    factors = item_factors(ratings, settings, seed=1)
    model = trained(
        ImplicitMFScorer(
            embedding_size=4, weight=0.5, use_ratings=True, regularization=3.0, epochs=10
        ),
        ratings,
        seed=1,
    )
    assert model.user_embeddings is not None
    of_users = model.user_embeddings.astype(float)
    for item, given in enumerate(ratings.matrix().toarray().T):
        weighted = of_users.T * (1 + 0.5 * given)
        solution = np.linalg.solve(weighted @ of_users + 3.0 * np.eye(4), weighted @ (given > 0))
        np.testing.assert_allclose(factors[item], solution, atol=1e-4)


@pytest.mark.slow
def test_bm25_can_be_trained_on(ratings: Ratings) -> None:
    scorer = recommenders.train("als-knn", {"weighting": "bm25"}, ratings, seed=1)
    assert np.isfinite(scorer.score_batch(np.array([0], dtype=np.int32))).any()
