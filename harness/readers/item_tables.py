"""Tables of items: features, counts of ratings, propensities; an item a row, its id first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.readers.score_files import Line, heading_and_rows
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints
from runs.shared.fields import distinct_names, is_number, read_number

CATEGORIES_APART = "|"


class Features(NamedTuple):
    """Names of features, and numbers of all items, (n_items, n_features): 0 where unknown."""

    names: tuple[str, ...]
    values: Floats


def read_features(path: Path, items: Numbering, *, columns: Sequence[str] = ()) -> Features:
    """Read what describes items: a column of numbers is a feature, one of text holds categories.

    A column holds numbers if its first value is one. Every category is a feature, 1 for the items
    that have it; several of one item stand between ``|``, as the genres of MovieLens do.

    Parameters
    ----------
    path
        A table, fields between commas or tabs; its heading names the columns.
    items
        The items of the collection; others in the table are left out.
    columns
        The columns to read; by default all but the first, which holds the ids.
    """
    (line, heading), rows = heading_and_rows(path)
    distinct_names(path, [(line, column) for column in heading[1:]], "column")
    if len(heading) < 2:
        raise InputError.at_line(path, line, "two columns or more expected: item and features.")
    numbers = _numbers(path, rows, items)
    names: list[str] = []
    values: list[Floats] = []
    for column in columns or heading[1:]:
        if column not in heading[1:]:
            others = ", ".join(heading[1:])
            raise InputError(f"{path}: there is no column {column!r}; its columns are {others}.")
        found = _feature(path, rows, [row[heading.index(column, 1)] for _, row in rows], column)
        names += found.names
        values.append(found.values)
    known = np.zeros((len(items), len(names)))
    known[numbers[numbers >= 0]] = np.concatenate(values, axis=1)[numbers >= 0]
    return Features(tuple(names), known)


def read_item_values(
    path: Path, items: Numbering, *, what: str, low: float = 0.0, high: float = np.inf
) -> Floats:
    """Read one number for every item, from the second column; NaN where the table has none.

    Parameters
    ----------
    path, items
        As in `read_features`.
    what
        What the numbers are, for errors.
    low, high
        They must be at least, and at most, this.
    """
    (line, heading), rows = heading_and_rows(path)
    if len(heading) < 2:
        raise InputError.at_line(path, line, f"two columns expected: item and {what}.")
    values = np.array([read_number(path, at, heading[1], row[1], kind=what) for at, row in rows])
    wrong = np.flatnonzero((values < low) | (values > high))
    if len(wrong):
        at, row = rows[wrong[0]]
        limits = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise InputError.at_line(path, at, f"the {what} of an item must be {limits}, got {row[1]}.")
    numbers = _numbers(path, rows, items)
    known = np.full(len(items), np.nan)
    known[numbers[numbers >= 0]] = values[numbers >= 0]
    return known


def _numbers(path: Path, rows: Sequence[Line], items: Numbering) -> Ints:
    """Number the items of a table; -1 for those that the collection does not have."""
    ids = distinct_names(path, [(line, row[0]) for line, row in rows], "item")
    numbers = items.numbers(np.array(ids, dtype=np.str_))
    if (numbers < 0).all():
        its_own = f"; it has others, such as {ids[0]!r}." if ids else "."
        raise InputError(
            f"{path}: no item of the study, such as {str(items.ids[0])!r}, is there{its_own}"
        )
    return numbers


def _feature(path: Path, rows: Sequence[Line], fields: Sequence[str], column: str) -> Features:
    """Read one column: its numbers, or a feature for each of its categories."""
    if is_number(next(filter(None, fields), "")):
        numbers = [
            read_number(path, line, column, field, kind="number")
            for (line, _), field in zip(rows, fields, strict=True)
        ]
        return Features((column,), np.array(numbers)[:, np.newaxis])
    of_items = [{part.strip() for part in field.split(CATEGORIES_APART)} for field in fields]
    names = tuple(sorted(set().union(*of_items) - {""}))
    has = [[float(name in categories) for name in names] for categories in of_items]
    return Features(names, np.array(has).reshape(len(fields), len(names)))
