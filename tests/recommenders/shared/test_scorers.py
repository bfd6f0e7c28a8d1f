"""Scorers by hand, and what they reckon with."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.shared.scorers import (
    FactorScorer,
    LinearItemScorer,
    ProjectionScorer,
    allowed_items,
    dense_if_faster,
    exclude_items,
    pattern,
    row_blocks,
    row_maxima,
    row_of_entry,
    row_sums,
    to_dense,
    weighted_means,
)
from runs import InputError, Numbering

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
    np.testing.assert_array_equal(dense_if_faster(weights), weights.toarray())
    lonely = csr_array(np.array([[0, 1.5, 0, 0]]))
    assert dense_if_faster(lonely) is lonely


def test_linear_scores_count_items_if_nothing_else_is_said(ratings: Ratings) -> None:
    scores = LinearItemScorer(ratings, WEIGHTS).score_batch(BOTH)
    np.testing.assert_array_equal(scores, [[3, 1, 2 + 5], [np.nan] * 3])
    assert scores.dtype == np.float32


@pytest.mark.parametrize("unlinked_score", [np.nan, 0.0])
def test_an_item_that_nothing_links_scores_what_is_said(
    ratings: Ratings, unlinked_score: float
) -> None:
    weights = csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [6, 7, 0]]))
    scores = LinearItemScorer(ratings, weights, unlinked_score=unlinked_score).score_batch(BOTH)
    np.testing.assert_array_equal(scores[0], [unlinked_score, 1.5, unlinked_score])
    scorer = LinearItemScorer(ratings, weights)
    np.testing.assert_array_equal(scorer.score_batch(BOTH)[0], [np.nan, 1.5, np.nan])


def test_offsets_are_added_to_dense_weights(ratings: Ratings) -> None:
    scorer = LinearItemScorer(ratings, WEIGHTS, item_offsets=np.array([10.0, 20.0, np.nan]))
    np.testing.assert_array_equal(scorer.score_batch(BOTH)[0], [13, 21, np.nan])


def test_ratings_are_projected_on_the_basis(ratings: Ratings) -> None:
    """On (0.6, 0.8, 0) the ratings 4 and 2 are 4 long."""
    scores = ProjectionScorer(ratings, np.array([[0.6], [0.8], [0.0]])).score_batch(BOTH)
    np.testing.assert_allclose(scores, [[4 * 0.6, 4 * 0.8, 0], [np.nan] * 3], rtol=1e-6)


def test_factor_scores_have_no_offsets_if_nothing_is_said(ratings: Ratings) -> None:
    scorer = FactorScorer(ratings, np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(3)[:, :2])
    np.testing.assert_array_equal(scorer.score_batch(BOTH)[0], [1, 2, 0])


@pytest.mark.parametrize(
    ("n_rows", "row_bytes", "sizes"),
    [
        (1, 1, [1]),
        (512, 1, [512]),
        (1025, 131_072, [512, 512, 1]),
        (512, 131_073, [511, 1]),
        (3, 33_554_432, [2, 1]),
        (2, 67_108_864, [1, 1]),
        (2, 67_108_865, [1, 1]),
        (2, 0, [2]),
        (0, 1, []),
    ],
)
def test_blocks_have_512_rows_or_64_megabytes(
    n_rows: int, row_bytes: int, sizes: list[int]
) -> None:
    blocks = list(row_blocks(n_rows, row_bytes=row_bytes))
    assert [block.stop - block.start for block in blocks] == sizes
    assert [row for block in blocks for row in range(block.start, block.stop)] == [*range(n_rows)]


def test_a_block_keeps_within_its_own_budget() -> None:
    assert [b.stop for b in row_blocks(7, row_bytes=10, block_bytes=39)] == [3, 6, 7]


TABLE = csr_array(np.array([[0, 1.5, -2.0], [0, 0, 0], [6, 7, 0]]))


def test_entries_are_taken_row_by_row() -> None:
    assert row_of_entry(TABLE).tolist() == [0, 0, 2, 2]
    assert row_sums(TABLE).tolist() == [-0.5, 0, 13]
    assert row_maxima(TABLE).tolist() == [1.5, -np.inf, 7]
    assert pattern(TABLE).toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 1, 0]]


def test_a_matrix_is_filled_where_it_holds_nothing() -> None:
    np.testing.assert_array_equal(to_dense(TABLE)[0], [np.nan, 1.5, -2])
    np.testing.assert_array_equal(to_dense(TABLE, -1.0)[2], [6, 7, -1])


def test_sums_are_averaged_by_their_weights() -> None:
    weights = csr_array(np.array([[0, 0.5, 4.0], [0, 0, 0], [2, 7, 0]]))
    assert weighted_means(TABLE, weights).toarray().tolist() == [[0, 3, -0.5], [0, 0, 0], [3, 1, 0]]


def test_items_with_training_ratings_are_allowed_if_they_are_candidates(ratings: Ratings) -> None:
    assert allowed_items(ratings, None).tolist() == [True, True, False]
    candidates = np.array([False, True, True])
    assert allowed_items(ratings, candidates).tolist() == [False, True, False]


def test_what_is_not_allowed_or_known_is_hidden(ratings: Ratings) -> None:
    scores = np.ones((2, 3))
    exclude_items(scores, np.array([True, True, False]), ratings.matrix())
    assert np.isnan(scores).tolist() == [[True, True, True], [False, False, True]]


def test_a_third_of_the_cells_is_crowded() -> None:
    crowded = csr_array(np.array([[0, 1.5, 0]]))
    assert isinstance(dense_if_faster(crowded), np.ndarray)
    assert isinstance(dense_if_faster(csr_array(np.eye(4))), csr_array)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.ones((3, 4)), np.ones((3, 4))), r"factors of users .* \(2, 4\), got \(3, 4\)"),
        ((np.ones((2, 4)), np.ones((3, 5))), r"factors of items .* \(3, 4\), got \(3, 5\)"),
        ((np.ones((2, 4)), np.ones((3, 4)), np.ones(3)), r"offsets of users .* \(2,\), got \(3,\)"),
        ((np.ones((2, 4)), np.ones((3, 4)), 0.0, np.ones(2)), r"offsets of items .* \(3,\), got"),
    ],
)
def test_factors_and_offsets_are_of_the_users_and_items(
    ratings: Ratings, arrays: tuple[NDArray[np.float64], ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        FactorScorer(ratings, *arrays)


def test_weights_and_offsets_are_of_the_items(ratings: Ratings) -> None:
    with pytest.raises(InputError, match=r"weights of items .* \(3, 3\), got \(2, 3\)"):
        LinearItemScorer(ratings, WEIGHTS[:2])
    with pytest.raises(InputError, match=r"offsets of items .* \(3,\), got \(2,\)"):
        LinearItemScorer(ratings, WEIGHTS, item_offsets=np.zeros(2))


def test_a_mask_of_candidates_is_over_the_items(ratings: Ratings) -> None:
    with pytest.raises(InputError, match=r"mask of candidates .* \(3,\), got \(1,\)"):
        allowed_items(ratings, np.array([True]))
