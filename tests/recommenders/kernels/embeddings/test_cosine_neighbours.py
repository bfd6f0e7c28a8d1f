"""The nearest items by cosine, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from recommenders.kernels.embeddings import cosine_neighbours, unit_rows

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


def _vectors(n_factors: int) -> NDArray[np.float32]:
    """Eighty vectors about four centres, some of them twice."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(4, n_factors))
    vectors = centres[rng.integers(0, 4, 80)] + 0.3 * rng.normal(size=(80, n_factors))
    vectors[40:50] = vectors[:10]
    return vectors.astype(np.float32)


@pytest.mark.parametrize("n_factors", [7, 128])
def test_neighbours_of_many_factors_are_those_of_brute_force(n_factors: int) -> None:
    vectors = _vectors(n_factors)
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
    vectors = _vectors(33)
    whole = cosine_neighbours(vectors, count=9)
    cut = cosine_neighbours(vectors, count=9, block_bytes=block_bytes, n_jobs=2)
    np.testing.assert_array_equal(cut.toarray(), whole.toarray())


def test_cosines_are_the_same_both_ways() -> None:
    table = cosine_neighbours(_vectors(33), count=79).toarray()
    np.testing.assert_array_equal(table, table.T)


def test_no_item_has_no_neighbours() -> None:
    assert cosine_neighbours(np.empty((0, 3)), count=2).shape == (0, 0)
