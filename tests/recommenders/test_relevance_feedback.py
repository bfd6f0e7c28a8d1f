"""RW, RSV, KLD and CHI2, by hand."""

from dataclasses import replace

import numpy as np
import pytest

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


def test_scores_are_rocchios_weights_times_probabilities(four_users: Ratings) -> None:
    """The neighbours' sums are (4, 4, 2, 5, -), 15 in all."""
    scorer = recommenders.train("rsv", {"neighbours": 2}, four_users, seed=1)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))
    expected = [[2 * 4 / 15, 2 * 4 / 15, 1 * 2 / 15, 2.5 * 5 / 15, np.nan]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_lists_are_those_of_rw(ratings: Ratings) -> None:
    users = np.arange(len(ratings.users), dtype=np.int32)
    scorers = [recommenders.train(n, {"neighbours": 15}, ratings, seed=1) for n in ("rsv", "rw")]
    rsv, rw = (recommenders.recommend(s, ratings, users, system="s", depth=50) for s in scorers)
    np.testing.assert_array_equal(rsv.items, rw.items)


@pytest.mark.parametrize("name", ["rsv", "kld", "chi2"])
def test_an_item_rated_with_zero_counts_as_unrated(name: str, four_users: Ratings) -> None:
    zero = replace(four_users, rating=np.where(four_users.item == 2, 0.0, four_users.rating))
    scores = recommenders.train(name, {}, zero, seed=1).score_batch(np.array([0], dtype=np.int32))
    assert np.isnan(scores).tolist() == [[False, False, True, False, True]]


# Of u1's neighbours' 15 stars 4, 4, 2, 5 go to a, b, c, d; of all 24 stars 9, 7, 2, 5. Length
# normalisation divides by 2 neighbours and by 4 users.
NEAR = np.array([4, 4, 2, 5]) / 15 / 2
IN_ALL = np.array([9, 7, 2, 5]) / 24 / 4


@pytest.mark.parametrize(
    ("name", "weights"),
    [("kld", NEAR * np.log(NEAR / IN_ALL)), ("chi2", (NEAR - IN_ALL) ** 2 / IN_ALL)],
)
def test_items_are_weighed_by_their_probabilities_near_and_in_all(
    name: str, weights: np.ndarray, four_users: Ratings
) -> None:
    scores = recommenders.train(name, {"neighbours": 2}, four_users, seed=1).score_batch(FIRST)
    np.testing.assert_allclose(scores[0, :4], weights, rtol=1e-6)
    assert np.isnan(scores[0, 4])
