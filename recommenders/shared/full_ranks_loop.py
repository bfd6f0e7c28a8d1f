"""The loop of `recommenders.shared.full_ranks`, compiled."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Ints, Longs, Numbers, Singles
from runs.shared.compiled import jit


@jit()
def count_above(scores: Singles, row: Numbers, item: Ints, own: Singles) -> Longs:
    """Count the items above each relevant one in its row of scores; NaN is above nothing.

    The result: of shape (n_relevant, 3), the items of higher score, and those of equal score with a
    lower and with a higher number.
    """
    counts = np.zeros((len(row), 3), dtype=np.int64)
    for relevant in range(len(row)):
        score, own_item = own[relevant], item[relevant]
        for other in range(scores.shape[1]):
            found = scores[row[relevant], other]
            if found > score:
                counts[relevant, 0] += 1
            elif found == score:
                counts[relevant, 1 if other < own_item else 2] += 1
    return counts
