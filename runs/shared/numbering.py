"""Numbers for ids: users and items are int32 everywhere inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs.shared.errors import InputError


@dataclass(frozen=True, eq=False)
class Numbering:
    """Ids in the order of their numbers: sorted by code point, as trec_eval sorts bytes.

    Parameters
    ----------
    ids
        Text ids, strictly rising, of shape (n,).

    Examples
    --------
    >>> items = Numbering.of(["9", "10", "9"])
    >>> items.ids.tolist()
    ['10', '9']
    >>> items.numbers(["9", "unknown"])
    array([ 1, -1], dtype=int32)
    """

    ids: NDArray[np.str_]

    def __post_init__(self) -> None:
        if (self.ids[1:] <= self.ids[:-1]).any():
            raise InputError("the ids of a numbering must be unique and sorted by code point.")

    @classmethod
    def of(cls, ids: Iterable[str] | NDArray[np.str_]) -> Numbering:
        """Number the distinct ids among these."""
        return cls(np.unique(_as_text(ids)))

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Iterable[str] | NDArray[np.str_]) -> NDArray[np.int32]:
        """Give the number of each id; -1 where it is unknown."""
        wanted = _as_text(ids)
        if len(self.ids) == 0:
            return np.full(len(wanted), -1, dtype=np.int32)
        found = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[found] == wanted, found, -1).astype(np.int32)

    def select(self, numbers: NDArray[np.integer]) -> Numbering:
        """Keep these numbers, which rise."""
        return Numbering(self.ids[numbers])


def _as_text(ids: Iterable[str] | NDArray[np.str_]) -> NDArray[np.str_]:
    return ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=np.str_)
