"""Area under a curve of tau: how robust a measure is to the loss of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from analyses.intervals.percentile_intervals import shifted_band
from analyses.intervals.yardsticks import Yardsticks
from analyses.shared.drawing import curve_styles, draw_band, label_curves
from analyses.shared.families import Families, SubsetValues
from analyses.shared.limits import TAU_FACTOR, Limits, arcsine_limits, variance_stabilised
from analyses.shared.measure import Measure, Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import percent
from analyses.shared.sentences import listed
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

END_MARGIN = 0.02
"""Room beside the first and the last level, as a share of their distance."""

MAX_LEVELS_NAMED = 3
"""Levels at which tau is undefined that a sentence names."""

HIGHER_IS_BETTER = "Higher is better: tau = 1 is the same ordering."


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of taus over one range of levels, with their replicates.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Label of the second axis.
    taus
        Of shape (n_measures, n_levels).
    replicates
        The curves of every replicate, of shape (n_measures, n_levels, n_replicates); see
        `analyses.intervals.percentile_intervals.shifted_band` for what becomes of them.
    within
        The areas in random subsets of the systems; None if they were not computed.
    families
        The families of the systems, where subsets of them were looked at.
    factor
        Standard deviation of areas over samples of users, relative to that over the replicates.
    yardsticks
        What areas are read beside; None if it is not known.
    """

    measures: Measures
    levels: Sequence[float]
    taus: Floats
    replicates: Floats
    within: SubsetValues | None = None
    families: Families | None = None
    factor: float = TAU_FACTOR
    yardsticks: Yardsticks | None = None

    @cached_property
    def band(self) -> Limits:
        """95 % band of the taus, of shape (n_measures, n_levels) each; NaN without replicates."""
        return shifted_band(self.taus, self.replicates, bounds=(-1.0, 1.0))

    def cautions(self) -> list[str]:
        """Name metrics whose ordering never changes; say that systems are few for intervals.

        An ordering never changes if all taus of a measure are 1, (n_levels,), also in all
        replicates, (n_levels, n_replicates). That is not said if the one level is 1, all
        judgements. The second is said by ``self.families``, if they are known.
        """
        system_cautions = [] if self.families is None else self.families.cautions()
        is_constant = (self.taus == 1).all(axis=1)
        is_constant_in_replicates = (self.replicates == 1).all(axis=(1, 2))
        constant = np.flatnonzero(is_constant & is_constant_in_replicates)
        metrics = [self.measures[index].metric for index in constant]
        if not metrics or min(self.levels) == 1:
            return system_cautions
        names = listed(list(dict.fromkeys(metrics)))
        constant_caution = (
            f"The ordering of the systems by {names} never changes: a measure that "
            "does not use judgements is robust to their loss, whether or not it is valid."
        )
        return [constant_caution, *system_cautions]

    def plot(self, ax: Axes, *, metric: str | None, over: str) -> None:
        """Draw the taus against the share kept, from all to least; of metrics with their bands.

        Bands are 95 % limits over replicates; there are none without replicates. Raises InputError
        if there is nothing to draw.

        Parameters
        ----------
        ax
            The axes.
        metric
            Metric whose cut-offs are drawn, without bands, as their curves lie close together; None
            for the report measures.
        over
            What bands are over, in words for the caption: users, or users and samples.
        """
        n_replicates = self.replicates.shape[2]
        explanation = f"Bands: 95 % bootstrap over {over} ({n_replicates:,} replicates)."
        percents = 100 * np.asarray(self.levels)
        low, high = self.band
        has_bands = metric is None and self.replicates.size > 0
        for index, label, style in curve_styles(self.measures, metric=metric):
            if has_bands:
                limits = (low[index], high[index])
                draw_band(ax, percents, limits, style, label=label, explanation=explanation)
            ax.plot(percents, self.taus[index], label=label, **style)
        if len(percents) > 1:
            # Room for the marks at both ends.
            highest = percents.max()
            lowest = percents.min()
            margin = END_MARGIN * (highest - lowest)
            ax.set_xlim(highest + margin, lowest - margin)
        ax.set_ylabel("Kendall's tau-b with all judgements")
        ax.set_title(metric or "")
        label_curves(ax, ordered=metric is not None)

    def areas(self) -> pd.DataFrame:
        """Tabulate the area under each curve, as `area` computes it: the mean tau over the levels.

        The result: columns metric, cutoff, area, low, high (95 %, over users), rank (1 is the
        largest area of the report measures, or of those at the measure's cut-off; of equal areas
        the best rank; missing where the area is undefined), with_others and consistency (of report
        measures, see `Yardsticks`), lowest_level and highest_level (below
        1), and the limits over users and systems (both_low, both_high). Limits that are not known
        are NaN.
        """
        # Words and threshold are for sentences, of which there are none here.
        estimates = self.estimates(loss="", threshold=0.0)
        frame = tidy(self.measures, area=estimates.values, low=estimates.low, high=estimates.high)
        areas = frame["area"]
        frame["rank"] = [self._rank(measure, areas) for measure in self.measures]
        frame["rank"] = frame["rank"].astype("Int64")
        with_others: Floats | float = np.nan
        consistency: Floats | float = np.nan
        if self.yardsticks is not None:
            with_others = self.yardsticks.with_others
            consistency = self.yardsticks.consistency
        frame["with_others"] = with_others
        frame["consistency"] = consistency
        lossy = lossy_levels(self.levels)
        frame["lowest_level"] = min(lossy, default=np.nan)
        frame["highest_level"] = max(lossy, default=np.nan)
        return frame.assign(**estimates.limit_columns())

    def _rank(self, measure: Measure, areas: pd.Series[float]) -> float:
        """Rank a measure by its area among those that it is compared with; 1 is the largest.

        These are the report measures if it is one of them, else those at its cut-off. ``areas`` are
        those of all measures, in their order; of equal ones each has the best rank. NaN for an
        undefined area.
        """
        compared_measures = self.measures.comparable_with(measure)
        compared_areas = areas.loc[self.measures.indices(compared_measures)]
        ranks = compared_areas.rank(ascending=False, method="min")
        return float(ranks[self.measures.index(measure)])

    def estimates(self, *, loss: str, threshold: float) -> Estimates:
        """Estimate the areas with their intervals, for comparisons of measures.

        ``loss`` is what is lost, in words; ``threshold`` the least acceptable area. Areas are mean
        taus over the levels, by `area`; intervals are 95 % on the scale of arcsines. Replicates are
        moved to the areas, so that they vary as they would there, times ``self.factor``.
        Differences are paired: both curves saw the same resampled users and samples. NaN where a
        tau of a curve is undefined.
        """
        values = area(self.levels, self.taus)
        # Of shape (n_measures, n_replicates), with the levels as the last axis of the curves.
        replicates = area(self.levels, self.replicates.swapaxes(1, 2))
        low, high = arcsine_limits(values, replicates, factor=self.factor)
        stabilised = variance_stabilised(values, replicates, factor=self.factor)
        return Estimates(
            name=f"area, {loss}",
            quantity="area under the curve of tau",
            subject=f"Robustness to {loss}",
            best=f"robust to {loss}",
            measures=self.measures,
            values=values,
            low=low,
            high=high,
            replicates=stabilised,
            systems=self.within,
            threshold=threshold,
            no_value=self._why_undefined(),
        )

    def _why_undefined(self) -> str:
        """Explain why a report measure may have no area, and at which levels tau is undefined.

        At most `MAX_LEVELS_NAMED` (3) levels, shares kept, are named, in a clause without a full
        stop; none if all taus are defined.
        """
        if not lossy_levels(self.levels):
            return "no judgement is lost at any level"
        reported = self.measures.indices(self.measures.reported)
        is_undefined = np.isnan(self.taus[reported])
        undefined_levels = np.flatnonzero(is_undefined.any(axis=0))
        at_levels = ""
        if len(undefined_levels):
            first_levels = undefined_levels[:MAX_LEVELS_NAMED]
            shares = [percent(self.levels[level]) for level in first_levels]
            at_levels = f" at {listed(shares)} kept"
        reason = "no relevant judgement is left there, or all systems tie"
        return f"tau is undefined{at_levels}: {reason}"


