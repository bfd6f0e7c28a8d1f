"""Hidden ranks: where a model puts the items that were hidden from it, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.interactions import Interactions
from qrels.interactions.log_table import (
    ColumnQuery,
    LogTable,
    Rule,
    id_column,
    log_database,
    number_column,
    quote_name,
    time_column,
)
from runs import InputError, Numbering
from runs.shared.arrays import Ints, Masks
from runs.shared.files import parquet_bytes

MISS = 65535
"""The rank of an item that is not recommended, or ranked beyond what is kept."""

Ranks = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class HiddenRanks:
    """Ranks of hidden items, the same for every model, under one; every recall derives of them.

    A row of the hidden items is an event that leave last one out hides; leave one out hides the
    first of each user and item. Ranks among the candidates, from 1, are uint16 of shape
    (n_hidden,), `MISS` if there is none or it is beyond: ``rank_loo`` when the item alone is hidden
    from its user's items (leave one out), ``rank_lloo`` when all events of its time and later are
    (leave last one out), a rank beyond ``deepest`` being a miss there.
    """

    hidden: Interactions
    rank_loo: Ranks
    rank_lloo: Ranks
    deepest: int

    def __post_init__(self) -> None:
        if not len(self.hidden) == len(self.rank_loo) == len(self.rank_lloo):
            raise InputError(
                f"ranks must be as many as hidden items, {len(self.hidden)}, "
                f"got {len(self.rank_loo)} and {len(self.rank_lloo)}."
            )
        if (self.rank_loo == 0).any() or (self.rank_lloo == 0).any():
            raise InputError("ranks of hidden items begin at 1, got 0.")

    def __len__(self) -> int:
        return len(self.hidden)

    @cached_property
    def has_past(self) -> Masks:
        """Mark the rows that are later than the first event of their user, of shape (n_hidden,).

        The others, one or a group of one time, leave nothing to recommend from.
        """
        hidden = self.hidden
        return hidden.time > hidden.time[hidden.starts[hidden.user]]


def hidden_to_parquet(hidden: Interactions) -> bytes:
    """Write the rows: columns user and item (ids), and time."""
    import pyarrow as pa

    columns = {
        "user": pa.DictionaryArray.from_arrays(hidden.user, pa.array(hidden.users.ids)),
        "item": pa.DictionaryArray.from_arrays(hidden.item, pa.array(hidden.items.ids)),
        "time": pa.array(hidden.time),
    }
    return _written(columns, {})


def hidden_from_parquet(content: bytes, *, users: Numbering, items: Numbering) -> Interactions:
    """Read back what `hidden_to_parquet` wrote, over known users and items."""
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))

    def numbers(name: str, known: Numbering) -> Ints:
        codes = table[name].combine_chunks()
        ids = np.array(codes.dictionary.to_pylist(), dtype=np.str_)
        return known.numbers(ids)[codes.indices.to_numpy()]

    user, item, time = numbers("user", users), numbers("item", items), table["time"].to_numpy()
    return Interactions(users, items, user, item, time, np.ones(len(time)))


def ranks_to_parquet(ranks: HiddenRanks) -> bytes:
    """Write the two columns of ranks alone, about 1.5 bytes a hidden item."""
    import pyarrow as pa

    columns = {"rank_loo": pa.array(ranks.rank_loo), "rank_lloo": pa.array(ranks.rank_lloo)}
    return _written(columns, {"deepest": str(ranks.deepest)})


def ranks_from_parquet(content: bytes, hidden: Interactions) -> HiddenRanks:
    """Read back what `ranks_to_parquet` wrote, for the same rows."""
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))
    loo, lloo = (table[name].to_numpy() for name in RANKS)
    return HiddenRanks(hidden, loo, lloo, int(table.schema.metadata[b"deepest"]))


def _written(columns: dict[str, object], facts: dict[str, str]) -> bytes:
    import pyarrow as pa

    return parquet_bytes(pa.table(columns).replace_schema_metadata(facts), write_statistics=False)


RANKS: Final = ("rank_loo", "rank_lloo")
BESIDE: Final = "hidden.parquet"


def read_hidden_ranks(path: Path, *, items: Numbering, first_year: int | None) -> HiddenRanks:
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
    hidden = Interactions(users, all_items, user[order], item[order], time[order], values)
    return HiddenRanks(hidden, loo[order], lloo[order], _deepest(path))


def _rank_column(table: LogTable, name: str) -> ColumnQuery:
    """Whole numbers from 1, as 3 or 3.0; none, and those beyond what is kept, are misses."""
    kind = number_column(table, name, optional=True)
    number = f"coalesce(TRY_CAST({quote_name(name)} AS DOUBLE), {MISS})"
    finding = "a rank must be a whole number from 1, or empty for a miss, got {:g}."
    rule = Rule(name, f"{number} < 1 OR {number} <> floor({number})", finding, value=number)
    return ColumnQuery(f"least({number}, {MISS})::USMALLINT", [*kind.rules, rule])


def _deepest(path: Path) -> int:
    """Read how deep ranks are known: as deep as a cut-off may be, if the file does not say."""
    from pyarrow import ArrowInvalid, parquet

    try:
        facts = parquet.read_schema(path).metadata or {}
    except ArrowInvalid:
        facts = {}
    return int(facts.get(b"deepest", MISS - 1))
