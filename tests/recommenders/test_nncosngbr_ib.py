import numpy as np
import pytest
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.nncosngbr_ib import BaselineItemScorer

SECOND = np.array([1], dtype=np.int32)
# Between the columns (4, 4, -), (2, -, 2) and (-, 4, 2).
A_B, A_C, B_C = 0.5, 16 / np.sqrt(32 * 20), 4 / np.sqrt(8 * 20)
PLAIN = {"item_damping": 0.0, "user_damping": 0.0, "shrinkage": 0.0}


def test_scores_add_cosines_times_residuals_to_the_baselines(three_users: Ratings) -> None:
    """Off the baselines (4, 2, 3) u2 lies by 1/2 in all, and by (-1/2, -, 1/2) beyond."""
    scorer = recommenders.train("nncosngbr-ib", PLAIN, three_users, seed=1)
    expected = [4.5 + A_C / 2, 2.5 + (B_C - A_B) / 2, 3.5 - A_C / 2]
    np.testing.assert_allclose(scorer.score_batch(SECOND)[0], expected, rtol=1e-6)


def test_shrinkage_trusts_few_common_users_less(three_users: Ratings) -> None:
    settings = {**PLAIN, "shrinkage": 3.0}
    scorer = recommenders.train("nncosngbr-ib", settings, three_users, seed=1)
    expected = [4.5 + A_C / 8, 2.5 + (B_C - A_B) / 8, 3.5 - A_C / 8]
    np.testing.assert_allclose(scorer.score_batch(SECOND)[0], expected, rtol=1e-6)


def test_a_denominator_averages_the_residuals(three_users: Ratings) -> None:
    settings = {**PLAIN, "denominator": True}
    scorer = recommenders.train("nncosngbr-ib", settings, three_users, seed=1)
    expected = [5.0, 2.5 + (B_C - A_B) / 2 / (B_C + A_B), 3.0]
    np.testing.assert_allclose(scorer.score_batch(SECOND)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("neighbours", "linked"), [(1, 0.0), (2, B_C)])
def test_an_item_takes_from_its_nearest_alone(
    neighbours: int, linked: float, three_users: Ratings
) -> None:
    """The one item nearest to b is a, so c says nothing of b."""
    settings = {**PLAIN, "neighbours": neighbours}
    scorer = recommenders.train("nncosngbr-ib", settings, three_users, seed=1)
    score = scorer.score_batch(SECOND)[0, 1]
    np.testing.assert_allclose(score, 2.5 + (linked - A_B) / 2, rtol=1e-6)


def test_a_strangers_baseline_comes_from_the_history(three_users: Ratings) -> None:
    """Who rates a with 5 is 1 above what is expected, and 0 beyond that."""
    scorer = recommenders.train("nncosngbr-ib", PLAIN, three_users, seed=1)
    assert isinstance(scorer, BaselineItemScorer)
    stranger = csr_array(np.array([[5.0, 0.0, 0.0]]))
    np.testing.assert_allclose(scorer.score_histories(stranger), [[5, 3, 4]], rtol=1e-6)
