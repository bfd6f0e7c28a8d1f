"""Tables of items: features, counts of ratings, propensities; an item a row, its id first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from harness.readers.score_files import Line, heading_and_rows
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints
from runs.shared.fields import distinct_names, is_number, read_number

CATEGORY_SEPARATOR: Final = "|"


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

    Raises
    ------
    InputError
        If the table has no such column, a value that is no number among numbers, or no item of the
        collection.
    """
    (line, heading), rows = heading_and_rows(path)
    feature_columns = heading[1:]
    columns_in_line = [(line, column) for column in feature_columns]
    distinct_names(path, columns_in_line, "column")
    if not feature_columns:
        raise InputError.at_line(path, line, "two columns or more expected: item and features.")
    number_of_row = _item_numbers(path, rows, items)
    names: list[str] = []
    values: list[Floats] = []
    for column in columns or feature_columns:
        if column not in feature_columns:
            listed = ", ".join(feature_columns)
            raise InputError(f"{path}: there is no column {column!r}; its columns are {listed}.")
        place = heading.index(column, 1)
        fields = [row[place] for _, row in rows]
        features = _read_feature(path, rows, fields, column)
        names += features.names
        values.append(features.values)
    values_of_rows = np.concatenate(values, axis=1)
    values_of_items = np.zeros((len(items), len(names)))
    is_item = number_of_row >= 0
    item = number_of_row[is_item]
    values_of_items[item] = values_of_rows[is_item]
    return Features(tuple(names), values_of_items)


def read_item_values(
    path: Path, items: Numbering, *, what: str, low: float = 0.0, high: float = np.inf
) -> Floats:
    """Read one number for every item, from the second column.

    Parameters
    ----------
    path, items
        As in `read_features`.
    what
        What the numbers are, for errors.
    low, high
        Lowest and highest number that is allowed.

    Returns
    -------
    Numbers, float64 of shape (n_items,); NaN where the table has none.

    Raises
    ------
    InputError
        If there is no second column, a number is missing or out of range, or no item is there.
    """
    (line, heading), rows = heading_and_rows(path)
    if len(heading) < 2:
        raise InputError.at_line(path, line, f"two columns expected: item and {what}.")
    column = heading[1]
    values = np.array(
        [read_number(path, number, column, row[1], kind=what) for number, row in rows]
    )
    is_outside = (values < low) | (values > high)
    if is_outside.any():
        number, row = rows[is_outside.argmax()]
        limits = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        finding = f"the {what} of an item must be {limits}, got {row[1]}."
        raise InputError.at_line(path, number, finding)
    number_of_row = _item_numbers(path, rows, items)
    values_of_items = np.full(len(items), np.nan)
    is_item = number_of_row >= 0
    item = number_of_row[is_item]
    values_of_items[item] = values[is_item]
    return values_of_items


def _item_numbers(path: Path, rows: Sequence[Line], items: Numbering) -> Ints:
    """Number the items of a table, (n_rows,); -1 for those that the collection does not have.

    ``rows`` are lines, each with its number in the file and its fields, the first of which is the
    id. Raises InputError for a table that names an item twice, or has no item of the collection.
    """
    ids_in_lines = [(line, row[0]) for line, row in rows]
    ids = distinct_names(path, ids_in_lines, "item")
    numbers = items.numbers(np.array(ids, dtype=np.str_))
    is_of_others = numbers < 0
    if is_of_others.all():
        study_item = str(items.ids[0])
        other_items = f"; it has others, such as {ids[0]!r}." if ids else "."
        raise InputError(
            f"{path}: no item of the study, such as {study_item!r}, is there{other_items}"
        )
    return numbers


def _read_feature(path: Path, rows: Sequence[Line], fields: Sequence[str], column: str) -> Features:
    """Read one column: its numbers, or a feature for each of its categories.

    Values have the shape (n_rows, 1) or (n_rows, n_categories): 1 for a category of the row, else
    0. Categories are in order of their names, and stand between ``|``. A column holds numbers if
    its first value that is not empty is one; InputError if another one is none.

    Parameters
    ----------
    path, rows
        The table, for errors.
    fields
        The values of the column, one for each row.
    column
        Its name.
    """
    first_value = next(filter(None, fields), "")
    if is_number(first_value):
        lines = [line for line, _ in rows]
        numbers = [
            read_number(path, line, column, field, kind="number")
            for line, field in zip(lines, fields, strict=True)
        ]
        numbers_of_rows = np.array(numbers)
        return Features((column,), numbers_of_rows[:, np.newaxis])
    categories_of_rows = [_categories(field) for field in fields]
    all_categories: set[str] = set().union(*categories_of_rows)
    names = tuple(sorted(all_categories))
    has_category = np.zeros((len(fields), len(names)))
    for row, categories in enumerate(categories_of_rows):
        has_category[row] = [name in categories for name in names]
    return Features(names, has_category)


def _categories(field: str) -> set[str]:
    """Part a field into its categories; none if it is empty."""
    categories = {category.strip() for category in field.split(CATEGORY_SEPARATOR)}
    return categories - {""}
