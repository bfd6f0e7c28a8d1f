"""What the runs of one system differ by: other seeds, other folds."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    values: NDArray[np.float64]
    systems: NDArray[np.intp]

    def of(self, numbers: list[int], signs: float | NDArray[np.float64] = 1.0) -> RunDeviations:
        """Take some of the measures, perhaps turned round."""
        return RunDeviations((self.values[numbers].T * signs).T, self.systems)
