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
from analyses.sampled.expectation.curves import (
    RankCurves,
    corrected_curves,
    expectation_curves,
    metric_curves,
)
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.user_moments import Addends, moments_of_mean
from analyses.sampled.samples.from_full_ranks import sample_ranks
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table, shown
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

TOP = 100
SHOWN = 20
"""Ranks in the sample that figure 4 shows; below them, next to nothing is corrected."""

SAMPLE_SIZES = (10, 50, 100, 500, 1000)
CLOSE = 1000
"""The last rank of figure 3."""

CORRECTED, GAMMAS, NEGATIVES = "AP", (1.0, 0.1, 0.01, 0.001), 100
"""What figure 4 corrects, with which trade-offs, from how many negatives."""


def example(*, seed: int) -> dict[str, Result]:
    """Make tables 1 and 2 and figures 1 to 4 of the paper, and the orders by size of the sample."""
    return {
        "example": toy_table(seed=seed),
        "example_orders": Orders(
            " ".join(each.caption() for each in toy_consistency().values()), toy_consistency()
        ),
        "example_metrics": Metrics(
            f"Metrics against the rank of the relevant item among {N_CANDIDATES:,} candidates: all "
            f"ranks, and the first {TOP}.",
            {
                "all ranks": metric_curves(METRICS, n=N_CANDIDATES),
                f"the first {TOP}": metric_curves(METRICS, n=N_CANDIDATES, upto=TOP),
            },
        ),
        "example_expectations": Expectations(
            f"Expected metric among m negatives, sampled with replacement, against the true rank "
            f"among {N_CANDIDATES:,}: the more negatives, the closer to the exact metric.",
            {
                name: expectation_curves(name, n=N_CANDIDATES, negatives=SAMPLE_SIZES, upto=CLOSE)
                for name in METRICS
            },
        ),
        "example_corrections": Corrections(
            f"{CORRECTED} among {N_CANDIDATES:,}, corrected from {NEGATIVES} negatives: what each "
            "rank in the sample counts, and what is expected of it by true rank.",
            _corrections(),
        ),
    }


def _corrections() -> dict[str, RankCurves]:
    sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
    estimators = [*(bv(gamma) for gamma in GAMMAS), cls(nonnegative=True)]
    by_name = {str(each): each.fit(sample).corrected(CORRECTED) for each in estimators}
    given, corrected = corrected_curves(CORRECTED, by_name, n=N_CANDIDATES, upto=CLOSE)
    return {f"the first {SHOWN} ranks in the sample": given.first(SHOWN), "true ranks": corrected}


