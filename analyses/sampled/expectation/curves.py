"""Metrics as functions of the rank: exact, expected under sampling, and corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.user_moments import Addends
from analyses.shared.drawing import axes_or_new, categories, gradations, legend_beside
from qrels import FullRanks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankCurves:
    """Functions of a rank from 1: ranks, (n_ranks,), and curves by name, (n_ranks,) each.

    Names may be ordered, as sample sizes are, and ranks drawn on a logarithmic scale.
    """

    ranks: NDArray[np.int64]
    curves: Mapping[str, Floats]
    rank_label: str
    value_label: str
    ordered: bool = False
    by_factors: bool = False

    def first(self, n_ranks: int) -> RankCurves:
        """Keep the first ranks."""
        kept = {name: curve[:n_ranks] for name, curve in self.curves.items()}
        return replace(self, ranks=self.ranks[:n_ranks], curves=kept)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all curves."""
        axes = axes_or_new(ax)
        labels = [*self.curves]
        styles = gradations(labels) if self.ordered else categories(labels)
        for (label, style), curve in zip(styles, self.curves.values(), strict=True):
            axes.plot(self.ranks, curve, label=label, **style | {"marker": ""})
        if self.by_factors:
            axes.set_xscale("log")
        axes.set_xlabel(self.rank_label)
        axes.set_ylabel(self.value_label)
        legend_beside(axes)
        return axes


def metric_curves(metrics: Sequence[str], *, n: int, upto: int | None = None) -> RankCurves:
    """Give exact metrics against the rank of the relevant item among n, or against the first ranks.

    Figure 1 of Krichene & Rendle (2020) has all ranks beside the first 100.

    Examples
    --------
    >>> metric_curves(["AP"], n=9, upto=2).curves
    {'AP': array([1. , 0.5])}
    """
    ranks = np.arange(1, (upto or n) + 1)
    curves = {str(metric): metric(ranks, n=n) for metric in map(rank_metric, metrics)}
    return RankCurves(ranks, curves, "rank", "metric")


def expectation_curves(metric: str, *, n: int, negatives: Sequence[int], upto: int) -> RankCurves:
    """Give an expected sampled metric against the rank, by number of negatives, and the exact one.

    Negatives are drawn with replacement. Figure 3 of Krichene & Rendle (2020) has one panel for
    each metric, up to rank 1000.

    Examples
    --------
    One negative makes the expectation a line from M(1) to M(2):

    >>> expectation_curves("AP", n=3, negatives=[1], upto=3).curves["m = 1"]
    array([1.  , 0.75, 0.5 ])
    """
    read = rank_metric(metric)
    ranks = np.arange(1, upto + 1)
    alone = {m: Addends.of_metrics([read], m=m, n_orders=1, replace=True) for m in negatives}
    curves = {f"m = {m:,}": _expected(addends, ranks, n) for m, addends in alone.items()}
    curves["exact"] = read(ranks, n=n)
    return RankCurves(ranks, curves, "rank", f"expected {read}", ordered=True)


def _expected(addends: Addends, ranks: NDArray[np.int64], n: int) -> Floats:
    return addends.means(FullRanks.of(ranks, n_candidates=n))[:, 0]


def corrected_curves(
    metric: str, corrected: Mapping[str, Floats], *, n: int, upto: int
) -> tuple[RankCurves, RankCurves]:
    """Give corrected metrics against the rank in the sample, and their expectation by true rank.

    Negatives are drawn with replacement. Figure 4 of Krichene & Rendle (2020) has AP among 10,000
    with 100 negatives, for bias-variance trade-offs and constrained least squares.

    From what each rank in the sample adds by name of the estimator, v, (m + 1,), these are v
    against the rank in the sample, and P v and the metric itself against the true rank among n.

    Examples
    --------
    >>> of_none = {"none": np.array([1.0, 0.5])}
    >>> given, expected = corrected_curves("AP", of_none, n=3, upto=3)
    >>> given.curves["none"], expected.curves["none"]
    (array([1. , 0.5]), array([1.  , 0.75, 0.5 ]))
    """
    read = rank_metric(metric)
    ranks = np.arange(1, upto + 1)
    places = np.arange(1, len(next(iter(corrected.values()))) + 1)
    sizes = np.array([n - 1])
    means = {
        name: _expected(Addends((read,), values.reshape(1, 1, -1, 1), sizes, True), ranks, n)
        for name, values in corrected.items()
    }
    means["exact"] = read(ranks, n=n)
    return (
        RankCurves(places, corrected, "rank in the sample", f"corrected {read}"),
        RankCurves(ranks, means, "rank", f"expected corrected {read}", by_factors=True),
    )
