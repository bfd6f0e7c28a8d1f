"""The loop of `recommenders.plsa` that folds users in, compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def fit_shares(
    ends: NDArray[np.integer[Any]],
    items: NDArray[np.integer[Any]],
    amounts: NDArray[np.float64],
    of_items: NDArray[np.float64],
    tolerance: float,
    most_steps: int,
) -> NDArray[np.float64]:
    """Take steps of EM for every row of a csr matrix, beginning with equal shares.

    A row ends where no topic would grow by more than the tolerance, as a part of itself, which is
    more than what is left to gain of the mean log-likelihood. Amounts are at least 0; topics in
    which no item of the row is likely, of all, leave the shares as they are.
    """
    n_topics = of_items.shape[1]
    shares = np.full((len(ends) - 1, n_topics), 1 / n_topics)
    growth = np.empty(n_topics)
    for row in range(len(shares)):
        total = amounts[ends[row] : ends[row + 1]].sum()
        for _ in range(most_steps):
            growth[:] = 0
            for entry in range(ends[row], ends[row + 1]):
                topics = of_items[items[entry]]
                likelihood = 0.0
                for topic in range(n_topics):
                    likelihood += shares[row, topic] * topics[topic]
                if likelihood > 0:
                    weight = amounts[entry] / (likelihood * total)
                    for topic in range(n_topics):
                        growth[topic] += weight * topics[topic]
            explained = (shares[row] * growth).sum()
            if explained <= 0:
                break
            shares[row] *= growth / explained
            if growth.max() <= (1 + tolerance) * explained:
                break
    return shares
