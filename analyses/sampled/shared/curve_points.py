"""Metrics that are estimated, and the curves over cut-offs that they are points of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import tally
from analyses.sampled.estimators.shared.estimator import Estimator
from analyses.sampled.estimators.shared.nodes import HEAD
from analyses.sampled.estimators.shared.tally import Candidates, Tally
from analyses.sampled.expectation.errors import relative_error
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.shared.measure import Measure, Measures
from qrels import FullRanks

Floats = NDArray[np.float64]

CUTOFFS = range(1, 51)
"""Where a curve is compared with the true one."""


CURVES = ("Recall", "nDCG", "AP")


@dataclass(frozen=True)
class CurvePoints:
    """Metrics, each a point of a curve over the cut-offs 1 to 50 if it has a cut-off.

    Examples
    --------
    >>> from analyses.sampled.expectation.metrics import rank_metric
    >>> points = CurvePoints((rank_metric("AP"), rank_metric("Recall@10")))
    >>> len(points.columns), str(points.columns[2])
    (51, 'Recall@1')
    """

    metrics: tuple[RankMetric, ...]

    @classmethod
    def of_curves(cls, names: Sequence[str | RankMetric]) -> CurvePoints:
        """Take the whole curves of metrics alone, each once, whatever the cut-offs of the names.

        Where no metric has a curve, which AUC has not, they are those that Li et al. (2023) look
        at: Recall, nDCG and AP.

        Raises
        ------
        InputError
            If a name is no metric of ranks.

        Examples
        --------
        >>> [str(metric) for metric in CurvePoints.of_curves(["Recall@10", "AP", "AUC"]).metrics]
        ['Recall@50', 'AP@50']
        """
        cut = [metric for metric in map(rank_metric, names) if metric.name != "AUC"]
        curves = dict.fromkeys(
            replace(m, cutoff=CUTOFFS[-1]) for m in cut or map(rank_metric, CURVES)
        )
        return cls(tuple(curves))

    @property
    def measures(self) -> Measures:
        """The metrics without their cut-offs, as measures."""
        return Measures(Measure(str(replace(metric, cutoff=None))) for metric in self.metrics)

    @cached_property
    def columns(self) -> tuple[RankMetric, ...]:
        """All that is estimated: the metrics, and those of their curves, each once."""
        cut = dict.fromkeys(replace(m, cutoff=None) for m in self.metrics if m.cutoff is not None)
        curves = (replace(metric, cutoff=k) for metric in cut for k in CUTOFFS)
        return tuple(dict.fromkeys((*self.metrics, *curves)))

    @property
    def path(self) -> str:
        """Where sums over ranks are taken: on the grid, unless a cut-off lies below its head."""
        deepest = max(metric.cutoff or 0 for metric in self.columns)
        return "grid" if deepest <= HEAD else "full"

    def count(self, samples: Sequence[SampledRanks], *, n: Candidates) -> Tally:
        """Count repeated samples, once for all estimators."""
        return tally(samples, n=n, path=self.path)

    def estimates(
        self, estimator: Estimator, counted: Tally, *, masses: Floats | None = None
    ) -> Floats:
        """Estimate every column from every sample, of shape (n_samples, n_columns).

        Distributions of the ranks may be given instead of learned; see `Estimator.fit_tally`.
        """
        return estimator.fit_tally(counted, masses=masses).estimates(self.columns)

    def exact(self, ranks: FullRanks) -> Floats:
        """Give every column among all candidates, of shape (n_columns,)."""
        return np.array([metric.exact(ranks) for metric in self.columns])

    def at_metrics(self, values: Floats) -> Floats:
        """Choose the metrics among the columns: (..., n_columns) to (..., n_metrics)."""
        return values[..., [self.columns.index(metric) for metric in self.metrics]]

    def errors(self, values: Floats, truth: Floats) -> Floats:
        """Give the relative error of the curve that each metric is a point of, in per cent.

        From estimates, (n_samples, n_columns), and exact values, (n_columns,): (n_samples,
        n_metrics); NaN for metrics of whole lists, and where the truth is 0 at all cut-offs.
        """
        return np.stack([relative_error(values[:, of], truth[of]) for of in self._curves], axis=-1)

    def zero_cutoffs(self, truth: Floats) -> NDArray[np.int64]:
        """Count the cut-offs of each curve that errors leave out, because the truth is 0."""
        return np.array([(truth[of] == 0).sum() for of in self._curves], dtype=np.int64)

    @cached_property
    def _curves(self) -> list[list[int]]:
        """Find the columns of the curve of each metric; none for a metric of whole lists."""
        places = {metric: place for place, metric in enumerate(self.columns)}
        return [
            [] if metric.cutoff is None else [places[replace(metric, cutoff=k)] for k in CUTOFFS]
            for metric in self.metrics
        ]


def mean_of_known(errors: Floats) -> Floats:
    """Average over the last axis, systems, what is not NaN; NaN if nothing is known.

    Examples
    --------
    >>> mean_of_known(np.array([[4.0, np.nan, 2.0], [np.nan] * 3]))
    array([ 3., nan])
    """
    known = ~np.isnan(errors)
    n_known = known.sum(axis=-1)
    total = np.where(known, errors, 0.0).sum(axis=-1)
    return np.divide(total, n_known, out=np.full(total.shape, np.nan), where=n_known > 0)
