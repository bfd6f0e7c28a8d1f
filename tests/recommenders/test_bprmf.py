import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import Numbering

EVERYBODY = np.arange(90, dtype=np.int32)


@pytest.mark.slow
def test_rated_items_score_above_the_others(ratings: Ratings) -> None:
    """The area under the curve of the training ratings, user by user."""
    scores = recommenders.train("bprmf", {"epochs": 100}, ratings, seed=1).score_batch(EVERYBODY)
    rated = ratings.matrix().toarray() > 0
    above = [
        (row[own][:, np.newaxis] > row[~own]).mean() for row, own in zip(scores, rated, strict=True)
    ]
    assert np.mean(above) > 0.75


def test_a_user_who_rated_everything_can_be_trained_on() -> None:
    """There is no unrated item to draw for u."""
    users, items = Numbering.of(["u", "v"]), Numbering.of(["a", "b", "c"])
    user, item = np.array([[0, 0, 0, 1], [0, 1, 2, 1]], dtype=np.int32)
    full = Ratings(users, items, user, item, np.full(4, 4.0))
    scorer = recommenders.train("bprmf", {}, full, seed=1)
    scores = scorer.score_batch(np.arange(2, dtype=np.int32))
    assert np.isfinite(scores).all()
