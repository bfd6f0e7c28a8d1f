"""Correlation: whether cut-offs, and metrics, order the systems alike.

Figures 1 and 5 of Valcarce et al. (2018), with intervals over users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.differences import are_comparable
from analyses.intervals.resampling import CONFIDENCE, interval, resample_means
from analyses.ordering import COEFFICIENTS, DECIMALS, Coefficient, find_coefficient
from analyses.shared.drawing import axes_or_new, curves_of
from analyses.shared.measure import Measure, Scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Correlation:
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
    n_users
        Users over whom scores were averaged; None if only the means are known.
    replicates, seed
        Of the bootstrap; without replicates there are no intervals.
    undefined
        Resampled agreements that are undefined; the intervals leave them out.
    """

    measures: tuple[Measure, ...]
    systems: tuple[str, ...]
    values: Mapping[str, Floats]
    coefficient: str
    low: Floats
    high: Floats
    n_users: int | None = None
    replicates: int = 0
    seed: int = 0
    undefined: int = 0

    @property
    def taus(self) -> Floats:
        """Values of the chosen coefficient."""
        return self.values[self.coefficient]

    def to_frame(self) -> pd.DataFrame:
        """All pairs of measures; the second is the reference.

        Columns metric_a, cutoff_a, metric_b, cutoff_b, tau (the chosen coefficient), low, high,
        and one for each further coefficient, by its name.
        """
        import pandas as pd

        first, second = np.indices(self.taus.shape).reshape(2, -1)
        metrics = np.array([measure.metric for measure in self.measures], dtype=object)
        cutoffs = pd.array([measure.cutoff for measure in self.measures], dtype="Int64")
        labels = {
            "metric_a": metrics[first],
            "cutoff_a": cutoffs[first],
            "metric_b": metrics[second],
            "cutoff_b": cutoffs[second],
        }
        chosen = {"tau": self.taus, "low": self.low, "high": self.high}
        further = {name: self.values[name] for name in self.values if name != self.coefficient}
        numbers = {name: values.ravel() for name, values in (chosen | further).items()}
        return pd.DataFrame(labels | numbers)

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

    def differences(self) -> pd.DataFrame:
        """Every two metrics at the deepest cut-off, the least alike first.

        Columns metric_a, metric_b, cutoff, tau, low, high. Where intervals lie apart, one pair of
        metrics agrees more than another beyond what the choice of users explains.
        """
        deepest = max((m.cutoff or 0 for m in self.measures), default=0)
        place = {measure.metric: n for n, measure in reversed([*enumerate(self.measures)])}
        frame = self.among_metrics()
        is_later = frame["metric_a"].map(place) < frame["metric_b"].map(place)
        frame = frame[is_later & (frame["cutoff"].fillna(0) == deepest)]
        columns = ["metric_a", "metric_b", "cutoff", "tau", "low", "high"]
        return frame[columns].sort_values("tau", kind="stable", ignore_index=True)

    def with_deepest(self) -> pd.DataFrame:
        """Every cut-off of a metric against its deepest one.

        Columns metric, cutoff, deepest, tau, low, high.
        """
        frame = self.among_cutoffs()
        deepest = frame.groupby("metric")["cutoff_b"].transform("max")
        frame = frame[frame["cutoff_b"] == deepest]
        frame = frame.rename(columns={"cutoff_a": "cutoff", "cutoff_b": "deepest"})
        columns = ["metric", "cutoff", "deepest", "tau", "low", "high"]
        return frame[columns].reset_index(drop=True)

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw a table of taus: cut-offs of one metric, or metrics at one cut-off.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            Exactly one of them.
        """
        ax = axes_or_new(ax)
        chosen = [n for n, _, _ in curves_of(self.measures, metric=metric, cutoff=cutoff)]
        labels = [self._label(n, metric) for n in chosen]
        _draw_table(ax, self.taus[np.ix_(chosen, chosen)], labels)
        ax.set_title(metric if metric is not None else f"cut-off {cutoff}")
        return ax

    def plot_all(self, ax: Axes | None = None) -> Axes:
        """Draw a table of all measures."""
        ax = axes_or_new(ax)
        _draw_table(ax, self.taus, [str(measure) for measure in self.measures])
        ax.set_title(find_coefficient(self.coefficient).label)
        return ax

    def caption(self) -> str:
        """Say what the numbers are, how ties count, and what the intervals show."""
        coefficient = find_coefficient(self.coefficient)
        return (
            f"{_capitalised(coefficient.label)} between the orderings of {len(self.systems)} "
            f"systems by mean score{self._over_users()}. {coefficient.ties} Means are compared to "
            f"{DECIMALS} decimals; a dash marks a value that is undefined."
            f"{_asymmetry(coefficient)}{self._floor(coefficient)}{self._intervals()}"
        )

    def _over_users(self) -> str:
        return "" if self.n_users is None else f" over {self.n_users:,} users"

    def _floor(self, coefficient: Coefficient) -> str:
        """Say what the reverse order has, where that is not -1."""
        floor = coefficient.lowest(len(self.systems))
        return "" if floor == -1 else f" The reverse of an ordering has {floor:.3f}."

    def _intervals(self) -> str:
        if not self.replicates:
            return ""
        note = f" They leave out {self.undefined:,} undefined values." if self.undefined else ""
        return (
            f" Intervals in the tables: {100 * CONFIDENCE:.0f} % bootstrap over users, "
            f"{self.replicates:,} replicates (seed {self.seed}), symmetric about what was "
            f"observed.{note}"
        )

    def _label(self, number: int, metric: str | None) -> str:
        measure = self.measures[number]
        return str(measure.cutoff) if metric is not None else measure.metric


def correlate(
    scores: Scores,
    *,
    coefficient: str = "tau-b",
    replicates: int = 1000,
    seed: int = 0,
    every_pair: bool = False,
) -> Correlation:
    """Compare the orderings of the systems by all measures.

    Parameters
    ----------
    scores
        Scores of the systems; their means order them.
    coefficient
        Name of the one that gets intervals; the others are computed for the means alone.
    replicates
        Resampled sets of users, the same for all measures; 0: no intervals.
    seed
        Of the bootstrap.
    every_pair
        Whether all pairs of measures have an interval, or those that share a metric or a cut-off.

    Raises
    ------
    InputError
        If there is no such coefficient.

    Notes
    -----
    With the topics of three TREC collections as the population (all 129, 61 and 34 systems), the
    intervals for tau-b held its value in 91 to 100 of 100 samples of 50, 200 and 1,000 topics;
    plain percentiles did in 51 to 99 (see `analyses.intervals.resampling.interval`).

    References
    ----------
    Valcarce et al. (2018), sections 4.1 and 4.2.
    """
    found = correlate_means(
        scores.means(), measures=scores.measures, systems=scores.systems, coefficient=coefficient
    )
    found = replace(found, n_users=len(scores.users), replicates=replicates, seed=seed)
    if not replicates:
        return found
    wanted = np.array(
        [[every_pair or are_comparable(a, b) for b in scores.measures] for a in scores.measures]
    )
    resampled = resample_means(scores.values, replicates=replicates, seed=seed)
    low, high, undefined = _intervals(found.taus, resampled, find_coefficient(coefficient), wanted)
    return replace(found, low=low, high=high, undefined=undefined)


def correlate_means(
    means: Floats, *, measures: Sequence[Measure], systems: Sequence[str], coefficient: str
) -> Correlation:
    """Compare orderings of which only the means are known; there are no intervals.

    Parameters
    ----------
    means
        Of shape (n_measures, n_systems).
    measures, systems
        Labels of its axes.
    coefficient
        Name of the chosen one; all are computed.

    Raises
    ------
    InputError
        If there is no such coefficient.

    Examples
    --------
    Of three pairs of systems, AP turns one round: (2 - 1) / 3.

    >>> measures = [Measure("P", 5), Measure("AP", 5)]
    >>> found = correlate_means(np.array([[0.3, 0.2, 0.1], [0.3, 0.1, 0.2]]), measures=measures,
    ...                         systems=["a", "b", "c"], coefficient="tau-b")
    >>> found.taus.round(2)
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """
    find_coefficient(coefficient)
    none = np.full((len(measures), len(measures)), np.nan)
    return Correlation(
        measures=tuple(measures),
        systems=tuple(systems),
        values={name: _all_pairs(one, means) for name, one in COEFFICIENTS.items()},
        coefficient=coefficient,
        low=none,
        high=none,
    )


def _all_pairs(coefficient: Coefficient, means: Floats) -> Floats:
    return coefficient.compare(means[:, None, :], means[None, :, :])


def _intervals(
    observed: Floats, resampled: Floats, coefficient: Coefficient, wanted: NDArray[np.bool_]
) -> tuple[Floats, Floats, int]:
    """Give the limits for the wanted pairs of measures, and count what is undefined.

    Parameters
    ----------
    observed
        Agreement of the measures, of shape (n_measures, n_measures).
    resampled
        Means of shape (n_measures, n_systems, replicates).
    coefficient
        Compares them.
    wanted
        Of shape (n_measures, n_measures).
    """
    orderings = np.ascontiguousarray(resampled.transpose(0, 2, 1))
    low, high = np.full((2, *wanted.shape), np.nan)
    undefined = 0
    for row, places in enumerate(wanted):
        # What is symmetric is compared in one direction, and written in both.
        columns = places & (np.arange(len(places)) >= row) if coefficient.symmetric else places
        agreements = coefficient.compare(orderings[row], orderings[columns])
        low[row, columns], high[row, columns] = interval(
            observed[row, columns], agreements, limits=(-1.0, 1.0)
        )
        if coefficient.symmetric:
            low[columns, row], high[columns, row] = low[row, columns], high[row, columns]
        undefined += int(np.isnan(agreements).sum())
    return low, high, undefined


def _capitalised(text: str) -> str:
    """Begin a sentence, but with a symbol as it is.

    Examples
    --------
    >>> _capitalised("rank-biased overlap"), _capitalised("tau_AP")
    ('Rank-biased overlap', 'tau_AP')
    """
    return text if text.startswith("tau_") else text[0].upper() + text[1:]


def _asymmetry(coefficient: Coefficient) -> str:
    return "" if coefficient.symmetric else " The column is the reference of the row."


def _draw_table(ax: Axes, taus: NDArray[np.float64], labels: list[str]) -> None:
    """Print every tau in a cell whose shade, from 0 or the lowest to 1, repeats it."""
    lowest = float(np.nanmin(taus, initial=0.0))
    ax.imshow(taus, cmap="Blues", vmin=lowest, vmax=1.0, aspect="auto")
    ax.set_xticks(range(len(labels)), labels, rotation=90)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(length=0)
    dark = lowest + 0.6 * (1.0 - lowest)
    for (row, column), tau in np.ndenumerate(taus):
        colour = "white" if tau > dark else "black"
        size = 8 if len(labels) < 9 else 6
        text = _in_cell(tau)
        printed = ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)
        # Cells lie within the axes: the layout need not look at hundreds of them.
        printed.set_in_layout(False)


def _in_cell(tau: float) -> str:
    """Print a tau shortly.

    Examples
    --------
    >>> [_in_cell(tau) for tau in (1.0, 0.905, -0.2, np.nan)]
    ['1', '.91', '-.20', '–']
    """
    if np.isnan(tau):
        return "–"
    return "1" if tau == 1.0 else f"{tau:.2f}".replace("0.", ".")
