"""Correlation: agreement of cut-offs, and of metrics, on the ordering of the systems.

Figures 1 and 5 of Valcarce et al. (2018), with intervals over users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from analyses.intervals.resampling import resample_means, run_noise
from analyses.ordering import COEFFICIENTS, Coefficient, find_coefficient
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import curve_styles, draw_matrix, panel_title
from analyses.shared.estimate import Estimate
from analyses.shared.families import N_CROSSED, Families, SubsetValues
from analyses.shared.limits import (
    TAU_FACTOR,
    arcsine_limits,
    joint_quantile,
    standard_deviations,
    variance_stabilised,
)
from analyses.shared.measure import Measures, tidy
from analyses.shared.measure_estimates import SYSTEM_LIMIT_COLUMNS, Estimates
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import join_pairs, listed
from analyses.shared.table import Table
from runs.shared.arrays import Floats, Masks
from runs.shared.errors import counted
from runs.shared.settings import Repeats, accepted_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

LEAST_RANGE = 0.1
"""Shades of a heat map of taus span at least this much: small differences look small."""

WIDE = 1.0
"""Width of an interval of agreement, of 2 that are possible, that tells nothing."""


class Settings(AnalysisSettings):
    """Agreement among cut-offs and among metrics."""

    coefficient: Annotated[str, accepted_by(find_coefficient)] = Field(
        "tau-b",
        description="Coefficient of figures and intervals; the CSV files have all: "
        f"{', '.join(COEFFICIENTS)}.",
    )
    replicates: Repeats = Field(1000, ge=0, description="Bootstrap replicates; 0: no intervals.")
    every_pair: bool = Field(
        False, description="Intervals also for measures that share neither metric nor cut-off."
    )


@analysis(
    "correlation",
    source="Valcarce et al. (2018), Figures 1 and 5",
    question="Do the measures order the systems alike?",
)
def correlation(work: Work, settings: Settings) -> Correlation:
    """Compare the orderings of the systems by all measures.

    Valcarce et al. (2018), sections 4.1 and 4.2.
    """
    scores, replicates = work.scores, settings.replicates
    scores.require("a correlation")
    with work.progress("Correlating orderings", 1) as bar:
        found = correlate_means(
            scores.mean_values(),
            measures=scores.measures,
            systems=scores.systems,
            coefficient=settings.coefficient,
        )
        # Over other users and other runs: (n_measures, n_systems, replicates).
        how: Any = {"replicates": replicates, "seed": work.seed}
        resampled = resample_means(scores.weighted_values, **how) + run_noise(scores.runs, **how)
        numbers = scores.measures.indices(scores.measures.reported)
        compare = partial(_every_two, find_coefficient(settings.coefficient))
        means, subsets = scores.mean_values()[numbers], work.families.subsets(seed=work.seed)
        drawn = resampled[numbers].swapaxes(1, 2)
        found = replace(
            found,
            families=work.families,
            over_users=np.moveaxis(compare(drawn), 0, -1),
            within=SubsetValues(
                work.families.n_families,
                _among(compare, means, subsets),
                np.moveaxis(_among(compare, drawn[:, :N_CROSSED], subsets[:N_CROSSED]), 0, -2),
            ),
            n_users=len(scores.users),
            replicates=replicates,
        )
        if replicates:
            found = _with_intervals(found, resampled, every_pair=settings.every_pair)
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class Correlation(Result):
    """Agreement between the orderings of the systems by any two measures.

    In every array the row is the estimate and the column the reference, which matters for the
    coefficients that are not symmetric.

    Parameters
    ----------
    measures
        Labels of both axes.
    systems
        The systems ordered.
    values
        By coefficient: float64 of shape (n_measures, n_measures); NaN where it is undefined.
    coefficient
        The chosen one: that of the intervals and figures.
    low, high
        Limits of its interval over users, of the same shape; NaN for pairs without one.
    over_users, within
        Agreement of every two report measures with resampled users, of shape (n_reported,
        n_reported, n_replicates), and within random subsets of the systems.
    families
        The families of the systems; None if only the means are known.
    n_users
        Users over whom scores were averaged; None if only the means are known.
    replicates
        Of the bootstrap; without replicates there are no intervals.
    undefined
        Resampled agreements that are undefined; the intervals leave them out.
    """

    measures: Measures
    systems: tuple[str, ...]
    values: Mapping[str, Floats]
    coefficient: str
    low: Floats
    high: Floats
    over_users: Floats | None = None
    within: SubsetValues | None = None
    families: Families | None = None
    n_users: int | None = None
    replicates: int = 0
    undefined: int = 0

    @property
    def taus(self) -> Floats:
        """Values of the chosen coefficient."""
        return self.values[self.coefficient]

    def limits_over_systems(self) -> dict[str, Floats]:
        """Give limits over systems, and over users and systems, of report measures; others NaN."""
        limits = {name: np.full(self.taus.shape, np.nan) for name in SYSTEM_LIMIT_COLUMNS}
        if self.within is None or self.over_users is None:
            return limits
        numbers = self.measures.indices(self.measures.reported)
        places = np.ix_(numbers, numbers)
        taus = self.taus[places]
        lowest = find_coefficient(self.coefficient).lowest(len(self.systems))
        users = (TAU_FACTOR * standard_deviations(self.over_users)) ** 2
        both = self.within.half_widths_over_both(users)
        for side, reach in (("systems", self.within.half_widths()), ("both", both)):
            limits[f"{side}_low"][places] = np.maximum(taus - reach, lowest)
            limits[f"{side}_high"][places] = np.minimum(taus + reach, 1.0)
        return limits

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``correlation_cutoffs`` and ``correlation_metrics``; see `among_cutoffs`.

        Report measures that differ in their depths have ``correlation_measures``, too.
        """
        frames = {
            "correlation_cutoffs": self.among_cutoffs(),
            "correlation_metrics": self.among_metrics(),
        }
        if not self.measures.reported.common_depth:
            chosen = [measure in self.measures.reported for measure in self.measures]
            rows = self.to_frame()[np.outer(chosen, chosen).ravel()]
            frames["correlation_measures"] = rows.reset_index(drop=True)
        return frames

    def to_frame(self) -> pd.DataFrame:
        """All pairs of measures; the second is the reference.

        Columns metric_a, cutoff_a, metric_b, cutoff_b, tau (the chosen coefficient), low, high
        (over users), of report measures the limits over systems (systems_low, systems_high) and
        over both (both_low, both_high), and one for each further coefficient, by its name.
        """
        import pandas as pd

        metrics = [measure.metric for measure in self.measures]
        cutoffs = pd.array([measure.cutoff for measure in self.measures], dtype="Int64")
        axes = (pd.DataFrame({f"metric_{x}": metrics, f"cutoff_{x}": cutoffs}) for x in "ab")
        further = {name: self.values[name] for name in self.values if name != self.coefficient}
        limits = {"low": self.low, "high": self.high} | self.limits_over_systems()
        return tidy(*axes, tau=self.taus, **limits, **further)

    def frame(self) -> pd.DataFrame:
        """Pairs of different report measures, with the columns of `to_frame`.

        Each pair has a row; of a coefficient that is not symmetric, two: either is the reference.
        """
        is_reported = np.isin(np.arange(len(self.measures)), self._reported)
        is_pair = np.outer(is_reported, is_reported)
        if find_coefficient(self.coefficient).symmetric:
            is_pair = np.triu(is_pair, k=1)
        np.fill_diagonal(is_pair, False)
        return self.to_frame()[is_pair.ravel()].reset_index(drop=True)

    @property
    def _reported(self) -> list[int]:
        """The numbers of the report measures."""
        return self.measures.indices(self.measures.reported)

    def among_cutoffs(self) -> pd.DataFrame:
        """Pairs of cut-offs of one metric.

        Columns metric, cutoff_a, cutoff_b; then those of `to_frame` from tau on.
        """
        frame = self.to_frame()
        frame = frame[frame["metric_a"] == frame["metric_b"]].drop(columns="metric_b")
        return frame.rename(columns={"metric_a": "metric"}).reset_index(drop=True)

    def among_metrics(self) -> pd.DataFrame:
        """Pairs of metrics at one cut-off, by cut-off.

        Columns metric_a, metric_b, cutoff; then those of `to_frame` from tau on.
        """
        frame = self.to_frame()
        # Whole lists are a cut-off of their own.
        cutoff_a, cutoff_b = frame["cutoff_a"].fillna(0), frame["cutoff_b"].fillna(0)
        frame = frame[cutoff_a == cutoff_b].drop(columns="cutoff_b")
        frame.insert(2, "cutoff", frame.pop("cutoff_a"))
        return frame.sort_values("cutoff", kind="stable", ignore_index=True)

    def headline(self) -> Estimates | None:
        """Give the mean agreement of each report measure with the others."""
        numbers = self.measures.indices(self.measures.reported)
        if len(numbers) < 2 or self.within is None or self.over_users is None:
            return None
        values, replicates = map(_beside, (self.taus[np.ix_(numbers, numbers)], self.over_users))
        low, high = arcsine_limits(values, replicates)
        label = find_coefficient(self.coefficient).label
        return Estimates(
            name="agreement with the others",
            quantity=f"mean {label} with the other measures",
            subject="Agreement with the other measures",
            best="typical",
            measures=self.measures.reported,
            values=values,
            low=low,
            high=high,
            replicates=variance_stabilised(values, replicates),
            systems=replace(self.within.transformed(_beside), resampled=replicates),
        )

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Give Figures 1 and 5 of Valcarce et al. (2018)."""
        names = {"tau": "value", "metric_a": "metric_row", "metric_b": "metric_column"}
        cutoffs = self.among_cutoffs().rename(
            columns={"tau": "value", "cutoff_a": "cutoff_row", "cutoff_b": "cutoff_column"}
        )
        metrics = self.among_metrics().rename(columns=names)
        return {
            "recsys2018-figure1": cutoffs[["metric", "cutoff_row", "cutoff_column", "value"]],
            "recsys2018-figure5": metrics[["metric_row", "metric_column", "cutoff", "value"]],
        }

    def findings(self) -> Sequence[str]:
        """Say how far the report measures agree on the ordering of the systems."""
        pairs, wide = self._pairs, self._wide()
        known = {pair: float(self.taus[place]) for pair, place in pairs.items() if pair not in wide}
        taus = {pair: tau for pair, tau in known.items() if not np.isnan(tau)}
        if not taus:
            return []
        mean = sum(taus.values()) / len(taus)
        lowest, highest = min(taus, key=taus.__getitem__), max(taus, key=taus.__getitem__)
        ranges = ""
        if taus[lowest] < taus[highest]:
            low_tau, high_tau = self.at_once(lowest), self.at_once(highest)
            ranges = f", from {low_tau} ({listed(lowest)}) to {high_tau} ({listed(highest)})"
            if self.has_intervals:
                ranges += "; the intervals hold for all pairs at once"
        return [
            f"The report measures{self.measures.reported.title_suffix} agree on the ordering of "
            f"the systems with {find_coefficient(self.coefficient).label} = {rounded(mean, 2)} on "
            f"average over {f'{len(taus)} of the {len(pairs)} ' * bool(wide)}pairs{ranges}."
        ]

    @property
    def _pairs(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Where the pairs of report measures stand, by their labels."""
        reported = self.measures.reported
        places = dict(zip(reported.labels, self.measures.indices(reported), strict=True))
        return {(a, b): (places[a], places[b]) for a, b in combinations(places, 2)}

    @property
    def has_intervals(self) -> bool:
        """Whether there are resampled agreements of the report measures."""
        return self.over_users is not None and self.over_users.shape[-1] > 1

    def at_once(self, pair: tuple[str, str]) -> Estimate:
        """Estimate the agreement of two report measures; limits hold for all pairs at once.

        Measures are named by their labels. An interval for one pair, which was chosen for being
        the lowest or the highest, holds less often than it says.
        """
        row, column = self._pairs[pair]
        tau = float(self.taus[row, column])
        if self.over_users is None or not self.has_intervals:
            return Estimate(tau)
        every_pair = self.measures.reported.labels
        first, second = np.array([*combinations(range(len(every_pair)), 2)]).T
        # NaN where an agreement is undefined, of all or of the resampled users.
        angles = np.arcsin(self.over_users[first, second])
        spread = standard_deviations(angles)
        # The pair that seems to agree most varies least by chance: it varies as pairs usually do.
        usual = float(np.sqrt(mean_of_defined(spread**2)))
        place = [*self._pairs].index(pair)
        half_width = TAU_FACTOR * joint_quantile(angles) * max(float(spread[place]), usual)
        angle = float(np.arcsin(tau))
        low = np.sin(max(angle - half_width, -np.pi / 2))
        high = np.sin(min(angle + half_width, np.pi / 2))
        return Estimate(tau, float(low), float(high))

    @table("correlation", "agreement among metrics")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the agreement of the metrics' orderings of the systems."""
        compared = self.measures.reported_or_at(cutoff)
        numbers, labels = self.measures.indices(compared), compared.labels
        taus = dict(zip(labels, self.taus[np.ix_(numbers, numbers)].T, strict=True))
        label = find_coefficient(self.coefficient).label
        note = f"{label[0].upper()}{label[1:]} between the orderings of the systems by mean score."
        title = f"Agreement among metrics{compared.title_suffix}"
        columns: dict[str, Any] = {"metric": labels, **taus}
        return Table.from_columns("correlation", title, note, columns, decimals=2)

    def of_measures(self) -> Table:
        """Tabulate the report measures down and across, with intervals where there are any."""
        numbers = self.measures.indices(self.measures.reported)
        names = {number: str(self.measures[number]) for number in numbers}
        rows = [
            [name, *(self._printed(row, column) for column in names)] for row, name in names.items()
        ]
        headings = ["", *names.values()]
        return Table("agreement", "Agreement of measures", self.caption(), headings, rows)

    def _printed(self, row: int, column: int) -> str:
        if row == column:
            return rounded(float(self.taus[row, column]))
        return str(Estimate(*(float(x[row, column]) for x in (self.taus, self.low, self.high))))

    @figure(
        "correlation_cutoffs",
        "Agreement among the cut-offs of each metric",
        number=1,
        panels="metric",
        over_cutoffs=True,
        wide=True,
    )
    @figure("correlation_metrics", "Agreement among metrics", number=5)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw a table of taus: cut-offs of one metric, or metrics at one cut-off."""
        curves = curve_styles(self.measures, metric=metric)
        labels = {number: label.removeprefix("@") for number, label, _ in curves}
        self._draw_table(ax, labels if metric else self._by_likeness(labels))
        ax.set_title(panel_title(self.measures, metric=metric))

    def _by_likeness(self, labels: Mapping[int, str]) -> dict[int, str]:
        """Put measures that agree beside each other, those that agree least at the ends."""
        return {number: labels[number] for number in order_by_likeness(self.taus, [*labels])}

    def _draw_table(self, ax: Axes, labels: Mapping[int, str]) -> None:
        """Print every tau in a cell that is the darker, the higher it is among all."""
        taus, names = self.taus[np.ix_([*labels], [*labels])], list(labels.values())
        lowest = min(float(np.nanmin(self.taus, initial=1.0)), 1.0 - LEAST_RANGE)
        draw_matrix(ax, taus, names, label=find_coefficient(self.coefficient).label, lowest=lowest)

    def cautions(self) -> Sequence[str]:
        """Say which intervals of the agreement of report measures tell nothing, or too little."""
        wide = self._wide()
        sentence = (
            f"These {self.units} cannot tell how far two measures agree, as the interval is wider "
            f"than {WIDE:g}: {join_pairs(wide)}."
        )
        few = self.families.cautions() if self.families else []
        return [sentence] * bool(wide) + few

    def _wide(self) -> list[tuple[str, str]]:
        """Name the pairs of report measures whose interval is too wide to tell anything."""
        width = self.high - self.low
        return [pair for pair, place in self._pairs.items() if width[place] > WIDE]

    def caption(self) -> str:
        """Say what the numbers are, how ties count, and what the intervals are."""
        coefficient = find_coefficient(self.coefficient)
        label, users = coefficient.label[0].upper() + coefficient.label[1:], ""
        if self.n_users is not None:
            users = f" over {counted(self.n_users, self.unit)}"
        reference = "" if coefficient.symmetric else " The column is the reference of the row."
        left_out = f"; {self.undefined:,} undefined values left out" * (self.undefined > 0)
        intervals = (
            f" The CSV tables have 95 % intervals, for samples of as many {self.units}{left_out}; "
            f"with more {self.units}, measures may agree more."
        )
        return (
            f"{label} between the orderings of {len(self.systems)} systems by the mean scores of "
            f"two measures{users}; 1 is the same ordering. {coefficient.ties}{reference}"
            f"{intervals * (self.replicates > 0)}"
        )


def correlate_means(
    means: Floats, *, measures: Measures, systems: Sequence[str], coefficient: str
) -> Correlation:
    """Compare orderings of which only the means are known; there are no intervals."""
    find_coefficient(coefficient)
    none = np.full((len(measures), len(measures)), np.nan)
    return Correlation(
        measures=measures,
        systems=tuple(systems),
        values={name: _every_two(one, means) for name, one in COEFFICIENTS.items()},
        coefficient=coefficient,
        low=none,
        high=none,
    )


def _with_intervals(found: Correlation, resampled: Floats, *, every_pair: bool) -> Correlation:
    """Add intervals for pairs of measures with something in common, or for all."""
    measures = found.measures
    coefficient = find_coefficient(found.coefficient)
    # A measure agrees with itself under all users.
    low, high = (np.where(np.eye(len(measures)), found.taus, np.nan) for _ in range(2))
    undefined = 0
    orderings = np.ascontiguousarray(resampled.swapaxes(1, 2))
    for pair in combinations(range(len(measures)), 2):
        if every_pair or measures.are_comparable(*(measures[number] for number in pair)):
            for place in (pair,) if coefficient.symmetric else (pair, pair[::-1]):
                agreements = coefficient.compare(*(orderings[number] for number in place))
                low[place], high[place] = arcsine_limits(found.taus[place], agreements)
                undefined += int(np.isnan(agreements).sum())
    if coefficient.symmetric:
        low, high = (np.where(np.isnan(each), each.T, each) for each in (low, high))
    return replace(found, low=low, high=high, undefined=undefined)


def _every_two(coefficient: Coefficient, means: Floats) -> Floats:
    """Compare means (n_measures, ..., n_systems): (..., n_measures, n_measures)."""
    every = np.moveaxis(means, 0, -2)
    return coefficient.compare(every[..., :, None, :], every[..., None, :, :])


def _among(compare: Callable[[Floats], Floats], means: Floats, subsets: Masks) -> Floats:
    """Compare means (n_measures, ..., n_systems) in subsets: (..., n_measures, n_measures, n)."""
    n_measures, *others, _ = means.shape
    found = np.empty((*others, n_measures, n_measures, len(subsets)))
    for number, some in enumerate(subsets):
        found[..., number] = compare(means[..., some])
    return found


def _beside(agreements: Floats) -> Floats:
    """Average agreements of measures, (n, n, ...), with all others: (n, ...)."""
    own = np.arange(n_measures := len(agreements))
    others = agreements.sum(axis=1) - agreements[own, own]
    return np.asarray(others / max(n_measures - 1, 1))


def order_by_likeness(taus: Floats, numbers: Sequence[int]) -> list[int]:
    """Put numbers in an order in which neighbours agree: of the tree that joins the most alike."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(numbers) < 3:
        return [*numbers]
    some = np.nan_to_num(taus[np.ix_(numbers, numbers)])
    apart = squareform(1 - (some + some.T) / 2, checks=False)
    order = leaves_list(linkage(apart, "average", optimal_ordering=True)).tolist()
    # Of an order and its reverse, that which begins nearer to the order given.
    return [numbers[place] for place in (order if order[0] <= order[-1] else order[::-1])]
