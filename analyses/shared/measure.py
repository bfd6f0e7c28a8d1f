"""A metric at a cut-off, and scores labelled with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

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

    @property
    def place(self) -> str:
        """Where it is measured, in a legend or above a column."""
        return "whole lists" if self.cutoff is None else f"@{self.cutoff}"

    def __str__(self) -> str:
        return self.metric if self.cutoff is None else f"{self.metric}@{self.cutoff}"


class Measures(tuple[Measure, ...]):
    """What a study measures: a tuple that knows what is reported, and of what less is better.

    ``falling`` names the metrics of which less is better.

    Examples
    --------
    >>> measures = Measures([Measure("P", 5), Measure("P", 10), Measure("RBP", 10)])
    >>> measures.cutoff, [str(measure) for measure in measures.reported]
    (10, ['P@10', 'RBP@10'])
    """

    falling: frozenset[str]

    def __new__(cls, every: Iterable[Measure], *, falling: Iterable[str] = ()) -> Self:
        """Make the tuple, and remember what is falling."""
        made = super().__new__(cls, every)
        made.falling = frozenset(falling)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _measures, (tuple(self), self.falling)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, in order of appearance."""
        return tuple(dict.fromkeys(measure.metric for measure in self))

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cut-offs, rising; those of whole lists are not among them."""
        return rising_cutoffs(self)

    @property
    def cutoff(self) -> int | None:
        """The cut-off at which metrics are compared; None for whole lists.

        That of most metrics; of several, whole lists, or the deepest.
        """
        counts = Counter(measure.cutoff for measure in self)
        return max(
            counts, key=lambda cutoff: (counts[cutoff], cutoff is None, cutoff or 0), default=None
        )

    @property
    def reported(self) -> tuple[Measure, ...]:
        """The measures that are compared with each other: the metrics at one cut-off."""
        return tuple(self[number] for number in self.at(self.cutoff))

    def at(self, cutoff: int | None) -> list[int]:
        """Number the measures at a cut-off, or of whole lists."""
        return [number for number, measure in enumerate(self) if measure.cutoff == cutoff]


def _measures(every: tuple[Measure, ...], falling: frozenset[str]) -> Measures:
    return Measures(every, falling=falling)


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
    measures: Measures
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
