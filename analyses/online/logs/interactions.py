"""The table of interactions: one row for each thing a user did with an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import Events, Flags, Slates
from qrels.interactions.columns import Ids, read_floats, read_ids
from qrels.interactions.interactions import TYPE_VALUES
from qrels.interactions.table import LogTable
from runs import Numbering

NEEDED: Final = ("time", "user", "item", "type")
KNOWN: Final = (*NEEDED, "rec_id", "value")

OUTSIDE: Final = "clicks that name a list outside the file"
OF_OTHERS: Final = "clicks on a list of another user"
"""What is set aside; of a shard of users, the former may be the latter."""


class Intake(NamedTuple):
    """How rows of a log are taken in.

    The arms are those of the experiment, by default those that the recommendations have. Values are
    those of the types of interaction, for a file without a column of values; None if any type is
    welcome, and worth 1: values serve training, not rates. Types are new names by what the file
    calls them; "" leaves them out. Merged is a table ``user, person`` of ids of users that are one
    and the same person. Strictly, lists with an id that stands before, clicks that name no list as
    they should, and unknown types are refused, rather than set aside and counted.
    """

    arms: Sequence[str] | None = None
    values: Mapping[str, float] | None = TYPE_VALUES
    types: Mapping[str, str] | None = None
    merged: str | Path | None = None
    strict: bool = False


AS_IT_IS: Final = Intake()


@dataclass(frozen=True, eq=False)
class Interactions:
    """Interactions as read, before users and items have numbers that other tables share.

    Without being strict, what names no list as it should, or has an unknown type, is set aside and
    counted by what is wrong with it, rather than refused.
    """

    table: LogTable
    user: Ids
    item: Ids
    type: Ids
    time: NDArray[np.int64]
    value: NDArray[np.float64]
    rec: Ids | None
    strict: bool
    set_aside: dict[str, int] = field(default_factory=dict)

    def events(self, slates: Slates) -> tuple[Events, NDArray[np.str_]]:
        """Number users and items as the lists do, of the types that are known.

        Given are also the ids that clicks name, one after the other, which no list has.
        """
        unnamed = (self.type.ids == "")[self.type.places]
        unknown = (self.value < 0) & ~unnamed
        kept = self._kept(unknown, "interactions of an unknown type", "type", "unknown: {}")
        self.set_aside["interactions of a type without a name"] = int(unnamed.sum())
        kept &= ~unnamed
        types = Numbering.of([name for name in self.type.ids.tolist() if name])
        user, item = self.user.numbers(slates.users), self.item.numbers(slates.items)
        named, lost = None, np.empty(0, dtype=np.str_)
        if self.rec is not None:
            named, lost = self._named(self.rec, slates, user, item)
        events = Events(
            slates.users,
            slates.items,
            tuple(types.ids.tolist()),
            user=user[kept],
            item=item[kept],
            type=self.type.numbers(types)[kept],
            time=self.time[kept],
            value=self.value[kept],
            slate=None if named is None else named[kept],
        )
        return events, lost

    def _named(
        self, rec: Ids, slates: Slates, user: NDArray[np.int32], item: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """Find the list that each interaction names; -1 for none, or for none as it should.

        Given are also the ids that no list has.
        """
        order = np.argsort(slates.ids)
        places = Numbering(slates.ids[order]).numbers(rec.ids)
        numbers = np.append(np.where(places >= 0, order[places], -1), -1)[rec.places]
        is_unknown = (rec.places >= 0) & (numbers < 0)
        rule = "a click must name a list that was shown to its user; {} never was"
        self._kept(is_unknown, OUTSIDE, "rec_id", rule)
        of_other = (numbers >= 0) & (slates.user[numbers] != user)
        rule = "list {} was shown to another user"
        numbers[~self._kept(of_other, OF_OTHERS, "rec_id", rule)] = -1
        n_items = len(slates.items)
        pairs = slates.slate * n_items + slates.item
        absent = (numbers >= 0) & ~np.isin(numbers * n_items + item, pairs)
        rule = "list {} does not hold the item of this row"
        numbers[~self._kept(absent, "clicks on an item that their list lacks", "rec_id", rule)] = -1
        return numbers, rec.ids[rec.places[is_unknown]]

    def _kept(self, wrong: Flags, what: str, column: str, rule: str) -> Flags:
        """Count what is wrong, or refuse the first of it; mark what is not."""
        self.set_aside[what] = int(wrong.sum())
        if self.strict and wrong.any():
            row = int(wrong.argmax())
            ids = self.type if column == "type" or self.rec is None else self.rec
            raise self.table.error(column, row, f"{rule.format(repr(ids[row]))}.")
        return ~wrong


def read_interactions(table: LogTable, intake: Intake) -> Interactions:
    """Read interactions in file order."""
    table.require(*NEEDED)
    found = read_ids(table.column("type"), table.fail("type"))
    type = found if intake.types is None else found.renamed(intake.types)
    return Interactions(
        table,
        user=read_ids(table.column("user"), table.fail("user")),
        item=read_ids(table.column("item"), table.fail("item")),
        type=type,
        time=table.times("time"),
        value=_values(table, type, intake.values),
        rec=read_ids(table.column("rec_id"), table.fail("rec_id"), optional=True)
        if "rec_id" in table
        else None,
        strict=intake.strict,
    )


def _values(table: LogTable, type: Ids, values: Mapping[str, float] | None) -> NDArray[np.float64]:
    """Give what each interaction is worth; -1 if its type is unknown, or was renamed to nothing."""
    names = type.ids.tolist()
    if values is None or "value" in table:
        known = np.array([1.0 if name else -1.0 for name in names])
    else:
        known = np.array([values.get(name, -1.0) for name in names], dtype=np.float64)
    worth: NDArray[np.float64] = known[type.places]
    if "value" not in table:
        return worth
    given = read_floats(table.column("value"), table.fail("value"))
    return np.where(worth < 0, -1.0, np.maximum(given, 0.0))
