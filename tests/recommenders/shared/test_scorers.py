import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer, LinearItemScorer, dense_if_crowded
from runs import Numbering

BOTH = np.array([0, 1], dtype=np.int32)


@pytest.fixture
def ratings() -> Ratings:
    """User u rated a with 4 and b with 2; user v rated nothing."""
    return Ratings(
        Numbering.of(["u", "v"]),
        Numbering.of(["a", "b", "c"]),
        np.array([0, 0], dtype=np.int32),
        np.array([0, 1], dtype=np.int32),
        np.array([4.0, 2.0]),
    )


WEIGHTS = np.array([[0, 1, 2], [3, 0, 5], [6, 7, 0]], dtype=np.float32)


def test_linear_scores_may_weigh_by_rating(ratings: Ratings) -> None:
    scores = LinearItemScorer(ratings, WEIGHTS, by_rating=True).score_batch(BOTH)
    np.testing.assert_array_equal(scores[0], [2 * 3, 4 * 1, 4 * 2 + 2 * 5])


def test_factor_scores_add_the_offsets(ratings: Ratings) -> None:
    scorer = FactorScorer(
        ratings,
        user_factors=np.array([[1.0, 2.0], [3.0, 4.0]]),
        item_factors=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        user_offsets=np.array([10.0, 20.0]),
        item_offsets=np.array([0.1, 0.2, 0.3]),
    )
    expected = np.array([[11.1, 12.2, 13.3], [np.nan] * 3], dtype=np.float32)
    np.testing.assert_array_equal(scorer.score_batch(BOTH), expected)


def test_sparse_weights_score_the_offset_where_nothing_links(ratings: Ratings) -> None:
    weights = csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [6, 7, 0]]))
    offsets = np.array([10.0, 20.0, np.nan])
    scorer = LinearItemScorer(ratings, weights, item_offsets=offsets)
    np.testing.assert_array_equal(scorer.score_batch(BOTH), [[10, 21.5, np.nan], [np.nan] * 3])


def test_only_crowded_weights_are_held_densely() -> None:
    weights = csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [6, 7, 0]]))
    np.testing.assert_array_equal(dense_if_crowded(weights), weights.toarray())
    lonely = csr_array(np.array([[0, 1.5, 0, 0]]))
    assert dense_if_crowded(lonely) is lonely
