"""The example of Krichene & Rendle (2020): three lists of ranks that sampling orders wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import bv, cls
from analyses.sampled.expectation.crossings import (
    Consistency,
    consistency_crossings,
    print_ordering,
)
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.rank_pmf import moments, sampled_rank_pmf
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.shared.drawing import axes_or_new, categories, gradations, label_curves
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, shown
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

N_CANDIDATES = 10_000
LISTS: Mapping[str, FullRanks] = MappingProxyType(
    {
        "A": FullRanks.of([100] * 5, n_candidates=N_CANDIDATES),
        "B": FullRanks.of([40, 40, 8437, 9266, 4482], n_candidates=N_CANDIDATES),
        "C": FullRanks.of([212, 2, 743, 5342, 1548], n_candidates=N_CANDIDATES),
    }
)
"""Ranks of the relevant items of five users, by system; tables 1 and 2 of the paper."""

METRICS = ("AUC", "AP", "nDCG", "Recall@10")
RANKS = np.arange(1, N_CANDIDATES + 1)

SAMPLED = 99
"""Negatives of tables 1 and 2."""

TOP = 100
SHOWN = 20
"""Ranks in the sample that figure 4 shows; below them, next to nothing is corrected."""

SAMPLE_SIZES = (10, 50, 100, 500, 1000)
CLOSE = 1000
"""The last rank of figures 3 and 4."""

CORRECTED, GAMMAS, NEGATIVES = "AP", (1.0, 0.1, 0.01, 0.001), 100
"""What figure 4 corrects, with which trade-offs, from how many negatives."""

CAPTIONS = {
    "metrics_by_rank": f"Metrics against the rank of the relevant item among {N_CANDIDATES:,} "
    f"candidates: all ranks, and the first {TOP}.",
    "expected_by_rank": "Expected metric among m negatives, sampled with replacement, against the "
    f"true rank among {N_CANDIDATES:,}: the more negatives, the closer to the exact metric.",
    "corrections": f"{CORRECTED} among {N_CANDIDATES:,}, corrected from {NEGATIVES} negatives: "
    "what each rank in the sample counts, and what is expected of it by true rank.",
}

Curves = Mapping[str, Floats]
"""Functions of a rank from 1 by name, (n_ranks,) each."""


def example(metrics: Sequence[str] = METRICS, *, replace: bool = True) -> Example:
    """Make tables 1 and 2 and figures 1 to 4 of the paper, and the orders by size of the sample.

    Nothing is simulated, as the printed table 2 was: its means and deviations are the exact ones.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> found = example(["AP"])
    >>> found.exact.round(4), found.expected.round(4)
    (array([[0.01  , 0.0101, 0.1014]]), array([[0.6366, 0.3407, 0.3262]]))
    """
    read, ranks = [rank_metric(metric) for metric in metrics], np.arange(1, SAMPLED + 2)
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
    """Expect values, of each rank among m negatives and the item, by true rank: (CLOSE,).

    Examples
    --------
    One negative makes the expectation a line:

    >>> np.diff(expectation(np.array([1.0, 0.0])), 2).round(12).any()
    np.False_
    """
    m = len(values) - 1
    return sampled_rank_pmf(RANKS[:CLOSE], n=N_CANDIDATES, m=m, replace=True) @ values


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
        How negatives were drawn.
    """

    metrics: tuple[str, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    replace: bool

    @property
    def metrics_by_rank(self) -> Mapping[str, Curves]:
        """Figure 1, by panel."""
        every = {name: rank_metric(name)(RANKS, n=N_CANDIDATES) for name in self.metrics}
        top = {name: curve[:TOP] for name, curve in every.items()}
        return {"all ranks": every, f"the first {TOP}": top}

    @cached_property
    def orders_by_size(self) -> Mapping[str, Consistency]:
        """Figure 2: expected metrics over the size of the sample, up to all, and their orders."""
        every = self.metrics
        return {name: consistency_crossings(LISTS, name, replace=self.replace) for name in every}

    @property
    def expected_by_rank(self) -> Mapping[str, Curves]:
        """Figure 3, by metric."""
        panels = {}
        for metric in map(rank_metric, self.metrics):
            of_sizes = {m: metric(np.arange(1, m + 2), n=m + 1) for m in SAMPLE_SIZES}
            curves = {f"m = {m:,}": expectation(values) for m, values in of_sizes.items()}
            panels[str(metric)] = {**curves, "exact": metric(RANKS[:CLOSE], n=N_CANDIDATES)}
        return panels

    @property
    def corrections(self) -> Mapping[str, Curves]:
        """Figure 4: corrected values against the rank in the sample, and what is expected."""
        sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
        estimators = [*(bv(gamma) for gamma in GAMMAS), cls(nonnegative=True)]
        values = {str(each): each.fit(sample).corrected(CORRECTED) for each in estimators}
        expected = {name: expectation(own) for name, own in values.items()}
        exact = rank_metric(CORRECTED)(RANKS[:CLOSE], n=N_CANDIDATES)
        return {
            f"the first {SHOWN} ranks in the sample": {n: v[:SHOWN] for n, v in values.items()},
            "true ranks": expected | {"exact": exact},
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Panels of figures 2 and 3: the metrics."""
        return self.metrics

    @property
    def views(self) -> tuple[str, ...]:
        """Panels of figure 1."""
        return tuple(self.metrics_by_rank)

    @property
    def sides(self) -> tuple[str, ...]:
        """Panels of figure 4."""
        return tuple(self.corrections)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give both tables."""
        import pandas as pd

        made = self.means(), self.orders()
        return {one.name: pd.DataFrame(one.rows, columns=list(one.headings)) for one in made}

    @table("example", "exact metrics of the lists, and what sampling makes of them")
    def means(self) -> Table:
        """Tabulate exact metrics, and means and deviations over samples."""
        return Table(
            name="example",
            title="Exact metrics, and what sampling makes of them",
            note=self.caption(),
            headings=["metric, system", "exact", "expected"],
            rows=[
                [
                    f"{metric}, {system}",
                    float(self.exact[m, s]),
                    f"{shown(float(self.expected[m, s]))} ± {shown(float(self.sd[m, s]))}",
                ]
                for m, metric in enumerate(self.metrics)
                for s, system in enumerate(LISTS)
            ],
        )

    @table("example_orders", "orders of the lists by the number of negatives")
    def orders(self) -> Table:
        """Tabulate from how many negatives on each metric is expected to order the lists how."""
        return Table(
            name="example_orders",
            title="From how many negatives on the sampled metric is expected to order the lists "
            "how",
            note="The last order of each metric is the exact one.",
            headings=["metric", "order", "from m ="],
            rows=[
                [metric, print_ordering(ordering), start]
                for metric, found in self.orders_by_size.items()
                for start, ordering in found.orderings
            ],
        )

    @figure(
        "example_metrics",
        "Metrics by rank",
        panels="view",
        comparable=False,
        roomy=True,
        of="metrics_by_rank",
    )
    def plot_metrics(self, ax: Axes | None = None, *, view: str) -> Axes:
        """Draw the metrics against all ranks, or the first."""
        return _draw(ax, view, self.metrics_by_rank[view], "metric")

    @figure(
        "example_sizes",
        "Metrics by negatives",
        panels="name",
        comparable=False,
        roomy=True,
        of="orders_by_size",
    )
    def plot_sizes(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric of the lists against the number of negatives."""
        found = self.orders_by_size[name]
        curves = dict(zip(found.systems, found.values, strict=True))
        ax = _draw(ax, name, curves, f"expected {name}")
        for start, _ in found.orderings[1:]:
            ax.axvline(start, color="0.6", linewidth=0.6, zorder=0)
        ax.set(xscale="log", xlabel="sampled negatives")
        return ax

    @figure(
        "example_expectations",
        "Expected metrics by rank",
        panels="name",
        comparable=False,
        roomy=True,
        of="expected_by_rank",
    )
    def plot_expectations(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric against the rank, by number of negatives."""
        return _draw(ax, name, self.expected_by_rank[name], f"expected {name}", ordered=True)

    @figure(
        "example_corrections",
        "Corrected AP by rank",
        panels="side",
        comparable=False,
        roomy=True,
        of="corrections",
    )
    def plot_corrections(self, ax: Axes | None = None, *, side: str) -> Axes:
        """Draw corrected values against the rank in the sample, or what is expected of them."""
        true = side == self.sides[-1]
        said = f"expected corrected {CORRECTED}" if true else f"corrected {CORRECTED}"
        ax = _draw(ax, side, self.corrections[side], said)
        if true:
            ax.set_xscale("log")
        else:
            ax.set_xlabel("rank in the sample")
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        return (
            f"Ranks of {len(LISTS['A'])} users among {N_CANDIDATES:,} candidates: exact metrics, "
            f"and the mean and standard deviation, expected and not simulated, of those among "
            f"{SAMPLED} negatives sampled {how} replacement."
        )

    def caption_of(self, part: str) -> str:
        """Say what a figure shows."""
        if part == "orders_by_size":
            return " ".join(each.caption() for each in self.orders_by_size.values())
        return CAPTIONS[part]


def _draw(ax: Axes | None, title: str, curves: Curves, said: str, *, ordered: bool = False) -> Axes:
    """Draw functions of a rank; names may be ordered, as sample sizes are."""
    ax, styles = axes_or_new(ax), (gradations if ordered else categories)([*curves])
    for (label, style), curve in zip(styles, curves.values(), strict=True):
        ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **style | {"marker": ""})
    ax.set(xlabel="rank", ylabel=said, title=title)
    label_curves(ax, ordered=ordered)
    return ax
