"""The table of recommendations: one row for each list, or one for each item of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import Slates
from qrels.interactions.columns import (
    Fail,
    Ids,
    read_flags,
    read_floats,
    read_ids,
    read_positions,
)
from qrels.interactions.table import LogTable
from runs import InputError, Numbering
from runs.shared.fields import place_in_group

Values = TypeVar("Values", bound=np.generic)
Reader = Callable[[Any, Fail], NDArray[Values]]

KNOWN: Final = (
    *("rec_id", "time", "user", "arm", "items", "item", "position"),
    *("model_version", "propensity", "clicked"),
)


@dataclass(frozen=True, eq=False)
class Recommendations:
    """Lists as read, before users and items have numbers that other tables share.

    Rows of the file, from 0, are those of each place, (n_places,); the item column is what it calls
    items. Ids and times are of each list; first, item, clicked and propensity are as of
    `analyses.online.logs.slates.Slates`. Repeated are rows left out, as their list stands before.
    """

    table: LogTable
    item_column: str
    rows: NDArray[np.int64]
    rec: Ids
    user: Ids
    arm: Ids
    version: Ids | None
    time: NDArray[np.int64]
    first: NDArray[np.int64]
    item: Ids
    clicked: NDArray[np.bool_] | None
    propensity: NDArray[np.float64] | None
    n_repeated: int = 0

    def slates(self, users: Numbering, items: Numbering, arms: Sequence[str] | None) -> Slates:
        """Number users, items and arms; all arms that occur, if None are named."""
        names = Numbering.of(self.arm.ids if arms is None else arms)
        versions = Numbering.of([] if self.version is None else self.version.ids)
        return Slates(
            users,
            tuple(names.ids.tolist()),
            self.user.numbers(users),
            known_arms(self.table, self.arm, names, rows=self.rows[self.first[:-1]]),
            self.time,
            tuple(versions.ids.tolist()),
            None if self.version is None else self.version.numbers(versions),
            items=items,
            ids=self.rec.ids[self.rec.places],
            first=self.first,
            item=self.item.numbers(items),
            clicked=self.clicked,
            propensity=self.propensity,
        )


def known_arms(
    table: LogTable, arm: Ids, names: Numbering, *, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int32]:
    """Number arms, and refuse those that the experiment does not have."""
    numbers = arm.numbers(names)
    if (numbers < 0).any():
        at = int((numbers < 0).argmax())
        row = at if rows is None else int(rows[at])
        known = ", ".join(names.ids)
        raise table.error("arm", row, f"the arms are {known}, got {arm[at]!r}.")
    return numbers


def read_recommendations(table: LogTable, *, strict: bool = True) -> Recommendations:
    """Read lists, in the order in which they first stand in the file.

    Of several rows with one list, the first counts, and the others are refused if that is strict.

    Raises
    ------
    InputError
        If a column is missing or a value is not what it should be; an id of a list is duplicated; a
        list is empty or repeats an item; positions are not 1, 2, 3 and so on; rows of one list have
        different users, arms, times or versions; or a propensity is not in (0, 1].
    """
    require_columns(table)
    read = _of_lists(table, strict=strict) if "items" in table else _of_places(table)
    _check(read)
    return read


def require_columns(table: LogTable) -> None:
    """Refuse a table without the columns that are needed."""
    table.require("rec_id", "time", "user", "arm")
    if "items" not in table and not ("item" in table and "position" in table):
        raise InputError(
            f"{table.path}: recommendations need a column 'items' with lists, or the columns "
            f"'position' and 'item'; found {', '.join(table.names)}."
        )


def _of_lists(table: LogTable, *, strict: bool) -> Recommendations:
    """Read one row for each list."""
    rec = _ids(table, "rec_id")
    if strict:
        table.require_once("rec_id", rec)
    shown = table.lists("items")
    lengths = np.diff(shown.first)
    if (lengths == 0).any():
        raise table.error("items", int((lengths == 0).argmax()), "a list must hold an item.")
    read = Recommendations(
        table,
        "items",
        rows=np.repeat(np.arange(len(rec.places)), lengths),
        rec=rec,
        user=_ids(table, "user"),
        arm=_ids(table, "arm"),
        version=_ids(table, "model_version") if "model_version" in table else None,
        time=table.times("time"),
        first=shown.first,
        item=read_ids(shown.values, shown.fail),
        clicked=_beside(table, "clicked", shown.first, read_flags),
        propensity=_beside(table, "propensity", shown.first, read_floats),
    )
    return read if len(rec.ids) == len(rec.places) else _of_first_rows(read)


def _of_first_rows(read: Recommendations) -> Recommendations:
    """Keep the first row of each list."""
    _, heads = np.unique(read.rec.places, return_index=True)
    rows = np.sort(heads)
    places = np.isin(read.rows, rows)

    def of_rows(ids: Ids | None) -> Any:
        return None if ids is None else Ids(ids.ids, ids.places[rows])

    def at_places(values: NDArray[np.generic] | None) -> Any:
        return None if values is None else values[places]

    return replace(
        read,
        **{name: of_rows(getattr(read, name)) for name in ("rec", "user", "arm", "version")},
        **{name: at_places(getattr(read, name)) for name in ("rows", "clicked", "propensity")},
        time=read.time[rows],
        first=np.concatenate([[0], np.cumsum(np.diff(read.first)[rows])]),
        item=Ids(read.item.ids, read.item.places[places]),
        n_repeated=len(read.time) - len(rows),
    )


def _of_places(table: LogTable) -> Recommendations:
    """Read one row for each item of a list, in any order."""
    rec = _ids(table, "rec_id")
    rows = rows_in_order(table, rec)
    first = np.concatenate([[0], np.cumsum(np.bincount(rec.places))]).astype(np.int64)
    heads = rows[first[:-1]]

    def require_one(name: str, values: NDArray[np.int64]) -> None:
        """Refuse a list whose rows disagree."""
        of_heads = np.repeat(heads, np.diff(first))
        differing = values[rows] != values[of_heads]
        if differing.any():
            at = int(differing.argmax())
            row, head = int(rows[at]), int(of_heads[at])
            finding = f"list {rec[row]!r} has another {name} here than in row {head + 1}."
            raise table.error(name, row, finding)

    def of_list(name: str) -> Ids:
        ids = _ids(table, name)
        require_one(name, ids.places)
        return Ids(ids.ids, ids.places[heads])

    item = _ids(table, "item")
    time = table.times("time")
    require_one("time", time)
    return Recommendations(
        table,
        "item",
        rows=rows,
        rec=Ids(rec.ids, np.arange(len(rec.ids))),
        user=of_list("user"),
        arm=of_list("arm"),
        version=of_list("model_version") if "model_version" in table else None,
        time=time[heads],
        first=first,
        item=Ids(item.ids, item.places[rows]),
        clicked=_of_rows(table, "clicked", rows, read_flags),
        propensity=_of_rows(table, "propensity", rows, read_floats),
    )


def _ids(table: LogTable, name: str) -> Ids:
    return read_ids(table.column(name), table.fail(name))


def _beside(
    table: LogTable, name: str, first: NDArray[np.int64], read: Reader[Values]
) -> NDArray[Values] | None:
    """Read what a column of lists says of every item, if there is one."""
    if name not in table:
        return None
    lists = table.lists(name)
    differing = np.diff(lists.first) != np.diff(first)
    if differing.any():
        row = int(differing.argmax())
        n_items, n_values = (int(np.diff(ends)[row]) for ends in (first, lists.first))
        raise table.error(name, row, f"{n_items} values expected, one an item, got {n_values}.")
    return read(lists.values, lists.fail)


def _of_rows(
    table: LogTable, name: str, rows: NDArray[np.int64], read: Reader[Values]
) -> NDArray[Values] | None:
    return read(table.column(name), table.fail(name))[rows] if name in table else None


def rows_in_order(table: LogTable, rec: Ids) -> NDArray[np.int64]:
    """Put the rows of a table of items list after list, by their positions, which must be right."""
    position = read_positions(table.column("position"), table.fail("position"))
    rows = np.lexsort((position, rec.places))
    expected = place_in_group(rec.places[rows])
    wrong = position[rows] != expected
    if wrong.any():
        at = int(wrong.argmax())
        row = int(rows[at])
        raise table.error(
            "position",
            row,
            f"the positions of a list must be 1, 2, 3 and so on, each once, but list {rec[row]!r} "
            f"has {position[row]} where {expected[at]} should be.",
        )
    return rows


def _check(read: Recommendations) -> None:
    """Refuse repeated items and impossible propensities."""
    import pandas as pd

    table, name = read.table, read.item_column
    slate = np.repeat(np.arange(len(read.time)), np.diff(read.first))
    repeated = pd.Series(slate * len(read.item.ids) + read.item.places).duplicated().to_numpy()
    if repeated.any():
        at = int(repeated.argmax())
        finding = f"a list must not repeat an item, but has {read.item[at]!r} twice."
        raise table.error(name, int(read.rows[at]), finding)
    if read.propensity is not None:
        wrong = ~((read.propensity > 0) & (read.propensity <= 1))
        if wrong.any():
            at = int(wrong.argmax())
            finding = f"a propensity must be in (0, 1], got {read.propensity[at]}."
            raise table.error("propensity", int(read.rows[at]), finding)
