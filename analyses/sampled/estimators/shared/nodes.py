"""Where sums over ranks are taken: at every rank, or on a quadrature grid.

The grid pays: with 9,916 candidates it makes MLE of 100 samples 9 times as fast, with all counting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HEAD = 128
"""Ranks from the top that a grid holds one by one; no cut-off may lie below them."""

PANEL = 2.0
"""Width of a panel in standard deviations of the angle of a sampled share, 1 / (2 sqrt m). Twice as
wide ones err by up to 3e-4 where a sharp prior meets a small gamma, these by less than 1e-5."""

POINTS = 8
"""Gauss-Legendre points of a panel."""


@dataclass(frozen=True)
class Nodes:
    """Numbers of irrelevant candidates above an item, and how many ranks each node stands for.

    They go from 0 to the number of irrelevant candidates, whole numbers on the full path, real ones
    between the head and the end of a grid; the first ``head`` stand for themselves alone.
    """

    above: Floats
    weights: Floats
    head: int

    def __len__(self) -> int:
        return len(self.above)

    @property
    def n_irrelevant(self) -> int:
        """Irrelevant candidates."""
        return int(self.above[-1])


def nodes_for(size: int, n_negatives: int, *, replace: bool, path: str) -> Nodes:
    """Give the nodes for a number of irrelevant candidates, on a path, "grid" or "full".

    Examples
    --------
    >>> nodes_for(3, 2, replace=True, path="full")
    Nodes(above=array([0., 1., 2., 3.]), weights=array([1., 1., 1., 1.]), head=4)
    >>> grid = nodes_for(9915, 99, replace=True, path="grid")
    >>> len(grid), round(float(grid.weights.sum()), 6)
    (249, 9916.0)
    """
    every = np.arange(size + 1.0)
    if path == "grid" and len(every) > HEAD:
        grid = _grid(size, n_negatives, replace=replace)
        if len(grid) < len(every):
            return grid
    return Nodes(every, np.ones_like(every), head=len(every))


def _grid(size: int, n_negatives: int, *, replace: bool) -> Nodes:
    r"""Take the top ranks and the last one for themselves, and quadrature between them.

    Sampled shares have a standard deviation of at most :math:`1 / (2 \sqrt m)` in the angle
    :math:`\varphi = \arcsin \sqrt\theta`, wherever they lie: panels of equal angle see functions
    that are equally smooth. A few hundred nodes do for any number of candidates. Without
    replacement, the deviation is smaller by sqrt(1 - m / size).
    """
    width = PANEL * 0.5 / np.sqrt(n_negatives)
    if not replace:
        width *= np.sqrt(max(1.0 - n_negatives / size, 1.0 / size))
    low, high = np.arcsin(np.sqrt(np.array([HEAD - 0.5, size - 0.5]) / size))
    edges = np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
    places, shares = np.polynomial.legendre.leggauss(POINTS)
    halves = np.diff(edges)[:, np.newaxis] / 2
    angles = (edges[:-1, np.newaxis] + halves * (1 + places)).ravel()
    per_angle = 2 * size * np.sin(angles) * np.cos(angles)
    above = [np.arange(float(HEAD)), size * np.sin(angles) ** 2, np.array([float(size)])]
    weights = [np.ones(HEAD), (halves * shares).ravel() * per_angle, np.ones(1)]
    return Nodes(np.concatenate(above), np.concatenate(weights), head=HEAD)
