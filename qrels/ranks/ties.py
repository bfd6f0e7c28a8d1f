"""Equal scores: which of two candidates is ranked first."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from runs import InputError
from runs.shared.streams import random_words

Ties = Literal["item", "min", "max", "random"]
"""By item number; relevant items first; relevant items last; in one random order per user."""

LAST = np.uint64(2**64 - 1)


def require_ties(ties: str) -> None:
    """Refuse what is no rule for ties."""
    if ties not in get_args(Ties):
        why = ", as half ranks cannot be sampled" if ties == "mid" else ""
        raise InputError(f"`ties` must be item, min, max or random{why}, got {ties!r}.")


def priorities(ties: Ties, user: int, *, n_items: int, seed: int) -> NDArray[np.uint64]:
    """Order the items for the case that scores are equal, lower first, of shape (n_items,)."""
    if ties == "random":
        return random_words(n_items, seed, "ties", user)
    return np.arange(n_items, dtype=np.uint64)


def limits(ties: Ties, own: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give, for relevant items of these priorities, below which ones irrelevant items go first."""
    if ties in ("min", "max"):
        return np.full_like(own, 0 if ties == "min" else LAST)
    return own
