"""Replicates: several runs of one system, of other seeds, training runs or folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.run import Run
from runs.shared.arrays import Floats, Masks, Numbers

DECIMALS = 14
"""Means over replicates are rounded to these, so that equal ones are equal in every order."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """Which runs are of which system, and whom each ranks for.

    A user's score of a system is the mean over the runs of the system that rank for the user: all
    of them where they differ by a seed, one where they are the folds of a cross-validation. Where
    none of them does, it is the mean over all: what empty lists score.

    ``systems``: names of the systems; ``numbers``: number of the system of each run, of shape
    (n_runs,); ``ranked_for``: whether a run ranks for a user, of shape (n_runs, n_users); for all,
    if no run of its system does.
    """

    systems: tuple[str, ...]
    numbers: Numbers
    ranked_for: Masks

    @classmethod
    def of(cls, names: Sequence[str], runs: Sequence[Run]) -> Replicates:
        """Take runs together that have the name of one system."""
        systems = tuple(dict.fromkeys(names))
        numbers = np.array([systems.index(name) for name in names])
        ranked_for = np.array([run.lengths > 0 for run in runs])
        made = cls(systems, numbers, ranked_for)
        return cls(systems, numbers, ranked_for | (made.counts == 0)[numbers])

    @property
    def counts(self) -> Numbers:
        """Runs of each system that rank for each user, of shape (n_systems, n_users)."""
        found = np.zeros((len(self.systems), self.ranked_for.shape[1]), dtype=np.intp)
        np.add.at(found, self.numbers, self.ranked_for)
        return found

    @property
    def sizes(self) -> Numbers:
        """Number of runs of each system, of shape (n_systems,)."""
        return np.bincount(self.numbers)

    @property
    def divisor(self) -> int:
        """A whole number that the mean of as many whole numbers becomes whole by."""
        return int(np.lcm.reduce(np.unique(self.counts)))

    @property
    def shares(self) -> Floats:
        """Weight of each run in a user's mean of its system, of shape (n_runs, n_users)."""
        return self.ranked_for / self.counts[self.numbers]

    def mean(self, values: Floats) -> Floats:
        """Average values of shape (..., n_runs, n_users) over the runs of each system."""
        counts = self.counts
        found = np.zeros((*values.shape[:-2], *counts.shape))
        for run, system in enumerate(self.numbers):
            found[..., system, :] += np.where(self.ranked_for[run], values[..., run, :], 0.0)
        return np.where(counts > 1, (found / counts).round(DECIMALS), found)

    def common(self, system: int) -> Masks:
        """Mark the users whom all runs of a system rank for, of shape (n_users,)."""
        return np.asarray(self.ranked_for[self.numbers == system].all(axis=0))
