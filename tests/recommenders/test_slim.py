import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer
from runs import Numbering

CONVERGED = {"l1_regularization": 2.0, "l2_regularization": 20.0, "iterations": 500}


def weights_of(ratings: Ratings, settings: dict[str, float]) -> np.ndarray:
    scorer = recommenders.train("slim", settings, ratings, seed=1)
    assert isinstance(scorer, LinearItemScorer)
    assert not isinstance(scorer.weights, np.ndarray)
    return scorer.weights.toarray()


def test_weights_solve_the_elastic_net_of_the_paper(ratings: Ratings) -> None:
    """Karush, Kuhn, Tucker: no slope at a weight above 0, none upwards at a weight of 0.

    Within what LensKit calls converged: slopes begin at up to 14.
    """
    weights = weights_of(ratings, CONVERGED | {"neighbours": 0})
    rated = (ratings.matrix().toarray() > 0).astype(float)
    slopes = rated.T @ (rated - rated @ weights) - 20.0 * weights - 2.0
    np.fill_diagonal(slopes, -1.0)
    assert (weights >= 0).all()
    assert (np.diag(weights) == 0).all()
    assert np.count_nonzero(weights) > 100
    np.testing.assert_allclose(slopes[weights > 0], 0, atol=0.1)
    assert slopes[weights == 0].max() < 0.1


@pytest.mark.parametrize("neighbours", [1, 4])
def test_an_item_is_predicted_by_so_many_neighbours(ratings: Ratings, neighbours: int) -> None:
    weights = weights_of(ratings, CONVERGED | {"neighbours": neighbours})
    assert (weights > 0).sum(axis=0).max() == neighbours


def test_an_item_that_nothing_links_to_the_user_scores_zero() -> None:
    """As in LensKit: a and b are rated by u and v, c by w alone."""
    users, items = Numbering.of(["u", "v", "w"]), Numbering.of(["a", "b", "c"])
    user, item = np.array([[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]], dtype=np.int32)
    apart = Ratings(users, items, user, item, np.full(5, 4.0))
    settings = {"l1_regularization": 0.5, "l2_regularization": 1.0}
    scorer = recommenders.train("slim", settings, apart, seed=1)
    scores = scorer.score_batch(np.arange(3, dtype=np.int32))
    # By hand: 2 users rated both, and with weight w the slope is 2 - 2 w - w - 1/2.
    expected = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(scores, expected, atol=1e-4)
