"""The example of Krichene & Rendle (2020): three lists of ranks that sampling orders wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from analyses.sampled.samples.designs import FixedSize
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


def example(*, seed: int) -> dict[str, Result]:
    """Make tables 1 and 2 and figures 1 to 4 of the paper, and the orders by size of the sample."""
    panels = toy_consistency()
    every = {name: rank_metric(name)(RANKS, n=N_CANDIDATES) for name in METRICS}
    top = {name: curve[:TOP] for name, curve in every.items()}
    return {
        "example": toy_table(seed=seed),
        "example_orders": Orders(" ".join(each.caption() for each in panels.values()), panels),
        "example_metrics": Metrics(
            f"Metrics against the rank of the relevant item among {N_CANDIDATES:,} candidates: all "
            f"ranks, and the first {TOP}.",
            {
                "all ranks": RankCurves(every, "metric"),
                f"the first {TOP}": RankCurves(top, "metric"),
            },
        ),
        "example_expectations": Expectations(
            f"Expected metric among m negatives, sampled with replacement, against the true rank "
            f"among {N_CANDIDATES:,}: the more negatives, the closer to the exact metric.",
            {name: _expectations(name) for name in METRICS},
        ),
        "example_corrections": Corrections(
            f"{CORRECTED} among {N_CANDIDATES:,}, corrected from {NEGATIVES} negatives: what each "
            "rank in the sample counts, and what is expected of it by true rank.",
            _corrections(),
        ),
    }


def expected_by_rank(values: Floats) -> Floats:
    """Expect values, of each rank among m negatives and the item, by true rank: (CLOSE,).

    Examples
    --------
    One negative makes the expectation a line:

    >>> np.diff(expected_by_rank(np.array([1.0, 0.0])), 2).round(12).any()
    np.False_
    """
    m = len(values) - 1
    return sampled_rank_pmf(RANKS[:CLOSE], n=N_CANDIDATES, m=m, replace=True) @ values


def _expectations(name: str) -> RankCurves:
    metric, curves = rank_metric(name), {}
    for m in SAMPLE_SIZES:
        curves[f"m = {m:,}"] = expected_by_rank(metric(np.arange(1, m + 2), n=m + 1))
    curves["exact"] = metric(RANKS[:CLOSE], n=N_CANDIDATES)
    return RankCurves(curves, f"expected {metric}", ordered=True)


def _corrections() -> dict[str, RankCurves]:
    sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
    estimators = [*(bv(gamma) for gamma in GAMMAS), cls(nonnegative=True)]
    values = {str(each): each.fit(sample).corrected(CORRECTED) for each in estimators}
    given = {name: own[:SHOWN] for name, own in values.items()}
    expected = {name: expected_by_rank(own) for name, own in values.items()}
    expected["exact"] = rank_metric(CORRECTED)(RANKS[:CLOSE], n=N_CANDIDATES)
    return {
        f"the first {SHOWN} ranks in the sample": RankCurves(
            given, f"corrected {CORRECTED}", rank_label="rank in the sample"
        ),
        "true ranks": RankCurves(expected, f"expected corrected {CORRECTED}", by_factors=True),
    }


@dataclass(frozen=True, eq=False)
class RankCurves:
    """Functions of a rank from 1, by name, (n_ranks,) each.

    Names may be ordered, as sample sizes are, and ranks drawn on a logarithmic scale.
    """

    curves: Mapping[str, Floats]
    value_label: str
    rank_label: str = "rank"
    ordered: bool = False
    by_factors: bool = False

    def plot(self, ax: Axes) -> Axes:
        """Draw all curves."""
        styles = (gradations if self.ordered else categories)([*self.curves])
        for (label, style), curve in zip(styles, self.curves.values(), strict=True):
            ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **style | {"marker": ""})
        if self.by_factors:
            ax.set_xscale("log")
        ax.set(xlabel=self.rank_label, ylabel=self.value_label)
        label_curves(ax, ordered=self.ordered)
        return ax


@dataclass(frozen=True, eq=False)
class Curves(Result):
    """A figure of the example: what it shows, and what each panel does by its title."""

    said: str
    curves: Mapping[str, RankCurves] | Mapping[str, Consistency]

    @property
    def parts(self) -> tuple[str, ...]:
        """Titles of the panels."""
        return tuple(self.curves)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give nothing: the curves are formulas."""
        return {}

    def caption(self) -> str:
        """Say what is shown."""
        return self.said

    def _draw(self, ax: Axes | None, part: str) -> Axes:
        """Draw a panel under its title."""
        ax = self.curves[part].plot(axes_or_new(ax))
        ax.set_title(part)
        return ax


