"""Hidden ranks: where a model puts the items that were hidden from it, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
from runs import InputError, Numbering

MISS = 65535
"""The rank of an item that is not recommended, or ranked beyond what is kept."""

Ranks = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class HiddenItems:
    """What is hidden: a row for every hidden item, sorted by (user, time, item).

    Columns, of shape (n_hidden,), are as of `Interactions`, with times in milliseconds since 1970
    in UTC, and a mask of the rows that are the first of their user and item. Leave one out hides
    these; leave last one out all of them.
    """

    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    time: NDArray[np.int64]
    is_first: NDArray[np.bool_]

    @classmethod
    def of(cls, interactions: Interactions, *, repeats: bool = False) -> HiddenItems:
        """Hide the first event of every user and item, or every event."""
        first = interactions.is_first
        kept = np.ones_like(first) if repeats else first
        return cls(
            interactions.users,
            interactions.items,
            interactions.user[kept],
            interactions.item[kept],
            interactions.time[kept],
            first[kept],
        )

    def __post_init__(self) -> None:
        columns = (self.user, self.item, self.time, self.is_first)
        if len({column.shape for column in columns}) > 1:
            raise InputError("the columns of hidden items must have one length.")
        if (self.user[1:] < self.user[:-1]).any():
            raise InputError("hidden items must be sorted by user.")

    def __len__(self) -> int:
        return len(self.user)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Row at which each user with hidden items begins, of shape (n_users_with,)."""
        return np.flatnonzero(np.diff(self.user, prepend=-1))

    @cached_property
    def has_past(self) -> NDArray[np.bool_]:
        """Mark the rows that are later than the first event of their user, of shape (n_hidden,).

        The others, one or a group of one time, leave nothing to recommend from.
        """
        sizes = np.diff(self.starts, append=len(self))
        return self.time > np.repeat(self.time[self.starts], sizes)


@dataclass(frozen=True, eq=False)
class HiddenRanks:
    """Ranks of hidden items, the same for every model, under one; every recall derives of them.

    Ranks among the candidates, from 1, are uint16 of shape (n_hidden,), `MISS` if there is none or
    it is beyond: ``rank_loo`` when the item alone is hidden from its user's items (leave one out),
    ``rank_lloo`` when all events of its time and later are (leave last one out), a rank beyond
    ``deepest`` being a miss there. The lowest rank of every item in any list, ``best``, is uint16
    of shape (n_items,), `MISS` beyond ``deepest``; None if it was not looked for.
    """

    hidden: HiddenItems
    rank_loo: Ranks
    rank_lloo: Ranks
    deepest: int
    best: Ranks | None = None

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

    def coverage(self, cutoff: int) -> float:
        """Share of the items that are in the first ranks of any list."""
        if self.best is None:
            raise InputError("coverage needs ranks that were found with `lists` given.")
        if cutoff > self.deepest:
            raise InputError(f"coverage is known down to rank {self.deepest}, not {cutoff}.")
        return float((self.best <= cutoff).mean())


def hidden_to_parquet(hidden: HiddenItems) -> bytes:
    """Write the rows: columns user and item (ids), time, is_first."""
    import pyarrow as pa

    return _written(
        {
            "user": pa.DictionaryArray.from_arrays(hidden.user, pa.array(hidden.users.ids)),
            "item": pa.DictionaryArray.from_arrays(hidden.item, pa.array(hidden.items.ids)),
            "time": pa.array(hidden.time),
            "is_first": pa.array(hidden.is_first),
        },
        {},
    )


def hidden_from_parquet(content: bytes, *, users: Numbering, items: Numbering) -> HiddenItems:
    """Read back what `hidden_to_parquet` wrote."""
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))
    return HiddenItems(
        users,
        items,
        _numbers(table["user"], users, what="user"),
        _numbers(table["item"], items, what="item"),
        table["time"].to_numpy(),
        table["is_first"].to_numpy().astype(np.bool_),
    )


def ranks_to_parquet(ranks: HiddenRanks) -> bytes:
    """Write the two columns of ranks alone, about 1.5 bytes a hidden item."""
    import pyarrow as pa

    facts = {"deepest": str(ranks.deepest)}
    if ranks.best is not None:
        facts["best"] = ranks.best.astype("<u2").tobytes().hex()
    columns = {"rank_loo": pa.array(ranks.rank_loo), "rank_lloo": pa.array(ranks.rank_lloo)}
    return _written(columns, facts)


def ranks_from_parquet(content: bytes, hidden: HiddenItems) -> HiddenRanks:
    """Read back what `ranks_to_parquet` wrote, for the same rows."""
    from pyarrow import parquet

    table = parquet.read_table(BytesIO(content))
    facts = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    best = np.frombuffer(bytes.fromhex(facts["best"]), dtype="<u2") if "best" in facts else None
    return HiddenRanks(
        hidden,
        table["rank_loo"].to_numpy(),
        table["rank_lloo"].to_numpy(),
        int(facts["deepest"]),
        best,
    )


def _written(columns: dict[str, object], facts: dict[str, str]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(columns).replace_schema_metadata(facts)
    stream = BytesIO()
    parquet.write_table(table, stream, compression="zstd", write_statistics=False)
    return stream.getvalue()


def _numbers(column: Any, numbering: Numbering, *, what: str) -> NDArray[np.int32]:
    """Give the numbers of a dictionary column of ids."""
    codes = column.combine_chunks()
    ids = np.array(codes.dictionary.to_pylist(), dtype=np.str_)
    numbers = numbering.numbers(ids)[codes.indices.to_numpy()]
    if (numbers < 0).any():
        unknown = ids[codes.indices.to_numpy()[int((numbers < 0).argmax())]]
        raise InputError(f"hidden items name {what} {str(unknown)!r}, which is unknown.")
    return numbers


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
