"""The loop of `recommenders.shared.full_ranks`, compiled."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Ints, Longs, Numbers, Singles
from runs.shared.compiled import jit


@jit()
def count_above(scores: Singles, row: Numbers, item: Ints, target_scores: Singles) -> Longs:
    """Count the items that are above each target item in its row of scores.

    Parameters
    ----------
    scores
        Scores of all items, of shape (n_rows, n_items); an item with NaN is above nothing.
    row, item
        Row and item number of each target, of shape (n_targets,).
    target_scores
        Score of each target, (n_targets,), which may be NaN in ``scores``; a target with NaN has
        counts of 0.

    Returns
    -------
    Counts of shape (n_targets, 3): the items of higher score, those of equal score with a lower
    number, and those of equal score with a higher number.
    """
    counts = np.zeros((len(row), 3), dtype=np.int64)
    for target in range(len(row)):
        target_score = target_scores[target]
        target_item = item[target]
        for other_item in range(scores.shape[1]):
            score = scores[row[target], other_item]
            if score > target_score:
                counts[target, 0] += 1
            elif score == target_score:
                counts[target, 1 if other_item < target_item else 2] += 1
    return counts