def lossy_levels(levels: Sequence[float]) -> list[float]:
    """List the levels, shares kept, at which something is lost: those below 1, in their order."""
    return [level for level in levels if level < 1]


def areas_in_words(levels: Sequence[float]) -> str:
    """Write over which levels areas are, in a sentence without its full stop, for captions."""
    lossy = lossy_levels(levels)
    if not lossy:
        return "There are no areas, as nothing is lost at any level"
    highest = percent(max(lossy))
    lowest = percent(min(lossy))
    return f"Areas are mean taus from {highest} to {lowest}"


def area(levels: Sequence[float], taus: Floats) -> Floats:
    """Compute the area under curves, divided by the width of the levels: the mean tau over them.

    The level 1 is left out: nothing is lost there, and tau is 1 by construction.

    Parameters
    ----------
    levels
        Shares kept, (n_levels,): different numbers in (0, 1], in any order.
    taus
        The curves, of shape (..., n_levels).

    Returns
    -------
    Areas by the trapezoidal rule, of shape (...), in [-1, 1]: 1 if the ordering never changes; with
    one level below 1, its tau. NaN where a curve is undefined at such a level, as its range then
    differs from the others', and without such a level.
    """
    shares_kept = np.asarray(levels, dtype=np.float64)
    rising = np.argsort(shares_kept)
    is_lossy = shares_kept[rising] < 1
    chosen = rising[is_lossy]
    positions = shares_kept[chosen]
    heights = taus[..., chosen]
    if len(positions) == 0:
        return np.full(taus.shape[:-1], np.nan)
    if len(positions) == 1:
        return np.asarray(heights[..., 0])
    left_heights = heights[..., :-1]
    right_heights = heights[..., 1:]
    mean_heights = (right_heights + left_heights) / 2
    trapezoids = mean_heights * np.diff(positions)
    width = positions[-1] - positions[0]
    mean_taus = trapezoids.sum(axis=-1) / width
    return np.asarray(mean_taus)
