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
    """The system of each run, and the users for whom each run ranks.

    A user's score of a system is the mean over the runs of the system that rank for the user: all
    of them where they differ by a seed, one where they are the folds of a cross-validation. Where
    none of them does, it is the mean over all: what empty lists score.

    ``systems``: names of the systems; ``system_numbers``: number of the system of each run, of
    shape (n_runs,); ``ranked_for``: whether a run ranks for a user, of shape (n_runs, n_users); for
    all runs of a system if none of them does.
    """

    systems: tuple[str, ...]
    system_numbers: Numbers
    ranked_for: Masks

    @classmethod
    def group_by_system(cls, names: Sequence[str], runs: Sequence[Run]) -> Replicates:
        """Group runs, of the same users, by the names of their systems, one name for each run.

        Systems are in the order in which their names come first. A run counts for a user if its
        list is not empty; if all lists of a system are empty for a user, all its runs count. The
        result holds the names, the number of the system of each run, (n_runs,), and a mask of the
        runs that count, (n_runs, n_users).
        """
        systems = tuple(dict.fromkeys(names))
        system_numbers = np.array([systems.index(name) for name in names])
        has_list = np.array([run.lengths > 0 for run in runs])
        runs_per_user = cls(systems, system_numbers, has_list).runs_per_user()
        has_no_list = runs_per_user == 0
        return cls(systems, system_numbers, has_list | has_no_list[system_numbers])

    def runs_per_user(self) -> Numbers:
        """Count the runs of each system that rank for each user, of shape (n_systems, n_users).

        ``self.system_numbers`` has the number of the system of each run, (n_runs,);
        ``self.ranked_for`` marks the runs with a list for the user, (n_runs, n_users).
        """
        n_users = self.ranked_for.shape[1]
        counts = np.zeros((len(self.systems), n_users), dtype=np.intp)
        np.add.at(counts, self.system_numbers, self.ranked_for)
        return counts

    def runs_per_system(self) -> Numbers:
        """Count the runs of each system, of shape (n_systems,)."""
        return np.bincount(self.system_numbers)

    def common_denominator(self) -> int:
        """Compute the least number by which all means of whole numbers over runs become whole."""
        return int(np.lcm.reduce(np.unique(self.runs_per_user())))

    def weights(self) -> Floats:
        """Compute the weight of each run in a user's mean, of shape (n_runs, n_users).

        It is 1 / n for each of the n runs of a system that rank for the user, and 0 for the others.
        """
        return self.ranked_for / self.runs_per_user()[self.system_numbers]

    def mean(self, values: Floats) -> Floats:
        """Average values of shape (..., n_runs, n_users) over the runs of each system.

        The result has the shape (..., n_systems, n_users). Only runs that rank for the user count
        (``self.ranked_for``, a mask of shape (n_runs, n_users)), of which each system has at least
        one. Means of two or more runs are rounded to 14 decimals.
        """
        runs_per_user = self.runs_per_user()
        sums = np.zeros((*values.shape[:-2], *runs_per_user.shape))
        for run, system in enumerate(self.system_numbers):
            values_of_run = values[..., run, :]
            sums[..., system, :] += np.where(self.ranked_for[run], values_of_run, 0.0)
        means = (sums / runs_per_user).round(DECIMALS)
        return np.where(runs_per_user > 1, means, sums)

    def users_of_all_runs(self, system: int) -> Masks:
        """Mark the users for whom all runs of a system rank, of shape (n_users,).

        ``system`` is the number of the system.
        """
        is_of_system = self.system_numbers == system
        return np.asarray(self.ranked_for[is_of_system].all(axis=0))
