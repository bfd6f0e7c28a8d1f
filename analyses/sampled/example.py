"""The example of Krichene & Rendle (2020): three lists of ranks that sampling orders wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import find_estimator
from analyses.sampled.expectation import expected_by_size, moments, orderings, print_ordering
from analyses.sampled.metrics import rank_metric
from analyses.sampled.paper_tables import paper_metric
from analyses.sampled.rank_distribution import sampled_rank_pmf
from analyses.sampled.samples import SampledRanks
from analyses.shared.drawing import axes_or_new, categories, gradations, label_curves
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

N_CANDIDATES = 10_000
RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
LISTS: Mapping[str, FullRanks] = MappingProxyType(
    {name: FullRanks.of(ranks, n_candidates=N_CANDIDATES) for name, ranks in RANKS.items()}
)
"""Ranks of the relevant items of five users, by system; tables 1 and 2 of the paper."""

METRICS = ("AUC", "AP", "nDCG", "Recall@10")
EVERY = np.arange(1, N_CANDIDATES + 1)
SAMPLED = 99
"""Negatives of tables 1 and 2."""

TOP, CLOSE, SHOWN = 100, 1000, 20
"""Last ranks of figure 1 (right), figures 3 and 4, and ranks in the sample of figure 4."""

SIZES = (10, 50, 100, 500, 1000)
"""Negatives of figure 3."""

CORRECTED, NEGATIVES = "AP", 100
"""What figure 4 corrects, from how many negatives."""

CORRECTIONS = (
    *(f"bv(gamma={gamma:g})" for gamma in (1, 0.1, 0.01, 0.001)),
    "cls(nonnegative=true)",
)

Curves = Mapping[str, Floats]
"""Functions of a rank from 1 by name."""


def example(*, replace: bool = True) -> Example:
    """Make tables 1 and 2 and figures 1 to 4 of the paper, and of its first form, Rendle (2019).

    The printed table 2 was simulated; means and deviations here are the exact ones.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> found = example()
    >>> found.exact[1].round(4), found.expected[1].round(4)
    (array([0.01  , 0.0101, 0.1014]), array([0.6366, 0.3407, 0.3262]))
    """
    read, ranks = [rank_metric(metric) for metric in METRICS], np.arange(1, SAMPLED + 2)
    values = np.array([metric(ranks, n=len(ranks)) for metric in read])
    known = np.array([moments(some, values.T, replace=replace) for some in LISTS.values()]).T
    return Example(
        metrics=tuple(map(str, read)),
        exact=np.array([[metric.exact(some) for some in LISTS.values()] for metric in read]),
        expected=known[:, 0],
        sd=np.sqrt(known[:, 1]),
        replace=replace,
    )


def expectation(values: Floats) -> Floats:
    """Expect values, of each rank among m negatives and the item, by true rank: (CLOSE,)."""
    pmf = sampled_rank_pmf(EVERY[:CLOSE], n=N_CANDIDATES, m=len(values) - 1, replace=True)
    return np.asarray(pmf @ values)


@dataclass(frozen=True, eq=False)
class Example(Result):
    """Exact metrics of the example lists, and what sampling makes of them.

    Parameters
    ----------
    metrics
        Label of the first axis of all arrays, which are of shape (n_metrics, n_lists).
    exact
        Means over the users of the exact metrics: table 1.
    expected, sd
        Mean and standard deviation, over samples, of the mean over the users: table 2.
    replace
        How negatives are drawn.
    """

    metrics: tuple[str, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    replace: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Panels of figures 2 and 3: the metrics."""
        return self.metrics

    @property
    def views(self) -> tuple[str, ...]:
        """Panels of figure 1."""
        return "all ranks", f"the first {TOP}"

    @property
    def sides(self) -> tuple[str, ...]:
        """Panels of figure 4."""
        return f"the first {SHOWN} ranks in the sample", "true ranks"

    @cached_property
    def by_size(self) -> Mapping[str, Floats]:
        """Expected metrics, of 1, 2, ... all negatives: (n_lists, n_sizes), by metric."""
        return {
            name: np.array(
                [
                    expected_by_size(rank_metric(name), each, replace=self.replace)
                    for each in LISTS.values()
                ]
            )
            for name in self.metrics
        }

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the tables of both papers, and the orders by number of negatives."""
        import pandas as pd

        made = (self.kdd_table1(), self.kdd_table2(), self.rendle_table1(), self.rendle_table2())
        every = (*made, self.orders())
        return {one.name: pd.DataFrame(one.rows, columns=list(one.headings)) for one in every}

    def _table(self, name: str, *, sampled: bool) -> Table:
        rows: list[dict[str, Cell]] = []
        more: dict[str, Cell] = {}
        for s, (system, ranks) in enumerate(RANKS.items()):
            place: dict[str, Cell] = {"dataset": f"toy (n={N_CANDIDATES})", "system": system}
            if sampled:
                more = {"estimator": "", "m_negatives": "", "repeats": ""}
            names: dict[str, Cell] = {"metric": "predicted rank"}
            names |= {"paper_metric": "Predicted Ranks", "cutoff": ""}
            end: dict[str, Cell] = {"sd": ""} if sampled else {}
            for instance, rank in enumerate(ranks, start=1):
                rows.append({**place, **names, "instance": instance, **more, "value": rank, **end})
            for m, metric in enumerate(self.metrics):
                value = float((self.expected if sampled else self.exact)[m, s])
                if sampled:
                    more = {"estimator": "uncorrected", "m_negatives": SAMPLED, "repeats": "exact"}
                    end = {"sd": float(self.sd[m, s])}
                names = paper_metric(metric)
                rows.append({**place, **names, "instance": "", **more, "value": value, **end})
        title = "What sampling makes of them" if sampled else "Exact metrics of the lists"
        headings = [*rows[0]]
        cells = [[row[heading] for heading in headings] for row in rows]
        return Table(name, title, self.caption(), headings, cells)

    @table("kdd2020-table1", "exact metrics of the lists")
    def kdd_table1(self) -> Table:
        """Tabulate ranks and exact metrics."""
        return self._table("kdd2020-table1", sampled=False)

    @table("kdd2020-table2", "means and deviations of sampled metrics of the lists")
    def kdd_table2(self) -> Table:
        """Tabulate ranks and sampled metrics."""
        return self._table("kdd2020-table2", sampled=True)

    @table("rendle2019-table1", "exact metrics of the lists")
    def rendle_table1(self) -> Table:
        """Tabulate ranks and exact metrics, as the first form of the paper."""
        return self._table("rendle2019-table1", sampled=False)

    @table("rendle2019-table2", "means and deviations of sampled metrics of the lists")
    def rendle_table2(self) -> Table:
        """Tabulate ranks and sampled metrics, as the first form of the paper."""
        return self._table("rendle2019-table2", sampled=True)

    @table("example_orders", "orders of the lists by the number of negatives")
    def orders(self) -> Table:
        """Tabulate from how many negatives on each metric is expected to order the lists how."""
        return Table(
            name="example_orders",
            title="From how many negatives on the metric is expected to order the lists how",
            note="The last order of each metric is the exact one.",
            headings=["metric", "order", "from m ="],
            rows=[
                [metric, print_ordering(ordering), start + 1]
                for metric, values in self.by_size.items()
                for start, ordering in orderings([*LISTS], values)
            ],
        )

    @figure("kdd2020-figure1", "Metrics by rank", panels="view", comparable=False, roomy=True)
    def plot_metrics(self, ax: Axes | None = None, *, view: str) -> Axes:
        """Draw the metrics against all ranks, or the first."""
        ranks = EVERY if view == self.views[0] else EVERY[:TOP]
        curves = {name: rank_metric(name)(ranks, n=N_CANDIDATES) for name in self.metrics}
        return _draw(ax, view, curves, "metric")

    @figure("kdd2020-figure2", "Metrics by negatives", panels="name", comparable=False, roomy=True)
    def plot_sizes(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric of the lists against the number of negatives (Rendle: 2)."""
        curves = dict(zip(LISTS, self.by_size[name], strict=True))
        ax = _draw(ax, name, curves, f"expected {name}")
        for start, _ in orderings([*LISTS], self.by_size[name])[1:]:
            ax.axvline(start + 1, color="0.6", linewidth=0.6, zorder=0)
        ax.set(xscale="log", xlabel="sampled negatives")
        return ax

    @figure(
        "kdd2020-figure3", "Expected metrics by rank", panels="name", comparable=False, roomy=True
    )
    def plot_expectations(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric against the rank, by number of negatives (Rendle: 3)."""
        read = rank_metric(name)
        curves = {f"m = {m:,}": expectation(read(np.arange(1, m + 2), n=m + 1)) for m in SIZES}
        curves["exact"] = read(EVERY[:CLOSE], n=N_CANDIDATES)
        return _draw(ax, name, curves, f"expected {name}", ordered=True)

    @figure("kdd2020-figure4", "Corrected AP by rank", panels="side", comparable=False, roomy=True)
    def plot_corrections(self, ax: Axes | None = None, *, side: str) -> Axes:
        """Draw corrected values against the rank in the sample, or what is expected of them."""
        sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
        every = map(find_estimator, CORRECTIONS)
        values = {str(one): one.fit(sample).corrected([CORRECTED])[:, 0] for one in every}
        if side == self.sides[0]:
            first = {name: own[:SHOWN] for name, own in values.items()}
            ax = _draw(ax, side, first, f"corrected {CORRECTED}")
            ax.set_xlabel("rank in the sample")
            return ax
        curves = {name: expectation(own) for name, own in values.items()}
        curves["exact"] = rank_metric(CORRECTED)(EVERY[:CLOSE], n=N_CANDIDATES)
        ax = _draw(ax, side, curves, f"expected corrected {CORRECTED}")
        ax.set_xscale("log")
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        return (
            f"Ranks of five users among {N_CANDIDATES:,} candidates, exact metrics, and those "
            f"among negatives drawn {how} replacement ({SAMPLED} in the tables, {NEGATIVES} for "
            "corrections): means and standard deviations are exact, not simulated."
        )


def _draw(
    ax: Axes | None, title: str, curves: Curves, ylabel: str, *, ordered: bool = False
) -> Axes:
    ax, styles = axes_or_new(ax), (gradations if ordered else categories)([*curves])
    for (label, style), curve in zip(styles, curves.values(), strict=True):
        own: dict[str, Any] = style | {"marker": ""}
        ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **own)
    ax.set(xlabel="rank", ylabel=ylabel, title=title)
    label_curves(ax, ordered=ordered)
    return ax
