import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import FactorScorer
from runs import Numbering

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


@pytest.mark.slow
def test_one_factor_by_hand() -> None:
    """Both users rated both items: with d = 1, all factors equal x, where the loss has slope 0.

    4 (x^2 - 1)^2 + 4 a x^4 + 4 l x^2 is least at x^2 = (1 - l / 2) / (1 + a): l = a = 0.5 give
    x^2 = 0.5, and scores are 1 + a times that.
    """
    both = np.array([0, 0, 1, 1], dtype=np.int32)
    items = np.array([0, 1, 0, 1], dtype=np.int32)
    rated = Ratings(Numbering.of("uv"), Numbering.of("ab"), both, items, np.full(4, 3.0))
    settings = {"factors": 1, "regularization": 0.5, "background": 0.5, "epochs": 200}
    scorer = recommenders.train("krichene-x", settings, rated, seed=1)
    scores = scorer.score_batch(np.array([0, 1], dtype=np.int32))
    np.testing.assert_allclose(scores, np.full((2, 2), 0.5 * 1.5), rtol=1e-4)
