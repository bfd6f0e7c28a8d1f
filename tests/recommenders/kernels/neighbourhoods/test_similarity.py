import numpy as np
import pytest

from qrels import Ratings
from recommenders.kernels.neighbours import cosines, nearest_of, pairs_at_most
from recommenders.shared import scorers


def test_cosines_compare_the_users_of_two_items(ratings: Ratings) -> None:
    rated = (ratings.matrix().toarray() > 0).astype(float)
    lengths = np.linalg.norm(rated, axis=0)
    np.testing.assert_allclose(
        cosines(ratings).toarray(), rated.T @ rated / np.outer(lengths, lengths)
    )


def test_cosines_are_symmetric_to_the_last_bit(ratings: Ratings) -> None:
    dense = cosines(ratings).toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(np.diag(dense), 1)


def test_there_are_at_most_as_many_pairs_as_foreseen(ratings: Ratings) -> None:
    few = ratings.select(ratings.user < 3)
    assert cosines(few).nnz <= pairs_at_most(few) < len(few.items) ** 2


def test_the_nearest_are_the_same_for_every_size_of_block(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_at_once = nearest_of(cosines(ratings), neighbours=5, keep_self=False)
    monkeypatch.setattr(scorers, "BLOCK_ROWS", 7)
    in_blocks = nearest_of(cosines(ratings), neighbours=5, keep_self=False)
    np.testing.assert_array_equal(in_blocks.toarray(), all_at_once.toarray())


def test_an_item_may_be_its_own_nearest(ratings: Ratings) -> None:
    itself = nearest_of(cosines(ratings), neighbours=1, keep_self=True)
    assert (itself.diagonal() == 1).sum() > 0.9 * len(ratings.items)
