from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer
from runs import InputError


def test_scores_weigh_the_ratings_of_the_likeliest_items(four_users: Ratings) -> None:
    """Of b (u1 3, u3 4), the items a (u1 5, u2 4) and d (u3 5) are neighbours."""
    scorer = recommenders.train("lm-wsr-ib", {"background_weight": 0.5}, four_users, seed=1)
    assert isinstance(scorer, LinearItemScorer)
    by_a = ((5 / 9 + 8 / 24) / 2) ** 3 * (9 / 48) ** 4
    by_d = (8 / 48) ** 3 * ((5 / 5 + 9 / 24) / 2) ** 4
    history = csr_array(np.array([[1.0, 0.0, 0.0, 3.0, 0.0]]))
    score = scorer.score_histories(history)[0, 1]
    np.testing.assert_allclose(score, (by_a / by_d) ** (1 / 7) * 1 + 3, rtol=1e-6)


def test_an_item_scores_where_the_user_rated_one_near_it(four_users: Ratings) -> None:
    """User u1 rated a and b, which are near b and c, and a and d."""
    scorer = recommenders.train("lm-wsr-ib", {}, four_users, seed=1)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))
    assert np.isnan(scores).tolist() == [[False, False, False, False, True]]


@pytest.mark.parametrize("name", ["lm-wsr-ub", "lm-wsr-ib", "rm1", "rm2"])
def test_negative_ratings_are_no_counts(name: str, four_users: Ratings) -> None:
    negative = replace(four_users, rating=-four_users.rating)
    with pytest.raises(InputError, match=rf"'{name}' cannot be trained: .* at least 0, got -5\.0"):
        recommenders.train(name, {}, negative, seed=1)
