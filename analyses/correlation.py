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
from analyses.shared.drawing import curve_styles, draw_matrix
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
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.scores import Scores
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
    """Compare the orderings of the systems by every two measures, by all coefficients.

    Report measures have their agreement over resampled users and within subsets of systems, too;
    pairs of comparable measures have intervals, if replicates are asked for. Raises InputError if
    there are fewer than two systems.

    Valcarce et al. (2018), sections 4.1 and 4.2.
    """
    scores = work.scores
    scores.require("a correlation")
    with work.progress("Correlating orderings", 1) as bar:
        means = scores.mean_values()
        result = correlate_means(
            means,
            measures=scores.measures,
            systems=scores.systems,
            coefficient=settings.coefficient,
        )
        resampled = _resampled_means(scores, replicates=settings.replicates, seed=work.seed)
        result = _with_chance(
            result,
            means,
            resampled,
            families=work.families,
            n_users=len(scores.users),
            seed=work.seed,
        )
        if settings.replicates:
            result = _with_intervals(result, resampled, every_pair=settings.every_pair)
        bar.advance()
    return result


def _resampled_means(scores: Scores, *, replicates: int, seed: int) -> Floats:
    """Draw means over other users and other runs: (n_measures, n_systems, replicates)."""
    means = resample_means(scores.weighted_values, replicates=replicates, seed=seed)
    return means + run_noise(scores.runs, replicates=replicates, seed=seed)


