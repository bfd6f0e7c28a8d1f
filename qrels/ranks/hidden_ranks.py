"""Hidden ranks: where a model ranks the items that were hidden from it, one at a time."""

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
    """Ranks of hidden items under one model; all kinds of recall are computed from them.

    ``hidden``: the hidden items, the same for every model, of n_hidden events; each is hidden under
    leave last one out, and the first event of each user and item under leave one out.
    ``rank_loo``, ``rank_lloo``: ranks among the candidates, from 1, uint16 of shape (n_hidden,).
    Under leave one out the item alone is hidden from its user's items; under leave last one out all
    events of its time and later are. `MISS` stands for no rank, or one that is too deep.
    ``deepest``: the deepest rank under leave last one out that is no miss.
    """

    hidden: Interactions
    rank_loo: Ranks
    rank_lloo: Ranks
    deepest: int

    def __post_init__(self) -> None:
        """Raise InputError if ranks are not as many as hidden items, or a rank is 0."""
        if not len(self.hidden) == len(self.rank_loo) == len(self.rank_lloo):
            raise InputError(
                f"ranks must be as many as hidden items, {len(self.hidden)}, "
                f"got {len(self.rank_loo)} and {len(self.rank_lloo)}."
            )
        has_rank_0 = (self.rank_loo == 0) | (self.rank_lloo == 0)
        if has_rank_0.any():
            raise InputError("ranks of hidden items begin at 1, got 0.")

    def __len__(self) -> int:
        return len(self.hidden)

    @cached_property
    def has_past(self) -> Masks:
        """Mark the rows that are later than the first event of their user, of shape (n_hidden,).

        The others, one or several of one time, leave nothing to recommend from.
        """
        hidden = self.hidden
        first_rows = hidden.starts[hidden.user]
        return hidden.time > hidden.time[first_rows]


def hidden_to_parquet(hidden: Interactions) -> bytes:
    """Write hidden items as a Parquet file: columns user and item (ids), and time.

    Times are milliseconds since 1970 in UTC. Values of events are not written.
    """
    import pyarrow as pa

    user_ids = pa.array(hidden.users.ids)
    item_ids = pa.array(hidden.items.ids)
    user = pa.DictionaryArray.from_arrays(hidden.user, user_ids)
    item = pa.DictionaryArray.from_arrays(hidden.item, item_ids)
    time = pa.array(hidden.time)
    return _written({"user": user, "item": item, "time": time}, metadata={})


def hidden_from_parquet(content: bytes, *, users: Numbering, items: Numbering) -> Interactions:
    """Read a Parquet file with columns user and item (ids, as dictionaries) and time.

    ``users`` and ``items`` give the ids their numbers; they hold all ids in the file. Each event
    has the value 1. Raises InputError if the rows are not sorted by (user, time, item).
    """
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))

    def numbers(column: str, numbering: Numbering) -> Ints:
        """Look up the number of the id in each row of a column."""
        codes = table[column].combine_chunks()
        ids = np.array(codes.dictionary.to_pylist(), dtype=np.str_)
        return numbering.numbers(ids)[codes.indices.to_numpy()]

    time = table["time"].to_numpy()
    return Interactions(
        users=users,
        items=items,
        user=numbers("user", users),
        item=numbers("item", items),
        time=time,
        value=np.ones(len(time)),
    )


def ranks_to_parquet(ranks: HiddenRanks) -> bytes:
    """Write the two columns of ranks as a Parquet file, about 1.5 bytes for each hidden item.

    The hidden items themselves are not written; see `hidden_to_parquet`.
    """
    import pyarrow as pa

    rank_loo = pa.array(ranks.rank_loo)
    rank_lloo = pa.array(ranks.rank_lloo)
    columns = {"rank_loo": rank_loo, "rank_lloo": rank_lloo}
    return _written(columns, metadata={"deepest": str(ranks.deepest)})


def ranks_from_parquet(content: bytes, hidden: Interactions) -> HiddenRanks:
    """Read the content that `ranks_to_parquet` wrote, of the same hidden items.

    Columns rank_loo and rank_lloo have a rank for each hidden item, in the order of ``hidden``; the
    metadata hold the deepest rank that is known. Raises InputError if there are not as many ranks
    as hidden items.
    """
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))
    rank_loo = table["rank_loo"].to_numpy()
    rank_lloo = table["rank_lloo"].to_numpy()
    deepest = int(table.schema.metadata[b"deepest"])
    return HiddenRanks(hidden, rank_loo, rank_lloo, deepest)


