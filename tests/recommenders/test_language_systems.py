"""LM-WSR, RM1 and RM2, by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer


def test_scores_weigh_the_ratings_of_the_likeliest_items(four_users: Ratings) -> None:
    """Of b (u1 3, u3 4), the items a (u1 5, u2 4) and d (u3 5) are neighbours."""
    scorer = recommenders.train("lm-wsr-ib", {"background_weight": 0.5}, four_users, seed=1)
    assert isinstance(scorer, LinearItemScorer)
    by_a = ((5 / 9 + 8 / 24) / 2) ** 3 * (9 / 48) ** 4
    by_d = (8 / 48) ** 3 * ((5 / 5 + 9 / 24) / 2) ** 4
    history = csr_array(np.array([[1.0, 0.0, 0.0, 3.0, 0.0]]))
    score = scorer.score_histories(history)[0, 1]
    np.testing.assert_allclose(score, (by_a / by_d) ** (1 / 7) * 1 + 3, rtol=1e-6)


# Half of what u2 (a 4, c 2) and u3 (b 4, d 5) rated, half of all, for a (9 of 24) and b (7 of 24).
BY_SECOND = ((4 / 6 + 9 / 24) / 2) ** 5 * (7 / 48) ** 3
BY_THIRD = (9 / 48) ** 5 * ((4 / 9 + 7 / 24) / 2) ** 3


def test_scores_weigh_the_ratings_of_the_likeliest_users(four_users: Ratings) -> None:
    """User u1 rated a with 5, b with 3."""
    scorer = recommenders.train("lm-wsr-ub", {"background_weight": 0.5}, four_users, seed=1)
    scores = np.nan_to_num(scorer.score_batch(np.array([0], dtype=np.int32))[0])
    second, third = 1.0, (BY_THIRD / BY_SECOND) ** (1 / 8)
    expected = [second * 4, third * 4, second * 2, third * 5, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


ALL_STARS = np.array([9, 7, 2, 5, 1]) / 24
SECOND = (np.array([4, 0, 2, 0, 0]) / 6 + ALL_STARS) / 2
THIRD = (np.array([0, 4, 0, 5, 0]) / 9 + ALL_STARS) / 2


def test_scores_mix_the_models_of_the_neighbours(four_users: Ratings) -> None:
    """User u1 rated a and b; u2 and u3 weigh as much as they explain both."""
    scorer = recommenders.train("rm1", {"background_weight": 0.5}, four_users, seed=1)
    second, third = SECOND[0] * SECOND[1], THIRD[0] * THIRD[1]
    expected = (second * SECOND + third * THIRD) / (second + third)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))
    np.testing.assert_allclose(scores[0], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["rm1", "rm2"])
def test_a_user_without_neighbours_cannot_be_served(name: str, four_users: Ratings) -> None:
    scorer = recommenders.train(name, {}, four_users, seed=1)
    assert np.isnan(scorer.score_batch(np.array([3], dtype=np.int32))).all()


@pytest.mark.parametrize("name", ["rm1", "rm2"])
def test_items_without_ratings_cannot_be_scored(name: str, four_users: Ratings) -> None:
    fewer = four_users.select(four_users.item != 3)
    scores = recommenders.train(name, {}, fewer, seed=1).score_batch(np.array([0], dtype=np.int32))
    assert np.isnan(scores).tolist() == [[False, False, False, True, False]]


def test_scores_multiply_the_chances_of_meeting_the_users_items(four_users: Ratings) -> None:
    """User u1 rated a and b; the neighbours are u2 and u3; the best item of c, d, e scores 0."""
    scorer = recommenders.train("rm2", {"background_weight": 0.5}, four_users, seed=1)
    with_a = SECOND * SECOND[0] + THIRD * THIRD[0]
    with_b = SECOND * SECOND[1] + THIRD * THIRD[1]
    expected = np.log(with_a * with_b)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))[0]
    np.testing.assert_allclose(scores, expected - expected[2:].max(), atol=1e-5)
