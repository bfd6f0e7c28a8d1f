import numpy as np

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import FactorScorer


def test_item_factors_solve_the_weighted_least_squares_of_the_paper(ratings: Ratings) -> None:
    """The last half sweep solves the items, given the users."""
    settings = {"factors": 5, "weight": 4.0, "regularization": 3.0}
    scorer = recommenders.train("wrmf", settings, ratings, seed=1)
    assert isinstance(scorer, FactorScorer)
    of_users = scorer.user_factors.astype(float)
    for item, rated in enumerate(ratings.matrix().toarray().T > 0):
        weighted = of_users.T * np.where(rated, 1 + 4.0, 1.0)
        solution = np.linalg.solve(weighted @ of_users + 3.0 * np.eye(5), weighted @ rated)
        np.testing.assert_allclose(scorer.item_factors[item], solution, atol=1e-4)
