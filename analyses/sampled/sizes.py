"""What full ranks say without simulation: their distribution, and expected metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.ordering import tau_b
from analyses.sampled.estimators import find_estimator, path_for
from analyses.sampled.metrics import (
    METRICS,
    MetricNames,
    RankMetric,
    read_metrics,
    tidy,
    with_cutoffs,
)
from analyses.sampled.rank_distribution import expected_counts
from analyses.sampled.samples import (
    Population,
    RankSettings,
    first_of,
    replacement,
    require_negatives,
)
from analyses.sampled.trials import Expectation
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    DASHES,
    axes_or_new,
    categories,
    chosen_panel,
    label_curves,
    scale_by_factors,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
from qrels import FullRanks
from runs import InputError
from runs.shared.parallel import single_threaded
from runs.shared.settings import Sizes as Numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
DECIMALS = 12
"""Expected values are compared after rounding to so many decimals."""

ESTIMATORS = ("uncorrected", "bv(gamma=0.1)")

N_BINS = 50
"""Equal bins of the histogram."""


def expected_by_size(
    metric: RankMetric, ranks: FullRanks, replace: bool, largest: int | None = None
) -> Floats:
    r"""Give the expected sampled metric for 1, 2, ... negatives, by default up to all: (n_sizes,).

    Leaving out one of m negatives at random gives a sample of m - 1, so that

    .. math:: c_{m-1}(x) = \frac{m - x}{m} c_m(x) + \frac{x + 1}{m} c_m(x + 1)

    leads from the shares c of items with x negatives above to those of all smaller samples. No term
    is negative, so nothing cancels.
    """
    largest = int(ranks.n_irrelevant.min()) if largest is None else largest
    if metric.name == "AUC":
        return np.full(largest, metric.exact(ranks))  # unbiased from any sample
    total, places = np.zeros(largest), np.arange(largest + 1)
    columns = np.column_stack([ranks.order, ranks.n_relevant])
    kinds, kind_of = np.unique(columns, axis=0, return_inverse=True)
    counts = expected_counts(ranks, kind_of.ravel(), m=largest, replace=replace)
    above, below = np.arange(largest + 1.0), np.arange(largest, -1.0, -1.0)
    product, other = np.empty(largest + 1), np.empty(largest)
    for (order, q), shares in zip(kinds.tolist(), counts, strict=True):
        asked = {"order": order, "n_relevant": q}
        values = metric.summands(places + order, n=largest + q, **asked)
        for m in range(largest, 0, -1):
            total[m - 1] += np.multiply(shares, values[: m + 1], out=product[: m + 1]).sum()
            kept = np.multiply(shares[:-1], below[largest - m : largest], out=product[:m])
            kept += np.multiply(shares[1:], above[1 : m + 1], out=other[:m])
            shares = kept / m
    return np.asarray(total / len(np.unique(ranks.user)))


def ordering_of(systems: Sequence[str], values: Floats) -> str:
    """Write the order of systems by their values, highest first, as ``B > A = C``."""
    groups = (
        [name for name, own in zip(systems, values, strict=True) if own == value]
        for value in np.unique(values)[::-1]
    )
    return " > ".join(map(" = ".join, groups))


def orderings(systems: Sequence[str], values: Floats) -> list[tuple[int, str]]:
    """Give the orderings along sizes, each with the place at which it starts.

    Values are of shape (n_systems, n_sizes), and are rounded before they are compared.
    """
    values = np.round(values, DECIMALS)
    signs = np.sign(values[:, np.newaxis] - values)
    changes = (signs[:, :, 1:] != signs[:, :, :-1]).any(axis=(0, 1))
    starts = (0, *(np.flatnonzero(changes) + 1).tolist())
    return [(start, ordering_of(systems, values[:, start])) for start in starts]


def round_numbers(largest: int) -> tuple[int, ...]:
    """Give 1, 2, 5, 10, 20, 50, ... as far as they are not above the largest."""
    powers = [10**digits for digits in range(len(str(largest)))]
    numbers = [leading * power for power in powers for leading in (1, 2, 5)]
    return tuple(number for number in numbers if number <= largest)


class Settings(RankSettings):
    """Expected metrics by the number of negatives."""

    metrics: MetricNames = METRICS
    replace: bool = Field(True, strict=True, description="Whether an item may be sampled twice.")
    sizes: Numbers | None = Field(
        None,
        description="Numbers of negatives of the study sizes; default: 1, 2, 5, 10, ... up to all.",
    )

    def check_ranks(self, ranks: FullRanks) -> None:
        """Refuse samples that these users lack."""
        self.numbers(ranks)

    def numbers(self, ranks: FullRanks) -> tuple[int, ...]:
        """Give the numbers of negatives."""
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        if not self.sizes or sorted(self.sizes) != list(self.sizes):
            raise InputError(f"`sizes` must rise, got {list(self.sizes)}.")
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name="sizes")
        return self.sizes


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=("full_ranks",))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Expect metrics of systems, uncorrected and by BV(0.1), from samples of several sizes."""
    systems, metrics = work.full_ranks, read_metrics(settings.metrics)
    first = first_of(systems)
    numbers, estimators = settings.numbers(first), [find_estimator(name) for name in ESTIMATORS]
    found = np.empty((2, len(numbers), len(estimators), len(metrics), len(systems)))
    with work.progress("Expecting sampled metrics", len(numbers)) as bar, single_threaded("blas"):
        for n, m in enumerate(numbers):
            for s, ranks in enumerate(systems.values()):
                expectation = Expectation(ranks, m, settings.replace, path_for(metrics))
                for e, one in enumerate(estimators):
                    found[:, n, e, :, s] = expectation.of(one, metrics)
            bar.advance()
    return Sizes(
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=tuple(systems),
        estimators=tuple(map(str, estimators)),
        negatives=numbers,
        exact=np.array([[one.exact(ranks) for ranks in systems.values()] for one in metrics]),
        expected=found[0],
        variance=found[1],
        population=Population.of(first),
        replace=settings.replace,
    )


