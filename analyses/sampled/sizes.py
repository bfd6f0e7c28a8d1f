"""What full ranks say without simulation: their distribution, and expected metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from analyses.ordering import tau_b
from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import METRICS, MetricNames, read_metrics, with_cutoffs
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import (
    RankSettings,
    first_of,
    population_of,
    replacement,
    require_negatives,
)
from analyses.shared.analysis import Need, analysis
from analyses.shared.drawing import DASHES, category_styles, explain, label_curves, panel_index
from analyses.shared.measure import Measure, Measures, tidy
from analyses.shared.number_format import Cell
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs import InputError
from runs.shared.arrays import Floats, Longs
from runs.shared.settings import Sizes as Counts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

ESTIMATORS = ("uncorrected", "bv(gamma=0.1)")
NUMBERS = ["expected", "exact"]

N_BINS = 50
"""Equal bins of the histogram."""


def round_numbers(largest: int) -> tuple[int, ...]:
    """List 1, 2, 5, 10, 20, 50, ... as far as they are not above the largest."""
    powers = [10**digits for digits in range(len(str(largest)))]
    numbers = [leading * power for power in powers for leading in (1, 2, 5)]
    return tuple(number for number in numbers if number <= largest)


class Settings(RankSettings):
    """Expected metrics by the number of negatives."""

    metrics: MetricNames = METRICS
    replace: bool = Field(True, strict=True, description="Sample negatives with replacement.")
    sizes: Counts | None = Field(
        None, description="Numbers of negatives; default: 1, 2, 5, 10, ... up to all."
    )

    def samples(self, ranks: FullRanks) -> tuple[int, ...]:
        """List the numbers of negatives; by default 1, 2, 5, ... up to those that all users have.

        Refuse, with InputError, sizes that do not rise, none, and more negatives than some user has
        irrelevant candidates.
        """
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        if not self.sizes or sorted(self.sizes) != list(self.sizes):
            raise InputError(f"`sizes` must rise, got {list(self.sizes)}.")
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name="sizes")
        return self.sizes


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=(Need.FULL_RANKS,))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Compute expected estimates of metrics from samples of several sizes, and exact metrics.

    Without simulation, by no correction and by BV(0.1), for each system. InputError if sizes do not
    rise or some user has fewer irrelevant candidates.
    """
    systems = work.full_ranks
    metrics = read_metrics(settings.metrics)
    measures = Measures(Measure(str(metric)) for metric in metrics)
    first_ranks = first_of(systems)
    numbers = settings.samples(first_ranks)
    estimators = [find_estimator(name) for name in ESTIMATORS]
    expected = np.empty((len(numbers), len(estimators), len(metrics), len(systems)))
    steps = work.steps("Expecting sampled metrics", len(numbers), enumerate(numbers))
    for size, n_negatives in steps:
        for system, ranks in enumerate(systems.values()):
            cells = Cells.expected(ranks, n_negatives, settings.replace)
            for number, estimator in enumerate(estimators):
                (estimates,) = estimator.fit_cells(cells).estimates(metrics)
                expected[size, number, :, system] = estimates
    exact = []
    for metric in metrics:
        exact.append([metric.exact(ranks) for ranks in systems.values()])
    estimator_labels = [str(estimator) for estimator in estimators]
    frame = tidy(
        {"m": numbers},
        {"estimator": estimator_labels},
        {"metric": measures.metrics},
        {"system": [*systems]},
        expected=expected,
        exact=exact,
    )
    return Sizes(measures, frame, population_of(first_ranks), settings.replace)


@dataclass(frozen=True, eq=False)
class Sizes(Result):
    """Expected estimates of metrics by the number of sampled negatives, and their exact values.

    ``expected`` has a row for each size, estimator, metric and system: columns m (negatives),
    estimator, metric, system, expected and exact.
    """

    measures: Measures
    expected: pd.DataFrame
    population: str
    replace: bool

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate the expected and exact metrics by number of negatives, estimator and system."""
        return {"sampled_sizes": with_cutoffs(self.expected.copy())}

    def _of_metric(self, metric: str) -> pd.DataFrame:
        """Select the rows of a metric."""
        return self.expected[self.expected["metric"] == metric]

    @table("sampled_sizes", "agreement of the expected with the exact ordering, by negatives")
    def agreement(self) -> Table:
        """Tabulate tau-b between the expected and the exact ordering of the systems.

        A row for each metric and estimator, a column for each number of negatives.
        """
        cells = {}
        for name in self.measures.metrics:
            by_size = self._of_metric(name).groupby(["estimator", "m"], sort=False)
            for (estimator, m), rows in by_size:
                expected, exact = rows[NUMBERS].to_numpy().T
                cells[f"{name}, {estimator}", f"{m:,}"] = float(tau_b(expected, exact))
        title = "Agreement (tau-b) of the expected with the exact ordering, by negatives"
        corner = "metric, estimator"
        return Table.from_cells("sampled_sizes", title, self.caption(), corner, cells)

    @figure("kdd2020-figure6", "Metrics by negatives", panels="metric", comparable=False, wide=True)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw one metric by number of negatives, and exact values, as shares of the best one.

        ``metric``: a name, by default the first. A colour for each system, a dash for each
        estimator; the best is the highest exact value.
        """
        names = self.measures.reported.metrics
        name = names[panel_index(names, metric)]
        rows = self._of_metric(name)
        best = rows["exact"].max()
        dashes = dict(zip(rows["estimator"].unique(), DASHES, strict=False))
        for system, style in category_styles([*rows["system"].unique()]):
            system_rows = rows[rows["system"] == system]
            _draw_system(ax, system_rows, style, dashes, best=best)
        for estimator, dash in dashes.items():
            ax.plot([], [], color="0.4", linestyle=dash, label=estimator)
        (exact_line,) = ax.plot([], [], color="0.4", linewidth=0.5, label="exact")
        explain(exact_line, "Thin lines: exact values.")
        ax.set(xscale="log", xlabel="sampled negatives", title=name)
        ax.set_ylabel("expected / exact value of the best system")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax, ordered=True)

    def caption(self) -> str:
        """Describe the curves, the negatives and the users."""
        return (
            "Expected estimates of metrics from m negatives, drawn "
            f"{replacement(self.replace)}, divided by the exact value of the best system. Where "
            "two curves cross, samples of other sizes order the systems otherwise. "
            f"{self.population}."
        )


