"""Tables of hidden ranks that were made elsewhere, or by an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.blocks import IdColumn, read_blocks
from qrels.interactions.columns import Fail, is_text, read_floats, read_times
from qrels.interactions.interactions import Interactions
from qrels.interactions.table import LogTable
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks, Ranks
from runs import InputError, Numbering

HIDDEN: Final = ("user", "item", "time")
RANKS: Final = ("rank_loo", "rank_lloo")
BESIDE: Final = "hidden.parquet"

_Ids = tuple[Numbering, NDArray[np.int32]]


def read_hidden_ranks(path: Path, *, items: Numbering) -> HiddenRanks:
    """Read the ranks of hidden items, sorted by (user, time, item).

    The file is Parquet, or CSV with a heading line: columns user, item, time, rank_loo and
    rank_lloo, a row for every hidden item. An empty rank is a miss. Without the first three, which
    every model shares, they are read from ``hidden.parquet`` in the same folder. Items that are not
    known are added to those that are.

    Raises
    ------
    InputError
        Naming file, row, column and rule, if something is not what it should be.
    """
    table = LogTable.open(path)
    table.require(*RANKS)
    place = table
    if "user" not in table and (path.parent / BESIDE).exists():
        place = LogTable.open(path.parent / BESIDE)
    place.require(*HIDDEN)
    (users, user), (named, item), time = _read_hidden(place)
    loo, lloo = (_read_ranks(table, name) for name in RANKS)
    if len(loo) != len(time):
        raise InputError(f"{path} has {len(loo):,} rows, and {place.path} {len(time):,}.")
    all_items = Numbering.of(np.concatenate([items.ids, named.ids]))
    item = all_items.numbers(named.ids)[item]
    order = np.lexsort((item, time, user))
    values = np.ones(len(order))
    events = Interactions(users, all_items, user[order], item[order], time[order], values)
    hidden = HiddenItems.of(events, repeats=True)
    return HiddenRanks(hidden, loo[order], lloo[order], _deepest(table))


def _read_hidden(table: LogTable) -> tuple[_Ids, _Ids, NDArray[np.int64]]:
    """Read users, items and times in the order of the file."""
    users, items = IdColumn(), IdColumn()
    times = []
    for block in read_blocks(table, HIDDEN):
        users.add(block, "user")
        items.add(block, "item")
        times.append(read_times(block.columns["time"], block.fail("time")))
    if sum(map(len, times)) == 0:
        raise InputError(f"{table.path}: the table has a heading but no hidden items.")
    return users.numbered(), items.numbered(), np.concatenate(times)


def _read_ranks(table: LogTable, name: str) -> Ranks:
    parts = [_ranks(block.columns[name], block.fail(name)) for block in read_blocks(table, [name])]
    return np.concatenate([np.empty(0, dtype=np.uint16), *parts])


def _ranks(column: Any, fail: Fail) -> Ranks:
    """Read whole numbers from 1, as 3 or 3.0; none, and those beyond what is kept, are misses."""
    values = read_floats(_filled(column), fail)
    wrong = (values < 1) | (values != np.floor(values))
    if wrong.any():
        row = int(wrong.argmax())
        rule = "a rank must be a whole number from 1, or empty for a miss"
        raise fail(row, f"{rule}, got {values[row]:g}.")
    return np.minimum(values, MISS).astype(np.uint16)


def _filled(column: Any) -> Any:
    """Put a miss where there is nothing."""
    import pyarrow as pa

    if column.null_count == 0 or is_text(column.type):
        return column.fill_null(str(MISS)) if is_text(column.type) else column
    # Numbers of one byte could not hold it.
    return column.cast(pa.float64()).fill_null(MISS)


def _deepest(table: LogTable) -> int:
    """Read how deep ranks are known: as deep as a cut-off may be, if the file does not say."""
    facts = (table.file.schema_arrow.metadata or {}) if table.file is not None else {}
    return int(facts.get(b"deepest", MISS - 1))
