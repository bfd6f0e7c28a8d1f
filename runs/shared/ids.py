"""Ids of users and items: numbers (int32 inside the program), and ids as TREC files write them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Integers, Ints
from runs.shared.errors import InputError

# What `str.split` splits at. U+001C to U+001F are not Unicode's White_Space, but Python readers
# of TREC files split there.
WHITESPACE: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
UNFIT: Final = re.compile(rf"\A(?:#|\Z)|[\0{WHITESPACE}]")
LONGEST_ID: Final = 1000
NAMES: Final = {" ": "a space", "\t": "a tab", "\n": "a line break", "\xa0": "a no-break space"}


def escaped(text: str) -> str:
    r"""Show what a terminal or a page would obey: control characters, marks of direction."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def id_fault(id: str) -> str | None:
    """Say why a TREC file cannot carry this id, or None if it can.

    An id is not empty, has no ASCII or Unicode whitespace and no NUL, and does not start
    with '#', which opens a comment in trec_eval 10.
    """
    if not id:
        return "is empty"
    if id.startswith("#"):
        return "starts with '#'"
    if "\0" in id:
        return "has a NUL"
    space = next((character for character in id if character in WHITESPACE), None)
    if space is None:
        return None
    return f"has {NAMES.get(space, f'whitespace (U+{ord(space):04X})')}"


def first_unfit_id(ids: Iterable[str] | NDArray[np.str_]) -> int | None:
    """Position of the first id with an `id_fault`, or None if there is none."""
    texts = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return next((at for at, id in enumerate(texts) if UNFIT.search(id)), None)


def require_fit_name(system: str) -> None:
    """Refuse the name of a system that a TREC file cannot carry, as ids have numbers there."""
    if fault := id_fault(system):
        raise InputError(f"no run can have the system {system!r}: it {fault}.")


@dataclass(frozen=True, eq=False)
class Numbering:
    """Ids in the order of their numbers: sorted by code point, as trec_eval sorts bytes.

    Parameters
    ----------
    ids
        Text ids, strictly rising, of shape (n,).
    """

    ids: NDArray[np.str_]

    def __post_init__(self) -> None:
        if (self.ids[1:] <= self.ids[:-1]).any():
            raise InputError("the ids of a numbering must be unique and sorted by code point.")

    @classmethod
    def of(cls, ids: Iterable[str] | NDArray[np.str_]) -> Numbering:
        """Number the distinct ids among these."""
        # As np.unique, which takes longer to import what it needs than to do it.
        texts = np.sort(_as_text(ids))
        is_new = np.ones(len(texts), dtype=np.bool_)
        is_new[1:] = texts[1:] != texts[:-1]
        return cls(texts[is_new])

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Iterable[str] | NDArray[np.str_]) -> Ints:
        """Give the number of each id; -1 where it is unknown."""
        wanted = _as_text(ids)
        if len(self.ids) == 0:
            return np.full(len(wanted), -1, dtype=np.int32)
        found = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[found] == wanted, found, -1).astype(np.int32)

    def select(self, numbers: Integers) -> Numbering:
        """Keep these numbers, which rise."""
        return Numbering(self.ids[numbers])


def _as_text(ids: Iterable[str] | NDArray[np.str_]) -> NDArray[np.str_]:
    return ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=np.str_)


def trec_ids(named: Numbering) -> Numbering:
    """Put numbers from 1, all of one width, in the place of ids, if one of them does not fit.

    They are in the order of the ids, so that ties are settled alike.
    """
    if first_unfit_id(named.ids) is None:
        return named
    return padded_ids("", len(named))


def padded_ids(prefix: str, n: int) -> Numbering:
    """Number ids padded with zeros, so that they sort as they count."""
    width = len(str(n))
    return Numbering.of([f"{prefix}{number:0{width}}" for number in range(1, n + 1)])


def id_table(pairs: Mapping[str, tuple[Numbering, Numbering]]) -> bytes:
    r"""Write which number stands for which id, as CSV."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["kind", "number", "id"])
    for kind, (numbers, ids) in pairs.items():
        rows = zip(numbers.ids.tolist(), ids.ids.tolist(), strict=True)
        table.writerows([kind, number, id] for number, id in rows)
    return text.getvalue().encode()
