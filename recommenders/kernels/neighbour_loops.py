"""Compiled loops of neighbourhoods and embeddings."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats, Integers, Ints, Longs, Singles
from runs.shared.compiled import jit


@jit()
def add_products(
    left_ends: Integers,
    left_columns: Integers,
    left: Floats,
    right_ends: Integers,
    right_columns: Integers,
    right: Floats,
    product: Floats,
) -> None:
    """Add the product of two csr matrices to a dense one."""
    for row in range(len(left_ends) - 1):
        for entry in range(left_ends[row], left_ends[row + 1]):
            value, between = left[entry], left_columns[entry]
            for other in range(right_ends[between], right_ends[between + 1]):
                product[row, right_columns[other]] += value * right[other]


@jit()
def nearest_cosines(
    starts: Integers,
    columns: Integers,
    common: Floats,
    lengths: Floats,
    first: int,
    shrinkage: float,
    count: int,
) -> tuple[Floats, Ints, Longs]:
    """Keep the highest shrunken cosines of items from the first on, without their own.

    Common users of pairs of items are a sparse matrix with a row for each of these, lengths the
    roots of the numbers of users of all items. Of equal cosines those of lower columns are kept.
    Given are values, columns and starts, in each row the highest first.
    """
    n_rows = len(starts) - 1
    kept_values, kept_columns = np.empty(n_rows * count), np.empty(n_rows * count, dtype=np.int32)
    kept_starts = np.zeros(n_rows + 1, dtype=np.int64)
    for row in range(n_rows):
        begin = kept_starts[row]
        end = begin
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if column == first + row:
                continue
            value = common[entry] / (lengths[first + row] * lengths[column])
            value *= common[entry] / (common[entry] + shrinkage)
            place = end
            while place > begin and (
                kept_values[place - 1] < value
                or (kept_values[place - 1] == value and kept_columns[place - 1] > column)
            ):
                place -= 1
            if place == begin + count:
                continue
            end = min(end + 1, begin + count)
            for below in range(end - 1, place, -1):
                kept_values[below] = kept_values[below - 1]
                kept_columns[below] = kept_columns[below - 1]
            kept_values[place], kept_columns[place] = value, column
        kept_starts[row + 1] = end
    return kept_values[: kept_starts[-1]], kept_columns[: kept_starts[-1]], kept_starts


@jit()
def nearest_of_rows(
    rough: Singles, floors: Singles, directions: Floats, first: int, count: int
) -> tuple[Ints, Floats]:
    """Find the items with the highest positive cosines with the items from ``first`` on.

    Rough cosines, of shape (n_rows, n_items), are nearly right; that of a neighbour cannot be below
    the floor of its row. Directions, of shape (n_items, n_factors), have length 1. Given are items
    by falling cosine, -1 at the end, and their cosines, both of shape (n_rows, count).
    """
    n_rows, n_items = rough.shape
    nearest = np.full((n_rows, count), -1, dtype=np.int32)
    cosines = np.zeros((n_rows, count))
    candidates = np.empty(n_items, dtype=np.int32)
    exact = np.empty(n_items)
    for row in range(n_rows):
        own = first + row
        found = 0
        for item in range(n_items):
            if rough[row, item] >= floors[row] and item != own:
                cosine = _product(directions[own], directions[item])
                if cosine > 0:
                    candidates[found], exact[found] = item, cosine
                    found += 1
        # A stable sort leaves equal cosines in the order of their items.
        order = np.argsort(-exact[:found], kind="mergesort")[:count]
        nearest[row, : len(order)] = candidates[order]
        cosines[row, : len(order)] = exact[order]
    return nearest, cosines


@jit()
def _product(one: Floats, other: Floats) -> float:
    """Add up products in the order of the factors, so that the sum is always the same."""
    total = 0.0
    for factor in range(len(one)):
        total += one[factor] * other[factor]
    return total
