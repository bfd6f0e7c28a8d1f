import numpy as np
import pytest

import recommenders
from qrels import Ratings

ALL_STARS = np.array([9, 7, 2, 5, 1]) / 24
SECOND = (np.array([4, 0, 2, 0, 0]) / 6 + ALL_STARS) / 2
THIRD = (np.array([0, 4, 0, 5, 0]) / 9 + ALL_STARS) / 2


@pytest.mark.parametrize(("prior", "of_second", "of_third"), [("uniform", 1, 1), ("linear", 6, 9)])
def test_scores_mix_the_models_of_the_neighbours(
    prior: str, of_second: float, of_third: float, four_users: Ratings
) -> None:
    """User u1 rated a and b; u2 and u3 weigh as much as they explain both."""
    settings = {"background_weight": 0.5, "user_prior": prior}
    scorer = recommenders.train("rm1", settings, four_users, seed=1)
    second, third = of_second * SECOND[0] * SECOND[1], of_third * THIRD[0] * THIRD[1]
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
