"""What is ordered by one column of published numbers, ours beside theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import interval, percentiles
from analyses.intervals.systems import over_systems
from analyses.ordering import tau_b
from analyses.shared.estimate import Estimate
from analyses.shared.sentences import paired
from analyses.shared.table import shown

NEAR = 0.1
"""Levels that differ by less of what is published are called near."""


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """What is ordered in one column of a published table: systems, or measures by a quantity.

    Ours, with limits of 95 %, and theirs are of shape (n_names,); replicates of ours, over
    resampled users, of (n_names, n_replicates). Both are NaN where users are not resampled.
    """

    name: str
    names: tuple[str, ...]
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    replicates: NDArray[np.float64]
    are_ranks: bool
    are_systems: bool
    lower_is_better: bool
    seed: int

    @property
    def _places(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Ours, theirs and the replicates, such that more is better."""
        sign = -1.0 if self.lower_is_better else 1.0
        theirs = -self.theirs if self.are_ranks else sign * self.theirs
        return sign * self.ours, theirs, sign * self.replicates

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Ours as shares of theirs; NaN where theirs is 0 or a rank."""
        ratios = np.full(len(self.names), np.nan)
        if not self.are_ranks:
            np.divide(self.ours, self.theirs, out=ratios, where=self.theirs != 0)
        return ratios

    def rows(self) -> Iterator[tuple[str, Estimate, float, float]]:
        """Give name, our number, the published one, and ours as a share of it."""
        for name, *numbers in zip(
            self.names, self.ours, self.low, self.high, self.theirs, self.ratios, strict=True
        ):
            value, low, high, printed, ratio = map(float, numbers)
            yield name, Estimate(value, low, high), printed, ratio

    @cached_property
    def agreement(self) -> Estimate:
        """Tau-b of the two orderings, with an interval over users."""
        ours, theirs, replicates = self._places
        observed = tau_b(ours, theirs)
        taus = tau_b(replicates.T, theirs)
        limits = interval(observed, taus, limits=(-1, 1))
        return Estimate(float(observed), *(float(limit) for limit in limits))

    @property
    def agreement_over_systems(self) -> Estimate:
        """Tau-b with an interval over systems, where these are 8 or more."""
        ours, theirs, _ = self._places
        observed = self.agreement.value
        if not self.are_systems:
            return Estimate(observed)
        limits = over_systems(
            lambda some: tau_b(ours[some], theirs[some]),
            len(self.names),
            seed=self.seed,
            limits=(-1, 1),
        )
        return Estimate(observed, *(float(limit) for limit in limits))

    @cached_property
    def turned(self) -> list[tuple[str, str]]:
        """Pairs that we order otherwise, beyond noise, the one first that is better with us."""
        ours, theirs, replicates = self._places
        first, second = np.triu_indices(len(self.names), 1)
        low, high = percentiles(replicates[first] - replicates[second])
        printed = np.sign(theirs[first] - theirs[second])
        pairs = zip(first, second, np.sign(ours[first] - ours[second]), strict=True)
        is_turned = ((low > 0) & (printed < 0)) | ((high < 0) & (printed > 0))
        return [
            (self.names[a if sign > 0 else b], self.names[b if sign > 0 else a])
            for (a, b, sign), turned in zip(pairs, is_turned, strict=True)
            if turned
        ]

    def finding(self) -> str:
        """Say in words how near the levels are, and how alike the orderings."""
        return " ".join([f"{self.name}:", *self._of_levels(), *self._of_order()])

    def _of_levels(self) -> Iterator[str]:
        known = ~np.isnan(self.ratios)
        if not known.any():
            return
        ratios, names = self.ratios[known], np.array(self.names)[known]
        near = int((abs(ratios - 1) <= NEAR).sum())
        far = int(abs(ratios - 1).argmax())
        yield (
            f"{near} of {len(ratios)} levels are within {100 * NEAR:.0f} % of the published ones; "
            f"furthest off is {names[far]}, {shown(float(ratios[far]), decimals=2)} of it."
        )

    def _of_order(self) -> Iterator[str]:
        if np.isnan(self.agreement.value):
            return
        yield f"Orderings agree with tau-b {self.agreement};"
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        if self.agreement.has_interval:
            named = f" ({paired(self.turned)}; ours first)" if self.turned else ""
            turned = f"{len(self.turned)} of {n_pairs} pairs"
            yield f"{turned} are the other way round beyond noise{named}."
        else:
            yield f"which of {n_pairs} pairs differ by noise alone is not known."
