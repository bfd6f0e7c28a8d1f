"""What full ranks say without simulation: their distribution, and expected metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """Give 1, 2, 5, 10, 20, 50, ... as far as they are not above the largest."""
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
        """Give the numbers of negatives."""
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        if not self.sizes or sorted(self.sizes) != list(self.sizes):
            raise InputError(f"`sizes` must rise, got {list(self.sizes)}.")
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name="sizes")
        return self.sizes


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=(Need.FULL_RANKS,))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Expect metrics of systems, uncorrected and by BV(0.1), from samples of several sizes."""
    systems, metrics = work.full_ranks, read_metrics(settings.metrics)
    first, measures = first_of(systems), Measures(Measure(str(metric)) for metric in metrics)
    numbers, estimators = settings.samples(first), [find_estimator(name) for name in ESTIMATORS]
    found = np.empty((len(numbers), len(estimators), len(metrics), len(systems)))
    for n, m in work.steps("Expecting sampled metrics", len(numbers), enumerate(numbers)):
        for s, ranks in enumerate(systems.values()):
            cells = Cells.expected(ranks, m, settings.replace)
            found[n, :, :, s] = [e.fit_cells(cells).estimates(metrics)[0] for e in estimators]
    exact = np.array([[one.exact(ranks) for ranks in systems.values()] for one in metrics])
    ways = {"m": numbers}, {"estimator": [*map(str, estimators)]}
    axes = *ways, {"metric": measures.metrics}, {"system": [*systems]}
    population = population_of(first)
    return Sizes(measures, tidy(*axes, expected=found, exact=exact), population, settings.replace)


@dataclass(frozen=True, eq=False)
class Sizes(Result):
    """Expected estimates of metrics by the number of sampled negatives, and their exact values."""

    measures: Measures
    expected: pd.DataFrame
    population: str
    replace: bool

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the expected and exact metrics by number of negatives, estimator and system."""
        return {"sampled_sizes": with_cutoffs(self.expected.copy())}

    def _of(self, metric: str) -> pd.DataFrame:
        return self.expected[self.expected["metric"] == metric]

    @table("sampled_sizes", "agreement of the expected with the exact ordering, by negatives")
    def agreement(self) -> Table:
        """Tabulate how well the expected order of the systems agrees with the exact one."""
        cells = {
            (f"{name}, {estimator}", f"{m:,}"): float(tau_b(*own[NUMBERS].to_numpy().T))
            for name in self.measures.metrics
            for (estimator, m), own in self._of(name).groupby(["estimator", "m"], sort=False)
        }
        title = "Agreement (tau-b) of the expected with the exact ordering, by negatives"
        corner = "metric, estimator"
        return Table.from_cells("sampled_sizes", title, self.caption(), corner, cells)

    @figure("kdd2020-figure6", "Metrics by negatives", panels="metric", comparable=False, wide=True)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw one metric by number of negatives, and exact values, as shares of the best one."""
        shown = self.measures.reported.metrics
        name = shown[panel_index(shown, metric)]
        own = self._of(name)
        best = own["exact"].max()
        estimators = dict(zip(own["estimator"].unique(), DASHES, strict=False))
        for system, style in category_styles([*own["system"].unique()]):
            of_system = own[own["system"] == system]
            look = style | {"linewidth": 1, "markersize": 2.5}
            exact, hidden = of_system["exact"].iloc[0] / best, f"_{system}, "
            ax.axhline(exact, color=style["color"], linewidth=0.5, label=f"{hidden}exact")
            for estimator, of in of_system.groupby("estimator", sort=False):
                look["linestyle"] = estimators[estimator]
                label = system if look["linestyle"] == DASHES[0] else f"{hidden}{estimator}"
                ax.plot(of["m"], of["expected"] / best, label=label, **look)
        for estimator, dash in estimators.items():
            ax.plot([], [], color="0.4", linestyle=dash, label=estimator)
        (exact_line,) = ax.plot([], [], color="0.4", linewidth=0.5, label="exact")
        explain(exact_line, "Thin lines: exact values.")
        ax.set(xscale="log", xlabel="sampled negatives", title=name)
        ax.set_ylabel("expected / exact value of the best system")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax, ordered=True)

    def caption(self) -> str:
        """Say what is shown."""
        return (
            "Expected estimates of metrics from m negatives, drawn "
            f"{replacement(self.replace)}, divided by the exact value of the best system. Where "
            "two curves cross, samples of other sizes order the systems otherwise. "
            f"{self.population}."
        )


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=(Need.FULL_RANKS,))
def ranks(work: Work, settings: RankSettings) -> RankDistributions:
    """Count the relevant items up to the ends of equal bins, and to round ranks at the top."""
    import pandas as pd

    systems, first = work.full_ranks, first_of(work.full_ranks)
    last = int(first.n_candidates.max())
    ends = np.union1d(equal_bins(last), round_numbers(last))
    shares = {
        name: np.searchsorted(np.sort(one.rank), ends, side="right") / len(first)
        for name, one in systems.items()
    }
    medians = np.array([np.median(each.rank) for each in systems.values()])
    return RankDistributions(pd.DataFrame({"last": ends} | shares), medians, population_of(first))


def equal_bins(last: int) -> Longs:
    """Give the last ranks of bins of equal width, to a rank: (n_bins,)."""
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
        """Give rows of system, last (a rank) and cumulative, the share of the items up to it."""
        frame = self.shares.melt("last", var_name="system", value_name="cumulative")
        return {"sampled_ranks": frame[["system", "last", "cumulative"]]}

    @table("sampled_ranks", "distribution of the ranks of relevant items")
    def at_the_top(self) -> Table:
        """Tabulate median ranks, and shares of the items in the first ranks, by system."""
        tops = self.shares.set_index("last").filter([1, 10, 100], axis=0)
        medians = (f"{median:,g}" for median in self.medians)
        rows = [*zip(tops, medians, *tops.to_numpy().tolist(), strict=True)]
        headings = ["system", "median rank", *(f"share in top {k:,}" for k in tops.index)]
        title = "Ranks of the relevant items among all candidates"
        return Table("sampled_ranks", title, self.caption(), headings, rows)

    @figure("kdd2020-figure5", "Ranks of the relevant items among all candidates")
    def plot(self, ax: Axes) -> None:
        """Draw the share of the items in each bin, by system."""
        frame = self.shares.set_index("last")
        bins = equal_bins(int(frame.index[-1]))
        for label, style in category_styles([*frame]):
            # Outlines cover each other less than bars do.
            line = {name: style[name] for name in ("color", "linestyle")}
            own, edges = np.diff(frame[label][bins], prepend=0), np.append(0.5, bins + 0.5)
            ax.stairs(own, edges, baseline=None, label=label, linewidth=1.1, **line)
        ax.set(yscale="log", xlabel="rank of the relevant item", ylabel="share of the items")
        ax.yaxis.set_major_formatter("{x:g}")
        label_curves(ax)

    def caption(self) -> str:
        """Say what is shown."""
        return f"Share of the relevant items up to each rank, in {N_BINS} bins. {self.population}."
