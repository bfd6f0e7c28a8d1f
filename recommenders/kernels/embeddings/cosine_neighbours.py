"""The nearest items of every item, by the cosine of their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import NDArray

from runs.shared.parallel import single_threaded

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_BYTES = 32 * 2**20
"""Of a block of cosines."""

Floats = NDArray[np.float64]


def cosine_neighbours(
    factors: NDArray[np.floating],
    *,
    count: int,
    n_jobs: int = 1,
    block_bytes: int = BLOCK_BYTES,
) -> csr_array[Any]:
    """Keep the positive cosines of the nearest items, blocks of items at a time.

    Row i of the cosines, float64 of shape (n_items, n_items), symmetric where both are kept, holds
    the neighbours of item i, those that i votes for in `rank_hidden`:
    ``count`` at the most, itself not counted; of equal cosines the lower item number is nearer.
    Vectors are of shape (n_items, n_factors); one of zeros is near to none. Blocks of so many bytes
    are worked out in threads (-1 for as many as cores), on which nothing depends, nor on BLAS.

    Notes
    -----
    Products of whole blocks are fast and their last bits depend on the block. So they are made
    in float32 and only choose candidates, with a margin of twice the largest error they may
    have; the candidates' cosines are then summed in float64 in the order of the factors.

    Examples
    --------
    >>> cosine_neighbours(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]]), count=1).toarray()
    array([[0. , 0.6, 0. ],
           [0. , 0. , 0.8],
           [0. , 0.8, 0. ]])
    """
    directions = unit_rows(np.asarray(factors, dtype=np.float64))
    rough = directions.astype(np.float32)
    n_items = len(directions)
    size = max(1, block_bytes // (4 * max(n_items, 1)))
    tasks = (
        joblib.delayed(_nearest_of)(slice(first, first + size), directions, rough, count)
        for first in range(0, n_items, size)
    )
    with single_threaded("blas"):
        blocks = joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)
    return _as_graph(blocks, n_items=n_items)


def unit_rows(vectors: Floats) -> Floats:
    """Divide every row by its length; a row of zeros stays.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return vectors / np.where(lengths > 0, lengths, 1)


def _nearest_of(
    rows: slice, directions: Floats, rough: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int32], Floats]:
    """Find the neighbours of a block of items; see `nearest_of_rows`."""
    from recommenders.kernels.embeddings.cosine_neighbours_loop import nearest_of_rows

    cosines = rough[rows] @ rough.T
    margin = 2 * _largest_error(n_factors=directions.shape[1])
    floors = (_lowest_wanted(cosines, count) - margin).astype(np.float32)
    return nearest_of_rows(cosines, floors, directions, rows.start, count)


def _lowest_wanted(cosines: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Give the cosine that so many others reach in each row, or 0 if not so many are positive.

    The item itself may be among those that reach it, so that one more is asked for.
    """
    place = cosines.shape[1] - 1 - count
    if place <= 0:
        return np.zeros(len(cosines), dtype=np.float32)
    return np.maximum(np.partition(cosines, place, axis=1)[:, place], 0)


def _largest_error(*, n_factors: int) -> float:
    r"""Bound the error of a cosine in float32: one rounding of each factor, product and sum."""
    return (n_factors + 4) * 2.0**-24


def _as_graph(blocks: list[tuple[NDArray[np.int32], Floats]], *, n_items: int) -> csr_array[Any]:
    """Put the neighbours of blocks of items, -1 where there is none, into one matrix."""
    from scipy.sparse import csr_array

    if n_items == 0:
        return csr_array((0, 0), dtype=np.float64)
    items = np.concatenate([items for items, _ in blocks])
    cosines = np.concatenate([cosines for _, cosines in blocks])
    found = items >= 0
    starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    graph = csr_array((cosines[found], items[found], starts), shape=(n_items, n_items))
    graph.sort_indices()
    return graph
