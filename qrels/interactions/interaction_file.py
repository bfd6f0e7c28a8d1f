"""Interactions from a Parquet or CSV file: tens of millions of rows in little memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.blocks import BLOCK_ROWS, Block, IdColumn, encoded_ids, read_blocks
from qrels.interactions.columns import read_floats, read_times
from qrels.interactions.interactions import TYPE_VALUES, Interactions
from qrels.interactions.table import LogTable
from runs import InputError

Floats = NDArray[np.float64]

NEEDED: Final = ("time", "user", "item")
COLUMNS: Final = (*NEEDED, "value", "type")
"""All that are read."""


def read_interactions(
    path: str | Path,
    *,
    values: Mapping[str, float] = TYPE_VALUES,
    block_rows: int = BLOCK_ROWS,
) -> Interactions:
    """Read who did something with which item, when, and how much it counts.

    Parameters
    ----------
    path
        A Parquet file, or CSV with a heading line: columns time, user and item, and value or type;
        others are not read. What has neither value nor type counts 1. Times are milliseconds
        since 1970 in UTC, or timestamps with a zone; ids are text or whole numbers.
    values
        What an interaction of each type counts.
    block_rows
        Rows read at a time; the result does not depend on it.

    Raises
    ------
    InputError
        Naming file, row, column and rule, if something is not what it should be.

    Notes
    -----
    A row takes 24 bytes, besides the distinct ids, and twice that when rows have to be sorted.
    """
    table = LogTable.open(path)
    table.require(*NEEDED)
    weighed = next((name for name in ("value", "type") if name in table), None)
    names = (*NEEDED, weighed) if weighed else NEEDED
    users, items = IdColumn(), IdColumn()
    times, weights = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for block in read_blocks(table, names, rows=block_rows):
        users.add(block, "user")
        items.add(block, "item")
        times.append(read_times(block.columns["time"], block.fail("time")))
        weights.append(_weights(block, weighed, values))
    time, weight = np.concatenate(times), np.concatenate(weights)
    if len(time) == 0:
        raise InputError(f"{path}: the table has a heading but no interactions.")
    times.clear()
    weights.clear()
    user_ids, user = users.numbered()
    item_ids, item = items.numbered()
    return Interactions.of(user_ids, item_ids, user=user, item=item, time=time, value=weight)


def _weights(block: Block, column: str | None, values: Mapping[str, float]) -> Floats:
    if column is None:
        return np.ones(len(block.columns["time"]))
    if column == "type":
        return _of_types(block, values)
    weights = read_floats(block.columns["value"], block.fail("value"))
    if weights.min(initial=0) < 0:
        row = int((weights < 0).argmax())
        raise block.fail("value")(row, f"a value must not be negative, got {weights[row]:g}.")
    return weights


def _of_types(block: Block, values: Mapping[str, float]) -> Floats:
    types = encoded_ids(block.columns["type"], block.fail("type"))
    names = types.dictionary.to_pylist()
    weights: Floats = np.array([values.get(name, np.nan) for name in names], dtype=np.float64)
    weights = weights[types.indices.to_numpy()]
    if np.isnan(weights).any():
        row = int(np.isnan(weights).argmax())
        finding = f"values are set for {', '.join(values)}, got {types[row].as_py()!r}."
        raise block.fail("type")(row, finding)
    return weights