def _with_chance(
    result: Correlation,
    means: Floats,
    resampled: Floats,
    *,
    families: Families,
    n_users: int,
    seed: int,
) -> Correlation:
    """Add the agreement of the report measures over other users and within subsets of systems.

    Only the first 20 (`N_CROSSED`) replicates and subsets are crossed.

    Parameters
    ----------
    result
        The agreement of all measures.
    means
        Mean scores, of shape (n_measures, n_systems).
    resampled
        The same of resampled users, of shape (n_measures, n_systems, n_replicates).
    families
        The families of the systems.
    n_users
        Number of users.
    seed
        Random seed of the subsets.
    """
    reported = result.reported_indices
    compare = partial(_compare_pairs, find_coefficient(result.coefficient))
    subsets = families.subsets(seed=seed)
    # Of shape (n_reported, n_replicates, n_systems).
    replicated_means = resampled[reported].swapaxes(1, 2)
    # Agreements have the replicates as their first axis; results have them as the last but subsets.
    over_users = np.moveaxis(compare(replicated_means), 0, -1)
    first_means = replicated_means[:, :N_CROSSED]
    first_subsets = subsets[:N_CROSSED]
    crossed = _compare_in_subsets(compare, first_means, first_subsets)
    values = _compare_in_subsets(compare, means[reported], subsets)
    within = SubsetValues(families.n_families, values, np.moveaxis(crossed, 0, -2))
    return replace(
        result,
        families=families,
        over_users=over_users,
        within=within,
        n_users=n_users,
        replicates=resampled.shape[-1],
    )


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

    def limit_columns(self) -> dict[str, Floats]:
        """Compute limits of report measures over users and systems, by column.

        Keys are both_low and both_high. Each is of shape (n_measures, n_measures): the agreement of
        ``self.taus`` less or plus half the width of its 95 % interval, cut to the range of the
        coefficient. NaN for other measures, and for all if only the means are known
        (``self.within`` or ``self.over_users`` is None).
        """
        shape = self.taus.shape
        limits = {"both_low": np.full(shape, np.nan), "both_high": np.full(shape, np.nan)}
        if self.within is None or self.over_users is None:
            return limits
        reported = np.ix_(self.reported_indices, self.reported_indices)
        taus = self.taus[reported]
        lowest = find_coefficient(self.coefficient).lowest(len(self.systems))
        user_deviations = TAU_FACTOR * standard_deviations(self.over_users)
        half_widths = self.within.half_widths_over_both(user_deviations**2)
        limits["both_low"][reported] = np.maximum(taus - half_widths, lowest)
        limits["both_high"][reported] = np.minimum(taus + half_widths, 1.0)
        return limits

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``correlation_cutoffs`` and ``correlation_metrics``; see `among_cutoffs`.

        Report measures that differ in their depths have ``correlation_measures``, too.
        """
        frames = {
            "correlation_cutoffs": self.among_cutoffs(),
            "correlation_metrics": self.among_metrics(),
        }
        if not self.measures.reported.common_depth:
            is_reported = self._is_reported()
            is_pair = np.outer(is_reported, is_reported)
            rows = self.to_frame()[is_pair.ravel()]
            frames["correlation_measures"] = rows.reset_index(drop=True)
        return frames

    def to_frame(self) -> pd.DataFrame:
        """Tabulate all pairs of measures; the second is the reference.

        Columns metric_a, cutoff_a, metric_b, cutoff_b, tau (the chosen coefficient), low, high
        (over users), of report measures the limits over users and systems (both_low, both_high),
        and one for each further coefficient, by its name.
        """
        import pandas as pd

        metrics = [measure.metric for measure in self.measures]
        cutoffs = pd.array([measure.cutoff for measure in self.measures], dtype="Int64")
        rows = pd.DataFrame({"metric_a": metrics, "cutoff_a": cutoffs})
        columns = pd.DataFrame({"metric_b": metrics, "cutoff_b": cutoffs})
        further = {name: self.values[name] for name in self.values if name != self.coefficient}
        return tidy(
            rows,
            columns,
            tau=self.taus,
            low=self.low,
            high=self.high,
            **self.limit_columns(),
            **further,
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate pairs of different report measures, with the columns of `to_frame`.

        Each pair has a row; of a coefficient that is not symmetric, two: either is the reference.
        """
        is_reported = self._is_reported()
        is_pair = np.outer(is_reported, is_reported)
        if find_coefficient(self.coefficient).symmetric:
            is_pair = np.triu(is_pair, k=1)
        np.fill_diagonal(is_pair, False)
        # Rows of the frame are the cells of the matrix, row by row.
        rows = self.to_frame()[is_pair.ravel()]
        return rows.reset_index(drop=True)

    @property
    def reported_indices(self) -> list[int]:
        """Positions of the report measures."""
        return self.measures.indices(self.measures.reported)

    def _is_reported(self) -> Masks:
        """Mark the report measures: (n_measures,)."""
        indices = np.arange(len(self.measures))
        return np.isin(indices, self.reported_indices)

    def among_cutoffs(self) -> pd.DataFrame:
        """Tabulate the ordered pairs of cut-offs of each metric, a cut-off with itself, too.

        Columns metric, cutoff_a, cutoff_b; then those of `to_frame` from tau on.
        """
        frame = self.to_frame()
        is_same_metric = frame["metric_a"] == frame["metric_b"]
        frame = frame[is_same_metric].drop(columns="metric_b")
        return frame.rename(columns={"metric_a": "metric"}).reset_index(drop=True)

    def among_metrics(self) -> pd.DataFrame:
        """Tabulate the ordered pairs of metrics at each cut-off, a metric with itself, too.

        Columns metric_a, metric_b, cutoff (missing for whole lists); then those of `to_frame` from
        tau on. Rows are sorted by cut-off.
        """
        frame = self.to_frame()
        # Whole lists are a cut-off of their own.
        cutoff_a = frame["cutoff_a"].fillna(0)
        cutoff_b = frame["cutoff_b"].fillna(0)
        frame = frame[cutoff_a == cutoff_b].drop(columns="cutoff_b")
        frame.insert(2, "cutoff", frame.pop("cutoff_a"))
        return frame.sort_values("cutoff", kind="stable", ignore_index=True)

    def headline(self) -> Estimates | None:
        """Estimate the mean agreement of each report measure with the others.

        The agreement is by ``self.coefficient``; intervals are 95 % over users, on the scale of
        arcsines, and the estimates hold what is needed for intervals over systems. None if there
        are fewer than two report measures, or only the means are known.
        """
        reported = self.measures.reported
        if len(reported) < 2 or self.within is None or self.over_users is None:
            return None
        indices = self.reported_indices
        values = _mean_with_others(self.taus[np.ix_(indices, indices)])
        replicates = _mean_with_others(self.over_users)
        within = self.within.transformed(_mean_with_others)
        low, high = arcsine_limits(values, replicates)
        label = find_coefficient(self.coefficient).label
        return Estimates(
            name="agreement with the others",
            quantity=f"mean {label} with the other measures",
            subject="Agreement with the other measures",
            best="typical",
            measures=reported,
            values=values,
            low=low,
            high=high,
            replicates=variance_stabilised(values, replicates),
            systems=replace(within, resampled=replicates),
        )

    def publications(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate Figures 1 and 5 of Valcarce et al. (2018): values by row and column."""
        cutoff_names = {"tau": "value", "cutoff_a": "cutoff_row", "cutoff_b": "cutoff_column"}
        metric_names = {"tau": "value", "metric_a": "metric_row", "metric_b": "metric_column"}
        cutoffs = self.among_cutoffs().rename(columns=cutoff_names)
        metrics = self.among_metrics().rename(columns=metric_names)
        return {
            "recsys2018-figure1": cutoffs[["metric", "cutoff_row", "cutoff_column", "value"]],
            "recsys2018-figure5": metrics[["metric_row", "metric_column", "cutoff", "value"]],
        }

    def findings(self) -> Sequence[str]:
        """Write how far the report measures agree on average, and which do least and most.

        One sentence. Pairs whose interval over users is wider than 1 (`WIDE`), or whose agreement
        is NaN, are left out; empty if none is left.
        """
        wide_pairs = self._wide_pairs()
        taus = {}
        for pair, indices in self._indices_by_pair.items():
            tau = float(self.taus[indices])
            if pair not in wide_pairs and not np.isnan(tau):
                taus[pair] = tau
        if not taus:
            return []
        mean_tau = sum(taus.values()) / len(taus)
        mean = rounded(mean_tau, 2)
        label = find_coefficient(self.coefficient).label
        depth = self.measures.reported.title_suffix
        pairs = "pairs"
        if wide_pairs:
            pairs = f"{len(taus)} of the {len(self._indices_by_pair)} pairs"
        return [
            f"The report measures{depth} agree on the ordering of the systems with {label} = "
            f"{mean} on average over {pairs}{self._range_in_words(taus)}."
        ]

    def _range_in_words(self, taus: Mapping[tuple[str, str], float]) -> str:
        """Write the pairs of least and largest agreement; empty if all values are equal.

        ``taus`` has the agreement of each pair of report measures, by their two labels; at least
        one. Printed with intervals that hold for all pairs at once, where there are any.
        """
        lowest = min(taus, key=taus.__getitem__)
        highest = max(taus, key=taus.__getitem__)
        if taus[lowest] == taus[highest]:
            return ""
        least = f"{self.joint_estimate(lowest)} ({listed(lowest)})"
        largest = f"{self.joint_estimate(highest)} ({listed(highest)})"
        note = "; the intervals hold for all pairs at once" if self.has_intervals else ""
        return f", from {least} to {largest}{note}"

    @property
    def _indices_by_pair(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Positions of the measures of each pair of report measures, by their labels."""
        labelled = zip(self.measures.reported.labels, self.reported_indices, strict=True)
        return {
            (a, b): (index_a, index_b) for (a, index_a), (b, index_b) in combinations(labelled, 2)
        }

    @property
    def has_intervals(self) -> bool:
        """Whether agreements of report measures are known for two resamples of users or more."""
        return self.over_users is not None and self.over_users.shape[-1] > 1

    def joint_estimate(self, pair: tuple[str, str]) -> Estimate:
        """Estimate the agreement of two report measures; 95 % limits hold for all pairs at once.

        Measures are named by their labels. An interval for one pair, which was chosen for being the
        lowest or the highest, holds less often than it says. Limits are computed on the scale of
        arcsines, from ``self.over_users``: agreements (n_reported, n_reported, n_replicates) of
        resampled users. Without two replicates at least there are no limits (NaN).
        """
        tau = float(self.taus[self._indices_by_pair[pair]])
        if self.over_users is None or not self.has_intervals:
            return Estimate(tau)
        first, second = np.triu_indices(len(self.measures.reported), k=1)
        # Of shape (n_pairs, n_replicates); NaN where an agreement is undefined.
        angles = np.arcsin(self.over_users[first, second])
        deviations = standard_deviations(angles)
        # The pair that seems to agree most varies least by chance: it varies as pairs usually do.
        usual_deviation = float(np.sqrt(mean_of_defined(deviations**2)))
        position = list(self._indices_by_pair).index(pair)
        deviation = max(float(deviations[position]), usual_deviation)
        half_width = TAU_FACTOR * joint_quantile(angles) * deviation
        angle = float(np.arcsin(tau))
        low_angle = max(angle - half_width, -np.pi / 2)
        high_angle = min(angle + half_width, np.pi / 2)
        return Estimate(tau, float(np.sin(low_angle)), float(np.sin(high_angle)))

    @table("correlation", "agreement among metrics")
    def table(self, *, cutoff: int | None = None) -> Table:
        """Tabulate the agreement of the metrics' orderings of the systems.

        Rows (estimates) and columns (references) are the report measures, or the measures at a
        cut-off. Values are of ``self.taus``, (n_measures, n_measures), by the chosen coefficient.
        """
        compared = self.measures.reported_or_at(cutoff)
        indices = self.measures.indices(compared)
        taus = self.taus[np.ix_(indices, indices)]
        names = [str(measure) for measure in compared]
        columns: dict[str, Any] = {"measure": names}
        for name, column in zip(names, taus.T, strict=True):
            columns[name] = column
        note = f"{self._label_at_start()} between the orderings of the systems by mean score."
        title = "Agreement among measures"
        return Table.from_columns("correlation", title, note, columns, decimals=2)

    def _label_at_start(self) -> str:
        """Write the label of the coefficient as a sentence begins."""
        label = find_coefficient(self.coefficient).label
        return label[0].upper() + label[1:]

    def agreement_table(self) -> Table:
        """Tabulate the report measures down and across, with intervals where there are any."""
        indices = self.reported_indices
        names = [str(measure) for measure in self.measures.reported]
        rows: list[list[Cell]] = []
        for row, name in zip(indices, names, strict=True):
            cells = [self._printed(row, column) for column in indices]
            rows.append([name, *cells])
        headings = ["", *names]
        return Table("agreement", "Agreement of measures", self.caption(), headings, rows)

    def _printed(self, row: int, column: int) -> str:
        """Print the agreement of two measures, given by position; if they differ, its interval."""
        tau = float(self.taus[row, column])
        if row == column:
            return rounded(tau)
        low = float(self.low[row, column])
        high = float(self.high[row, column])
        return str(Estimate(tau, low, high))

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
        """Draw a table of taus: cut-offs of one metric, or (None) the report measures.

        Raises InputError if there is nothing to draw.
        """
        curves = curve_styles(self.measures, metric=metric)
        labels = {index: label.removeprefix("@") for index, label, _ in curves}
        self._draw_table(ax, labels)
        ax.set_title(metric or "")

    def _draw_table(self, ax: Axes, labels: Mapping[int, str]) -> None:
        """Print every tau in a cell that is the darker, the higher it is among all.

        ``labels`` has the names of measures by their positions, in the order of the cells. Shades
        begin at the lowest tau of all measures, ``self.taus``, so that panels can be compared.
        """
        indices = list(labels)
        taus = self.taus[np.ix_(indices, indices)]
        lowest_tau = float(np.nanmin(self.taus, initial=1.0))
        # Shades span at least LEAST_RANGE, so that small differences look small.
        lowest = min(lowest_tau, 1.0 - LEAST_RANGE)
        label = find_coefficient(self.coefficient).label
        draw_matrix(ax, taus, list(labels.values()), label=label, lowest=lowest)

    def cautions(self) -> Sequence[str]:
        """Warn of pairs of report measures whose interval is too wide, and of too few systems.

        Of systems, only if their families are known.
        """
        cautions = []
        wide_pairs = self._wide_pairs()
        if wide_pairs:
            names = join_pairs(wide_pairs)
            cautions.append(
                f"These {self.units} cannot tell how far two measures agree, as the interval is "
                f"wider than {WIDE:g}: {names}."
            )
        if self.families is not None:
            cautions += self.families.cautions()
        return cautions

    def _wide_pairs(self) -> list[tuple[str, str]]:
        """Name the pairs of report measures whose interval over users is wider than `WIDE` (1).

        Limits are of shape (n_measures, n_measures); pairs without limits (NaN) are not named.
        """
        widths = self.high - self.low
        wide_pairs = []
        for pair, indices in self._indices_by_pair.items():
            if widths[indices] > WIDE:
                wide_pairs.append(pair)
        return wide_pairs

    def caption(self) -> str:
        """Write what the numbers are, how ties count, and what the intervals are."""
        coefficient = find_coefficient(self.coefficient)
        users = ""
        if self.n_users is not None:
            users = f" over {counted(self.n_users, self.unit)}"
        caption = (
            f"{self._label_at_start()} between the orderings of {len(self.systems)} systems by the "
            f"mean scores of two measures{users}; 1 is the same ordering. {coefficient.ties}"
        )
        if not coefficient.symmetric:
            caption += " The column is the reference of the row."
        if self.replicates > 0:
            omitted = (
                f"; {self.undefined:,} undefined values left out" if self.undefined > 0 else ""
            )
            caption += (
                f" The CSV tables have 95 % intervals, for samples of as many {self.units}"
                f"{omitted}; with more {self.units}, measures may agree more."
            )
        return caption


def correlate_means(
    means: Floats, *, measures: Measures, systems: Sequence[str], coefficient: str
) -> Correlation:
    """Compare orderings of which only the means are known; there are no intervals.

    Means are of shape (n_measures, n_systems), higher for better systems; ValueError is raised if
    the shape is another. Every coefficient is computed; ``coefficient`` names the one of figures.
    Raises InputError if none has the name. The limits of the result are NaN.
    """
    shape = (len(measures), len(systems))
    if means.shape != shape:
        raise ValueError(f"means of shape {means.shape} do not fit labels of {shape}.")
    find_coefficient(coefficient)
    n_measures = len(measures)
    unknown = np.full((n_measures, n_measures), np.nan)
    values = {}
    for name, compared in COEFFICIENTS.items():
        values[name] = _compare_pairs(compared, means)
    return Correlation(
        measures=measures,
        systems=tuple(systems),
        values=values,
        coefficient=coefficient,
        low=unknown,
        high=unknown,
    )


def _with_intervals(result: Correlation, resampled: Floats, *, every_pair: bool) -> Correlation:
    """Add 95 % intervals over users, by arcsines, for some pairs of measures, or for all.

    The pairs have the same metric or cut-off, or are both reported; with ``every_pair`` they are
    all. Others have NaN, and a measure with itself has its agreement as both limits. ``resampled``
    has the means of resampled users, of shape (n_measures, n_systems, n_replicates); agreements of
    these that are NaN are left out, and counted as ``undefined``.
    """
    measures = result.measures
    coefficient = find_coefficient(result.coefficient)
    # A measure agrees with itself under all users.
    is_same = np.eye(len(measures), dtype=np.bool_)
    low = np.where(is_same, result.taus, np.nan)
    high = low.copy()
    undefined = 0
    orderings = np.ascontiguousarray(resampled.swapaxes(1, 2))
    for first, second in combinations(range(len(measures)), 2):
        if not (every_pair or measures.are_comparable(measures[first], measures[second])):
            continue
        cells = [(first, second)]
        if not coefficient.symmetric:
            cells.append((second, first))
        for row, column in cells:
            agreements = coefficient.compare(orderings[row], orderings[column])
            least, most = arcsine_limits(result.taus[row, column], agreements)
            low[row, column] = least
            high[row, column] = most
            undefined += int(np.isnan(agreements).sum())
    if coefficient.symmetric:
        # Only the upper triangle is computed so far.
        low = np.where(np.isnan(low), low.T, low)
        high = np.where(np.isnan(high), high.T, high)
    return replace(result, low=low, high=high, undefined=undefined)


def _compare_pairs(coefficient: Coefficient, means: Floats) -> Floats:
    """Compare the orderings by every two measures, the first as the estimate.

    Means are of shape (n_measures, ..., n_systems), the result (..., n_measures, n_measures).
    """
    orderings = np.moveaxis(means, 0, -2)
    estimates = orderings[..., :, np.newaxis, :]
    references = orderings[..., np.newaxis, :, :]
    return coefficient.compare(estimates, references)


def _compare_in_subsets(
    compare: Callable[[Floats], Floats], means: Floats, subsets: Masks
) -> Floats:
    """Compare the orderings by every two measures among the systems of each subset.

    Parameters
    ----------
    compare
        Computes (..., n_measures, n_measures) of means (n_measures, ..., n_systems).
    means
        Of shape (n_measures, ..., n_systems).
    subsets
        Which systems each subset has, of shape (n_subsets, n_systems).

    Returns
    -------
    Agreements of shape (..., n_measures, n_measures, n_subsets).
    """
    n_measures = means.shape[0]
    middle_axes = means.shape[1:-1]
    agreements = np.empty((*middle_axes, n_measures, n_measures, len(subsets)))
    for number, is_member in enumerate(subsets):
        agreements[..., number] = compare(means[..., is_member])
    return agreements


def _mean_with_others(agreements: Floats) -> Floats:
    """Average agreements of measures, (n, n, ...), with all others: (n, ...); 0 of one measure."""
    n_measures = len(agreements)
    measures = np.arange(n_measures)
    sums = agreements.sum(axis=1)
    # The diagonal, of shape (n, ...).
    with_themselves = agreements[measures, measures]
    sums_with_others = sums - with_themselves
    return np.asarray(sums_with_others / max(n_measures - 1, 1))
