from dataclasses import replace

import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import InputError


def test_scores_are_rocchios_weights_times_probabilities(four_users: Ratings) -> None:
    """The neighbours' sums are (4, 4, 2, 5, -), 15 in all."""
    scorer = recommenders.train("rsv", {"neighbours": 2}, four_users, seed=1)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))
    expected = [[2 * 4 / 15, 2 * 4 / 15, 1 * 2 / 15, 2.5 * 5 / 15, np.nan]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_lists_are_those_of_rw(ratings: Ratings) -> None:
    users = np.arange(len(ratings.users), dtype=np.int32)
    rsv, rw = (
        recommenders.recommend(
            recommenders.train(name, {"neighbours": 15}, ratings, seed=1),
            ratings,
            users,
            system=name,
            depth=50,
        )
        for name in ("rsv", "rw")
    )
    np.testing.assert_array_equal(rsv.items, rw.items)


@pytest.mark.parametrize("name", ["rsv", "kld", "chi2"])
def test_negative_ratings_are_no_counts(name: str, four_users: Ratings) -> None:
    negative = replace(four_users, rating=four_users.rating - 3.5)
    with pytest.raises(InputError, match=rf"'{name}' cannot be trained: .* at least 0, got -2\.5"):
        recommenders.train(name, {}, negative, seed=1)


@pytest.mark.parametrize("name", ["rsv", "kld", "chi2"])
def test_ratings_that_are_all_zero_have_no_probabilities(name: str, four_users: Ratings) -> None:
    zero = replace(four_users, rating=np.zeros(len(four_users)))
    with pytest.raises(InputError, match=f"'{name}' cannot be trained: every training rating is"):
        recommenders.train(name, {}, zero, seed=1)


@pytest.mark.parametrize("name", ["rsv", "kld", "chi2"])
def test_an_item_rated_with_zero_counts_as_unrated(name: str, four_users: Ratings) -> None:
    zero = replace(four_users, rating=np.where(four_users.item == 2, 0.0, four_users.rating))
    scores = recommenders.train(name, {}, zero, seed=1).score_batch(np.array([0], dtype=np.int32))
    assert np.isnan(scores).tolist() == [[False, False, True, False, True]]
