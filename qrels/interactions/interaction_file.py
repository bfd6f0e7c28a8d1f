"""Interactions from a Parquet or CSV file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from qrels.interactions.log_table import (
    Kind,
    LogTable,
    Rule,
    id_column,
    literal,
    log_database,
    number_column,
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
    with log_database(folder, first_year=first_year, n_jobs=n_jobs) as database:
        table = database.open(path)
        kinds: dict[str, Any] = dict.fromkeys(("user", "item"), id_column) | {"time": time_column}
        if "value" in table:
            kinds["value"] = _not_negative
        elif "type" in table:
            kinds["type"] = lambda table, name: _value_of_type(table, name, values, rename or {})
        table.require(*NEEDED)
        columns = table.read(kinds, order=("user", "time", "item"))
    time, value = columns["time"], columns.get("value", columns.get("type"))
    if len(time) == 0:
        raise InputError(f"{path}: the table has a heading but no interactions.")
    (users, user), (items, item) = columns["user"], columns["item"]
    if value is None:
        value = np.ones(len(time))
    kept = value >= 0 if rename else slice(None)
    return Interactions(users, items, user[kept], item[kept], time[kept], value[kept])


def _not_negative(table: LogTable, name: str) -> Kind:
    kind = number_column(table, name)

    def negative(value: float) -> str:
        return f"a value must not be negative, got {value:g}."

    rule = Rule(name, f"{kind.expression} < 0", negative, value=kind.expression)
    return kind._replace(rules=[*kind.rules, rule])


def _value_of_type(
    table: LogTable, name: str, values: Mapping[str, float], rename: Mapping[str, str]
) -> Kind:
    """What a type counts."""
    kind = id_column(table, name)
    worth = {**values, **{old: values.get(new, LEFT_OUT) for old, new in rename.items()}}
    cases = " ".join(f"WHEN {literal(of)} THEN {value!r}::DOUBLE" for of, value in worth.items())
    expression = f"CASE {kind.expression} {cases} END"
    finding = f"values are set for {', '.join(worth)}, got {{}}."
    return Kind(expression, [*kind.rules, Rule(name, f"{expression} IS NULL", finding)])
