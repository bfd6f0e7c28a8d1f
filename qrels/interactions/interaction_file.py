"""Interactions from a Parquet or CSV file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from qrels.interactions.log_table import (
    ColumnQuery,
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
LEFT_OUT: Final = -1.0
"""What interactions count whose type has no name."""


def read_interactions(
    path: str | Path,
    *,
    values: Mapping[str, float] = TYPE_VALUES,
    rename: Mapping[str, str] | None = None,
    first_year: int | None = None,
    folder: Path | None = None,
    n_jobs: int | None = None,
) -> Interactions:
    """Read who did something with which item, when, and how much it counts.

    Notes
    -----
    A row takes 24 bytes, besides the distinct ids.
    """
    left_out = {old: values.get(new, LEFT_OUT) for old, new in (rename or {}).items()}
    worth = {**values, **left_out}
    with log_database(folder, first_year=first_year, n_jobs=n_jobs) as database:
        table = database.open(path)
        kinds: dict[str, Any] = dict.fromkeys(("user", "item"), id_column) | {"time": time_column}
        if "value" in table:
            kinds["value"] = _not_negative
        elif "type" in table:
            kinds["type"] = partial(_type_column, worth=worth)
        table.require(*NEEDED)
        columns = table.read(kinds, order=("user", "time", "item"))
    # What types count is looked up once DuckDB has given its memory back.
    time = columns["time"]
    if len(time) == 0:
        raise InputError(f"{path}: the table has a heading but no interactions.")
    value = columns["value"] if "value" in columns else np.ones(len(time))
    if "type" in columns:
        value = np.array([*worth.values()], dtype=np.float64)[columns["type"]]
    (users, user), (items, item) = columns["user"], columns["item"]
    kept = value >= 0 if rename else slice(None)
    return Interactions(users, items, user[kept], item[kept], time[kept], value[kept])


def _not_negative(table: LogTable, name: str) -> ColumnQuery:
    kind = number_column(table, name)
    finding = "a value must not be negative, got {:g}."
    rule = Rule(name, f"{kind.expression} < 0", finding, value=kind.expression)
    return kind._replace(rules=[*kind.rules, rule])


def _type_column(table: LogTable, name: str, *, worth: Mapping[str, float]) -> ColumnQuery:
    """Give the place of a type among those that have values."""
    kind = id_column(table, name)
    cases = " ".join(f"WHEN {quote_text(of)} THEN {place}" for place, of in enumerate(worth))
    expression = f"CASE {kind.expression} {cases} END::UTINYINT"
    finding = f"values are set for {', '.join(worth)}, got {{!r}}."
    return ColumnQuery(expression, [*kind.rules, Rule(name, f"{expression} IS NULL", finding)])
