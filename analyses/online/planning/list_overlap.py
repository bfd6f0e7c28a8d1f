"""How much the lists of models have in common."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Lists = NDArray[np.int32]


def overlap_matrix(lists: NDArray[np.int32]) -> Floats:
    """Compare the lists of models pair by pair: (n_models, n_users, depth), -1 ending short ones.

    Returns
    -------
    Mean of `jaccard` over the users, in [0, 1], of shape (n_models, n_models).
    """
    overlaps = np.eye(len(lists))
    for one, other in combinations(range(len(lists)), 2):
        overlaps[one, other] = overlaps[other, one] = jaccard(lists[one], lists[other]).mean()
    return overlaps


def jaccard(ones: Lists, others: Lists) -> Floats:
    """Divide the items common to two lists by those of either; 1 where both are empty.

    Lists do not repeat an item and have -1 at the end, of shape (n_users, depth) each; values are
    in [0, 1], of shape (n_users,).

    References
    ----------
    Jaccard (1912), The distribution of the flora in the alpine zone.
    """
    same = (ones[:, :, np.newaxis] == others[:, np.newaxis, :]) & (ones >= 0)[:, :, np.newaxis]
    common = same.sum(axis=(1, 2))
    either = (ones >= 0).sum(axis=1) + (others >= 0).sum(axis=1) - common
    return np.where(either > 0, common / np.maximum(either, 1), 1.0)