@dataclass(frozen=True, eq=False)
class Sizes(Result):
    """Expected estimates of metrics, and their variance over samples, by number of negatives.

    Exact metrics are of shape (n_metrics, n_systems), what is expected of (n_sizes, n_estimators,
    n_metrics, n_systems). The variance is NaN where users have several relevant items.
    """

    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    expected: Floats
    variance: Floats
    population: Population
    replace: bool

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give expectations, and from which number of negatives on systems are ordered how."""
        import pandas as pd

        axes = {"m": self.negatives, "estimator": self.estimators, "metric": self.metrics}
        numbers = {"expected": self.expected, "expected_sd": np.sqrt(self.variance)}
        frame = tidy({**axes, "system": self.systems}, **numbers, exact=self.exact)
        rows = [
            (estimator, metric, self.negatives[place], ordering, ordering == exact)
            for e, estimator in enumerate(self.estimators)
            for n, metric in enumerate(self.metrics)
            for exact in [ordering_of(self.systems, self.exact[n].round(DECIMALS))]
            for place, ordering in orderings(self.systems, self.expected[:, e, n].T)
        ]
        headings = ["estimator", "metric", "m", "ordering", "exact"]
        return {
            "sampled_sizes": with_cutoffs(frame),
            "sampled_crossings": pd.DataFrame(rows, columns=headings),
        }

    @table("sampled_sizes", "agreement of expected with exact orders of the systems, by negatives")
    def agreement(self) -> Table:
        """Tabulate how well the expected order of the systems agrees with the exact one."""
        taus = tau_b(self.expected, self.exact)
        names = [*np.ndindex(len(self.metrics), len(self.estimators))]
        rows: list[list[Cell]] = [
            [f"{self.metrics[n]}, {self.estimators[e]}", *taus[:, e, n].tolist()] for n, e in names
        ]
        headings = ["metric, estimator", *(f"{m:,}" for m in self.negatives)]
        title = "Agreement (tau-b) of the expected with the exact order, by negatives"
        return Table("sampled_sizes", title, self.caption(), headings, rows)

    @figure(
        "kdd2020-figure6",
        "Sampled negatives: expected metrics by their number",
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw one metric, by default the first, by number of negatives, and exact values."""
        number, ax = chosen_panel(self.metrics, metric), axes_or_new(ax)
        expected = self.expected[:, :, number]
        for system, (label, style) in enumerate(categories(self.systems)):
            ends = {"color": style["color"], "marker": "<", "markersize": 4, "clip_on": False}
            ax.plot(1, self.exact[number, system], **ends, transform=ax.get_yaxis_transform())
            for e, dash in zip(range(len(self.estimators)), DASHES, strict=False):
                own = style | {"linestyle": dash, "linewidth": 1, "markersize": 2.5}
                curve = expected[:, e, system]
                ax.plot(self.negatives, curve, label=None if e else label, **own)
        for dash, name in zip(DASHES, self.estimators, strict=False):
            ax.plot([], [], color="0.3", linestyle=dash, linewidth=1, label=name)
        ax.scatter([], [], s=16, color="0.3", marker="<", label="exact")
        if min(expected.min(), self.exact[number].min()) > 0:
            scale_by_factors(ax, along="y")
        ax.set(xscale="log", xlabel="sampled negatives", ylabel="expected from samples")
        ax.set_title(self.metrics[number])
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Expected estimates of metrics of {len(self.systems):,} systems from m sampled "
            "negatives, not simulated, and the exact values (arrows). "
            f"{self.population} among n = {self.population.n} "
            f"candidates; negatives are drawn {replacement(self.replace)}."
        )


