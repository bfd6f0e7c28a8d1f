"""The pairs of user and item that the lines of a TREC file name, each once."""

from __future__ import annotations

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
        for second in pairs.repeated()[:1]:
            first = int(((user == user[second]) & (item == item[second])).argmax())
            raise InputError.at(
                columns.path,
                columns.line(second)[0],
                f"item {items.ids[item[second]]} is duplicated for user {users.ids[user[second]]}, "
                f"first in line {columns.line(first)[0]}.",
            )
        return pairs

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
