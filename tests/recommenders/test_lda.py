import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import Numbering


def two_clubs(*, members: int, items: int) -> Ratings:
    """Every member of a club rated all its items but one, and none of the other club's."""
    club = np.kron(np.eye(2, dtype=bool), np.ones((members, items), dtype=bool))
    club[np.arange(2 * members), np.arange(2 * members) % (2 * items)] = False
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(club))
    users, names = (Numbering.of(f"{k:03}" for k in range(n)) for n in club.shape)
    return Ratings(users, names, user, item, np.full(len(user), 4.0))


@pytest.mark.slow
def test_a_topic_is_what_goes_together() -> None:
    clubs = two_clubs(members=30, items=12)
    scorer = recommenders.train("lda", {"topics": 2, "passes": 20}, clubs, seed=1)
    scores = scorer.score_batch(np.arange(60, dtype=np.int32)).reshape(2, 30, 2, 12)
    for club in (0, 1):
        assert scores[club, :, club].min() > 2 * scores[club, :, 1 - club].max()


@pytest.mark.slow
def test_scores_are_the_probabilities_of_items(ratings: Ratings) -> None:
    scorer = recommenders.train("lda", {}, ratings, seed=1)
    scores = scorer.score_batch(np.arange(len(ratings.users), dtype=np.int32))
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    assert (scores > 0).all()