@analysis("ranks", source="Krichene & Rendle (2020), figure 5", needs=("full_ranks",))
def ranks(work: Work, settings: RankSettings) -> RankDistributions:
    """Count the relevant items up to the ends of equal bins, and to round ranks at the top."""
    systems, first = work.full_ranks, first_of(work.full_ranks)
    last = int(first.n_candidates.max())
    ends = np.union1d(equal_bins(last), round_numbers(last))
    below = [np.searchsorted(np.sort(one.rank), ends, side="right") for one in systems.values()]
    return RankDistributions(
        systems=tuple(systems),
        ends=ends,
        cumulative=np.array(below) / len(first),
        medians=np.array([np.median(each.rank) for each in systems.values()]),
        population=Population.of(first),
    )


def equal_bins(last: int) -> NDArray[np.int64]:
    """Give the last ranks of bins of equal width, to a rank: (n_bins,)."""
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


@dataclass(frozen=True, eq=False)
class RankDistributions(Result):
    """Shares of the relevant items up to some ranks, and median ranks.

    ``cumulative`` is of shape (n_systems, n_ends); the ends are last ranks of bins of equal width,
    and 1, 2, 5, 10, 20, 50, ...
    """

    systems: tuple[str, ...]
    ends: NDArray[np.int64]
    cumulative: Floats
    medians: Floats
    population: Population

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give rows of system, last (a rank) and cumulative, the share of the items up to it."""
        axes = {"system": self.systems, "last": self.ends}
        return {"sampled_ranks": tidy(axes, cumulative=self.cumulative)}

    def _up_to(self, ranks: NDArray[np.int64]) -> Floats:
        return self.cumulative[:, np.searchsorted(self.ends, ranks)]

    @table("sampled_ranks", "distribution of the ranks of relevant items")
    def at_the_top(self) -> Table:
        """Tabulate median ranks, and shares of the items in the first ranks, by system."""
        tops = [k for k in (1, 10, 100) if k <= self.ends[-1]]
        shares = self._up_to(np.array(tops)).T.tolist()
        medians = (f"{median:,g}" for median in self.medians)
        rows = [*zip(self.systems, medians, *shares, strict=True)]
        headings = ["system", "median rank", *(f"in the first {k:,}" for k in tops)]
        title, best = (
            "Ranks of the relevant items: median, and shares of them",
            range(2, 2 + len(tops)),
        )
        return Table(
            "sampled_ranks", title, self.caption(), headings, rows, dict.fromkeys(best, max)
        )

    @figure("kdd2020-figure5", "Ranks of the relevant items among all candidates")
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the items in each bin, by system."""
        ax, bins = axes_or_new(ax), equal_bins(int(self.ends[-1]))
        edges, shares = np.append(0.5, bins + 0.5), np.diff(self._up_to(bins), axis=1, prepend=0)
        for (label, style), own in zip(categories(self.systems), shares, strict=True):
            # Outlines cover each other less than bars do.
            line = {name: style[name] for name in ("color", "linestyle")}
            ax.stairs(own, edges, baseline=None, label=label, linewidth=1.1, **line)
        ax.set(yscale="log", xlabel="rank of the relevant item", ylabel="share of the items")
        ax.yaxis.set_major_formatter("{x:g}")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        medians = zip(self.systems, self.medians, strict=True)
        return (
            f"Full ranks of {self.population} among n = {self.population.n} candidates: shares in "
            f"{min(N_BINS, int(self.ends[-1]))} bins of equal width. Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )
