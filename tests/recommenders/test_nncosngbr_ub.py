import numpy as np
import pytest

import recommenders
from qrels import Ratings

FIRST = np.array([0], dtype=np.int32)
# Between (4, 2, -), (4, -, 4) and (-, 2, 2), lengths being the roots of 20, 32 and 8.
TO_SECOND, TO_THIRD = 16 / np.sqrt(20 * 32), 4 / np.sqrt(20 * 8)


def test_scores_add_cosines_times_residuals_to_the_baselines(three_users: Ratings) -> None:
    """Off the baselines u2 lies by (-1/2, -, 1/2), u3 by (-, 1/2, -1/2)."""
    settings = {"item_damping": 0.0, "user_damping": 0.0, "shrinkage": 0.0}
    scorer = recommenders.train("nncosngbr-ub", settings, three_users, seed=1)
    expected = [4 - TO_SECOND / 2, 2 + TO_THIRD / 2, 3 + (TO_SECOND - TO_THIRD) / 2]
    np.testing.assert_allclose(scorer.score_batch(FIRST)[0], expected, rtol=1e-6)


def test_shrinkage_trusts_few_common_items_less(three_users: Ratings) -> None:
    """Any two users have 1 item in common: at a shrinkage of 3, cosines count a quarter."""
    settings = {"item_damping": 0.0, "user_damping": 0.0, "shrinkage": 3.0}
    scorer = recommenders.train("nncosngbr-ub", settings, three_users, seed=1)
    expected = [4 - TO_SECOND / 8, 2 + TO_THIRD / 8, 3 + (TO_SECOND - TO_THIRD) / 8]
    np.testing.assert_allclose(scorer.score_batch(FIRST)[0], expected, rtol=1e-6)


def test_a_denominator_averages_the_residuals(three_users: Ratings) -> None:
    settings = {"item_damping": 0.0, "user_damping": 0.0, "denominator": True}
    scorer = recommenders.train("nncosngbr-ub", settings, three_users, seed=1)
    mean = (TO_SECOND - TO_THIRD) / 2 / (TO_SECOND + TO_THIRD)
    np.testing.assert_allclose(scorer.score_batch(FIRST)[0], [3.5, 2.5, 3 + mean], rtol=1e-6)


def test_damping_draws_baselines_to_the_mean(three_users: Ratings) -> None:
    """With 2 ratings each, items lie half as far off the mean of 3, users a quarter as far."""
    settings = {"item_damping": 2.0, "user_damping": 6.0, "neighbours": 1}
    scorer = recommenders.train("nncosngbr-ub", settings, three_users, seed=1)
    baselines = scorer.finish.keywords["baselines"]  # type: ignore[attr-defined]
    np.testing.assert_allclose(baselines.of_items, [3.5, 2.5, 3])
    np.testing.assert_allclose(baselines.of_users(three_users.matrix()), [0, 1.5 / 8, -1.5 / 8])


@pytest.mark.parametrize("name", ["nncosngbr-ub", "nncosngbr-ib"])
def test_without_neighbours_the_baselines_stand_alone(name: str, four_users: Ratings) -> None:
    settings = {"item_damping": 0.0, "user_damping": 0.0}
    scorer = recommenders.train(name, settings, four_users, seed=1)
    scores = scorer.score_batch(np.array([3], dtype=np.int32))
    np.testing.assert_allclose(scores, [[4.5, 3.5, 2, 5, 1]], rtol=1e-6)
