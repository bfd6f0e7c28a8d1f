"""Where sums over ranks are taken: at every rank, or on a quadrature grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import InputError

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
    """Numbers of irrelevant candidates above an item, and how many of them each node stands for.

    Parameters
    ----------
    above
        From 0 (nothing is ranked above the item) to the number of irrelevant candidates; whole
        numbers on the full path, real ones between the head and the end of a grid: (n_nodes,).
    weights
        Ranks that a node stands for: (n_nodes,).
    head
        The first ``head`` nodes are 0, 1, 2, ..., each for itself.
    """

    above: Floats
    weights: Floats
    head: int

    def __len__(self) -> int:
        return len(self.above)


def every_rank(n_irrelevant: int) -> Nodes:
    """Take every rank for itself.

    Examples
    --------
    >>> every_rank(3)
    Nodes(above=array([0., 1., 2., 3.]), weights=array([1., 1., 1., 1.]), head=4)
    """
    above = np.arange(n_irrelevant + 1.0)
    return Nodes(above, np.ones_like(above), head=len(above))


def quadrature_grid(sizes: Sequence[int], *, n_negatives: int, replace: bool) -> Nodes:
    r"""Take the top ranks and the last one for themselves, and quadrature between them.

    Sampled shares have a standard deviation of at most :math:`1 / (2 \sqrt m)` in the angle
    :math:`\varphi = \arcsin \sqrt\theta`, wherever they lie: panels of equal angle see functions
    that are equally smooth. A few hundred nodes do for any number of candidates. Each of the sizes,
    numbers of irrelevant candidates, is a node of its own, since a likelihood breaks off there;
    m is the largest number of sampled items. Without replacement, the deviation is smaller by
    sqrt(1 - m / size). All ranks are given if the grid would not have fewer.

    Examples
    --------
    >>> grid = quadrature_grid([9915], n_negatives=99, replace=True)
    >>> len(grid), round(float(grid.weights.sum()), 6)
    (249, 9916.0)
    """
    ends = sorted(set(sizes))
    if ends[-1] < HEAD:
        return every_rank(ends[-1])
    above, weights = [np.arange(float(HEAD))], [np.ones(HEAD)]
    start = HEAD - 0.5
    for end in (size for size in ends if size >= HEAD):
        deviation = 0.5 / np.sqrt(n_negatives)
        if not replace:
            deviation *= np.sqrt(max(1.0 - n_negatives / end, 1.0 / end))
        points, widths = _panels(start, end - 0.5, size=end, width=PANEL * deviation)
        above += [points, np.array([float(end)])]
        weights += [widths, np.ones(1)]
        start = end + 0.5
    grid = Nodes(np.concatenate(above), np.concatenate(weights), head=HEAD)
    return grid if len(grid) <= ends[-1] else every_rank(ends[-1])


def _panels(start: float, stop: float, *, size: int, width: float) -> tuple[Floats, Floats]:
    """Give the points of panels of equal angle, and the ranks that each stands for."""
    if stop <= start:
        return np.empty(0), np.empty(0)
    low, high = np.arcsin(np.sqrt(np.array([start, stop]) / size))
    edges = np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
    places, shares = np.polynomial.legendre.leggauss(POINTS)
    halves = np.diff(edges)[:, np.newaxis] / 2
    angles = (edges[:-1, np.newaxis] + halves * (1 + places)).ravel()
    per_angle = 2 * size * np.sin(angles) * np.cos(angles)
    return size * np.sin(angles) ** 2, (halves * shares).ravel() * per_angle


def nodes_for(sizes: Sequence[int], *, n_negatives: int, replace: bool, path: str) -> Nodes:
    """Give the nodes of a path, ``"grid"`` or ``"full"``.

    Raises
    ------
    InputError
        If the path is called otherwise.
    """
    if path == "full":
        return every_rank(max(sizes))
    if path == "grid":
        return quadrature_grid(sizes, n_negatives=n_negatives, replace=replace)
    raise InputError(f'`path` must be "grid" or "full", got {path!r}.')
