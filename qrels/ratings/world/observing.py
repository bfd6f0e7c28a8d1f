"""How what users think of items becomes ratings: what they rate, and how."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from runs import Numbering

USERS_PER_BLOCK = 64


def numbered(prefix: str, n: int) -> Numbering:
    """Number ids padded with zeros, so that they sort as they count."""
    width = len(str(n))
    return Numbering.of([f"{prefix}{number:0{width}}" for number in range(1, n + 1)])


def blocks(n_users: int) -> Iterator[slice]:
    """Cut the users into blocks that fit a processor's cache."""
    for start in range(0, n_users, USERS_PER_BLOCK):
        yield slice(start, start + USERS_PER_BLOCK)


def chosen_items(
    appeal: NDArray[np.float64],
    counts: NDArray[np.intp],
    exposure: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.bool_]:
    """Mark the items of highest appeal plus exposure of each user, ``counts`` of them."""
    chosen = np.empty(appeal.shape, dtype=np.bool_)
    for rows in blocks(len(appeal)):
        keys = appeal[rows] + exposure
        least = np.sort(keys, axis=1)[np.arange(len(keys)), -counts[rows]]
        chosen[rows] = keys >= least[:, None]
    return chosen


def stars(
    felt: NDArray[np.float64], cuts: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the lowest rating of the scale, and one step more for each cut that is reached."""
    return scale[np.searchsorted(cuts, felt, side="right")]
