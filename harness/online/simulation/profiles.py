"""Profiles: what users had interacted with when they asked for a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from analyses.online.logs.events import Events
    from harness.online.simulation.visits import Actions
    from qrels.interactions.interactions import Interactions


def profiles_before(
    log: Events | Interactions | Actions,
    users: NDArray[np.integer],
    before: NDArray[np.integer],
    *,
    n_items: int,
) -> csr_array[Any]:
    """Give the distinct items that users had before a time, itself excluded, as rows of ones.

    The log may be in any order. Users rise strictly, and like times are of shape (n,); the rows are
    of shape (n, n_items).

    Examples
    --------
    User 4 had item 1 at time 7, and item 0 at time 9, which is too late:

    >>> from harness.online.simulation.visits import Actions
    >>> log = Actions.of(*np.array([[4, 4], [1, 0], [7, 9], [0, 0]]))
    >>> profiles_before(log, np.array([4]), np.array([9]), n_items=3).toarray()
    array([[0., 1., 0.]])
    """
    from scipy.sparse import csr_array

    shape = (len(users), n_items)
    if len(users) == 0:
        return csr_array(shape)
    row = np.minimum(np.searchsorted(users, log.user), len(users) - 1)
    kept = (users[row] == log.user) & (log.time < before[row])
    pairs = np.unique(row[kept] * n_items + log.item[kept])
    starts = np.searchsorted(pairs, np.arange(len(users) + 1) * n_items)
    return csr_array((np.ones(len(pairs)), pairs % n_items, starts), shape=shape)
