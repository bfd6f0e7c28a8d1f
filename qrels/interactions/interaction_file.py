"""Interactions from a Parquet or CSV file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from qrels.interactions.log_table import (
    ColumnQuery,
    ColumnReader,
    LogTable,
    Rule,
    id_column,
    log_database,
    number_column,
    quote_text,
    time_column,
)
from runs import InputError

NEEDED: Final = ("time", "user", "item")
EXCLUDED: Final = -1.0
"""What interactions count whose type has no name: they are left out."""


def read_interactions(
    path: str | Path,
    *,
    values: Mapping[str, float] = TYPE_VALUES,
    rename: Mapping[str, str] | None = None,
    first_year: int | None = None,
    folder: Path | None = None,
    n_jobs: int | None = None,
) -> Interactions:
    """Read who interacted with which item, when, and how much it counts.

    Parameters
    ----------
    path
        A CSV file, a Parquet file or a folder of Parquet files, with the columns time, user and
        item. A column value, or else type, says what an interaction counts; by default 1.
    values
        What interactions of each type count; other types are refused unless they are renamed.
    rename
        New names of types; a type without a value under its new name, such as "", is left out.
    first_year
        Times before this year are refused; default: 2000.
    folder
        Folder of temporary files; default: that of the system.
    n_jobs
        Number of threads; default: all cores.

    Returns
    -------
    Events sorted by user, time and item.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a value is invalid (a negative number, a
        type without a value, an early time, an empty id), or there are no rows.

    Notes
    -----
    A row takes 24 bytes, besides the distinct ids.
    """
    values_by_type = dict(values)
    for old_name, new_name in (rename or {}).items():
        values_by_type[old_name] = values.get(new_name, EXCLUDED)
    with log_database(folder, first_year=first_year, n_jobs=n_jobs) as database:
        table = database.open(path)
        readers: dict[str, ColumnReader] = {
            "user": id_column,
            "item": id_column,
            "time": time_column,
        }
        if "value" in table:
            readers["value"] = _value_column
        elif "type" in table:
            readers["type"] = partial(_type_column, types=list(values_by_type))
        table.require(*NEEDED)
        columns = table.read(readers, order=("user", "time", "item"))
    # What types count is looked up once DuckDB has given its memory back.
    time = columns["time"]
    if len(time) == 0:
        raise InputError(f"{path}: the table has a heading but no interactions.")
    if "value" in columns:
        value = columns["value"]
    elif "type" in columns:
        value_of_type = np.array([*values_by_type.values()], dtype=np.float64)
        value = value_of_type[columns["type"]]
    else:
        value = np.ones(len(time))
    # A column of ids is their numbering, and the number of the id of each row.
    users, user = columns["user"]
    items, item = columns["item"]
    # Only renamed types may be left out, by the negative value EXCLUDED.
    rows = value >= 0 if rename else slice(None)
    return Interactions(
        users=users,
        items=items,
        user=user[rows],
        item=item[rows],
        time=time[rows],
        value=value[rows],
    )


def _value_column(table: LogTable, name: str) -> ColumnQuery:
    """Write the SQL expression of a column of numbers, and rules that refuse negative ones.

    Missing and infinite numbers are refused, too.
    """
    column = number_column(table, name)
    rule = Rule(
        column=name,
        condition=f"{column.expression} < 0",
        finding="a value must not be negative, got {:g}.",
        value=column.expression,
    )
    return column._replace(rules=[*column.rules, rule])


def _type_column(table: LogTable, name: str, *, types: Sequence[str]) -> ColumnQuery:
    """Write the SQL expression of a column of types, each as its position in ``types``, from 0.

    Its rules refuse empty types, and types that are not among ``types``: the condition of a rule
    holds for rows that break it, and {!r} in its finding is the value of the first. Raises
    InputError if the column holds neither text nor whole numbers.
    """
    column = id_column(table, name)
    cases = []
    for position, type_name in enumerate(types):
        cases.append(f"WHEN {quote_text(type_name)} THEN {position}")
    expression = f"CASE {column.expression} {' '.join(cases)} END::UTINYINT"
    finding = f"values are set for {', '.join(types)}, got {{!r}}."
    known_rule = Rule(column=name, condition=f"{expression} IS NULL", finding=finding)
    return ColumnQuery(expression, [*column.rules, known_rule])
