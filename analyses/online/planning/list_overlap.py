"""How much the lists of models have in common."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Lists = NDArray[np.int32]


def overlap_matrix(lists: NDArray[np.int32]) -> Floats:
    """Compare the lists of models pair by pair.

    Parameters
    ----------
    lists
        Items, -1 at the end of short lists, of shape (n_models, n_users, depth).

    Returns
    -------
    Mean of `jaccard` over the users, in [0, 1], of shape (n_models, n_models).

    Examples
    --------
    >>> overlap_matrix(np.array([[[1, 2], [3, 4]], [[2, 1], [4, 5]]])).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """
    overlaps = np.eye(len(lists))
    for one, other in combinations(range(len(lists)), 2):
        overlaps[one, other] = overlaps[other, one] = jaccard(lists[one], lists[other]).mean()
    return overlaps


def jaccard(ones: Lists, others: Lists) -> Floats:
    """Divide the items common to two lists by those of either; 1 where both are empty.

    Parameters
    ----------
    ones, others
        Lists without repetition, -1 at the end, of shape (n_users, depth) each.

    Returns
    -------
    Values in [0, 1], of shape (n_users,).

    References
    ----------
    Jaccard (1912), The distribution of the flora in the alpine zone.

    Examples
    --------
    >>> jaccard(np.array([[1, 2, 3], [-1, -1, -1]]), np.array([[3, -1, -1], [-1, -1, -1]])).round(3)
    array([0.333, 1.   ])
    """
    same = (ones[:, :, np.newaxis] == others[:, np.newaxis, :]) & (ones >= 0)[:, :, np.newaxis]
    common = same.sum(axis=(1, 2))
    either = (ones >= 0).sum(axis=1) + (others >= 0).sum(axis=1) - common
    return np.where(either > 0, common / np.maximum(either, 1), 1.0)
