"""Disjoint random halves of the users, and whether they order the systems alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.ordering.decimals import DECIMALS
from analyses.significance.permutation.pairs import pair_indices
from runs.shared.streams import random_words


@dataclass(frozen=True, eq=False)
class Agreement:
    """How two halves of the users agree, in the mean over draws; arrays are (n_measures,).

    Parameters
    ----------
    reliability
        Correlation of the systems' mean scores on the halves, stepped up to all users by the
        formula of Spearman and Brown, 2 r / (1 + r); NaN where systems do not differ.
    tau
        Kendall's tau-b between the halves, which have half the users each.
    swap_rate
        Share of the pairs of systems that the halves order differently.
    """

    reliability: NDArray[np.float64]
    tau: NDArray[np.float64]
    swap_rate: NDArray[np.float64]


def half_means(
    values: NDArray[np.float64], *, repeats: int, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Give the mean scores on two random halves of the users, draw by draw.

    Draw k depends on (seed, k) alone; of an odd number of users one is in neither.

    Yields
    ------
    Means of shape (2, n_measures, n_systems), of values (n_measures, n_systems, n_users).

    Examples
    --------
    >>> (means,) = half_means(np.array([[[1.0, 0.0], [0.0, 1.0]]]), repeats=1, seed=0)
    >>> sorted(means[:, 0].tolist())
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n_users = values.shape[2]
    for repeat in range(repeats):
        order = np.argsort(random_words(n_users, seed, "swaps", repeat), kind="stable")
        halves = order[: n_users // 2], order[-(n_users // 2) :]
        yield np.stack([values[:, :, half].mean(axis=2) for half in halves])


def swapped(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the share of the pairs that halves (2, n_measures, n_systems) order differently.

    A pair that ties on a half is not swapped.

    Examples
    --------
    >>> swapped(np.array([[[1.0, 2.0, 3.0]], [[1.0, 3.0, 2.0]]])).round(2)
    array([0.33])
    """
    first, second = pair_indices(means.shape[2])
    signs = np.sign(np.round(means[:, :, first] - means[:, :, second], DECIMALS))
    return np.asarray((signs[0] * signs[1] < 0).mean(axis=1))


def agreement_of_halves(values: NDArray[np.float64], *, repeats: int, seed: int) -> Agreement:
    """Compare halves of the users; without draws nothing is known.

    References
    ----------
    Bodoff (2008), Test theory for evaluating reliability of IR test collections; Voorhees &
    Buckley (2002), The effect of topic set size on retrieval experiment error.

    Examples
    --------
    Users who agree order the systems alike, whichever half they are in:

    >>> found = agreement_of_halves(np.array([[[1.0] * 4, [2.0] * 4]]), repeats=3, seed=0)
    >>> found.reliability, found.tau, found.swap_rate
    (array([1.]), array([1.]), array([0.]))
    """
    found = [
        (_stepped_up(_correlations(means)), tau_b(*means), swapped(means))
        for means in half_means(values, repeats=repeats, seed=seed)
    ]
    if not found:
        return Agreement(*np.full((3, len(values)), np.nan))
    return Agreement(*np.array(found).mean(axis=0))


def _correlations(means: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = means - means.mean(axis=2, keepdims=True)
    products = (centred[0] * centred[1]).sum(axis=1)
    sizes = np.sqrt((centred**2).sum(axis=2).prod(axis=0))
    unknown = np.full(len(sizes), np.nan)
    return np.asarray(np.divide(products, sizes, out=unknown, where=sizes > 0))


def _stepped_up(correlations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Step up from half the users to all; what is not positive stays nil."""
    positive = np.maximum(correlations, 0.0)
    return 2 * positive / (1 + positive)