def _draw_system(
    ax: Axes,
    rows: pd.DataFrame,
    style: Mapping[str, Any],
    dashes: Mapping[str, Any],
    *,
    best: float,
) -> None:
    """Draw a system's expected metric by number of negatives, and its exact value.

    ``rows``: those of one metric and system (see `Sizes`). ``dashes``: line styles by estimator.
    The first is labelled with the system, the others have labels that the legend leaves out. Values
    are divided by the best one.
    """
    system = rows["system"].iloc[0]
    hidden = f"_{system}, "
    exact = rows["exact"].iloc[0] / best
    ax.axhline(exact, color=style["color"], linewidth=0.5, label=f"{hidden}exact")
    look = {**style, "linewidth": 1, "markersize": 2.5}
    for estimator, curve in rows.groupby("estimator", sort=False):
        look["linestyle"] = dashes[str(estimator)]
        label = system if look["linestyle"] == DASHES[0] else f"{hidden}{estimator}"
        ax.plot(curve["m"], curve["expected"] / best, label=label, **look)


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=(Need.FULL_RANKS,))
def ranks(work: Work, settings: RankSettings) -> RankDistributions:
    """Compute shares of relevant items up to some ranks, and their median ranks, by system.

    The ranks are the ends of at most 50 equal bins of the candidates, and 1, 2, 5, 10, 20, ...
    """
    import pandas as pd

    systems = work.full_ranks
    first_ranks = first_of(systems)
    last = int(first_ranks.n_candidates.max())
    ends = np.union1d(equal_bins(last), round_numbers(last))
    columns = {"last": ends}
    for name, system_ranks in systems.items():
        n_items = np.searchsorted(np.sort(system_ranks.rank), ends, side="right")
        columns[name] = n_items / len(first_ranks)
    medians = np.array([np.median(system_ranks.rank) for system_ranks in systems.values()])
    return RankDistributions(pd.DataFrame(columns), medians, population_of(first_ranks))


def equal_bins(last: int) -> Longs:
    """Compute the last ranks of at most 50 bins of equal width, to a rank: (n_bins,)."""
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


@dataclass(frozen=True, eq=False)
class RankDistributions(Result):
    """Shares of the relevant items up to some ranks, and median ranks, by system.

    The shares have a column for each system beside ``last``: the last ranks of bins of equal width,
    and 1, 2, 5, 10, 20, 50, ...
    """

    shares: pd.DataFrame
    medians: Floats
    population: str

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate by system the share of the items up to a rank.

        Columns system, last (the rank) and cumulative.
        """
        frame = self.shares.melt("last", var_name="system", value_name="cumulative")
        return {"sampled_ranks": frame[["system", "last", "cumulative"]]}

    @table("sampled_ranks", "distribution of the ranks of relevant items")
    def at_the_top(self) -> Table:
        """Tabulate median ranks, and shares of the items in the first 1, 10 and 100, by system.

        ``self.shares`` has a column of ranks ("last"), and for each system that of the shares of
        the items with at most this rank.
        """
        top_shares = self.shares.set_index("last").filter([1, 10, 100], axis=0)
        rows: list[tuple[Cell, ...]] = []
        for system, median in zip(top_shares, self.medians, strict=True):
            rows.append((str(system), f"{median:,g}", *top_shares[system].tolist()))
        share_headings = [f"share in top {k:,}" for k in top_shares.index]
        headings = ["system", "median rank", *share_headings]
        title = "Ranks of the relevant items among all candidates"
        return Table("sampled_ranks", title, self.caption(), headings, rows)

    @figure("kdd2020-figure5", "Ranks of the relevant items among all candidates")
    def plot(self, ax: Axes) -> None:
        """Draw the share of the items in each of the bins of equal width, by system.

        ``self.shares`` has a column of ranks ("last"), the ends of bins among them, and for each
        system that of the shares of the items with at most this rank.
        """
        frame = self.shares.set_index("last")
        bins = equal_bins(int(frame.index[-1]))
        edges = np.append(0.5, bins + 0.5)
        for label, style in category_styles([*frame]):
            shares = np.diff(frame[label][bins], prepend=0)
            # Outlines cover each other less than bars do.
            ax.stairs(
                shares,
                edges,
                baseline=None,
                label=label,
                linewidth=1.1,
                color=style["color"],
                linestyle=style["linestyle"],
            )
        ax.set(yscale="log", xlabel="rank of the relevant item", ylabel="share of the items")
        ax.yaxis.set_major_formatter("{x:g}")
        label_curves(ax)

    def caption(self) -> str:
        """Describe the bins and the users."""
        return f"Share of the relevant items up to each rank, in {N_BINS} bins. {self.population}."
