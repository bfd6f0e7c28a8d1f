"""The loop of `recommenders.shared.full_ranks`, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def count_above(
    scores: NDArray[np.float32],
    row: NDArray[np.intp],
    own: NDArray[np.float32],
    first: NDArray[np.uint64],
    limit: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Count the items above each relevant one in its row of scores; NaN is above nothing.

    An equal score is above if the item's place in ``first``, one row for all users or a row for
    each, is below the limit.
    """
    above = np.zeros(len(row), dtype=np.int64)
    for relevant in range(len(row)):
        score, user = own[relevant], row[relevant]
        places = first[user if len(first) > 1 else 0]
        count = 0
        for item in range(scores.shape[1]):
            other = scores[user, item]
            if other > score or (other == score and places[item] < limit[relevant]):
                count += 1
        above[relevant] = count
    return above