@dataclass(frozen=True, eq=False)
class Curves(Result):
    """A figure of the example.

    Parameters
    ----------
    said
        What it shows.
    curves
        What each panel shows, by its title.
    """

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
        rows: list[list[Cell]] = [
            [metric, print_ordering(ordering), start]
            for metric, found in self.curves.items()
            if isinstance(found, Consistency)
            for start, ordering in found.orderings
        ]
        return Table(
            name="example_orders",
            title="From how many negatives on the sampled metric is expected to order the lists "
            "how",
            note="The last order of each metric is the exact one.",
            headings=["metric", "order", "from m ="],
            rows=rows,
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
        Label of the first axis of all arrays, which are of shape (n_metrics, n_systems).
    systems
        Label of the second.
    exact
        Means over the users of the exact metrics: table 1.
    expected, sd
        Exact mean and standard deviation, over samples, of the mean over the users: table 2.
    simulated, simulated_sd
        The same from simulated samples; NaN where there are too few.
    m, replace, repeats, seed
        Negatives, how they were drawn, number of simulated samples, and their seed.
    """

    metrics: tuple[RankMetric, ...]
    systems: tuple[str, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    simulated: Floats
    simulated_sd: Floats
    m: int
    replace: bool
    repeats: int
    seed: int

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the table."""
        return {"example": _as_frame(self.means())}

    @table("example", "exact metrics of the lists, and what sampling makes of them")
    def means(self) -> Table:
        """Tabulate exact metrics, and means and deviations over samples."""
        spreads = np.round(self.simulated_sd, DECIMALS)
        rows: list[list[Cell]] = [
            [
                f"{metric}, {system}",
                float(self.exact[m, s]),
                f"{shown(float(self.expected[m, s]))} ± {shown(float(self.sd[m, s]))}",
                f"{shown(float(self.simulated[m, s]))} ± {shown(float(spreads[m, s]))}",
            ]
            for m, metric in enumerate(self.metrics)
            for s, system in enumerate(self.systems)
        ]
        return Table(
            name="example",
            title="Exact metrics, and what sampling makes of them",
            note=self.caption(),
            headings=["metric, system", "exact", "expected", "simulated"],
            rows=rows,
        )

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        simulated = f"; simulated {self.repeats:,} times, seed {self.seed}" if self.repeats else ""
        return (
            f"Ranks of {len(LISTS['A'])} users among {N_CANDIDATES:,} candidates: exact metrics, "
            f"and the mean and standard deviation of those among {self.m} negatives sampled "
            f"{how} replacement{simulated}."
        )


def toy_table(
    metrics: Sequence[str] = METRICS,
    *,
    m: int = 99,
    replace: bool = True,
    repeats: int = 1000,
    seed: int,
) -> ToyTable:
    """Compute the metrics of the example lists, exact and sampled.

    Parameters
    ----------
    metrics
        Metrics of ranks.
    m, replace
        Negatives, and how they are drawn.
    repeats, seed
        Samples to simulate besides, none or at least 2, and their seed.

    Returns
    -------
    Tables 1 and 2 of the paper.

    Raises
    ------
    InputError
        If a metric or the number of repeats makes no sense.

    Notes
    -----
    Krichene & Rendle (2020), tables 1 and 2; theirs is the simulation.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> table = toy_table(["AP"], repeats=0, seed=1)
    >>> table.exact.round(4), table.expected.round(4)
    (array([[0.01  , 0.0101, 0.1014]]), array([[0.6366, 0.3407, 0.3262]]))
    """
    if repeats < 0 or repeats == 1:
        raise InputError(f"`repeats` must be 0 or at least 2, got {repeats}.")
    read = tuple(rank_metric(metric) for metric in metrics)
    addends = Addends.of_metrics(read, m=m, n_orders=1, replace=replace)
    moments = [moments_of_mean(addends.moments(some)) for some in LISTS.values()]
    drawn = [_sample(addends, seed=seed, repeat=repeat) for repeat in range(repeats)]
    drawn = drawn or [np.full((len(read), len(LISTS)), np.nan)] * 2
    return ToyTable(
        metrics=read,
        systems=tuple(LISTS),
        exact=np.array([[metric.exact(some) for some in LISTS.values()] for metric in read]),
        expected=np.stack([each.mean for each in moments], axis=1),
        sd=np.sqrt(np.stack([each.variance for each in moments], axis=1)),
        simulated=np.mean(drawn, axis=0),
        simulated_sd=np.std(drawn, axis=0, ddof=1),
        m=m,
        replace=replace,
        repeats=repeats,
        seed=seed,
    )


def _sample(addends: Addends, *, seed: int, repeat: int) -> Floats:
    """Sample every list once, each user with numbers of its own; of shape (n_metrics, n_lists)."""
    sampled = sample_ranks(
        np.concatenate([some.rank for some in LISTS.values()]),
        n_candidates=N_CANDIDATES,
        m=addends.negatives,
        seed=seed,
        repeat=repeat,
        replace=addends.replace,
    )
    per_list = sampled.above.reshape(len(LISTS), -1)
    return np.asarray(addends.values[0, 0].T[:, per_list].mean(axis=2))


def toy_consistency(
    metrics: Sequence[str] = METRICS, *, negatives: int | None = None, replace: bool = True
) -> dict[str, Consistency]:
    """Follow the expected metrics of the example lists over the size of the sample.

    Parameters
    ----------
    metrics
        Metrics of ranks.
    negatives
        The largest number of negatives; by default all.
    replace
        Whether they are drawn with replacement.

    Returns
    -------
    By metric, the panels of figure 2 of Krichene & Rendle (2020).

    Examples
    --------
    >>> toy_consistency(["nDCG"])["nDCG"].settled
    692
    """
    return {
        metric: consistency_crossings(LISTS, metric, negatives=negatives, replace=replace)
        for metric in metrics
    }
