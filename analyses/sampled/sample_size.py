"""Expected metrics against the number of negatives: uncorrected and corrected, not simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.drawing import axes_or_new, categories, legend_beside
from analyses.sampled.consistency import (
    DECIMALS,
    ordering_of,
    print_ordering,
    require_same_users,
)
from analyses.sampled.correction import METRICS, read_metrics
from analyses.sampled.estimators import Estimator, bv, uncorrected
from analyses.sampled.expectation import estimate_moments, exact_metric
from analyses.sampled.metrics import RankMetric
from qrels import FullRanks, SampledRanks
from qrels.sampling import require_negatives
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampleSize:
    """Expected estimates of metrics for some numbers of negatives.

    Parameters
    ----------
    systems, metrics, estimators, negatives
        Labels of the axes.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    expected
        Of shape (n_estimators, n_metrics, n_systems, n_sizes).
    replace
        Whether negatives are drawn with replacement.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    expected: Floats
    replace: bool

    def to_frame(self) -> pd.DataFrame:
        """Give rows of estimator, metric, system, m, expected, exact."""
        import pandas as pd

        frame = pd.DataFrame(
            product(self.estimators, self.metrics, self.systems, self.negatives),
            columns=["estimator", "metric", "system", "m"],
        )
        exact = np.broadcast_to(self.exact[..., np.newaxis], self.expected.shape)
        return frame.assign(expected=self.expected.ravel(), exact=exact.ravel())

    def crossings(self) -> pd.DataFrame:
        """Say from which number of negatives on, of those looked at, systems are ordered how.

        Returns
        -------
        Columns estimator, metric, m, ordering, and whether it is the exact one.
        """
        import pandas as pd

        rows = []
        for (e, estimator), (n, metric) in product(
            enumerate(self.estimators), enumerate(self.metrics)
        ):
            truth = self._ordering(self.exact[n])
            met = [
                (self._ordering(v), m)
                for v, m in zip(self.expected[e, n].T, self.negatives, strict=True)
            ]
            for ordering, group in groupby(met, key=lambda each: each[0]):
                rows.append((estimator, metric, next(group)[1], ordering, ordering == truth))
        return pd.DataFrame(rows, columns=["estimator", "metric", "m", "ordering", "exact"])

    def _ordering(self, values: Floats) -> str:
        return print_ordering(ordering_of(self.systems, np.round(values, DECIMALS)))

    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw one metric against the negatives: uncorrected, corrected (dashed), exact (dotted).

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric; the first by default.
        """
        ax = axes_or_new(ax)
        number = self.metrics.index(metric) if metric else 0
        for place, (label, style) in enumerate(categories(self.systems)):
            colour = style["color"]
            for estimator, dash in enumerate(("-", "--")):
                curve = self.expected[estimator, number, place]
                name = label if estimator == 0 else None
                ax.plot(self.negatives, curve, color=colour, linestyle=dash, label=name)
            ax.axhline(self.exact[number, place], color=colour, linestyle=":", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlabel("sampled negatives")
        ax.set_ylabel(f"expected {self.metrics[number]}")
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        return (
            f"Expected estimates from m sampled negatives, drawn {how} replacement, against m: "
            f"{self.estimators[0]} (solid) and {self.estimators[1]} (dashed), and the exact values "
            "(dotted). Not simulated; corrections use the mean number of candidates."
        )


def study_sample_size(
    systems: Mapping[str, FullRanks],
    *,
    negatives: Sequence[int],
    metrics: Sequence[str | RankMetric] = METRICS,
    gamma: float = 0.1,
    replace: bool = True,
) -> SampleSize:
    """Expect metrics of systems from samples of several sizes, without simulation.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users, with one relevant item each.
    negatives
        Numbers of negatives, rising.
    metrics
        Metrics of ranks.
    gamma
        Of the correction BV with a uniform prior, beside the uncorrected metric.
    replace
        Whether negatives are drawn with replacement.

    Raises
    ------
    InputError
        If users have several relevant items or differ between systems, or a number makes no sense.

    Notes
    -----
    Krichene & Rendle (2020), figure 6.

    Examples
    --------
    All four negatives of five candidates give the exact metric:

    >>> systems = {"one": FullRanks.of([1, 4], n_candidates=5)}
    >>> found = study_sample_size(systems, negatives=[1, 4], metrics=["AP"], replace=False)
    >>> found.expected[0].ravel().round(4), found.exact.ravel()
    (array([0.8125, 0.625 ]), array([0.625]))
    """
    require_same_users(systems)
    if not negatives or sorted(set(negatives)) != list(negatives):
        raise InputError(f"`negatives` must rise, got {list(negatives)}.")
    first = next(iter(systems.values()))
    if (first.n_relevant > 1).any():
        raise InputError("expected corrections are of users with one relevant item each.")
    for m in (negatives[0], negatives[-1]):
        require_negatives(m, first.n_irrelevant)
    read, estimators = read_metrics(metrics), (uncorrected(), bv(gamma))
    expected = [
        [
            [_means(estimator, metric, systems, m=m, replace=replace) for m in negatives]
            for metric in read
        ]
        for estimator in estimators
    ]
    return SampleSize(
        systems=tuple(systems),
        metrics=tuple(map(str, read)),
        estimators=tuple(map(str, estimators)),
        negatives=tuple(negatives),
        exact=np.array([[exact_metric(m, s) for s in systems.values()] for m in read]),
        expected=np.array(expected).swapaxes(2, 3),
        replace=replace,
    )


def _means(
    estimator: Estimator,
    metric: RankMetric,
    systems: Mapping[str, FullRanks],
    *,
    m: int,
    replace: bool,
) -> list[float]:
    """Expect the estimate of each system, corrected for the mean number of candidates."""
    first = next(iter(systems.values()))
    n_mean = max(round(float(first.n_candidates.mean())), m + 1)
    sample = SampledRanks.of([1], n_negatives=m, n_candidates=n_mean, replace=replace)
    values = estimator.fit(sample, path="full").corrected(metric)
    return [_mean(values, ranks, replace=replace) for ranks in systems.values()]


def _mean(values: Floats, ranks: FullRanks, *, replace: bool) -> float:
    """Expect the mean over the users of corrected values; equal ranks are looked at once."""
    sizes = np.unique(ranks.n_candidates)
    n = int(sizes[0]) if len(sizes) == 1 else ranks.n_candidates
    return float(estimate_moments(values, ranks.rank, n=n, replace=replace).mean)
