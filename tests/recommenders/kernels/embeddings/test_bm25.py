"""BM25 weights, by hand and against the package implicit."""

import numpy as np
import pytest

from qrels import Ratings
from recommenders.kernels.embeddings import bm25
from tests.hidden_example import numbered

REASON = "implicit is not installed"


def _ratings(table: list[list[float]]) -> Ratings:
    dense = np.array(table)
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(dense))
    return Ratings(numbered(len(dense)), numbered(dense.shape[1]), user, item, dense[user, item])


SMALL = [[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0], [1.0, 0.0, 3.0]]


def test_weights_found_by_hand() -> None:
    """User 0 has the mean length 3, so L = 1; the first two items have 2 of 4 users each."""
    weights = bm25(_ratings(SMALL), rows="users", k1=2.0, b=0.5)
    np.testing.assert_allclose(weights[:2], np.array([1.0, 1.5]) * np.log(4 / 3))


def test_long_documents_weigh_less() -> None:
    """Users 0 and 1 had the first item, user 0 two more; user 3 makes it rare enough."""
    table = [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    weights = bm25(_ratings(table), rows="users", k1=1.0, b=0.75)
    assert weights[0] < weights[3]


def test_items_as_documents_are_users_of_the_turned_table() -> None:
    of_items = bm25(_ratings(SMALL), rows="items", k1=1.2, b=0.75)
    turned = _ratings(np.array(SMALL).T.tolist())
    of_users = bm25(turned, rows="users", k1=1.2, b=0.75)
    order = np.lexsort((turned.user, turned.item))
    np.testing.assert_array_equal(of_items, of_users[order])


def test_an_item_of_everybody_weighs_nothing() -> None:
    weights = bm25(_ratings([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]), rows="users", k1=1.0, b=0.0)
    assert weights[[0, 2, 3]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("b", [0.0, 0.75, 1.0])
def test_weights_are_those_of_implicit_where_none_is_below_zero(b: float) -> None:
    nearest_neighbours = pytest.importorskip("implicit.nearest_neighbours", reason=REASON)
    ratings = _ratings(SMALL)
    theirs = nearest_neighbours.bm25_weight(ratings.matrix(), K1=10, B=b).tocsr()
    ours = bm25(ratings, rows="users", k1=10, b=b)
    np.testing.assert_allclose(ours, theirs.toarray()[ratings.user, ratings.item], rtol=1e-12)
