"""How likely each rank in the sample is, given the rank among all candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

Floats = NDArray[np.float64]


def sampled_rank_pmf(ranks: ArrayLike, *, n: ArrayLike, m: int, replace: bool) -> Floats:
    r"""Give the distribution of the rank among m sampled negatives.

    .. math:: t - 1 \sim \mathrm{Bin}\left(m, \frac{r-1}{n-1}\right) \quad \text{or} \quad
              t - 1 \sim \mathrm{Hyp}(n - 1, r - 1, m)

    with and without replacement, for ranks r from 1 to n, (n_ranks,), which may lie between whole
    numbers, among one number of candidates n, or one for each rank, the relevant item among them.

    Returns
    -------
    Probabilities of shape (n_ranks, m + 1): column t - 1 is rank t in the sample.

    Notes
    -----
    Krichene & Rendle (2020), sections 4.3 and 4.4. Through logarithms of the gamma function;
    absolute errors are about 1e-11.

    Examples
    --------
    Rank 3 of 5, two negatives of which each is above with chance 1/2:

    >>> sampled_rank_pmf([3], n=5, m=2, replace=True).round(4)
    array([[0.25, 0.5 , 0.25]])
    >>> sampled_rank_pmf([3], n=5, m=2, replace=False).round(4)
    array([[0.1667, 0.6667, 0.1667]])
    """
    above = np.atleast_1d(np.asarray(ranks, dtype=np.float64))[:, np.newaxis] - 1
    others = np.broadcast_to(np.asarray(n, dtype=np.float64), above.shape[:1])[:, np.newaxis] - 1
    sampled = np.arange(m + 1.0)
    if replace:
        return _binomial(sampled, m, above / others)
    return _hypergeometric(sampled, m, above, others)


def _binomial(x: Floats, m: int, chance: Floats) -> Floats:
    ways = log_choices(m, x)
    probabilities: Floats = np.exp(ways + xlogy(x, chance) + xlog1py(m - x, -chance))
    return probabilities


def _hypergeometric(x: Floats, m: int, above: Floats, others: Floats) -> Floats:
    below = others - above
    possible = (x <= above) & (m - x <= below)
    # Outside the support the gamma function may be huge, so put a harmless place there.
    inside, outside = np.where(possible, x, 0.0), np.where(possible, m - x, 0.0)
    logarithm = log_choices(above, inside) + log_choices(below, outside)
    logarithm = logarithm - log_choices(others, m)
    return np.exp(logarithm, out=np.zeros(possible.shape), where=possible)


def log_choices(n: Floats | int, k: Floats | NDArray[np.int_] | int) -> Floats:
    """Give the logarithm of the ways to choose k of n."""
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
