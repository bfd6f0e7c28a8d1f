"""Tables of hidden ranks that were made elsewhere, or by an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from qrels.interactions.interactions import Interactions
from qrels.interactions.log_table import (
    Kind,
    LogTable,
    Rule,
    id_column,
    log_database,
    optional_number_column,
    quoted,
    time_column,
)
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks
from runs import InputError, Numbering

HIDDEN: Final = ("user", "item", "time")
RANKS: Final = ("rank_loo", "rank_lloo")
BESIDE: Final = "hidden.parquet"


def read_hidden_ranks(
    path: Path, *, items: Numbering, first_year: int | None = None
) -> HiddenRanks:
    """Read the ranks of hidden items, sorted by (user, time, item).

    The file is Parquet, or CSV with a heading line: columns user, item, time, rank_loo and
    rank_lloo, a row for every hidden item. An empty rank is a miss. Without the first three, which
    every model shares, they are read from ``hidden.parquet`` in the same folder. Items that are not
    known are added to those that are. Times before the first year are refused.
    """
    with log_database(first_year=first_year) as database:
        table = database.open(path)
        table.require(*RANKS)
        place = table
        if "user" not in table and (path.parent / BESIDE).exists():
            place = database.open(path.parent / BESIDE)
        columns = place.read({"user": id_column, "item": id_column, "time": time_column})
        (users, user), (named, item), time = columns.values()
        loo, lloo = table.read(dict.fromkeys(RANKS, _rank_column)).values()
    if len(time) == 0:
        raise InputError(f"{place.path}: the table has a heading but no hidden items.")
    if len(loo) != len(time):
        raise InputError(f"{path} has {len(loo):,} rows, and {place.path} {len(time):,}.")
    all_items = Numbering.of(np.concatenate([items.ids, named.ids]))
    item = all_items.numbers(named.ids)[item]
    order = np.lexsort((item, time, user))
    values = np.ones(len(order))
    events = Interactions(users, all_items, user[order], item[order], time[order], values)
    hidden = HiddenItems.of(events, repeats=True)
    return HiddenRanks(hidden, loo[order], lloo[order], _deepest(path))


def _rank_column(table: LogTable, name: str) -> Kind:
    """Whole numbers from 1, as 3 or 3.0; none, and those beyond what is kept, are misses."""
    kind = optional_number_column(table, name)
    number = f"coalesce(TRY_CAST({quoted(name)} AS DOUBLE), {MISS})"

    def finding(value: float) -> str:
        rule = "a rank must be a whole number from 1, or empty for a miss"
        return f"{rule}, got {value:g}."

    rule = Rule(name, f"{number} < 1 OR {number} <> floor({number})", finding, value=number)
    return Kind(f"least({number}, {MISS})::USMALLINT", [*kind.rules, rule])


def _deepest(path: Path) -> int:
    """Read how deep ranks are known: as deep as a cut-off may be, if the file does not say."""
    from pyarrow import ArrowInvalid, parquet

    try:
        facts = parquet.read_schema(path).metadata or {}
    except ArrowInvalid:
        facts = {}
    return int(facts.get(b"deepest", MISS - 1))
