"""The pairs of user and item that the lines of a TREC file name, each once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runs.shared.errors import InputError
from runs.shared.fields import Columns
from runs.shared.numbering import Numbering

USER, ITEM = 0, 2
MOST_MARKS = 64
"""Where pairs that there may be are more for each line, they are sorted instead."""


class Pairs(NamedTuple):
    """Users and items over a numbering of their own; int32 of shape (n_lines,)."""

    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]

    @classmethod
    def of_columns(cls, columns: Columns) -> Pairs:
        """Number the first and third fields of lines.

        Raises
        ------
        InputError
            If an item is duplicated for a user; it names both lines.
        """
        (users, user), (items, item) = columns.numbered(USER), columns.numbered(ITEM)
        pairs = cls(users, items, user, item)
        pairs.require_distinct(columns.path, lambda place: columns.line(place)[0], unit="line")
        return pairs

    def require_distinct(
        self, path: Path | str, number: Callable[[int], int], *, unit: str
    ) -> None:
        """Refuse an item that is duplicated for a user.

        Parameters
        ----------
        path
            The file, for the message.
        number, unit
            What the place of a pair is called: the number of its "line" or "row".
        """
        for second in self.repeated()[:1]:
            user, item = self.user[second], self.item[second]
            first = int(((self.user == user) & (self.item == item)).argmax())
            raise InputError.at(
                path,
                number(int(second)),
                f"item {self.items.ids[item]} is duplicated for user {self.users.ids[user]}, "
                f"first in {unit} {number(first)}.",
                unit=unit,
            )

    def repeated(self) -> NDArray[np.intp]:
        """Give the positions, rising, of pairs that occur before."""
        pairs = self.user.astype(np.int64) * len(self.items) + self.item
        # Most files repeat nothing, and marks alone are many times as fast.
        if len(self.users) * len(self.items) <= MOST_MARKS * len(pairs):
            named = np.zeros(len(self.users) * len(self.items), dtype=np.bool_)
            named[pairs] = True
            if np.count_nonzero(named) == len(pairs):
                return np.empty(0, dtype=np.intp)
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
        return np.sort(order[again + 1])
