"""Neighbours and similarities, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.neighbours import (
    cosines,
    dense_product,
    nearest,
    nearest_by_cosine,
    nearest_of,
    pairs_at_most,
)
from recommenders.shared import scorers


def cosines_by_loops(table: np.ndarray, shrinkage: float) -> np.ndarray:
    cosines = np.zeros((len(table), len(table)))
    for u, first in enumerate(table):
        for v, second in enumerate(table):
            if u != v and first @ second > 0:
                common = np.count_nonzero((first != 0) & (second != 0))
                lengths = np.linalg.norm(first) * np.linalg.norm(second)
                cosines[u, v] = first @ second / lengths * common / (common + shrinkage)
    return cosines


@pytest.mark.parametrize("shrinkage", [0.0, 5.0])
def test_the_neighbours_have_the_highest_cosines(ratings: Ratings, shrinkage: float) -> None:
    graph = nearest_by_cosine(ratings.matrix(), count=10, shrinkage=shrinkage).toarray()
    expected = cosines_by_loops(ratings.matrix().toarray(), shrinkage)
    tenth = np.sort(expected, axis=1)[:, [-10]]
    kept = np.where(expected >= tenth, expected, 0)
    np.testing.assert_allclose(graph, kept, atol=1e-12)


def test_equals_go_by_number() -> None:
    graph = nearest(lambda rows: np.ones((rows.stop - rows.start, 5)), n_rows=5, count=2)
    assert graph.indices.reshape(5, 2).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


@given(seed=st.integers(0, 1000), density=st.floats(0, 1))
def test_the_product_is_scipys_to_the_last_bit(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    left = csr_array(rng.random((6, 9)) * (rng.random((6, 9)) < density))
    right = csr_array(rng.random((9, 7)) * (rng.random((9, 7)) < density))
    np.testing.assert_array_equal(dense_product(left, right), (left @ right).toarray())


def test_there_are_at_most_as_many_pairs_as_foreseen(ratings: Ratings) -> None:
    few = ratings.select(ratings.user < 3)
    assert cosines(few).nnz <= pairs_at_most(few) < len(few.items) ** 2


def test_the_nearest_are_the_same_for_every_size_of_block(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_at_once = nearest_of(cosines(ratings), neighbours=5)
    monkeypatch.setattr(scorers, "BLOCK_ROWS", 7)
    in_blocks = nearest_of(cosines(ratings), neighbours=5)
    np.testing.assert_array_equal(in_blocks.toarray(), all_at_once.toarray())
