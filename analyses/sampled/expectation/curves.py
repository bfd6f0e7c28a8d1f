"""Metrics as functions of the rank: exact, expected under sampling, and corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.moments import expected_metric, sampled_moments
from analyses.shared.drawing import axes_or_new, categories, gradations, legend_beside

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankCurves:
    """Functions of a rank.

    Parameters
    ----------
    ranks
        The ranks, from 1, of shape (n_ranks,).
    curves
        Values by name of the curve, each of shape (n_ranks,).
    rank_label, value_label
        What the ranks and the values are.
    ordered
        Whether the names have an order, such as sample sizes.
    by_factors
        Whether ranks are drawn on a logarithmic scale.
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

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each curve and rank: curve, rank, value."""
        import pandas as pd

        return pd.DataFrame(
            {
                "curve": np.repeat([*self.curves], len(self.ranks)),
                "rank": np.tile(self.ranks, len(self.curves)),
                "value": np.concatenate([*self.curves.values()]),
            }
        )

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


def metric_curves(
    metrics: Sequence[str | RankMetric], *, n: int, upto: int | None = None
) -> RankCurves:
    """Give exact metrics against the rank of the relevant item.

    Figure 1 of Krichene & Rendle (2020) has all ranks beside the first 100.

    Parameters
    ----------
    metrics
        Metrics of ranks.
    n
        Candidates.
    upto
        The last rank; n by default.

    Examples
    --------
    >>> metric_curves(["AP"], n=9, upto=2).to_frame()
      curve  rank  value
    0    AP     1    1.0
    1    AP     2    0.5
    """
    ranks = np.arange(1, (upto or n) + 1)
    read = [rank_metric(metric) for metric in metrics]
    curves = {str(metric): metric(ranks, n=n) for metric in read}
    return RankCurves(ranks, curves, "rank", "metric")


def expectation_curves(
    metric: str | RankMetric,
    *,
    n: int,
    negatives: Sequence[int],
    replace: bool = True,
    upto: int | None = None,
) -> RankCurves:
    """Give an expected sampled metric against the rank, by number of negatives, and the exact one.

    Figure 3 of Krichene & Rendle (2020) has one panel for each metric, up to rank 1000.

    Parameters
    ----------
    metric
        A metric of ranks.
    n
        Candidates.
    negatives
        Numbers of sampled negatives.
    replace
        Whether they are drawn with replacement.
    upto
        The last rank; n by default.

    Examples
    --------
    One negative makes the expectation a line from M(1) to M(2):

    >>> expectation_curves("AP", n=3, negatives=[1]).curves["m = 1"]
    array([1.  , 0.75, 0.5 ])
    """
    read = rank_metric(metric)
    ranks = np.arange(1, (upto or n) + 1)
    curves = {
        f"m = {m:,}": expected_metric(read, ranks, n=n, m=m, replace=replace) for m in negatives
    }
    curves["exact"] = read(ranks, n=n)
    return RankCurves(ranks, curves, "rank", f"expected {read}", ordered=True)


def corrected_curves(
    metric: str | RankMetric,
    corrected: Mapping[str, Floats],
    *,
    n: int,
    replace: bool = True,
    upto: int | None = None,
) -> tuple[RankCurves, RankCurves]:
    """Give corrected metrics against the rank in the sample, and their expectation by true rank.

    Figure 4 of Krichene & Rendle (2020) has AP among 10,000 with 100 negatives, for bias-variance
    trade-offs and constrained least squares.

    Parameters
    ----------
    metric
        A metric of ranks.
    corrected
        By name of the estimator, what each rank in the sample adds, v, of shape (m + 1,).
    n
        Candidates.
    replace
        Whether negatives are drawn with replacement.
    upto
        The last true rank; n by default.

    Returns
    -------
    v against the rank in the sample; P v, and the metric itself, against the true rank.

    Examples
    --------
    >>> given, expected = corrected_curves("AP", {"none": np.array([1.0, 0.5])}, n=3)
    >>> given.curves["none"], expected.curves["none"]
    (array([1. , 0.5]), array([1.  , 0.75, 0.5 ]))
    """
    read = rank_metric(metric)
    ranks = np.arange(1, (upto or n) + 1)
    n_places = len(next(iter(corrected.values())))
    means = {
        name: sampled_moments(values, ranks, n=n, replace=replace).mean
        for name, values in corrected.items()
    }
    return (
        RankCurves(
            np.arange(1, n_places + 1), corrected, "rank in the sample", f"corrected {read}"
        ),
        RankCurves(
            ranks,
            means | {"exact": read(ranks, n=n)},
            "rank",
            f"expected corrected {read}",
            by_factors=True,
        ),
    )
