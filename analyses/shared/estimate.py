"""One number for each measure, with its interval, and how sure the differences are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures
from analyses.shared.table import shown

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.intp]
Limits = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Estimate:
    """A number, with its interval; NaN where a limit is not known."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def has_interval(self) -> bool:
        """Whether both limits are known."""
        return not math.isnan(self.low + self.high)

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval is known and excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def interval(self) -> str:
        """The limits in brackets; empty where one is not known."""
        return f"[{shown(self.low)}, {shown(self.high)}]" if self.has_interval else ""

    def __str__(self) -> str:
        return f"{shown(self.value)} {self.interval}".rstrip()


@dataclass(frozen=True, eq=False)
class Estimates:
    """One number for each measure, with its 95 % interval; NaN where a limit is not known.

    Arrays are of shape (n_measures,). The name heads the number in tables of several analyses; in
    words, quantity is what it is ("area under the curve of tau"), subject what it is about
    ("Robustness to random loss of judgements"), best what the best measure has most of ("robust"),
    and more the same in full ("robust to random loss of judgements"). ``limits`` gives the limits
    of the 95 % intervals of the differences between the measures with the numbers in its two
    arguments, over the same replicates.
    """

    name: str
    quantity: str
    subject: str
    best: str
    more: str
    measures: Measures
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    limits: Callable[[Numbers, Numbers], Limits]
    lower_is_better: bool = False

    def of(self, some: Measures) -> dict[str, Estimate]:
        """Give the estimates of some measures by their labels, where they are defined."""
        found = zip(some.labels, self.measures.numbers(some), strict=True)
        return {
            label: Estimate(*(float(each[n]) for each in (self.values, self.low, self.high)))
            for label, n in found
            if not math.isnan(self.values[n])
        }

    def difference(self, first: Measure, second: Measure) -> Estimate:
        """Compare two measures over the same replicates: the first less the second."""
        a, b = self.measures.index(first), self.measures.index(second)
        low, high = self.limits(np.array([a]), np.array([b]))
        return Estimate(float(self.values[a] - self.values[b]), float(low[0]), float(high[0]))

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        return [
            (a, b)
            for a, b in combinations(range(len(self.measures)), 2)
            if self.measures.are_comparable(self.measures[a], self.measures[b])
        ]

    def differences(self) -> pd.DataFrame:
        """Compare report measures, every two metrics at a cut-off, and cut-offs of a metric.

        No correction is made for the number of comparisons: of twenty pairs that do not differ,
        expect one that seems to.

        Returns
        -------
        Columns metric_a, cutoff_a, metric_b, cutoff_b, difference (a less b), low, high (95 %) and
        beyond_noise: whether the interval excludes 0.
        """
        import pandas as pd

        first, second = np.array(self._pairs, dtype=np.intp).reshape(-1, 2).T
        low, high = self.limits(first, second)
        metrics = np.array([measure.metric for measure in self.measures], dtype=object)
        cutoffs = self.measures.column
        return pd.DataFrame(
            {
                "metric_a": metrics[first],
                "cutoff_a": cutoffs[first],
                "metric_b": metrics[second],
                "cutoff_b": cutoffs[second],
                "difference": self.values[first] - self.values[second],
                "low": low,
                "high": high,
                "beyond_noise": (low > 0) | (high < 0),
            }
        )
