"""The pairs of user and item that the lines of a TREC file name, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runs.shared.errors import InputError
from runs.shared.numbering import Numbering


class Pairs(NamedTuple):
    """Users and items over a numbering of their own; int32 of shape (n_lines,)."""

    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]

    @classmethod
    def of_columns(cls, users: Any, items: Any) -> Pairs | None:
        """Number the ids of Arrow columns of text; None if an item is duplicated for a user."""
        (names, user), (titles, item) = _numbered(users), _numbered(items)
        pairs = cls(names, titles, user, item)
        return None if len(pairs._repeated()) else pairs

    @classmethod
    def of_lines(cls, path: Path, lines: list[tuple[int, list[bytes]]]) -> Pairs:
        """Number the first and third fields of lines, whose physical numbers are given.

        Raises
        ------
        InputError
            If an item is duplicated for a user; it names both lines.
        """
        users, user = _numbered_ids([fields[0] for _, fields in lines])
        items, item = _numbered_ids([fields[2] for _, fields in lines])
        pairs = cls(users, items, user, item)
        for second in pairs._repeated()[:1]:
            first = int(((user == user[second]) & (item == item[second])).argmax())
            raise InputError.at(
                path,
                lines[second][0],
                f"item {items.ids[item[second]]} is duplicated for user {users.ids[user[second]]}, "
                f"first in line {lines[first][0]}.",
            )
        return pairs

    def _repeated(self) -> NDArray[np.intp]:
        """Give the positions, rising, of pairs that occur before."""
        pairs = self.user.astype(np.int64) * len(self.items) + self.item
        # Most files repeat nothing, and sorting alone is five times as fast.
        ordered = np.sort(pairs)
        if not (ordered[1:] == ordered[:-1]).any():
            return np.empty(0, dtype=np.intp)
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
        return np.sort(order[again + 1])


def _numbered(column: Any) -> tuple[Numbering, NDArray[np.int32]]:
    encoded = column.dictionary_encode()
    ids = np.array(encoded.dictionary.to_pylist(), dtype=np.str_)
    numbering = Numbering.of(ids)
    return numbering, numbering.numbers(ids)[encoded.indices.to_numpy()]


def _numbered_ids(ids: list[bytes]) -> tuple[Numbering, NDArray[np.int32]]:
    seen = {name: number for number, name in enumerate(sorted(set(ids)))}
    numbering = Numbering(np.array([name.decode() for name in seen], dtype=np.str_))
    return numbering, np.array([seen[name] for name in ids], dtype=np.int32)
