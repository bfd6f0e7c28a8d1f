"""Area under a curve of tau: how robust a measure is to the loss of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from analyses.intervals.percentile_intervals import shifted_band
from analyses.shared.drawing import curve_styles, draw_band, label_curves, panel_title
from analyses.shared.families import Families, SubsetValues
from analyses.shared.limits import TAU_FACTOR, arcsine_limits, variance_stabilised
from analyses.shared.measure import Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import percent
from analyses.shared.sentences import listed
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

END_ROOM = 0.02
"""Room beside the first and the last level, as a share of their distance."""

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
        The areas in random subsets of the systems; None if they were not looked at.
    families
        The families of the systems, where subsets of them were looked at.
    wider
        Deviations of areas of samples of users, in those of the replicates.
    """

    measures: Measures
    levels: Sequence[float]
    taus: Floats
    replicates: Floats
    within: SubsetValues | None = None
    families: Families | None = None
    wider: float = TAU_FACTOR

    @cached_property
    def band(self) -> tuple[Floats, Floats]:
        """95 % band of the taus, of shape (n_measures, n_levels) each; NaN without replicates."""
        return shifted_band(self.taus, self.replicates, bounds=(-1.0, 1.0))

    def cautions(self) -> list[str]:
        """Name metrics whose ordering never changes; say that systems are few for intervals."""
        few = [] if self.families is None else self.families.cautions()
        # With these users, and with others.
        unmoved = (self.taus == 1).all(axis=1) & (self.replicates == 1).all(axis=(1, 2))
        metrics = {self.measures[number].metric: None for number in np.flatnonzero(unmoved)}
        if not metrics or min(self.levels) == 1:
            return few
        return [
            f"The ordering of the systems by {listed(list(metrics))} never changes: a measure that "
            "does not use judgements is robust to their loss, whether or not it is valid.",
            *few,
        ]

    def plot(self, ax: Axes, *, metric: str | None, over: str) -> None:
        """Draw the taus against the share kept, from all to least; of metrics with their bands.

        Cut-offs of one metric, whose curves lie close together, have none. Bands are over users,
        or users and samples: in words, for the caption.
        """
        n_replicates = self.replicates.shape[2]
        explanation = f"Bands: 95 % bootstrap over {over} ({n_replicates:,} replicates)."
        percent = 100 * np.asarray(self.levels)
        low, high = self.band
        for number, label, style in curve_styles(self.measures, metric=metric):
            if metric is None and self.replicates.size:
                limits = (low[number], high[number])
                draw_band(ax, percent, limits, style, label=label, explanation=explanation)
            ax.plot(percent, self.taus[number], label=label, **style)
        if len(percent) > 1:
            # Room for the marks at both ends.
            room = END_ROOM * (percent.max() - percent.min())
            ax.set_xlim(percent.max() + room, percent.min() - room)
        ax.set_ylabel("Kendall's tau-b with all judgements")
        ax.set_title(panel_title(self.measures, metric=metric))
        label_curves(ax, ordered=metric is not None)

    def areas(self) -> pd.DataFrame:
        """Give the area under each curve, as `area` has it.

        The result: columns metric, cutoff, area, low, high (95 %, over users), rank (1 is the
        largest area of the report measures, or at a cut-off; of equal areas the best rank),
        lowest_level, highest_level, and the limits over systems (systems_low, systems_high) and
        over users and systems (both_low, both_high).
        """
        found = self.estimates(loss="", threshold=0.0)
        frame = tidy(self.measures, area=found.values, low=found.low, high=found.high)
        beside = [self.measures.indices(self.measures.comparable_with(m)) for m in self.measures]
        frame["rank"] = [
            frame.loc[others, "area"].rank(ascending=False, method="min")[number]
            for number, others in enumerate(beside)
        ]
        frame["rank"] = frame["rank"].astype("Int64")
        frame = frame.assign(lowest_level=min(self.levels), highest_level=max(self.levels))
        return frame.assign(**found.limit_columns())

    def estimates(self, *, loss: str, threshold: float) -> Estimates:
        """Give the areas as numbers of the measures, and the least that is acceptable.

        Differences are paired: both curves saw the same resampled users and samples.
        """
        values = area(self.levels, self.taus)
        replicates = area(self.levels, self.replicates.swapaxes(1, 2))
        low, high = arcsine_limits(values, replicates, factor=self.wider)
        return Estimates(
            name=f"area, {loss}",
            quantity="area under the curve of tau",
            subject=f"Robustness to {loss}",
            best=f"robust to {loss}",
            measures=self.measures,
            values=values,
            low=low,
            high=high,
            replicates=variance_stabilised(values, replicates, factor=self.wider),
            systems=self.within,
            threshold=threshold,
            no_value=self._why_undefined(),
        )

    def _why_undefined(self) -> str:
        """Say where curves of report measures are undefined, and why."""
        reported = self.measures.indices(self.measures.reported)
        undefined = np.isnan(self.taus[reported]).any(axis=0)
        shares = listed([percent(self.levels[place]) for place in np.flatnonzero(undefined)[:3]])
        where = f" at {shares} kept" if undefined.any() else ""
        return f"tau is undefined{where}: no relevant judgement is left there, or all systems tie"


def area(levels: Sequence[float], taus: Floats) -> Floats:
    """Give the area under curves, divided by the width of the levels: the mean tau over them.

    The result: areas by the trapezoidal rule, of shape (...): in [-1, 1], 1 if the ordering never
    changes. NaN where a curve is undefined at some level, as its range then differs from the
    others'.
    """
    order = np.argsort(levels)
    where, heights = np.asarray(levels, dtype=np.float64)[order], taus[..., order]
    if len(where) == 1:
        return np.asarray(heights[..., 0])
    trapezoids = (heights[..., 1:] + heights[..., :-1]) / 2 * np.diff(where)
    return np.asarray(trapezoids.sum(axis=-1) / (where[-1] - where[0]))
