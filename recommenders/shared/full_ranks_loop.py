"""The loop of `recommenders.shared.full_ranks`, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.shared.arrays import Numbers
from runs.shared.compiled import jit


@jit()
def count_above(
    scores: NDArray[np.float32], row: Numbers, item: NDArray[np.int32], own: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Count the items above each relevant one in its row of scores; NaN is above nothing.

    Of equal scores that of the lower item number is above.
    """
    above = np.zeros(len(row), dtype=np.int64)
    for relevant in range(len(row)):
        score, own_item, count = own[relevant], item[relevant], 0
        for other in range(scores.shape[1]):
            found = scores[row[relevant], other]
            if found > score or (found == score and other < own_item):
                count += 1
        above[relevant] = count
    return above
