import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.neighbours import nearest, nearest_by_cosine
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


def test_more_neighbours_than_rows_are_all_of_them(ratings: Ratings) -> None:
    graph = nearest_by_cosine(ratings.matrix(), count=10_000).toarray()
    expected = cosines_by_loops(ratings.matrix().toarray(), 0.0)
    np.testing.assert_allclose(graph, expected, atol=1e-12)


def test_equals_go_by_number() -> None:
    graph = nearest(lambda rows: np.ones((rows.stop - rows.start, 5)), n_rows=5, count=2)
    assert graph.indices.reshape(5, 2).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


def test_the_size_of_the_blocks_does_not_matter(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = nearest_by_cosine(ratings.matrix(), count=10)
    monkeypatch.setattr(scorers, "BLOCK_ROWS", 7)
    cut = nearest_by_cosine(ratings.matrix(), count=10)
    np.testing.assert_array_equal(cut.toarray(), whole.toarray())


def test_rows_that_point_away_are_no_neighbours() -> None:
    graph = nearest_by_cosine(csr_array(np.array([[1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]])), count=2)
    assert graph.nnz == 0
