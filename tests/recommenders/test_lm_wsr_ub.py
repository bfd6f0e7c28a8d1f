import numpy as np
import pytest

import recommenders
from qrels import Ratings

# Half of what u2 (a 4, c 2) and u3 (b 4, d 5) rated, half of all, for a (9 of 24) and b (7 of 24).
BY_SECOND = ((4 / 6 + 9 / 24) / 2) ** 5 * (7 / 48) ** 3
BY_THIRD = (9 / 48) ** 5 * ((4 / 9 + 7 / 24) / 2) ** 3
BY_NOBODY = (9 / 48) ** 5 * (7 / 48) ** 3


@pytest.mark.parametrize(
    ("weights", "second", "third"),
    [
        ("likelihood", 1.0, (BY_THIRD / BY_SECOND) ** (1 / 8)),
        ("gain", np.log(BY_SECOND / BY_NOBODY) / 8, np.log(BY_THIRD / BY_NOBODY) / 8),
        ("uniform", 1.0, 1.0),
    ],
)
def test_scores_weigh_the_ratings_of_the_likeliest_users(
    weights: str, second: float, third: float, four_users: Ratings
) -> None:
    """User u1 rated a with 5, b with 3."""
    settings = {"background_weight": 0.5, "weights": weights}
    scorer = recommenders.train("lm-wsr-ub", settings, four_users, seed=1)
    scores = np.nan_to_num(scorer.score_batch(np.array([0], dtype=np.int32))[0])
    expected = [second * 4, third * 4, second * 2, third * 5, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