class Metrics(Curves):
    """Figure 1."""

    @figure("example_metrics", "Metrics by rank", panels="part", comparable=False, roomy=True)
    def plot(self, ax: Axes | None = None, *, part: str) -> Axes:
        """Draw the metrics against all ranks, or the first."""
        return self._draw(ax, part)


class Orders(Curves):
    """Figure 2, and the orders of the three lists by the number of negatives."""

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the orders."""
        return {"example_orders": _as_frame(self.orders())}

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
                for metric, found in self.curves.items()
                if isinstance(found, Consistency)
                for start, ordering in found.orderings
            ],
        )

    @figure("example_sizes", "Metrics by negatives", panels="part", comparable=False, roomy=True)
    def plot(self, ax: Axes | None = None, *, part: str) -> Axes:
        """Draw an expected metric of the lists against the number of negatives."""
        return self._draw(ax, part)


class Expectations(Curves):
    """Figure 3."""

    @figure(
        "example_expectations",
        "Expected metrics by rank",
        panels="part",
        comparable=False,
        roomy=True,
    )
    def plot(self, ax: Axes | None = None, *, part: str) -> Axes:
        """Draw an expected metric against the rank, by number of negatives."""
        return self._draw(ax, part)


class Corrections(Curves):
    """Figure 4."""

    @figure(
        "example_corrections", "Corrected AP by rank", panels="part", comparable=False, roomy=True
    )
    def plot(self, ax: Axes | None = None, *, part: str) -> Axes:
        """Draw corrected values against the rank in the sample, or what is expected of them."""
        return self._draw(ax, part)


def _as_frame(table: Table) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(table.rows, columns=list(table.headings))


@dataclass(frozen=True, eq=False)
class ToyTable(Result):
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

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the table."""
        return {"example": _as_frame(self.means())}

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

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        simulated = f"; simulated {self.repeats:,} times, seed {self.seed}" if self.repeats else ""
        return (
            f"Ranks of {len(LISTS['A'])} users among {N_CANDIDATES:,} candidates: exact metrics, "
            f"and the mean and standard deviation of those among {SAMPLED} negatives sampled "
            f"{how} replacement{simulated}."
        )


def _with_spread(means: Floats, spreads: Floats) -> NDArray[np.object_]:
    pairs = zip(means.ravel().tolist(), spreads.ravel().tolist(), strict=True)
    told = [f"{shown(mean)} ± {shown(sd)}" for mean, sd in pairs]
    return np.array(told, dtype=object).reshape(means.shape)


def toy_table(
    metrics: Sequence[str] = METRICS, *, replace: bool = True, repeats: int = 1000, seed: int
) -> ToyTable:
    """Compute the metrics of the example lists, exact and sampled: tables 1 and 2 of the paper.

    Samples are simulated besides, none or at least 2; the printed table 2 is such a simulation.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> table = toy_table(["AP"], repeats=0, seed=1)
    >>> table.exact.round(4), table.expected.round(4)
    (array([[0.01  , 0.0101, 0.1014]]), array([[0.6366, 0.3407, 0.3262]]))
    """
    if repeats < 0 or repeats == 1:
        raise InputError(f"`repeats` must be 0 or at least 2, got {repeats}.")
    read, ranks = [rank_metric(metric) for metric in metrics], np.arange(1, SAMPLED + 2)
    values = np.array([metric(ranks, n=len(ranks)) for metric in read])
    known = np.array([moments(some, values.T, replace=replace) for some in LISTS.values()]).T
    # Each user of every list has numbers of its own.
    every = np.concatenate([some.rank for some in LISTS.values()])
    full, design = FullRanks.of(every, n_candidates=N_CANDIDATES), FixedSize(SAMPLED, replace)
    drawn = [design.draw(full, seed=seed, repeat=repeat).above for repeat in range(repeats)]
    apart = (len(read), len(LISTS), -1)
    sampled = [values[:, above].reshape(apart).mean(axis=2) for above in drawn]
    sampled = sampled or [np.full(apart[:2], np.nan)] * 2
    return ToyTable(
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


def toy_consistency(
    metrics: Sequence[str] = METRICS, *, negatives: int | None = None, replace: bool = True
) -> dict[str, Consistency]:
    """Follow expected metrics of the example lists over the size of the sample, by default to all.

    By metric, these are the panels of figure 2 of Krichene & Rendle (2020).

    Examples
    --------
    >>> toy_consistency(["nDCG"])["nDCG"].settled
    692
    """
    return {
        metric: consistency_crossings(LISTS, metric, negatives=negatives, replace=replace)
        for metric in metrics
    }
