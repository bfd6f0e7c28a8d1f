"""One number for each measure, with its intervals, and differences between measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.estimate import Estimate
from analyses.shared.families import CONFIDENCE, SubsetValues, half_widths_from
from analyses.shared.limits import (
    NORMAL_QUANTILE,
    ONE_SIDED_CONFIDENCE,
    ONE_SIDED_QUANTILE,
    SMALLEST_RATIO,
    TAU_FACTOR,
    Limits,
    joint_quantile,
    normal_limits,
    standard_deviations,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.table import overview
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Estimates:
    """One number for each measure, with its 95 % interval; NaN where a limit is not known.

    A measure is acceptable if its number is at least the threshold; at most, where lower is better.
    Where shares are given, these must be at least the threshold. See docs/methods/thresholds.md.

    Parameters
    ----------
    name
        Heading of the number in tables of several analyses.
    quantity
        What the number is, in words: "area under the curve of tau".
    subject
        What the number is about: "Robustness to random loss of judgements".
    best
        What the best measure is most: "robust to random loss of judgements".
    measures
        Label of the first axis.
    values, low, high
        The numbers and the limits over users, of shape (n_measures,).
    replicates
        The numbers of resampled users, the same for all measures: (n_measures, n_replicates).
    lower_is_better
        Whether lower numbers are better.
    systems
        The numbers within random subsets of the families of systems, if they are known.
    over_settings
        The numbers under several settings of the systems, where the study was repeated so, of shape
        (n_measures, n_settings).
    by_ratio
        Whether numbers are compared by ratio: differences are those of their logarithms.
    most
        The highest number that there is, of numbers that are compared by ratio.
    threshold
        Least acceptable number or share; without one, all measures are acceptable.
    shares
        Shares that the threshold is of, in place of the numbers, of shape (n_measures,).
    requirement
        What shares are of: "of the pairs with p < .05".
    decimals
        Decimals with which numbers are printed; None: those that their intervals support.
    no_value
        Why a measure may have no value, in words.
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

    def acceptable(self) -> Masks:
        """Mark measures that pass the threshold, of shape (n_measures,); without one, all.

        The number of a measure, in ``self.values``, must be at least the threshold, or at most,
        where lower is better; but if there are ``self.shares``, (n_measures,), the share must be at
        least the threshold. A measure whose number is NaN does not pass a threshold.
        """
        if self.threshold is None:
            return np.ones(len(self.measures), dtype=np.bool_)
        if self.shares is None and self.lower_is_better:
            return np.asarray(self.values <= self.threshold)
        compared = self.values if self.shares is None else self.shares
        has_value = ~np.isnan(self.values)
        return np.asarray((compared >= self.threshold) & has_value)

    def by_label(self, measures: Measures) -> dict[str, Estimate]:
        """Collect the defined estimates of some measures by their labels (`Measures.labels`)."""
        indices = self.measures.indices(measures)
        return {
            label: self._estimate(index)
            for label, index in zip(measures.labels, indices, strict=True)
            if not math.isnan(self.values[index])
        }

    def _estimate(self, index: int) -> Estimate:
        """Make the estimate of the measure at a position, with its limits over users."""
        return Estimate(
            value=float(self.values[index]),
            low=float(self.low[index]),
            high=float(self.high[index]),
        )

    @property
    def reported_pairs(self) -> list[tuple[Measure, Measure]]:
        """All pairs of report measures with a defined value."""
        defined = [self.measures[index] for index in self._defined_reported()]
        return list(combinations(defined, 2))

    def _defined_reported(self) -> Numbers:
        """Look up the positions of the report measures whose value is not NaN."""
        reported = self.measures.indices(self.measures.reported)
        indices = np.array(reported, dtype=np.intp)
        return indices[~np.isnan(self.values[indices])]

    def in_order(self) -> Estimates:
        """Select the report measures with a defined value (not NaN), sorted from the best.

        All arrays are selected; equal values stay in their order. The result may be empty.
        """
        indices = self._defined_reported()
        values = self.values[indices]
        from_best = np.argsort(values if self.lower_is_better else -values, kind="stable")
        return self.select([self.measures[index] for index in indices[from_best]])

    def select(self, measures: Sequence[Measure]) -> Estimates:
        """Select measures, in the order in which they are given; all are then reported.

        All arrays, whose first axis is that of the measures, are selected. None of the measures is
        in the grid of curves over cut-offs. Raises ValueError for a measure that is not here.
        """
        chosen = np.array(self.measures.indices(measures), dtype=np.intp)
        systems = self.systems
        if systems is not None:
            systems = systems.transformed(lambda values: values[chosen])
        selected = Measures(
            measures,
            lower_is_better_for=self.measures.lower_is_better_for,
            reported=measures,
            grid=(),
        )
        over_settings = None if self.over_settings is None else self.over_settings[chosen]
        shares = None if self.shares is None else self.shares[chosen]
        return replace(
            self,
            measures=selected,
            values=self.values[chosen],
            low=self.low[chosen],
            high=self.high[chosen],
            replicates=self.replicates[chosen],
            systems=systems,
            over_settings=over_settings,
            shares=shares,
        )

    @property
    def has_replicates(self) -> bool:
        """Whether differences between measures have intervals."""
        return self.replicates.shape[1] > 1

    @cached_property
    def joint_limits(self) -> Limits:
        """Limits over users that hold for all report measures at once, with a chance of 95 %.

        Of shape (n_measures,) each. The distance of every limit of ``self.low`` and ``self.high``
        from its value is multiplied by one factor: the quantile of the largest of all deviations
        (`joint_quantile`) over 1.96. Ratios are compared by their logarithms. An interval of one
        measure that was chosen for its value, such as the best, holds less often than it says;
        these do not. If a single report measure has a value, its own limits. NaN where a limit is.
        """
        if len(self._defined_reported()) == 1:
            return self.low, self.high
        reported = self.measures.indices(self.measures.reported)
        quantile = joint_quantile(self._scaled(self.replicates[reported]))
        factor = quantile / NORMAL_QUANTILE
        values = self._scaled(self.values)
        low = self._scaled(self.low)
        high = self._scaled(self.high)
        lower = values - factor * (values - low)
        upper = values + factor * (high - values)
        if self.by_ratio:
            return np.exp(lower), np.minimum(np.exp(upper), self.most)
        # Where an interval for one measure lies within the range of taus, so does a wider one.
        lowest = np.where(low >= -1.0, -1.0, -np.inf)
        highest = np.where(high <= 1.0, 1.0, np.inf)
        return np.maximum(lower, lowest), np.minimum(upper, highest)

    @property
    def has_system_intervals(self) -> bool:
        """Whether there are intervals over systems too."""
        return self.systems is not None and self.systems.values.shape[-1] > 1

    @property
    def further_sources(self) -> list[str]:
        """Sources of chance beside users that intervals are known for: "systems", "settings"."""
        sources = []
        if self.has_system_intervals:
            sources.append("systems")
        if self.over_settings is not None:
            sources.append("settings")
        return sources

    @property
    def has_further_sources(self) -> bool:
        """Whether there are intervals over systems, or over their settings, too."""
        return bool(self.further_sources)

    def _half_widths_over_all_sources(
        self,
        difference: Callable[[Floats], Floats] | None = None,
        *,
        level: float = CONFIDENCE,
    ) -> Floats:
        """Compute half-widths of intervals over users, systems and settings.

        They are of the values, of shape (n_measures,), or of differences, (n_differences,):
        ``difference`` then turns numbers of shape (n_measures, ...) into differences, of shape
        (n_differences, ...). All are on the scale of comparison: logarithms, if `by_ratio`. NaN
        where neither systems nor settings are known.

        The jackknife overestimates the variances of differences and of their interaction with users
        alike: the interaction is then not limited to the variance over users. Differences vary no
        less over resamples than over samples of users (docs/methods/intervals.md).
        """

        def compared(numbers: Floats) -> Floats:
            """Put numbers, (n_measures, ...), on the scale of comparison, and take differences."""
            scaled = self._scaled(numbers)
            return scaled if difference is None else difference(scaled)

        user_variances = self._user_variances(compared, are_differences=difference is not None)
        if not self.has_further_sources:
            return np.full(len(user_variances), np.nan)
        sources: list[tuple[Floats, float]] = [(user_variances, np.inf)]
        if self.systems is not None and self.has_system_intervals:
            systems = self.systems.transformed(compared)
            system_variances = systems.added_variances(
                user_variances, are_differences=difference is not None
            )
            sources.append((system_variances, systems.n_families - 1))
        if self.over_settings is not None:
            setting_variances = standard_deviations(compared(self.over_settings)) ** 2
            n_settings = self.over_settings.shape[1]
            sources.append((setting_variances, n_settings - 1))
        return half_widths_from(sources, level=level)

    def _user_variances(
        self, compared: Callable[[Floats], Floats], *, are_differences: bool
    ) -> Floats:
        """Estimate the variances over users of the values, or of differences between them.

        ``compared`` turns numbers of shape (n_measures, n_replicates) into what is compared. Values
        of resampled users that were not moved (`SubsetValues.resampled`) are preferred; they vary
        less than those of samples of users, by the factor 1.1 (`TAU_FACTOR`), but their differences
        do not. The
        result has the shape (n_measures,), or (n_differences,).
        """
        if self.systems is None or self.systems.resampled is None:
            return standard_deviations(compared(self.replicates)) ** 2
        factor = 1.0 if are_differences else TAU_FACTOR
        return (factor * standard_deviations(compared(self.systems.resampled))) ** 2

    def _scaled(self, numbers: Floats) -> Floats:
        """Put numbers of any shape on the scale of comparison: logarithms, if `by_ratio`."""
        if not self.by_ratio:
            return numbers
        return np.log(np.maximum(numbers, SMALLEST_RATIO))

    def may_be_best(self, *, all_sources: bool = False) -> Masks:
        """Mark the measures than which no other is significantly better, of shape (n_measures,).

        Each is compared with all others at once, by one-sided limits of the differences over users,
        or, with ``all_sources``, over users, systems and settings: one is beaten if the lower limit
        of another's advantage is above 0. The truly best measure is among those that are marked
        with a confidence of 95 %. Measures without a value (NaN) are never marked; without
        replicates all others are.

        References
        ----------
        Hsu (1981), Simultaneous confidence intervals for all distances from the "best".
        """
        is_possible = ~np.isnan(self.values)
        if not self.has_replicates:
            return is_possible
        all_indices = np.arange(len(is_possible))
        for measure in all_indices:
            # The advantage of every measure over this one: the larger number less the smaller.
            larger = all_indices
            smaller = np.full(len(all_indices), measure)
            if self.lower_is_better:
                larger, smaller = smaller, larger
            low, _ = self._limits(larger, smaller, one_sided=True, all_sources=all_sources)
            # Against itself the limit is 0; a limit that is NaN beats nothing.
            is_beaten = (low > 0).any()
            is_possible[measure] &= not is_beaten
        return is_possible

    def significantly_best(self) -> list[Measure]:
        """List the acceptable measures that may be best; none if all with a value may be.

        A measure may be best if no other is significantly better, over users, and over systems and
        settings too, where they are known; it is acceptable if it passes the threshold. Tables
        print them bold.
        """
        may_be_best = self.may_be_best(all_sources=self.has_further_sources)
        if (may_be_best | np.isnan(self.values)).all():
            return []
        chosen = np.flatnonzero(may_be_best & self.acceptable())
        return [self.measures[index] for index in chosen]

    def limits_over_all_sources(self) -> Limits:
        """Compute limits over users, systems and settings, of shape (n_measures,) each.

        NaN where neither systems nor settings are known. The interaction of users and systems is in
        the variances over either, and counted once: see `SubsetValues.added_variances`.
        """
        return self._limits_around_values(self._half_widths_over_all_sources())

    def limit_columns(self) -> dict[str, Floats]:
        """Collect limits over all sources as columns of a table: both_low and both_high.

        Each column has the shape (n_measures,).
        """
        both_low, both_high = self.limits_over_all_sources()
        return {"both_low": both_low, "both_high": both_high}

    def _limits_around_values(self, half_widths: Floats) -> Limits:
        """Compute the limits at half-widths, (n_measures,), around the values.

        Half-widths are on the scale of comparison: logarithms, if `by_ratio`; limits are not.
        Limits of ratios are at most `most`, others in [-1, 1]. NaN where a value or half-width is.
        """
        values = self._scaled(self.values)
        lower = values - half_widths
        upper = values + half_widths
        if self.by_ratio:
            return np.exp(lower), np.minimum(np.exp(upper), self.most)
        return np.maximum(lower, -1.0), np.minimum(upper, 1.0)

    def simultaneous_differences(
        self, pairs: Iterable[tuple[Measure, Measure]], *, all_sources: bool = False
    ) -> list[Estimate]:
        """Estimate the differences of pairs of measures, first minus second.

        Limits are over users, or, with ``all_sources``, over users, systems and settings. All
        intervals hold at once with a probability of 95 %. Of numbers that are compared by ratio,
        the differences are those of logarithms. The result has an estimate for each pair, with
        limits of NaN without replicates, or where they are not known.
        """
        indices = [self.measures.indices(pair) for pair in pairs]
        # Two columns, also without a pair.
        first, second = np.array(indices, dtype=np.intp).reshape(-1, 2).T
        differences = self._differences(self.values, first, second)
        low, high = self._limits(first, second, all_sources=all_sources)
        estimates = []
        for difference, lower, upper in zip(differences, low, high, strict=True):
            estimates.append(Estimate(float(difference), float(lower), float(upper)))
        return estimates

    def deviations_of_differences(
        self, first: Numbers, second: Numbers, *, all_sources: bool = False
    ) -> Floats:
        """Compute standard deviations of differences of measures: first less second, (n_pairs,).

        ``first`` and ``second`` are positions of measures. Deviations are over users, or, with
        ``all_sources``, over users, systems and settings: then they are those of a normal
        distribution with the same 95 % interval. NaN without replicates, or where they are unknown.
        """
        if not all_sources:
            return standard_deviations(self._differences(self.replicates, first, second))
        half_widths = self._half_widths_over_all_sources(
            lambda numbers: numbers[first] - numbers[second]
        )
        return half_widths / NORMAL_QUANTILE

    def quantile_of_differences(
        self, first: Numbers, second: Numbers, *, confidence: float
    ) -> float:
        """Compute how many deviations lower limits of differences need to hold at once.

        ``first`` and ``second`` are positions of measures, (n_pairs,); see `joint_quantile`.
        """
        replicates = self._differences(self.replicates, first, second)
        return joint_quantile(replicates, one_sided=True, confidence=confidence)

    def _differences(self, numbers: Floats, first: Numbers, second: Numbers) -> Floats:
        """Subtract numbers of measures, on the scale of comparison: those of first minus second.

        ``numbers`` has the shape (n_measures, ...); ``first`` and ``second``, (n_pairs,), are
        positions of measures. The result has the shape (n_pairs, ...).
        """
        scaled = self._scaled(numbers)
        return np.asarray(scaled[first] - scaled[second])

    def _limits(
        self,
        first: Numbers,
        second: Numbers,
        *,
        one_sided: bool = False,
        all_sources: bool = False,
    ) -> Limits:
        """Compute limits of differences, over users or over users, systems and settings.

        ``first`` and ``second`` are positions of measures; they and the limits are of shape
        (n_pairs,). Limits are on the scale of comparison, logarithms if `by_ratio`, and hold for
        all differences at once with 95 %; one side alone, if ``one_sided``. Half-widths over all
        sources are widened by the factor by which those over users must be wider to hold at once.
        """
        replicates = self._differences(self.replicates, first, second)
        quantile = joint_quantile(replicates, one_sided=one_sided)
        if all_sources:
            single_quantile = ONE_SIDED_QUANTILE if one_sided else NORMAL_QUANTILE
            level = ONE_SIDED_CONFIDENCE if one_sided else CONFIDENCE
            over_all_sources = self._half_widths_over_all_sources(
                lambda numbers: numbers[first] - numbers[second], level=level
            )
            half_widths = quantile / single_quantile * over_all_sources
        else:
            half_widths = quantile * standard_deviations(replicates)
        differences = self._differences(self.values, first, second)
        return differences - half_widths, differences + half_widths

    def _comparable_pairs(self) -> tuple[Numbers, Numbers]:
        """Look up the pairs of measures that share a cut-off or metric, or are both reported.

        The results are the positions of the first and of the second measures, of shape (n_pairs,).
        """
        pairs = []
        for first, second in combinations(range(len(self.measures)), 2):
            if self.measures.are_comparable(self.measures[first], self.measures[second]):
                pairs.append((first, second))
        first_indices, second_indices = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return first_indices, second_indices

    def differences(self) -> pd.DataFrame:
        """Compare all pairs of report measures, metrics at a cut-off, and cut-offs of a metric.

        Returns
        -------
        DataFrame
            Columns metric_a, cutoff_a, metric_b, cutoff_b, difference (a minus b; of DP, the ratio
            of a to b), low and high (95 % interval over users, for a pair that was chosen in
            advance), joint_low and joint_high (simultaneous 95 % intervals for all rows, by the
            maximum of absolute t) and jointly_beyond_noise: whether the joint interval excludes 0
            (of a ratio, 1). The columns both_low, both_high and beyond_both are the same over users
            and systems.
        """
        import pandas as pd

        first, second = self._comparable_pairs()
        differences = self._differences(self.values, first, second)
        replicates = self._differences(self.replicates, first, second)
        metrics = np.array([measure.metric for measure in self.measures], dtype=object)
        cutoffs = self.measures.cutoff_column
        heading = "ratio" if self.by_ratio else "difference"
        low, high = normal_limits(differences, replicates)
        joint_limits = self._limits(first, second)
        limits_over_both = self._limits(first, second, all_sources=True)
        columns: dict[str, Any] = {
            "metric_a": metrics[first],
            "cutoff_a": cutoffs[first],
            "metric_b": metrics[second],
            "cutoff_b": cutoffs[second],
            heading: self._printed_scale(differences),
            "low": self._printed_scale(low),
            "high": self._printed_scale(high),
        }
        columns |= self._difference_columns(
            joint_limits, "joint_low", "joint_high", "jointly_beyond_noise"
        )
        columns |= self._difference_columns(
            limits_over_both, "both_low", "both_high", "beyond_both"
        )
        return pd.DataFrame(columns)

    def _printed_scale(self, differences: Floats) -> Floats:
        """Turn differences of logarithms into ratios, if `by_ratio`; other differences stay."""
        return np.exp(differences) if self.by_ratio else np.asarray(differences)

    def _difference_columns(
        self, limits: Limits, low_name: str, high_name: str, is_beyond_name: str
    ) -> dict[str, Floats | Masks]:
        """Make the columns of limits of differences, (n_pairs,), under three names.

        Limits are on the scale of comparison; columns have ratios, if `by_ratio`. The third column
        marks intervals without 0 (of a ratio, 1); those with an unknown limit (NaN) are not marked.
        """
        low, high = limits
        return {
            low_name: self._printed_scale(low),
            high_name: self._printed_scale(high),
            is_beyond_name: (low > 0) | (high < 0),
        }

    def __repr__(self) -> str:
        import pandas as pd

        frame = pd.DataFrame(
            {
                "measure": [str(measure) for measure in self.measures],
                "value": self.values,
                "low": self.low,
                "high": self.high,
            }
        )
        return overview(f"{self.subject}: {self.quantity}", frame, ".differences(), .in_order()")
