"""What the runs of one system differ by: other seeds, other folds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RunDeviations:
    """Mean scores of runs, less those of their system, over users for whom all its runs rank.

    Parameters
    ----------
    values
        Of shape (n_measures, n_runs): 0 for the only run of a system, and where its runs have no
        user in common.
    systems
        Number of the system of each run, of shape (n_runs,).
    complete
        Whether all runs of a system rank for every user, of shape (n_systems,).
    """

    values: NDArray[np.float64]
    systems: NDArray[np.intp]
    complete: NDArray[np.bool_]

    def of(self, numbers: list[int], signs: float | NDArray[np.float64] = 1.0) -> RunDeviations:
        """Take some of the measures, perhaps turned round."""
        return replace(self, values=(self.values[numbers].T * signs).T)

    def variances(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Give the variances of systems' means over their runs, and the degrees of freedom of each.

        Of shapes (n_measures, n_systems) and (n_systems,); 0 of a system with a single run.

        Examples
        --------
        >>> values, complete = np.array([[-0.5, 0.5, 0.0]]), np.array([True, True])
        >>> runs = RunDeviations(values, np.array([0, 0, 1]), complete)
        >>> runs.variances()
        (array([[0.25, 0.  ]]), array([1, 0]))
        """
        sizes = np.bincount(self.systems)
        squares = self.values**2 @ (self.systems[:, None] == np.arange(len(sizes)))
        return squares / np.maximum(sizes * (sizes - 1), 1), sizes - 1
