"""One number for each measure, with intervals from replicates and of differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, compress
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from analyses.ordering.agreement import mean_of_defined
from analyses.shared.families import CONFIDENCE as CONFIDENCE
from analyses.shared.families import SubsetValues, half_widths_from
from analyses.shared.measure import Measure, Measures
from analyses.shared.table import overview, percent, rounded, rounded_ratio, supported_decimals
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    import pandas as pd


ONE_SIDED_CONFIDENCE = 2 * CONFIDENCE - 1
"""Confidence of an interval of which one limit alone has that of the others."""

NORMAL_QUANTILE, ONE_SIDED_QUANTILE = (
    NormalDist().inv_cdf((1 + c) / 2) for c in (CONFIDENCE, ONE_SIDED_CONFIDENCE)
)
"""Standard deviations from the middle of an interval to its ends."""

TAU_FACTOR = 1.1
"""Deviations of taus of samples of users, in those of resampled users.

Resampling adds noise to means that have it already, and taus of noisier means vary less: by 5 to
12 % in the simulations of docs/methods/intervals.md.
"""

RANDOM_LOSS_FACTOR = 0.92
"""The same for areas under random loss, which users who are drawn twice suffer twice."""

MOST_VALUES = 3
"""Numbers that a sentence gives one by one."""

SYSTEM_LIMIT_COLUMNS = ("systems_low", "systems_high", "both_low", "both_high")
"""Columns of limits over systems, and over users and systems."""

SMALLEST_RATIO = 1e-16
"""Of what is compared by ratio: smaller values are as good as 0."""


def standard_deviations(replicates: Floats) -> Floats:
    """Give standard deviations along the last axis of what is defined; NaN of fewer than two."""
    defined = np.isfinite(replicates)
    n_defined = defined.sum(axis=-1)
    lowest = np.fmin.reduce(replicates, axis=-1, keepdims=True, initial=np.inf)
    # From the lowest, so that what does not vary has a deviation of exactly 0.
    above = np.where(defined, replicates - lowest, 0.0)
    means = above.sum(axis=-1) / np.maximum(n_defined, 1)
    squares = (np.where(defined, above - means[..., None], 0.0) ** 2).sum(axis=-1)
    nothing = np.full(squares.shape, np.nan)
    return np.sqrt(np.divide(squares, n_defined - 1, out=nothing, where=n_defined > 1))


def normal_limits(
    estimates: Floats,
    replicates: Floats,
    *,
    reach: float = NORMAL_QUANTILE,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Floats, Floats]:
    """Give the interval of so many standard deviations of the replicates around the estimates.

    Estimates are of shape (...), replicates of (..., n_replicates). NaN from fewer than two
    replicates. It ends at the limits, the lowest and the highest value there is.
    """
    width = reach * standard_deviations(replicates)
    return np.clip(estimates - width, *limits), np.clip(estimates + width, *limits)


def ratio_limits(
    estimates: Floats, replicates: Floats, *, highest: float = np.inf
) -> tuple[Floats, Floats]:
    """Give the same on the scale of logarithms, for what is positive and skewed."""
    logs = np.log(np.maximum(replicates, SMALLEST_RATIO))
    low, high = normal_limits(np.log(np.maximum(estimates, SMALLEST_RATIO)), logs)
    return np.exp(low), np.minimum(np.exp(high), highest)


def joint_quantile(replicates: Floats, *, one_sided: bool = False) -> float:
    """Give the standard deviations by which all rows at once hold, with a chance of 95 %.

    The 95th percentile of the largest of the rows' deviations from their means, each in its
    standard deviations (max ``|t|``, or one-sided max t, for lower limits), and never less than for
    one row alone. Of so many replicates, a new one exceeds it with a chance of exactly 5 %.

    Westfall & Young (1993), Resampling-based multiple testing.
    """
    least = ONE_SIDED_QUANTILE if one_sided else NORMAL_QUANTILE
    width = standard_deviations(replicates)
    some = replicates[width > 0]
    if some.size == 0:
        return least
    centred = (some - np.nanmean(some, axis=1, keepdims=True)) / width[width > 0, None]
    furthest = np.fmax.reduce(centred if one_sided else np.abs(centred), axis=0)
    return max(least, float(np.nanquantile(furthest, CONFIDENCE, method="weibull")))


def arcsine_limits(
    estimates: Floats, replicates: Floats, *, wider: float = TAU_FACTOR
) -> tuple[Floats, Floats]:
    """Give limits on the scale of arcsines, for estimates in [-1, 1]."""
    widths, angles = (
        NORMAL_QUANTILE * wider * standard_deviations(np.arcsin(replicates)),
        np.arcsin(estimates),
    )
    low, high = np.maximum(angles - widths, -np.pi / 2), np.minimum(angles + widths, np.pi / 2)
    return np.sin(low), np.sin(high)


def variance_stabilised(
    estimates: Floats, replicates: Floats, *, wider: float = TAU_FACTOR
) -> Floats:
    """Move replicates in [-1, 1] to the estimates, and let them vary as they would there.

    Arcsines vary alike everywhere; an estimate nearer to an end than a standard deviation is taken
    to be as far from it.
    """
    angles = np.arcsin(replicates)
    from_end = np.maximum(np.pi / 2 - np.abs(np.arcsin(estimates)), standard_deviations(angles))
    slopes = np.sin(np.minimum(from_end, np.pi / 2))
    moved = wider * slopes[..., None] * (angles - mean_of_defined(angles)[..., None])
    return np.asarray(estimates[..., None] + moved)


Limits = tuple[Floats, Floats]


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN for an unknown limit."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval is known and excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def interval(self) -> str:
        """The limits in brackets; empty where one is not known."""
        return self.bracketed(self.decimals)

    def bracketed(self, decimals: int, *, by_ratio: bool = False) -> str:
        """Print the limits with so many decimals, in brackets; empty where one is not known."""
        number = rounded_ratio if by_ratio else rounded
        limits = (number(limit, decimals) for limit in (self.low, self.high))
        return "" if math.isnan(self.low + self.high) else f"[{', '.join(limits)}]"

    @property
    def decimals(self) -> int:
        """Decimals that the interval supports; see `analyses.shared.table.supported_decimals`."""
        return supported_decimals(self.low, self.high)

    def printed(self, decimals: int, *, by_ratio: bool = False) -> str:
        """Print the value and its limits with so many decimals; see `rounded_ratio`."""
        number = rounded_ratio if by_ratio else rounded
        limits = self.bracketed(decimals, by_ratio=by_ratio)
        return f"{number(self.value, decimals)} {limits}".rstrip()

    def __str__(self) -> str:
        return self.printed(self.decimals)


@dataclass(frozen=True, eq=False)
class Estimates:
    """One number for each measure, with its 95 % interval; NaN where a limit is not known.

    Arrays are of shape (n_measures,), replicates of (n_measures, n_replicates): over the same
    resampled users for all measures. ``systems`` has the same numbers within random subsets of the
    families of systems, if that is known. The name heads the
    number in tables of several analyses; in words, quantity is what it is ("area under the curve of
    tau"), subject what it is about ("Robustness to random loss of judgements"), and best what the
    best measure is most ("robust to random loss of judgements"). Numbers that are compared by ratio
    differ by their logarithms, and are never above ``most``. ``over_settings`` are the same numbers
    under several settings of the systems, (n_measures, n_settings), where the study was repeated
    so.

    A measure is acceptable whose number is at least the threshold, or at most, where lower is
    better. Where the threshold is of shares, of shape (n_measures,), these are at least as large,
    and requirement says what shares are of ("of the pairs with p < .05"). See
    docs/methods/thresholds.md.

    Values are printed with so many decimals; None: with those that their intervals support. A
    measure without a value has the reason "no_value", in words.
    """

    name: str
    quantity: str
    subject: str
    best: str
    measures: Measures
    values: Floats
    low: Floats
    high: Floats
    replicates: Floats
    lower_is_better: bool = False
    systems: SubsetValues | None = None
    over_settings: Floats | None = None
    by_ratio: bool = False
    most: float = math.inf
    threshold: float | None = None
    shares: Floats | None = None
    requirement: str = ""
    decimals: int | None = None
    no_value: str = "its value is undefined"

    @property
    def threshold_in_words(self) -> str:
        """The threshold in words, in the unit of `compared_with_threshold`."""
        if self.shares is None:
            return rounded(self.threshold or 0.0, 1)
        return f"{percent(self.threshold or 0.0)} {self.requirement}"

    def compared_with_threshold(self, measures: Sequence[Measure]) -> str:
        """Print the numbers of some measures, and their shares where the threshold is of shares."""
        numbers = self.values_in_words(measures)
        if self.shares is None:
            return numbers
        shares = [float(self.shares[self.measures.index(measure)]) for measure in measures]
        if len(shares) > MOST_VALUES:
            return f"{numbers}; {percent(min(shares))} to {percent(max(shares))} {self.requirement}"
        *others, last = map(percent, shares)
        joined = f"{', '.join(others)}{' and ' * bool(others)}{last}"
        return f"{numbers}; {joined} {self.requirement}"

    def acceptable(self) -> Masks:
        """Mark measures that pass the threshold, of shape (n_measures,); without one, all."""
        if self.threshold is None:
            return np.ones(len(self.measures), dtype=np.bool_)
        numbers = self.values if self.shares is None else self.shares
        if self.shares is None and self.lower_is_better:
            return np.asarray(numbers <= self.threshold)
        return np.asarray((numbers >= self.threshold) & ~np.isnan(self.values))

    def by_label(self, measures: Measures) -> dict[str, Estimate]:
        """Give the defined estimates of some measures by their labels."""
        found = zip(measures.labels, self.measures.indices(measures), strict=True)
        return {label: self._estimate(n) for label, n in found if not math.isnan(self.values[n])}

    def _estimate(self, number: int) -> Estimate:
        return Estimate(*(float(each[number]) for each in (self.values, self.low, self.high)))

    @property
    def reported_pairs(self) -> list[tuple[Measure, Measure]]:
        """All pairs of report measures with a defined value."""
        reported = self.measures.reported
        return list(combinations(map(reported.with_label, self.by_label(reported)), 2))

    def in_order(self) -> Estimates:
        """Keep the report measures with a defined value, sorted from the best."""
        numbers = np.array(self.measures.indices(self.measures.reported), dtype=np.intp)
        numbers = numbers[~np.isnan(self.values[numbers])]
        sign = 1.0 if self.lower_is_better else -1.0
        order = numbers[np.argsort(sign * self.values[numbers], kind="stable")]
        return self.select([self.measures[number] for number in order])

    def select(self, measures: Sequence[Measure]) -> Estimates:
        """Keep some measures, all of them to be reported."""
        chosen = np.array(self.measures.indices(measures), dtype=np.intp)
        return replace(
            self,
            measures=Measures(
                measures,
                lower_is_better_for=self.measures.lower_is_better_for,
                reported=measures,
                grid=(),
            ),
            values=self.values[chosen],
            low=self.low[chosen],
            high=self.high[chosen],
            replicates=self.replicates[chosen],
            systems=None if self.systems is None else self.systems.transformed(lambda n: n[chosen]),
            over_settings=None if self.over_settings is None else self.over_settings[chosen],
            shares=None if self.shares is None else self.shares[chosen],
        )

    @property
    def has_replicates(self) -> bool:
        """Whether differences between measures have intervals."""
        return self.replicates.shape[1] > 1

    def values_in_words(self, measures: Sequence[Measure]) -> str:
        """Print the numbers of some measures, or of more than three their range.

        Sentences name measures for being the best, the nearest or the worst. Their intervals are
        therefore simultaneous for all report measures: see `joint_limits`.
        """
        low, high = self.joint_limits
        numbers = [self.measures.index(measure) for measure in measures]
        estimates = [
            Estimate(float(self.values[number]), float(low[number]), float(high[number]))
            for number in numbers
        ]
        decimals = [
            estimate.decimals if self.decimals is None else self.decimals for estimate in estimates
        ]
        if len(estimates) > MOST_VALUES:
            values = [estimate.value for estimate in estimates]
            common = min(decimals) if self.decimals is not None else max(2, min(decimals))
            number = rounded_ratio if self.by_ratio else rounded
            ends = f"{number(min(values), common)} to {number(max(values), common)}"
            return f"{self.quantity} from {ends}"
        *others, last = (
            estimate.printed(places, by_ratio=self.by_ratio)
            for estimate, places in zip(estimates, decimals, strict=True)
        )
        printed = f"{', '.join(others)}{' and ' * bool(others)}{last}"
        equals = "" if printed.startswith("<") else "= "
        return f"{self.quantity} {equals}{printed}"

    @cached_property
    def joint_limits(self) -> Limits:
        """Give limits that hold for all report measures at once, with a chance of 95 %.

        Of shapes (n_measures,). The limits over users, each as much further from its value as the
        largest of all deviations needs: see `joint_quantile`. An interval of one measure that was
        chosen for its value, such as the best, holds less often than it says; these do not.
        """
        reported = self.measures.indices(self.measures.reported)
        factor = joint_quantile(self._scaled(self.replicates[reported])) / NORMAL_QUANTILE
        values, low, high = (self._scaled(n) for n in (self.values, self.low, self.high))
        lower = values - factor * (values - low)
        upper = values + factor * (high - values)
        if self.by_ratio:
            return np.exp(lower), np.minimum(np.exp(upper), self.most)
        # Where an interval for one measure lies within the range of taus, so does a wider one.
        least, most = np.where(low >= -1.0, -1.0, -np.inf), np.where(high <= 1.0, 1.0, np.inf)
        return np.maximum(lower, least), np.minimum(upper, most)

    @property
    def has_system_intervals(self) -> bool:
        """Whether there are intervals over systems too."""
        return self.systems is not None and self.systems.values.shape[-1] > 1

    @property
    def further_sources(self) -> list[str]:
        """What intervals are over beside users: systems, and their settings, where known."""
        known = self.has_system_intervals, self.over_settings is not None
        return [*compress(("systems", "settings"), known)]

    @property
    def has_further_sources(self) -> bool:
        """Whether there are intervals over systems, or over their settings, too."""
        return bool(self.further_sources)

    def _half_widths_over_all_sources(
        self, differences: Callable[[Floats], Floats] | None = None, *, level: float = CONFIDENCE
    ) -> Floats:
        """Say how far intervals over users, systems and settings reach.

        They are of the values, or of differences of some. The jackknife overestimates the variances
        of differences and of their interaction with users alike, which is therefore not limited to
        the variance over users; and differences vary no less over resamples than over samples
        (docs/methods/intervals.md). NaN where neither systems nor settings are known.
        """
        of = differences or np.asarray
        drawn, wider = self.replicates, 1.0
        if self.systems is not None and self.systems.resampled is not None:
            drawn, wider = self.systems.resampled, 1.0 if differences else TAU_FACTOR
        users = (wider * standard_deviations(of(self._scaled(drawn)))) ** 2
        sources = [(users, np.inf)]
        if self.has_system_intervals and self.systems is not None:
            systems = self.systems.transformed(lambda numbers: of(self._scaled(numbers)))
            added = systems.added_variances(users, are_differences=differences is not None)
            sources.append((added, systems.n_families - 1))
        if self.over_settings is not None:
            variances = standard_deviations(of(self._scaled(self.over_settings))) ** 2
            sources.append((variances, self.over_settings.shape[1] - 1))
        return (
            half_widths_from(sources, level=level)
            if len(sources) > 1
            else np.full(len(users), np.nan)
        )

    def _scaled(self, numbers: Floats) -> Floats:
        return np.log(np.maximum(numbers, SMALLEST_RATIO)) if self.by_ratio else numbers

    def may_be_best(self, *, systems: bool = False) -> Masks:
        """Mark the measures than which no other is significantly better, of shape (n_measures,).

        Each is compared with all others at once, by one-sided limits of the differences over users,
        or over users and systems. The truly best measure is among them with a confidence of 95 %.

        Hsu (1981), Simultaneous confidence intervals for all distances from the "best".
        """
        best = ~np.isnan(self.values)
        others = np.arange(len(best) if self.has_replicates else 0)
        for number in others:
            pairs = others, np.full(len(others), number)
            larger, smaller = reversed(pairs) if self.lower_is_better else pairs
            low, _ = self._limits(larger, smaller, one_sided=True, systems=systems)
            best[number] &= not (low > 0).any()
        return best

    def significantly_best(self) -> list[Measure]:
        """Give acceptable measures that may be best, over systems too where known; none if all may.

        Tables print them bold.
        """
        best = self.may_be_best(systems=self.has_further_sources)
        all_may = bool((best | np.isnan(self.values)).all())
        return [] if all_may else [*compress(self.measures, best & self.acceptable())]

    def limits_over_all_sources(self) -> Limits:
        """Give limits over users, systems and settings; NaN where unknown.

        The interaction of users and systems is in the variances over either, and counted once: see
        `analyses.shared.families.SubsetValues`.
        """
        return self._around(self._half_widths_over_all_sources())

    def limits_over_systems(self) -> Limits:
        """Give limits over systems; NaN where unknown."""
        if self.systems is None:
            return self._around(np.full(len(self.values), np.nan))
        return self._around(self.systems.transformed(self._scaled).half_widths())

    def limit_columns(self) -> dict[str, Floats]:
        """Give the columns of both, by their names."""
        limits = (*self.limits_over_systems(), *self.limits_over_all_sources())
        return dict(zip(SYSTEM_LIMIT_COLUMNS, limits, strict=True))

    def _around(self, reach: Floats) -> Limits:
        values = self._scaled(self.values)
        if self.by_ratio:
            return np.exp(values - reach), np.minimum(np.exp(values + reach), self.most)
        return np.maximum(values - reach, -1.0), np.minimum(values + reach, 1.0)

    def simultaneous_differences(
        self, pairs: Iterable[tuple[Measure, Measure]], *, systems: bool = False
    ) -> list[Estimate]:
        """Estimate the differences of pairs of measures, first minus second.

        Limits are over users, or over users and systems; all intervals hold simultaneously with a
        probability of 95 %.
        """
        numbers = self._numbers(pairs)
        low, high = self._limits(*numbers, systems=systems)
        found = zip(self._differences(self.values, *numbers), low, high, strict=True)
        return [Estimate(*map(float, each)) for each in found]

    def _numbers(self, pairs: Iterable[tuple[Measure, Measure]]) -> tuple[Numbers, Numbers]:
        found = [tuple(map(self.measures.index, pair)) for pair in pairs]
        first, second = np.array(found, dtype=np.intp).reshape(-1, 2).T
        return first, second

    def _differences(self, numbers: Floats, first: Numbers, second: Numbers) -> Floats:
        scaled = self._scaled(numbers)
        return np.asarray(scaled[first] - scaled[second])

    def _limits(
        self, first: Numbers, second: Numbers, *, one_sided: bool = False, systems: bool = False
    ) -> Limits:
        """Give the limits of differences over users, or over users, systems and settings.

        They hold for all differences at once. What makes those over users do so is taken to do it
        for all sources.
        """
        replicates = self._differences(self.replicates, first, second)
        reach = joint_quantile(replicates, one_sided=one_sided)
        width = reach * standard_deviations(replicates)
        if systems:
            alone, level = (
                (ONE_SIDED_QUANTILE, ONE_SIDED_CONFIDENCE)
                if one_sided
                else (NORMAL_QUANTILE, CONFIDENCE)
            )
            over_more = self._half_widths_over_all_sources(
                lambda n: n[first] - n[second], level=level
            )
            width = reach / alone * over_more
        differences = self._differences(self.values, first, second)
        return differences - width, differences + width

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        return [
            (a, b)
            for a, b in combinations(range(len(self.measures)), 2)
            if self.measures.are_comparable(self.measures[a], self.measures[b])
        ]

    def differences(self) -> pd.DataFrame:
        """Compare all pairs of report measures, metrics at a cut-off, and cut-offs of a metric.

        Returns
        -------
        DataFrame
            Columns metric_a, cutoff_a, metric_b, cutoff_b, difference (a minus b; of DP, the ratio
            of a to b), low and high (95 % interval over users), and beyond_noise: whether the
            interval excludes 0 (of a ratio, 1). One in twenty equal pairs is expected to differ by
            chance. The columns joint_low, joint_high and jointly_beyond_noise are those of
            simultaneous 95 % intervals for all rows (maximum of absolute t), both_low, both_high
            and beyond_both those over users and systems.
        """
        import pandas as pd

        first, second = np.array(self._pairs, dtype=np.intp).reshape(-1, 2).T
        differences, replicates = (
            self._differences(numbers, first, second) for numbers in (self.values, self.replicates)
        )
        every = {
            ("low", "high", "beyond_noise"): normal_limits(differences, replicates),
            ("joint_low", "joint_high", "jointly_beyond_noise"): self._limits(first, second),
            ("both_low", "both_high", "beyond_both"): self._limits(first, second, systems=True),
        }
        printed = np.exp if self.by_ratio else np.asarray
        limits: dict[str, Floats | Masks] = {}
        for names, (low, high) in every.items():
            found = (printed(low), printed(high), (low > 0) | (high < 0))
            limits |= dict(zip(names, found, strict=True))
        metrics = np.array([measure.metric for measure in self.measures], dtype=object)
        cutoffs = self.measures.cutoff_column
        return pd.DataFrame(
            {
                "metric_a": metrics[first],
                "cutoff_a": cutoffs[first],
                "metric_b": metrics[second],
                "cutoff_b": cutoffs[second],
                "ratio" if self.by_ratio else "difference": printed(differences),
                **limits,
            }
        )

    def __repr__(self) -> str:
        import pandas as pd

        limits = {"value": self.values, "low": self.low, "high": self.high}
        frame = pd.DataFrame({"measure": [*map(str, self.measures)], **limits})
        return overview(f"{self.subject}: {self.quantity}", frame, ".differences(), .in_order()")
