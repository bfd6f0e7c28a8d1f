"""Weights of users: how much each counts for in a mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Scores
from qrels import Qrels

Average = Literal["users", "judgements"]
"""What a mean is taken over: users, or their relevant items."""


def user_weights(qrels: Qrels, average: Average) -> NDArray[np.float64] | None:
    r"""Weigh users as a mean asks for it, of shape (n_users,); None if all weigh the same.

    A mean over judgements takes each user as often as the user has relevant items,
    :math:`v_u`: the weighted mean :math:`\sum_u v_u x_u / \sum_u v_u` is the plain mean of
    :math:`w_u x_u` with :math:`w_u = v_u / \bar v`, the weights, whose mean is 1.

    References
    ----------
    Cañamares, Castells & Moffat (2020), Offline evaluation options for recommender systems.

    Examples
    --------
    Users with three relevant items and with one; an item that is not relevant does not count:

    >>> qrels = Qrels(np.array([0, 3, 5]), np.array([0, 1, 2, 0, 1], dtype=np.int32),
    ...               np.array([1, 1, 1, 1, 0], dtype=np.int32), relevance_level=1)
    >>> user_weights(qrels, "judgements")
    array([1.5, 0.5])
    """
    if average == "users":
        return None
    volumes = qrels.per_user(qrels.relevant)
    return np.asarray(volumes / volumes.mean())


def weighted(scores: Scores, weights: NDArray[np.float64] | None) -> Scores:
    """Multiply every user's scores by the weight of the user, so that plain means are weighted."""
    return scores if weights is None else replace(scores, values=scores.values * weights)
