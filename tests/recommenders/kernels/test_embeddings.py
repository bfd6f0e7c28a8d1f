"""Pruning, BM25 weights, vectors of items and their cosines."""

import math
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels import embeddings
from recommenders.kernels.embeddings import (
    EmbeddingSettings,
    Idf,
    Rows,
    bm25,
    cosine_neighbours,
    item_factors,
    prune,
    similarity,
    unit_rows,
)
from recommenders.kernels.hidden_ranks import rank_hidden
from runs import InputError
from tests.embedding_example import two_tastes
from tests.hidden_example import events_of, numbered

needs_implicit = pytest.mark.skipif(
    find_spec("implicit") is None, reason="implicit is not installed"
)


def _confidences() -> csr_array:
    matrix = two_tastes().totals().matrix()
    matrix.data += 1
    return matrix


def _vectors(*, seed: int = 1, sweeps: int = 15, n_jobs: int = 1) -> NDArray[np.float32]:
    settings = EmbeddingSettings(factors=3, regularization=0.5, sweeps=sweeps)
    return item_factors(_confidences(), settings, seed=seed, n_jobs=n_jobs)


@needs_implicit
def test_stored_values_are_the_confidences_themselves() -> None:
    """Solved exactly for users, then for items, the vectors of a fixpoint come back."""
    vectors = _vectors(sweeps=300).astype(np.float64)
    confidences = _confidences().toarray()

    def solved(fixed: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(
            [
                np.linalg.solve(
                    (fixed.T * np.where(row > 0, row, 1)) @ fixed + 0.5 * np.eye(3),
                    fixed.T @ np.where(row > 0, row, 0),
                )
                for row in table
            ]
        )

    users = solved(vectors, confidences)
    np.testing.assert_allclose(solved(users, confidences.T), vectors, atol=2e-3)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    with pytest.raises(InputError, match=r"'\.\[online\]'"):
        _vectors()


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


def test_items_as_documents_are_users_of_the_turned_table() -> None:
    of_items = bm25(_ratings(SMALL), rows="items", k1=1.2, b=0.75)
    turned = _ratings(np.array(SMALL).T.tolist())
    of_users = bm25(turned, rows="users", k1=1.2, b=0.75)
    order = np.lexsort((turned.user, turned.item))
    np.testing.assert_array_equal(of_items, of_users[order])


@pytest.mark.parametrize("rows", get_args(Rows))
@pytest.mark.parametrize("idf", get_args(Idf))
def test_who_has_no_ratings_is_no_document(rows: Rows, idf: Idf) -> None:
    """Pruning and splits leave users and items without ratings among the others."""
    wide = _ratings(np.insert(np.insert(SMALL, 1, 0, axis=0), 1, 0, axis=1).tolist())
    found, expected = (
        bm25(ratings, rows=rows, k1=1.2, b=0.75, idf=idf) for ratings in (wide, _ratings(SMALL))
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("b", [0.75, 1.0])
def test_weights_are_those_of_implicit_where_none_is_below_zero(b: float) -> None:
    nearest_neighbours = pytest.importorskip("implicit.nearest_neighbours", reason=REASON)
    ratings = _ratings(SMALL)
    theirs = nearest_neighbours.bm25_weight(ratings.matrix(), K1=10, B=b).tocsr()
    ours = bm25(ratings, rows="users", k1=10, b=b)
    np.testing.assert_allclose(ours, theirs.toarray()[ratings.user, ratings.item], rtol=1e-12)


WHOLE = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(-2, 2)
)


def _by_definition(factors: NDArray[np.floating], count: int) -> NDArray[np.float64]:
    """Sum every cosine in the order of the factors, and sort."""
    directions = unit_rows(factors.astype(np.float64))
    table = np.zeros((len(factors), len(factors)))
    for item, direction in enumerate(directions):
        cosines = np.zeros(len(factors))
        for factor, value in enumerate(direction):
            cosines += value * directions[:, factor]
        cosines[item] = -1
        nearest = [j for j in np.argsort(-cosines, kind="stable")[:count] if cosines[j] > 0]
        table[item, nearest] = cosines[nearest]
    return table


@given(factors=WHOLE, count=st.integers(1, 5))
def test_neighbours_are_those_of_brute_force_among_ties(
    factors: NDArray[np.float64], count: int
) -> None:
    found = cosine_neighbours(factors, count=count).toarray()
    np.testing.assert_array_equal(found, _by_definition(factors, count))


def _near_centres(n_factors: int) -> NDArray[np.float32]:
    """Eighty vectors about four centres, some of them twice."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(4, n_factors))
    vectors = centres[rng.integers(0, 4, 80)] + 0.3 * rng.normal(size=(80, n_factors))
    vectors[40:50] = vectors[:10]
    return vectors.astype(np.float32)


def test_neighbours_of_many_factors_are_those_of_brute_force() -> None:
    vectors = _near_centres(128)
    found = cosine_neighbours(vectors, count=10).toarray()
    np.testing.assert_array_equal(found, _by_definition(vectors, 10))


def test_cosines_that_differ_beyond_single_precision_are_told_apart() -> None:
    """Fifty vectors have 0.8 of the first and 1e-9 times a number, and equal amounts of others."""
    rng = np.random.default_rng(1)
    own, *others = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    order = rng.permutation(50)
    rest = rng.normal(size=(50, 15))
    rest /= np.sqrt((rest**2).sum(axis=1, keepdims=True))
    vectors = np.outer(0.8 + 1e-9 * order, own) + rest @ np.array(others)
    nearest = cosine_neighbours(np.vstack([own, vectors]), count=5)[[0]].indices
    assert nearest.tolist() == sorted((np.argsort(-order)[:5] + 1).tolist())


@pytest.mark.parametrize("block_bytes", [1, 3 * 4 * 80, 2**25])
def test_neighbours_do_not_depend_on_blocks(block_bytes: int) -> None:
    vectors = _near_centres(33)
    whole = cosine_neighbours(vectors, count=9)
    cut = cosine_neighbours(vectors, count=9, block_bytes=block_bytes, n_jobs=2)
    np.testing.assert_array_equal(cut.toarray(), whole.toarray())


SMALL_MODEL = EmbeddingSettings(factors=2, regularization=0.1, neighbours=5)


@needs_implicit
def test_similarities_rank_hidden_items() -> None:
    """Users who had five of the six items of a taste are offered the sixth."""
    model = similarity(two_tastes(), SMALL_MODEL, seed=1)
    test = events_of([range(6), range(6, 12)], n_items=12)
    assert rank_hidden(model, test, n_jobs=1).rank_loo.tolist() == [1] * 12


@needs_implicit
def test_items_that_were_pruned_have_no_neighbours_and_are_nobodys() -> None:
    events = two_tastes()
    counts = events.totals().item_counts()
    seldom = counts.argmin()
    least = int(counts[seldom]) + 1
    settings = SMALL_MODEL.model_copy(update={"min_users_per_item": least})
    found = similarity(events, settings, seed=1)
    assert found.shape == (12, 12)
    assert not found[[seldom]].nnz
    assert seldom not in found.indices


@needs_implicit
@pytest.mark.slow
def test_a_model_is_the_same_whatever_the_number_of_threads() -> None:
    one, other = (similarity(two_tastes(), SMALL_MODEL, seed=1, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def _rated(*rows: str) -> Ratings:
    """Read users' items, letters in the order of the alphabet."""
    pairs = [(user, ord(letter) - ord("a")) for user, row in enumerate(rows) for letter in row]
    user, item = np.array(pairs, dtype=np.int32).T
    return Ratings(numbered(len(rows)), numbered(26), user, item, np.ones(len(pairs)))


def _rows(kept: Ratings) -> list[str]:
    return [
        "".join(chr(ord("a") + item) for item in kept.item[kept.user == user])
        for user in range(len(kept.users))
    ]


CHAIN = ("ab", "abc", "cd", "abde")


def test_pruning_once_counts_before_anything_is_left_out() -> None:
    """Only e is rare: the user of c and d keeps both."""
    pruned = prune(_rated(*CHAIN), EmbeddingSettings(min_items_per_user=2, min_users_per_item=2))
    assert _rows(pruned) == ["ab", "abc", "cd", "abd"]


@pytest.mark.parametrize(
    "wrong",
    [{"sweeps": 0}, {"alpha": 0.0}, {"regularization": math.nan}, {"b": 1.5}, {"bm25_rows": "x"}],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        EmbeddingSettings(**wrong)


def test_settings_have_the_defaults_that_are_stated() -> None:
    """Of Kasalický (2021): b; of implicit: k1; the others are ours."""
    assert str(EmbeddingSettings()) == (
        "als-knn(factors=128,regularization=1,alpha=1,sweeps=15,bm25_rows=users,k1=100,b=0.75,"
        "min_items_per_user=2,min_users_per_item=2,neighbours=100)"
    )


@pytest.mark.parametrize("rows", get_args(Rows))
def test_the_smooth_idf_is_that_of_lucene(rows: Rows) -> None:
    """Users: 4 documents, 2 of which hold the third item. Items: 3, 2 of which user 3 holds."""
    weights = bm25(_ratings(SMALL), rows=rows, k1=2.0, b=0.5, idf="smooth")
    n_documents, length, mean = (4, 4, 12 / 4) if rows == "users" else (3, 7, 12 / 3)
    idf = np.log(1 + (n_documents - 2 + 0.5) / (2 + 0.5))
    expected = 3 * 3 / (2 * (0.5 + 0.5 * length / mean) + 3) * idf
    np.testing.assert_allclose(weights[-1], expected)


def test_ratings_that_are_all_zero_have_no_weight() -> None:
    ratings = _ratings(SMALL)
    zero = Ratings(ratings.users, ratings.items, ratings.user, ratings.item, np.zeros(len(ratings)))
    assert bm25(zero, rows="users", k1=1.2, b=0.75).tolist() == [0] * len(ratings)


@pytest.mark.parametrize("bm25_rows", ["none", "items"])
def test_confidences_are_one_and_more_by_the_weight(
    bm25_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the events of a user on an item, each counts 1."""
    seen: list[np.ndarray] = []

    def factors(confidences: csr_array, *_: object, **options: int) -> np.ndarray:
        seen.append(confidences.toarray())
        assert options == {"seed": 5, "n_jobs": 1}
        return np.array([[1.0, 0.0], [1.0, 0.1]])

    monkeypatch.setattr(embeddings, "item_factors", factors)
    events = events_of([(0, 2, 2), (0, 2), (2, 3, 0)], n_items=4)
    settings = EmbeddingSettings(alpha=0.5, bm25_rows=bm25_rows, k1=2.0, b=0.5, neighbours=1)
    graph = similarity(events, settings, seed=5)
    totals = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 1.0]])
    rows, columns = np.indices(totals.shape).reshape(2, -1).astype(np.int32)
    kept = Ratings(numbered(3), numbered(2), rows, columns, totals.ravel())
    weights = totals.ravel() if bm25_rows == "none" else bm25(kept, rows="items", k1=2.0, b=0.5)
    np.testing.assert_allclose(seen[0].ravel(), 1 + 0.5 * weights, rtol=1e-6)
    assert graph.shape == (4, 4)
    cosine = 1 / np.sqrt(1.01)
    np.testing.assert_allclose(graph.toarray()[[0, 2], [2, 0]], cosine)
    assert graph.nnz == 2


def test_pruning_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least 3 items and items with at least 2 users"):
        prune(_rated("ab", "ab"), EmbeddingSettings(min_items_per_user=3))


def test_pruning_keeps_who_reaches_the_minima() -> None:
    settings = EmbeddingSettings(min_items_per_user=3, min_users_per_item=3)
    assert _rows(prune(_rated("abc", "abd", "ab", "abc"), settings)) == ["ab", "ab", "", "ab"]


def test_a_row_of_zeros_has_no_direction() -> None:
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


@needs_implicit
def test_numbers_that_are_not_finite_are_told_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = import_module("implicit.recommender_base").ModelFitError
    asked: dict[str, Any] = {}

    class Fails:
        def __init__(self, **options: Any) -> None:
            asked.update(options)

        def fit(self, matrix: csr_array, *, show_progress: bool) -> None:
            asked.update(dtype=matrix.dtype, show_progress=show_progress)
            raise failed

    class Module:
        AlternatingLeastSquares = Fails

    monkeypatch.setattr(embeddings, "import_implicit", Module)
    with pytest.raises(InputError, match="not finite; take a larger `regularization`"):
        _vectors(n_jobs=-1, seed=8)
    assert asked == {
        "factors": 3,
        "regularization": 0.5,
        "iterations": 15,
        "num_threads": 0,
        "random_state": 8,
        "dtype": np.float32,
        "show_progress": False,
    }
