"""A metric at a cut-off, and scores labelled with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import InputError


@dataclass(frozen=True)
class Measure:
    """A metric at a cut-off, or over whole lists.

    Examples
    --------
    >>> str(Measure("nDCG", 10)), str(Measure("AP"))
    ('nDCG@10', 'AP')
    """

    metric: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.metric if self.cutoff is None else f"{self.metric}@{self.cutoff}"


@dataclass(frozen=True, eq=False)
class Scores:
    """Score of every user, for every system and measure.

    Parameters
    ----------
    values
        float64 of shape (n_measures, n_systems, n_users).
    measures
        Label of the first axis.
    systems
        Label of the second axis.
    users
        User (topic) ids, the label of the third axis.

    Raises
    ------
    InputError
        If labels and values do not fit, or a value is not finite.
    """

    values: NDArray[np.float64]
    measures: tuple[Measure, ...]
    systems: tuple[str, ...]
    users: NDArray[np.str_]

    def __post_init__(self) -> None:
        labels = (len(self.measures), len(self.systems), len(self.users))
        if self.values.shape != labels:
            raise InputError(f"scores of shape {self.values.shape} do not fit labels of {labels}.")
        if not np.isfinite(self.values).all():
            measure, system, user = np.argwhere(~np.isfinite(self.values))[0]
            raise InputError(
                f"scores must be finite, got {self.values[measure, system, user]} for "
                f"{self.measures[measure]}, {self.systems[system]}, user {self.users[user]}."
            )

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, in order of appearance."""
        return tuple(dict.fromkeys(measure.metric for measure in self.measures))

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cut-offs, rising; those of whole lists are not among them."""
        return rising_cutoffs(self.measures)

    def means(self) -> NDArray[np.float64]:
        """Mean over all users, of shape (n_measures, n_systems)."""
        return np.asarray(self.values.mean(axis=2))


def rising_cutoffs(measures: Iterable[Measure]) -> tuple[int, ...]:
    """Give every cut-off at which something is measured, rising.

    Examples
    --------
    >>> rising_cutoffs([Measure("P", 10), Measure("AP"), Measure("P", 5)])
    (5, 10)
    """
    return tuple(sorted({m.cutoff for m in measures if m.cutoff is not None}))
