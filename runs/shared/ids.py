"""Ids of users and items: their numbers, int32 in this program, and their text in TREC files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
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
UNFIT_ID: Final = re.compile(rf"\A(?:#|\Z)|[\0{WHITESPACE}]")
"""Finds the ids that have an `id_fault`."""

LONGEST_ID: Final = 1000
"""Number of characters that an id may have."""

WHITESPACE_NAMES: Final = {
    " ": "a space",
    "\t": "a tab",
    "\n": "a line break",
    "\xa0": "a no-break space",
}


def escaped(text: str) -> str:
    r"""Write what a terminal or a page would obey, such as control characters, as escapes.

    Examples
    --------
    >>> escaped("a\x1b")
    'a\\x1b'
    """
    characters = [
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    ]
    return "".join(characters)


def id_fault(id: str) -> str | None:
    """Word why a TREC file cannot hold this id, as in "has a tab"; None if it can.

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
    code_point = f"whitespace (U+{ord(space):04X})"
    return f"has {WHITESPACE_NAMES.get(space, code_point)}"


def first_unfit_id(ids: Iterable[str] | NDArray[np.str_]) -> int | None:
    """Find the position, from 0, of the first id with an `id_fault`; None if there is none."""
    texts = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return next((position for position, id in enumerate(texts) if UNFIT_ID.search(id)), None)


def require_fit_name(system: str) -> None:
    """Refuse, with an InputError, the name of a system that has an `id_fault`.

    TREC files hold names of systems as they are; only ids can be replaced by numbers there.
    """
    if fault := id_fault(system):
        raise InputError(f"no run can have the system {system!r}: it {fault}.")


@dataclass(frozen=True, eq=False)
class Numbering:
    """Ids in the order of their numbers: sorted by code point, as trec_eval sorts bytes.

    Parameters
    ----------
    ids
        Text ids, strictly rising, of shape (n,).

    Raises
    ------
    InputError
        If ids are not sorted, or one occurs twice.
    """

    ids: NDArray[np.str_]

    def __post_init__(self) -> None:
        if (self.ids[1:] <= self.ids[:-1]).any():
            raise InputError("the ids of a numbering must be unique and sorted by code point.")

    @classmethod
    def of(cls, ids: Iterable[str] | NDArray[np.str_]) -> Numbering:
        """Number the distinct ids among these by code point, from 0; they may be in any order."""
        # As np.unique, which takes longer to import what it needs than to do it.
        sorted_ids = np.sort(_as_text(ids))
        is_new = np.ones(len(sorted_ids), dtype=np.bool_)
        is_new[1:] = sorted_ids[1:] != sorted_ids[:-1]
        return cls(sorted_ids[is_new])

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Iterable[str] | NDArray[np.str_]) -> Ints:
        """Look up the number of each id, int32 of the shape of ``ids``; -1 where it is unknown."""
        texts = _as_text(ids)
        if len(self.ids) == 0:
            return np.full(len(texts), -1, dtype=np.int32)
        last_position = len(self.ids) - 1
        positions = np.minimum(np.searchsorted(self.ids, texts), last_position)
        is_known = self.ids[positions] == texts
        return np.where(is_known, positions, -1).astype(np.int32)

    def select(self, numbers: Integers) -> Numbering:
        """Keep the ids with these numbers, which rise, and number them anew."""
        return Numbering(self.ids[numbers])

    @classmethod
    def of_distinct(cls, ids: Sequence[str]) -> tuple[Numbering, Ints]:
        """Number ids of which none occurs twice, by code point, from 0.

        Returns the numbering, and the number of each id, int32 of shape (n,). Raises InputError if
        an id occurs twice.
        """
        texts = _as_text(ids)
        order = np.argsort(texts)
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = np.arange(len(order))
        return cls(texts[order]), numbers


def _as_text(ids: Iterable[str] | NDArray[np.str_]) -> NDArray[np.str_]:
    return ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=np.str_)


def trec_ids(numbering: Numbering) -> Numbering:
    """Replace ids by numbers from 1, padded with zeros, if a TREC file cannot hold one of them.

    The numbers are in the order of the ids, so that ties are settled alike. If all ids fit, the
    numbering itself is returned.
    """
    if first_unfit_id(numbering.ids) is None:
        return numbering
    return padded_ids("", len(numbering))


def padded_ids(prefix: str, n: int) -> Numbering:
    """Make n ids from 1 on, padded with zeros so that their text sorts as their numbers do.

    >>> padded_ids("u", 10).ids[[0, 9]].tolist()
    ['u01', 'u10']
    """
    width = len(str(n))
    ids = [f"{prefix}{number:0{width}}" for number in range(1, n + 1)]
    return Numbering.of(ids)


def id_table(pairs: Mapping[str, tuple[Numbering, Numbering]]) -> bytes:
    """Write a CSV file that holds which number stands for which id: columns kind, number and id.

    ``pairs`` has the numbers and the ids, of one length, by kind, such as "user".
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["kind", "number", "id"])
    for kind, (numbers, ids) in pairs.items():
        for number, id in zip(numbers.ids.tolist(), ids.ids.tolist(), strict=True):
            table.writerow([kind, number, id])
    return text.getvalue().encode()
