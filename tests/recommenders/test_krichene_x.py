import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import FactorScorer

SETTINGS = {"factors": 4, "regularization": 2.0, "background": 0.3}


@pytest.fixture
def scorer(ratings: Ratings) -> FactorScorer:
    trained = recommenders.train("krichene-x", SETTINGS, ratings, seed=1)
    assert isinstance(trained, FactorScorer)
    return trained


def test_the_last_half_sweep_minimises_the_loss_of_the_paper(
    scorer: FactorScorer, ratings: Ratings
) -> None:
    """Given the users, an item solves (sum over its users of v v' + 0.3 V'V + 2 I) x = sum of v."""
    of_users = scorer.user_factors.astype(float) / np.sqrt(1.3)
    background = 0.3 * of_users.T @ of_users + 2.0 * np.eye(4)
    for item, rated in enumerate(ratings.matrix().toarray().T > 0):
        raters = of_users[rated]
        solution = np.linalg.solve(raters.T @ raters + background, raters.sum(axis=0))
        found = scorer.item_factors[item] / np.sqrt(1.3)
        np.testing.assert_allclose(found, solution, atol=1e-4)
