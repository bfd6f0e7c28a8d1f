"""How good estimates of sampled metrics are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    r"""Compare curves, (..., n_cutoffs), with the true one, (n_cutoffs,), in per cent: (...).

    .. math:: 100 \cdot \mathrm{mean}_K \frac{|\hat M@K - M@K|}{M@K}

    Cut-offs where the truth is 0 are left out, since nothing can be relative to it; it is NaN if
    that is so at all of them. The released code of Li et al. takes estimates there for right.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation.

    Examples
    --------
    >>> relative_error(np.array([[0.3, 0.75, 0.5]]), np.array([0.0, 0.5, 1.0]))
    array([50.])
    """
    known = truth != 0
    if not known.any():
        return np.full(estimates.shape[:-1], np.nan)
    off = np.abs(np.compress(known, estimates - truth, axis=-1)) / truth[known]
    return np.asarray(100 * off.mean(axis=-1))


class OrderCount(NamedTuple):
    """Repeats that order systems as they are, and all; none where the systems truly tie."""

    correct: int
    repeats: int


def winner_count(estimates: Floats, truth: Floats) -> OrderCount:
    """Count the repeats in which the system with the best estimate is the best.

    Estimates, (n_systems, n_repeats), that tie are not correct; of two systems, these are the
    repeats in which they are in their true order.

    References
    ----------
    Li et al. (2023), Table 3; for two systems, Krichene & Rendle (2020), Table 4.

    Examples
    --------
    The second system is the best; one repeat finds it, one ties:

    >>> winner_count(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.2]]), np.array([0.1, 0.3]))
    OrderCount(correct=1, repeats=3)
    """
    if (truth == truth.max()).sum() > 1:
        return OrderCount(0, 0)
    winner = int(truth.argmax())
    rivals = np.delete(estimates, winner, axis=0).max(axis=0, initial=-np.inf)
    return OrderCount(int((estimates[winner] > rivals).sum()), estimates.shape[1])
