"""How good estimates of sampled metrics are, and what samples cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RelativeError:
    """Relative error of a curve over cut-offs.

    Parameters
    ----------
    value
        In per cent; NaN if the truth is 0 at all cut-offs.
    n_skipped
        Cut-offs left out, because the truth is 0 there.
    """

    value: float
    n_skipped: int

    def remark(self) -> str:
        """Say what was left out; nothing if nothing was.

        Examples
        --------
        >>> RelativeError(12.5, n_skipped=2).remark()
        'The truth is 0 at 2 cut-offs, which have no relative error and are left out.'
        """
        if not self.n_skipped:
            return ""
        return (
            f"The truth is 0 at {self.n_skipped} cut-offs, which have no relative error and are "
            "left out."
        )


def relative_error(
    estimates: ArrayLike, truth: ArrayLike, *, zero: Literal["skip", "authors"] = "skip"
) -> RelativeError:
    r"""Compare a curve with the true one, in per cent.

    .. math:: 100 \cdot \mathrm{mean}_K \frac{|\hat M@K - M@K|}{M@K}

    Parameters
    ----------
    estimates, truth
        Values at the cut-offs, of shape (n_cutoffs,).
    zero
        What is done where the truth is 0 and nothing can be relative to it: ``"skip"`` leaves the
        cut-off out and counts it, ``"authors"`` takes the estimate for right, as the released code
        of Li et al. does.

    Raises
    ------
    InputError
        If shapes differ or the option is unknown.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation.

    Examples
    --------
    >>> relative_error([0.3, 0.75, 0.5], [0.0, 0.5, 1.0])
    RelativeError(value=50.0, n_skipped=1)
    """
    estimated, true = np.asarray(estimates, dtype=float), np.asarray(truth, dtype=float)
    if estimated.shape != true.shape:
        raise InputError(
            f"estimates and truth must have one shape, got {estimated.shape} and {true.shape}."
        )
    if zero not in ("skip", "authors"):
        raise InputError(f'`zero` must be "skip" or "authors", got {zero!r}.')
    known = true != 0
    errors = np.zeros_like(true)
    errors[known] = np.abs(estimated[known] - true[known]) / true[known]
    kept = errors[known] if zero == "skip" else errors
    value = float(100 * kept.mean()) if kept.size else float("nan")
    return RelativeError(value, int((~known).sum()) if zero == "skip" else 0)


@dataclass(frozen=True)
class OrderCount:
    """How often estimates order systems as they are.

    Parameters
    ----------
    n_correct
        Repeats with the true order; a tied estimate is not one.
    n_repeats
        Repeats.
    n_ties
        1 if the systems truly tie, which leaves nothing to be right about, else 0.
    """

    n_correct: int
    n_repeats: int
    n_ties: int

    @property
    def share(self) -> float:
        """Part of the repeats with the true order; NaN if the systems truly tie."""
        return self.n_correct / self.n_repeats if self.n_repeats else float("nan")


def winner_count(estimates: Floats, truth: ArrayLike) -> OrderCount:
    """Count the repeats in which the system with the best estimate is the best.

    Parameters
    ----------
    estimates
        Of shape (n_repeats, n_systems).
    truth
        True values, of shape (n_systems,).

    References
    ----------
    Li et al. (2023), Table 3.

    Examples
    --------
    The second system is the best; one repeat finds it, one ties:

    >>> winner_count(np.array([[0.1, 0.2], [0.2, 0.2], [0.3, 0.2]]), [0.1, 0.3])
    OrderCount(n_correct=1, n_repeats=3, n_ties=0)
    """
    true = np.asarray(truth, dtype=float)
    if (true == true.max()).sum() > 1:
        return OrderCount(0, 0, 1)
    winner = int(true.argmax())
    rivals = np.delete(estimates, winner, axis=1).max(axis=1, initial=-np.inf)
    return OrderCount(int((estimates[:, winner] > rivals).sum()), len(estimates), 0)


def order_count(first: Floats, second: Floats, *, truth: Sequence[float]) -> OrderCount:
    """Count the repeats in which two systems are in their true order.

    Parameters
    ----------
    first, second
        Estimates of the two, of shape (n_repeats,).
    truth
        Their true values.

    References
    ----------
    Krichene & Rendle (2020), Table 4.

    Examples
    --------
    >>> order_count(np.array([0.1, 0.2]), np.array([0.2, 0.1]), truth=[0.1, 0.3])
    OrderCount(n_correct=1, n_repeats=2, n_ties=0)
    """
    return winner_count(np.stack([first, second], axis=1), truth)


def mean_adaptive_size(
    ranks: ArrayLike, *, n_candidates: int, n0: int = 100, n_max: int = 3200
) -> Floats:
    r"""Expect the size of adaptive samples, the relevant item among them.

    .. math:: E[n_u] = n_0 + \sum_{s = n_0, 2n_0, \ldots < n_{max}} s\, (1 - \theta)^{s - 1}

    Parameters
    ----------
    ranks
        True ranks, from 1: (n_users,).
    n_candidates
        Candidates, n.
    n0, n_max
        The first size and the last, n0 times a power of 2.

    Raises
    ------
    InputError
        If n_max is not n0 times a power of 2: no size would ever equal it.

    References
    ----------
    Li et al. (2023), Algorithm 1.

    Examples
    --------
    Samples for the first rank always grow to the end:

    >>> mean_adaptive_size([1, 100], n_candidates=9916).round(5)
    array([3200.     ,  171.73883])
    """
    sizes = [n0]
    while sizes[-1] < n_max:
        sizes.append(2 * sizes[-1])
    if n0 < 1 or sizes[-1] != n_max:
        raise InputError(f"`n_max` must be n0 ({n0}) times a power of 2, got {n_max}.")
    places = np.asarray(ranks, dtype=float)
    below = 1 - (places - 1) / (n_candidates - 1)
    growth = [size * below ** (size - 1) for size in sizes[:-1]]
    return n0 + np.sum(growth, axis=0, initial=0.0, dtype=float) * np.ones_like(places)


def cost_per_size(sizes: ArrayLike, *, n0: int, n_max: int) -> dict[int, float]:
    r"""Scores computed for each user whose adaptive sample ends at a size.

    .. math:: C_0 = U n_0 / m_0, \quad
        C_j = (U - \sum_{i<j} m_i)(n_j - n_{j-1}) / m_j

    with :math:`m_j` the users that end at :math:`n_j`. Where costs climb, larger samples do not
    pay.

    Parameters
    ----------
    sizes
        Size of the sample of each user, the relevant item among them: (n_users,).
    n0, n_max
        The first size and the last; the last has no cost, for users do not choose to end there.

    Returns
    -------
    Cost by size, from n0; infinite where nobody ends.

    References
    ----------
    Li et al. (2023), eq. 13.

    Examples
    --------
    Two of four users end at 100, which 4 * 100 scores were computed for; one of the others at 200:

    >>> cost_per_size([100, 100, 200, 400], n0=100, n_max=400)
    {100: 200.0, 200: 200.0}
    """
    ended = np.asarray(sizes)
    costs: dict[int, float] = {}
    size, added = n0, n0
    while size < n_max:
        n_ended = int((ended == size).sum())
        n_sampled = int((ended >= size).sum())
        costs[size] = n_sampled * added / n_ended if n_ended else float("inf")
        size, added = 2 * size, size
    return costs
