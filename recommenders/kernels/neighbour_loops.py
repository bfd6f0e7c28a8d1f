"""Compiled loops of neighbourhoods and embeddings."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats, Integers, Ints, Longs, Singles
from runs.shared.compiled import jit


@jit()
def add_products(
    left_starts: Integers,
    left_columns: Integers,
    left_values: Floats,
    right_starts: Integers,
    right_columns: Integers,
    right_values: Floats,
    product: Floats,
) -> None:
    """Add the product of two csr matrices to a dense matrix ``product``, in place.

    Row r of a csr matrix has the entries ``starts[r]:starts[r + 1]``. Sums run in the order of the
    entries of the left row.
    """
    for row in range(len(left_starts) - 1):
        for left_entry in range(left_starts[row], left_starts[row + 1]):
            left_value = left_values[left_entry]
            inner = left_columns[left_entry]
            for right_entry in range(right_starts[inner], right_starts[inner + 1]):
                column = right_columns[right_entry]
                product[row, column] += left_value * right_values[right_entry]


@jit()
def nearest_cosines(
    starts: Integers,
    columns: Integers,
    common_users: Floats,
    lengths: Floats,
    first: int,
    shrinkage: float,
    count: int,
) -> tuple[Floats, Ints, Longs]:
    """Find the nearest items of a block of items by shrunken cosine.

    Parameters
    ----------
    starts, columns, common_users
        Number of users that each item of the block shares with other items: row starts,
        (n_rows + 1,), columns and values of a csr matrix of shape (n_rows, n_items).
    lengths
        Square root of the number of users of every item, (n_items,).
    first
        Item number of row 0 of the block.
    shrinkage
        Number of common users that halves a cosine.
    count
        Maximum number of neighbours of an item; the item itself is none.

    Returns
    -------
    Values, columns and row starts of a csr matrix of the same shape. In a row the cosines fall; of
    equal ones the lower item number is first.
    """
    n_rows = len(starts) - 1
    cosines = np.empty(n_rows * count)
    neighbours = np.empty(n_rows * count, dtype=np.int32)
    neighbour_starts = np.zeros(n_rows + 1, dtype=np.int64)
    for row in range(n_rows):
        begin = neighbour_starts[row]
        end = begin
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if column == first + row:
                continue
            cosine = common_users[entry] / (lengths[first + row] * lengths[column])
            cosine *= common_users[entry] / (common_users[entry] + shrinkage)
            place = end
            while place > begin and (
                cosines[place - 1] < cosine
                or (cosines[place - 1] == cosine and neighbours[place - 1] > column)
            ):
                place -= 1
            if place == begin + count:
                continue
            end = min(end + 1, begin + count)
            for moved in range(end - 1, place, -1):
                cosines[moved] = cosines[moved - 1]
                neighbours[moved] = neighbours[moved - 1]
            cosines[place] = cosine
            neighbours[place] = column
        neighbour_starts[row + 1] = end
    n_neighbours = neighbour_starts[-1]
    return cosines[:n_neighbours], neighbours[:n_neighbours], neighbour_starts


@jit()
def add_nearest_rated(
    weight_starts: Integers,
    neighbours: Integers,
    weights: Floats,
    value_starts: Integers,
    columns: Integers,
    values: Floats,
    count: int,
    sums: Floats,
    total_weights: Floats,
) -> None:
    """Add the weighted values of the nearest neighbours that have one, pair by pair, in place.

    Parameters
    ----------
    weight_starts, neighbours, weights
        Neighbours of each row, with weights above 0: a csr matrix of shape (n_rows, n_neighbours).
    value_starts, columns, values
        Values of each neighbour: a csr matrix of shape (n_neighbours, n_columns).
    count
        Maximum number of neighbours that are added for a row and a column.
    sums, total_weights
        Sums of the weighted values, and of the weights: 0 at first, of shape (n_rows, n_columns).

    Notes
    -----
    The neighbours of a row are visited in the order of their weights, highest first, and each adds
    its values to those columns that have had fewer than ``count`` values.
    """
    for row in range(len(sums)):
        begin = weight_starts[row]
        row_weights = weights[begin : weight_starts[row + 1]]
        # A stable sort leaves equal weights in the order of their neighbours.
        order = np.argsort(-row_weights.astype(np.float32), kind="mergesort")
        n_added = np.zeros(sums.shape[1], dtype=np.int64)
        for place in order:
            weight = row_weights[place]
            neighbour = neighbours[begin + place]
            for entry in range(value_starts[neighbour], value_starts[neighbour + 1]):
                column = columns[entry]
                if n_added[column] < count:
                    n_added[column] += 1
                    sums[row, column] += weight * values[entry]
                    total_weights[row, column] += weight


@jit()
def nearest_of_rows(
    rough: Singles, floors: Singles, directions: Floats, first: int, count: int
) -> tuple[Ints, Floats]:
    """Find the items with the highest positive cosines for a block of items.

    Parameters
    ----------
    rough
        Cosines of the items of the block with all items, with errors of float32: (n_rows, n_items).
    floors
        Value of each row, (n_rows,), below which no rough cosine is that of a neighbour.
    directions
        Vectors of all items, of length 1: (n_items, n_factors).
    first
        Item number of row 0 of the block.
    count
        Maximum number of neighbours of an item; the item itself is none.

    Returns
    -------
    Item numbers by falling cosine, -1 at the end, and their exact cosines, both of shape (n_rows,
    count). Of equal cosines the lower item number is first.
    """
    n_rows, n_items = rough.shape
    nearest = np.full((n_rows, count), -1, dtype=np.int32)
    cosines = np.zeros((n_rows, count))
    candidates = np.empty(n_items, dtype=np.int32)
    exact = np.empty(n_items)
    for row in range(n_rows):
        row_item = first + row
        n_candidates = 0
        for item in range(n_items):
            if rough[row, item] >= floors[row] and item != row_item:
                cosine = _dot_product(directions[row_item], directions[item])
                if cosine > 0:
                    candidates[n_candidates] = item
                    exact[n_candidates] = cosine
                    n_candidates += 1
        # A stable sort leaves equal cosines in the order of their items.
        order = np.argsort(-exact[:n_candidates], kind="mergesort")[:count]
        nearest[row, : len(order)] = candidates[order]
        cosines[row, : len(order)] = exact[order]
    return nearest, cosines


@jit()
def _dot_product(left: Floats, right: Floats) -> float:
    """Add up products in the order of the factors, so that the sum is always the same."""
    total = 0.0
    for factor in range(len(left)):
        total += left[factor] * right[factor]
    return total
