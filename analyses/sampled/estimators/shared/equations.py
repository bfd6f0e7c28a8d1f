"""What corrected values of samples must fulfil: the sums over ranks of all linear estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from analyses.sampled.estimators.shared.cells import Group
from analyses.sampled.estimators.shared.em import FLOOR

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Equations:
    """Sums over the ranks of a group, of which one distribution is the prior.

    The prior is p at the nodes, (n_nodes,); metrics, (n_above, n_columns), are given for numbers
    of irrelevant items above, of some in all, and exact ones, b, at the nodes: (n_nodes,
    n_columns), the same for all priors.
    """

    group: Group
    mass: Floats
    metrics: Callable[[ArrayLike, int], Floats]
    exact: Callable[[], Floats]
    n_users: int

    @cached_property
    def weighted(self) -> Floats:
        """DP, of shape (n_nodes, n_negatives + 1)."""
        return self.group.table * self.mass[:, np.newaxis]

    @property
    def reached(self) -> Floats:
        """Chance of each number above, c, not quite 0: (n_negatives + 1,)."""
        return np.maximum(self.weighted.sum(axis=0), FLOOR)

    @property
    def gram(self) -> Floats:
        """P'DP."""
        return self.weighted.T @ self.group.table

    @property
    def products(self) -> Floats:
        """P'Db."""
        return self.weighted.T @ self.exact()

    def solve(self, matrix: Floats, scales: Floats) -> Floats:
        """Solve for P'Db with a matrix whose rows and columns are scaled: (n_cells, n_columns)."""
        factor = cho_factor(matrix)
        return scales[:, np.newaxis] * cho_solve(factor, scales[:, np.newaxis] * self.products)
