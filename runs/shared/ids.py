"""Ids that a TREC file can carry: one field of a line that is split at whitespace."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from runs.shared.errors import InputError

# What `str.split` splits at. U+001C to U+001F are not Unicode's White_Space, but Python readers
# of TREC files split there.
WHITESPACE: Final = frozenset(
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
LONGEST_ID: Final = 1000
NAMES: Final = {" ": "a space", "\t": "a tab", "\n": "a line break", "\xa0": "a no-break space"}


def escaped(text: str) -> str:
    r"""Show what a terminal or a page would obey: control characters, marks of direction.

    Examples
    --------
    >>> print(escaped("b\x1b[2Jm25"))
    b\x1b[2Jm25
    >>> escaped("Système 2")
    'Système 2'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def id_fault(id: str) -> str | None:
    """Say why a TREC file cannot carry this id, or None if it can.

    An id is not empty, has no ASCII or Unicode whitespace and no NUL, and does not start
    with '#', which opens a comment in trec_eval 10.

    Examples
    --------
    >>> id_fault("new york")
    'has a space'
    >>> id_fault("#1")
    "starts with '#'"
    >>> id_fault("C#") is None
    True
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


def first_unfit_id(ids: NDArray[np.str_]) -> int | None:
    r"""Position of the first id with an `id_fault`, or None if there is none.

    Notes
    -----
    A numpy array of text drops NULs at the end of its elements, so that "a\0" arrives here
    as "a": a reader looks for NULs in the bytes it reads.

    Examples
    --------
    >>> first_unfit_id(np.array(["7", "a b", "#"]))
    1
    """
    if len(ids) == 0:
        return None
    width = max(ids.dtype.itemsize // 4, 1)
    characters = (
        np.ascontiguousarray(ids, dtype=f"U{width}").view(np.uint32).reshape(len(ids), width)
    )
    unfit = (characters[:, 0] == 0) | (characters[:, 0] == ord("#"))
    unfit |= np.isin(characters, [ord(space) for space in WHITESPACE]).any(axis=1)
    # Elements are padded with NULs: one that is followed by something else belongs to the id.
    unfit |= ((characters[:, :-1] == 0) & (characters[:, 1:] != 0)).any(axis=1)
    return int(unfit.argmax()) if unfit.any() else None


def require_fit_ids(ids: NDArray[np.str_], *, kind: str) -> None:
    """Refuse to write ids, of a "user", "item" or "system", that a TREC file cannot carry.

    Raises
    ------
    InputError
        Naming the first of them and its fault.

    Examples
    --------
    >>> require_fit_ids(np.array(["7", "new york"]), kind="item")
    Traceback (most recent call last):
    runs.InputError: a TREC file cannot carry the item 'new york': it has a space.
    """
    position = first_unfit_id(ids)
    if position is not None:
        unfit = str(ids[position])
        fault = id_fault(unfit)
        raise InputError(f"a TREC file cannot carry the {kind} {unfit!r}: it {fault}.")
