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
