"""The table of interactions: one row for each thing a user did with an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from analyses.online.logs.slates import Slates
from qrels.interactions.columns import Ids, read_floats, read_ids, read_times
from qrels.interactions.table import LogTable
from runs import Numbering

KNOWN: Final = ("time", "user", "item", "type", "rec_id", "value")

VALUES: Final[Mapping[str, float]] = MappingProxyType(
    {"view": 0.25, "cart": 0.5, "bookmark": 0.5, "purchase": 1.0}
)
"""What an interaction of each type is worth for training (Kasalický 2021)."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Interactions as read, before users and items have numbers that other tables share."""

    table: LogTable
    user: Ids
    item: Ids
    type: Ids
    time: NDArray[np.int64]
    value: NDArray[np.float64]
    rec: Ids | None

    def events(self, slates: Slates) -> Events:
        """Number users and items as the lists do.

        Raises
        ------
        InputError
            If an interaction names a list that was never shown, or not to its user, or without its
            item.
        """
        types = Numbering.of(self.type.ids)
        user, item = self.user.numbers(slates.users), self.item.numbers(slates.items)
        return Events(
            slates.users,
            slates.items,
            tuple(types.ids.tolist()),
            user=user,
            item=item,
            type=self.type.numbers(types),
            time=self.time,
            value=self.value,
            slate=None if self.rec is None else self._named(self.rec, slates, user, item),
        )

    def _named(
        self, rec: Ids, slates: Slates, user: NDArray[np.int32], item: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Find the list that each interaction names; -1 for none."""
        order = np.argsort(slates.ids)
        places = Numbering(slates.ids[order]).numbers(rec.ids)
        numbers = np.append(np.where(places >= 0, order[places], -1), -1)[rec.places]
        named = rec.places >= 0
        self._refuse(
            named & (numbers < 0), rec, "a click must name a list that was shown; {} never was."
        )
        self._refuse(
            named & (slates.user[numbers] != user), rec, "list {} was shown to another user."
        )
        n_items = len(slates.items)
        shown = np.isin(numbers * n_items + item, slates.slate * n_items + slates.item)
        self._refuse(named & ~shown, rec, "list {} does not hold the item of this row.")
        return numbers

    def _refuse(self, wrong: NDArray[np.bool_], rec: Ids, rule: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            raise self.table.error("rec_id", row, rule.format(repr(rec[row])))


def read_interactions(table: LogTable, *, values: Mapping[str, float] | None) -> Interactions:
    """Read interactions in file order; values as for `analyses.online.logs.read_logs`.

    Raises
    ------
    InputError
        If a column is missing, or a value is not what it should be.
    """
    table.require("time", "user", "item", "type")
    type = read_ids(table.column("type"), table.fail("type"))
    return Interactions(
        table,
        user=read_ids(table.column("user"), table.fail("user")),
        item=read_ids(table.column("item"), table.fail("item")),
        type=type,
        time=read_times(table.column("time"), table.fail("time")),
        value=_values(table, type, values),
        rec=read_ids(table.column("rec_id"), table.fail("rec_id"), optional=True)
        if "rec_id" in table
        else None,
    )


def _values(table: LogTable, type: Ids, values: Mapping[str, float] | None) -> NDArray[np.float64]:
    if "value" in table:
        return read_floats(table.column("value"), table.fail("value"))
    if values is None:
        return np.ones(len(type.places))
    worth = np.array([values.get(name, np.nan) for name in type.ids.tolist()], dtype=np.float64)
    found: NDArray[np.float64] = worth[type.places]
    if np.isnan(found).any():
        row = int(np.isnan(found).argmax())
        known = ", ".join(values)
        raise table.error("type", row, f"values are set for {known}, got {type[row]!r}.")
    return found