def _written(columns: dict[str, object], metadata: dict[str, str]) -> bytes:
    """Write Arrow arrays, by column, and metadata as a Parquet file."""
    import pyarrow as pa

    table = pa.table(columns).replace_schema_metadata(metadata)
    return parquet_bytes(table, write_statistics=False)


RANKS: Final = ("rank_loo", "rank_lloo")
HIDDEN_FILE: Final = "hidden.parquet"
"""The file of hidden items that all models share, in the same folder."""


def read_hidden_ranks(path: Path, *, items: Numbering, first_year: int | None) -> HiddenRanks:
    """Read the ranks of hidden items, sorted by (user, time, item).

    The file is Parquet, or CSV with a heading line: columns user, item, time, rank_loo and
    rank_lloo, a row for every hidden item. An empty rank is a miss. Without the first three, which
    all models share, they are read from ``hidden.parquet`` in the same folder.

    Parameters
    ----------
    path
        The file.
    items
        Ids of items that other data hold; ids in the file are added, and all are numbered anew.
    first_year
        Times before this year are refused; None for 2000.

    Returns
    -------
    The hidden items as events of value 1, the two ranks of each, and the deepest rank that is
    known. The order of the file does not matter.

    Raises
    ------
    InputError
        If a column is missing, a value is invalid, there are no rows, or the two files differ in
        their numbers of rows.
    """
    with log_database(first_year=first_year) as database:
        ranks_table = database.open(path)
        ranks_table.require(*RANKS)
        hidden_table = ranks_table
        hidden_path = path.parent / HIDDEN_FILE
        if "user" not in ranks_table and hidden_path.exists():
            hidden_table = database.open(hidden_path)
        columns = hidden_table.read({"user": id_column, "item": id_column, "time": time_column})
        users, user = columns["user"]
        hidden_items, item = columns["item"]
        time = columns["time"]
        ranks = ranks_table.read({"rank_loo": _rank_column, "rank_lloo": _rank_column})
        rank_loo = ranks["rank_loo"]
        rank_lloo = ranks["rank_lloo"]
    if len(time) == 0:
        raise InputError(f"{hidden_table.path}: the table has a heading but no hidden items.")
    if len(rank_loo) != len(time):
        raise InputError(
            f"{path} has {len(rank_loo):,} rows, and {hidden_table.path} {len(time):,}."
        )
    all_ids = np.concatenate([items.ids, hidden_items.ids])
    all_items = Numbering.of(all_ids)
    item = all_items.numbers(hidden_items.ids)[item]
    order = np.lexsort((item, time, user))
    values = np.ones(len(order))
    hidden = Interactions(
        users=users,
        items=all_items,
        user=user[order],
        item=item[order],
        time=time[order],
        value=values,
    )
    deepest = _deepest(path)
    return HiddenRanks(hidden, rank_loo[order], rank_lloo[order], deepest)


def _rank_column(table: LogTable, name: str) -> ColumnQuery:
    """Write the SQL expression of a column of ranks, and the rules that its values must keep.

    Ranks are whole numbers from 1, written as 3 or 3.0. An empty rank, and one beyond what uint16
    holds, is read as a miss, 65535. Other values break a rule, which is refused when it is read.
    """
    column = number_column(table, name, optional=True)
    number = f"coalesce(TRY_CAST({quote_name(name)} AS DOUBLE), {MISS})"
    whole_rule = Rule(
        column=name,
        condition=f"{number} < 1 OR {number} <> floor({number})",
        finding="a rank must be a whole number from 1, or empty for a miss, got {:g}.",
        value=number,
    )
    expression = f"least({number}, {MISS})::USMALLINT"
    return ColumnQuery(expression, [*column.rules, whole_rule])


def _deepest(path: Path) -> int:
    """Read the deepest rank that is known from the metadata of a Parquet file.

    It is 65534, the deepest cut-off, if the metadata do not hold it or the file is no Parquet.
    """
    from pyarrow import ArrowInvalid, parquet

    try:
        metadata = parquet.read_schema(path).metadata or {}
    except ArrowInvalid:
        metadata = {}
    return int(metadata.get(b"deepest", MISS - 1))
