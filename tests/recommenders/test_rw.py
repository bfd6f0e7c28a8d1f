import numpy as np

import recommenders
from qrels import Ratings

FIRST = np.array([0], dtype=np.int32)


def test_scores_are_mean_ratings_of_the_neighbours(four_users: Ratings) -> None:
    """The neighbours of u1 are u2 (4, -, 2, -, -) and u3 (-, 4, -, 5, -)."""
    scorer = recommenders.train("rw", {"neighbours": 2}, four_users, seed=1)
    np.testing.assert_array_equal(scorer.score_batch(FIRST), [[2, 2, 1, 2.5, np.nan]])


def test_only_the_nearest_count(four_users: Ratings) -> None:
    scorer = recommenders.train("rw", {"neighbours": 1}, four_users, seed=1)
    np.testing.assert_array_equal(scorer.score_batch(FIRST), [[4, np.nan, 2, np.nan, np.nan]])


def test_a_user_without_neighbours_cannot_be_served(four_users: Ratings) -> None:
    scorer = recommenders.train("rw", {}, four_users, seed=1)
    assert np.isnan(scorer.score_batch(np.array([3], dtype=np.int32))).all()
