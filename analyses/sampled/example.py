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
    DECIMALS,
    Consistency,
    consistency_crossings,
    print_ordering,
)
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.rank_pmf import moments, sampled_rank_pmf
from analyses.sampled.samples.designs import Design
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.facts import text_rows, tidy
from analyses.shared.drawing import axes_or_new, categories, gradations, label_curves
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, shown
from qrels import FullRanks
from runs import InputError

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

TOP = 100
SHOWN = 20
"""Ranks in the sample that figure 4 shows; below them, next to nothing is corrected."""

SAMPLE_SIZES = (10, 50, 100, 500, 1000)
CLOSE = 1000
"""The last rank of figures 3 and 4."""

SAMPLED = 99
"""Negatives of tables 1 and 2."""

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


def example(
    metrics: Sequence[str] = METRICS, *, replace: bool = True, repeats: int = 1000, seed: int
) -> Example:
    """Make tables 1 and 2 and figures 1 to 4 of the paper, and the orders by size of the sample.

    Samples are simulated besides, none or at least 2; the printed table 2 is such a simulation.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> found = example(["AP"], repeats=0, seed=1)
    >>> found.exact.round(4), found.expected.round(4)
    (array([[0.01  , 0.0101, 0.1014]]), array([[0.6366, 0.3407, 0.3262]]))
    """
    if repeats < 0 or repeats == 1:
        raise InputError(f"`repeats` must be 0 or at least 2, got {repeats}.")
    read, ranks = [rank_metric(metric) for metric in metrics], np.arange(1, SAMPLED + 2)
    values = np.array([metric(ranks, n=len(ranks)) for metric in read])
    known = np.array([moments(some, values.T, replace=replace) for some in LISTS.values()]).T
    # Each user of every list has numbers of its own.
    every = np.concatenate([some.rank for some in LISTS.values()])
    full, design = (
        FullRanks.of(every, n_candidates=N_CANDIDATES),
        Design((SAMPLED,), replace),
    )
    drawn = [design.draw(full, seed=seed, repeat=repeat).above for repeat in range(repeats)]
    apart = (len(read), len(LISTS), -1)
    sampled = [values[:, above].reshape(apart).mean(axis=2) for above in drawn]
    sampled = sampled or [np.full(apart[:2], np.nan)] * 2
    return Example(
        metrics=tuple(map(str, read)),
        exact=np.array([[metric.exact(some) for some in LISTS.values()] for metric in read]),
        expected=known[:, 0],
        sd=np.sqrt(known[:, 1]),
        simulated=np.mean(sampled, axis=0),
        simulated_sd=np.std(sampled, axis=0, ddof=1),
        replace=replace,
        repeats=repeats,
        seed=seed,
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
        Exact mean and standard deviation, over samples, of the mean over the users: table 2.
    simulated, simulated_sd
        The same from simulated samples; NaN where there are too few.
    replace, repeats, seed
        How negatives were drawn, number of simulated samples, and their seed.
    """

    metrics: tuple[str, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    simulated: Floats
    simulated_sd: Floats
    replace: bool
    repeats: int
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """Panels of figures 2 and 3: the metrics."""
        return self.metrics

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

        tables = {"example": self.means(), "example_orders": self.orders()}
        return {
            name: pd.DataFrame(table.rows, columns=list(table.headings))
            for name, table in tables.items()
        }

    @table("example", "exact metrics of the lists, and what sampling makes of them")
    def means(self) -> Table:
        """Tabulate exact metrics, and means and deviations over samples."""
        frame = tidy(
            {"metric": self.metrics, "system": LISTS},
            exact=self.exact,
            expected=_with_spread(self.expected, self.sd),
            simulated=_with_spread(self.simulated, np.round(self.simulated_sd, DECIMALS)),
        )
        frame.insert(0, "row", frame.pop("metric") + ", " + frame.pop("system"))
        return Table(
            name="example",
            title="Exact metrics, and what sampling makes of them",
            note=self.caption(),
            headings=["metric, system", "exact", "expected", "simulated"],
            rows=text_rows(frame),
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
        return _draw(axes_or_new(ax), view, self.metrics_by_rank[view], "metric")

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
        ax = self.orders_by_size[name].plot(ax)
        ax.set_title(name)
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
        curves, said = self.expected_by_rank[name], f"expected {name}"
        return _draw(axes_or_new(ax), name, curves, said, ordered=True)

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
        ax = _draw(axes_or_new(ax), side, self.corrections[side], said)
        if true:
            ax.set_xscale("log")
        else:
            ax.set_xlabel("rank in the sample")
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        simulated = f"; simulated {self.repeats:,} times, seed {self.seed}" if self.repeats else ""
        return (
            f"Ranks of {len(LISTS['A'])} users among {N_CANDIDATES:,} candidates: exact metrics, "
            f"and the mean and standard deviation of those among {SAMPLED} negatives sampled "
            f"{how} replacement{simulated}."
        )

    def caption_of(self, part: str) -> str:
        """Say what a figure shows."""
        if part == "orders_by_size":
            return " ".join(each.caption() for each in self.orders_by_size.values())
        return CAPTIONS[part]


def _draw(ax: Axes, title: str, curves: Curves, said: str, *, ordered: bool = False) -> Axes:
    """Draw functions of a rank; names may be ordered, as sample sizes are."""
    styles = (gradations if ordered else categories)([*curves])
    for (label, style), curve in zip(styles, curves.values(), strict=True):
        ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **style | {"marker": ""})
    ax.set(xlabel="rank", ylabel=said, title=title)
    label_curves(ax, ordered=ordered)
    return ax


def _with_spread(means: Floats, spreads: Floats) -> NDArray[np.object_]:
    pairs = zip(means.ravel().tolist(), spreads.ravel().tolist(), strict=True)
    told = [f"{shown(mean)} ± {shown(sd)}" for mean, sd in pairs]
    return np.array(told, dtype=object).reshape(means.shape)
