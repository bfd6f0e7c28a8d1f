"""Numbers with their chance over users and over systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import interval
from analyses.shared.estimate import Limits
from analyses.shared.table import shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Numbers of one kind with their 95 % limits; all arrays are of one shape.

    Parameters
    ----------
    values
        The numbers.
    users
        The lower and the upper limits over users; NaN where they are not known.
    systems
        The same over systems.
    extent
        The lowest and the highest value there is.
    """

    values: Floats
    users: tuple[Floats, ...]
    systems: tuple[Floats, ...]
    extent: tuple[float, float] = (-np.inf, np.inf)

    @property
    def both(self) -> Limits:
        """Limits over users and systems: both variances are added.

        Examples
        --------
        >>> one, users, systems = np.ones(1), np.array([0.3]), np.array([0.4])
        >>> Uncertain(one, (one - users, one + users), (one - systems, one + systems)).both
        (array([0.5]), array([1.5]))
        """
        reaches = (np.maximum(high - self.values, self.values - low) for low, high in self._known)
        reach = np.hypot(*reaches)
        return (
            np.clip(self.values - reach, *self.extent),
            np.clip(self.values + reach, *self.extent),
        )

    @property
    def _known(self) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        return self.users, self.systems

    def columns(self, name: str, prefix: str = "") -> dict[str, Floats]:
        """Give columns of a frame: the numbers, and their limits over users, systems and both."""
        sides = {"": self.users, "systems_": self.systems, "both_": self.both}
        limits = {
            f"{prefix}{side}{end}": limit
            for side, pair in sides.items()
            for end, limit in zip(("low", "high"), pair, strict=True)
        }
        return {name: self.values, **limits}

    def part(self, place: int) -> Uncertain:
        """Take one of the first axis."""
        users, systems = (tuple(limit[place] for limit in each) for each in self._known)
        return Uncertain(self.values[place], users, systems, self.extent)


def limits_over_users(
    observed: Floats, replicates: Floats, extent: tuple[float, float] = (-np.inf, np.inf)
) -> Limits:
    """Give the interval of what has replicates, else NaN."""
    if replicates.size == 0:
        return np.full(observed.shape, np.nan), np.full(observed.shape, np.nan)
    return interval(observed, replicates, limits=extent)


def with_width(limits: Limits) -> Limits:
    """Give up limits that chance did not tell apart: a share of few that never varied.

    Examples
    --------
    >>> with_width((np.array([0.0, 0.1]), np.array([0.0, 0.3])))
    (array([nan, 0.1]), array([nan, 0.3]))
    """
    low, high = limits
    is_wide = high > low
    return np.where(is_wide, low, np.nan), np.where(is_wide, high, np.nan)


def between(limits: tuple[Floats, ...], *place: int, decimals: int = 2) -> str:
    """Write an interval; empty if it is not known.

    Examples
    --------
    >>> between((np.array([0.25]), np.array([1.0])), 0)
    '0.25 to 1.00'
    """
    low, high = (float(limit[place]) for limit in limits)
    if np.isnan(low + high):
        return ""
    return f"{shown(low, decimals=decimals)} to {shown(high, decimals=decimals)}"
