"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analyses.drawing import axes_or_new, categories, draw_whiskers, legend_beside
from analyses.measure import Measure
from analyses.sampled.consistency import DECIMALS, require_same_users
from analyses.sampled.errors import OrderCount, order_count, relative_error, winner_count
from analyses.sampled.estimators import Estimator, find_estimator, tally
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood
from analyses.sampled.estimators.nodes import HEAD
from analyses.sampled.expectation import exact_metric
from analyses.sampled.metrics import RankMetric, rank_metric
from qrels import FullRanks, SampledRanks, sample_ranks
from qrels.sampling import require_negatives
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Value = TypeVar("Value")

METRICS = ("Recall@10", "nDCG@10", "AP", "AUC")
ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "cls(nonnegative=true)",
    "bv(gamma=0.1)",
    "mle(iters=100)",
)
WIDE = 2
"""Estimates further apart than by this factor are drawn on a logarithmic scale."""

CUTOFFS = range(1, 51)
"""Where a curve is compared with the true one."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Exact metrics of systems, and estimates of them from repeated samples.

    Parameters
    ----------
    systems, metrics, estimators
        Names, with options; labels of the axes.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    estimates
        Of shape (n_estimators, n_metrics, n_systems, n_repeats).
    errors
        Relative error of the metric's curve at cut-offs 1 to 50, in per cent, of the same shape;
        NaN for metrics of whole lists, and where the truth is 0 everywhere.
    zero_cutoffs
        Cut-offs that were left out there, because the truth is 0, of shape (n_metrics, n_systems).
    n_users, n_relevant
        Users, and their relevant items.
    candidates
        Smallest and largest number of candidates of a user.
    negatives, replace, seed
        What was sampled: m, whether with replacement, and the seed of the samples.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    exact: Floats
    estimates: Floats
    errors: Floats
    zero_cutoffs: NDArray[np.int64]
    n_users: int
    n_relevant: int
    candidates: tuple[int, int]
    negatives: int
    replace: bool
    seed: int

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.estimates.shape[3]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics, each a panel of the figure."""
        return tuple(Measure(metric) for metric in self.metrics)

    @property
    def mean(self) -> Floats:
        """Mean over the repeats, of shape (n_estimators, n_metrics, n_systems)."""
        return np.asarray(self.estimates.mean(axis=3))

    @property
    def sd(self) -> Floats:
        """Standard deviation over the repeats: the noise of sampling, not that of users."""
        return np.asarray(self.estimates.std(axis=3, ddof=1))

    @property
    def distance(self) -> Floats:
        """Root mean square of estimate minus truth over systems and repeats.

        Bias and noise together, of shape (n_estimators, n_metrics).
        """
        off = self.estimates - self.exact[:, :, np.newaxis]
        return np.asarray(np.sqrt((off**2).mean(axis=(2, 3))))

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each estimator, metric and system.

        Returns
        -------
        Columns system, metric, cutoff, estimator, m, replace, repeats, exact; mean, sd and
        standard_error (of the mean) over the repeats; error and error_sd, the relative error of
        the curve in per cent, and zero_cutoffs, those left out of it.
        """
        import pandas as pd

        shape = self.mean.shape
        labels = pd.DataFrame(
            product(self.estimators, map(rank_metric, self.metrics), self.systems),
            columns=["estimator", "metric", "system"],
        )
        return pd.DataFrame(
            {
                "system": labels["system"],
                **_metric_columns(labels["metric"].to_list()),
                "estimator": labels["estimator"],
                "m": self.negatives,
                "replace": self.replace,
                "repeats": self.n_repeats,
                "exact": np.broadcast_to(self.exact, shape).ravel(),
                "mean": self.mean.ravel(),
                "sd": self.sd.ravel(),
                "standard_error": self.sd.ravel() / np.sqrt(self.n_repeats),
                "error": self.errors.mean(axis=3).ravel(),
                "error_sd": self.errors.std(axis=3, ddof=1).ravel(),
                "zero_cutoffs": np.broadcast_to(self.zero_cutoffs, shape).ravel(),
            }
        )

    def orders(self) -> pd.DataFrame:
        """Count the repeats that have a pair of systems in its true order.

        Returns
        -------
        Columns metric, cutoff, estimator, system_a, system_b, exact_a, exact_b, correct, repeats:
        none of those for systems that truly tie. A tied estimate is not correct.
        """
        return self._counted(
            {
                "system_a": self.systems[a],
                "system_b": self.systems[b],
                "exact_a": truth[a],
                "exact_b": truth[b],
                **_counts(order_count(estimates[a], estimates[b], truth=[truth[a], truth[b]])),
            }
            for estimates, truth in self._cases()
            for a, b in combinations(range(len(self.systems)), 2)
        )

    def winners(self) -> pd.DataFrame:
        """Count the repeats that find the best system.

        Returns
        -------
        Columns metric, cutoff, estimator, winner, correct, repeats, as for :meth:`orders`.
        """
        return self._counted(
            {
                "winner": self.systems[int(truth.argmax())],
                **_counts(winner_count(estimates.T, truth)),
            }
            for estimates, truth in self._cases()
        )

    def in_order(self) -> Floats:
        """Give the share of pairs of systems and repeats that are in the true order.

        Of shape (n_estimators, n_metrics); NaN where there are no pairs but true ties.
        """
        n_pairs = len(self.systems) * (len(self.systems) - 1) // 2
        shape = (len(self.metrics), len(self.estimators), n_pairs)
        if not n_pairs:
            return np.full(shape[1::-1], np.nan)
        found = self.orders()
        correct, repeats = (
            found[name].to_numpy(dtype=float).reshape(shape).sum(axis=2).T
            for name in ("correct", "repeats")
        )
        return np.divide(correct, repeats, out=np.full(shape[1::-1], np.nan), where=repeats > 0)

    def _cases(self) -> Iterator[tuple[Floats, Floats]]:
        """Give estimates, (n_systems, n_repeats), and truth by metric and estimator, rounded."""
        for number, truth in enumerate(self.exact):
            for of_estimator in self.estimates:
                yield np.round(of_estimator[number], DECIMALS), np.round(truth, DECIMALS)

    def _counted(self, rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
        """Put metric and estimator before rows that are in the order of the cases."""
        import pandas as pd

        frame = pd.DataFrame(rows)
        cases = list(product(map(rank_metric, self.metrics), self.estimators))
        labels = [case for case in cases for _ in range(len(frame) // len(cases))]
        columns = _metric_columns([metric for metric, _ in labels])
        columns["estimator"] = [estimator for _, estimator in labels]
        return pd.concat([pd.DataFrame(columns), frame], axis=1)

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw the estimates of a metric against its exact values, a curve for each estimator.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric; the first by default.
        cutoff
            None: cut-offs are part of the names.
        """
        if cutoff is not None or (metric is not None and metric not in self.metrics):
            raise InputError(f"there are {', '.join(self.metrics)} to draw, got {metric}.")
        ax = axes_or_new(ax)
        number = self.metrics.index(metric) if metric else 0
        means, spreads = self.mean[:, number], self.sd[:, number]
        order = self.exact[number].argsort(kind="stable")
        exact = self.exact[number][order]
        ax.plot(exact, exact, color="0.6", linewidth=0.8, label="exact", zorder=0)
        styles = categories(self.estimators)
        for (label, style), mean, sd in zip(styles, means, spreads, strict=True):
            limits = (mean - sd)[order], (mean + sd)[order]
            draw_whiskers(ax, exact, mean[order], limits, style, label=label)
        lowest, highest = min(exact.min(), (means - spreads).min()), (means + spreads).max()
        if lowest > 0 and highest > WIDE * lowest:
            _scale_by_factors(ax)
        ax.set_xlabel("exact")
        ax.set_ylabel("estimated from samples")
        ax.set_title(self.metrics[number])
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        least, most = self.candidates
        n = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        how = "with" if self.replace else "without"
        return (
            f"Metrics of {len(self.systems)} systems estimated from m = {self.negatives:,} "
            f"negatives, sampled uniformly {how} replacement, against the exact ones among all "
            f"n = {n} candidates, of {self.n_relevant:,} relevant items of {self.n_users:,} users: "
            f"mean and standard deviation over {self.n_repeats:,} samples of the negatives, not of "
            f"the users, seed {self.seed}. A falling curve has systems in the wrong order. Ties "
            "are settled as in the full ranks; corrections use the mean number of candidates. "
            f"Estimators: {'; '.join(self.estimators)}."
        )


def _metric_columns(metrics: Sequence[RankMetric]) -> dict[str, Any]:
    import pandas as pd

    return {
        "metric": [str(replace(metric, cutoff=None)) for metric in metrics],
        "cutoff": pd.array([metric.cutoff for metric in metrics], dtype="Int64"),
    }


def _counts(count: OrderCount) -> dict[str, int]:
    return {"correct": count.n_correct, "repeats": count.n_repeats}


def _scale_by_factors(ax: Axes) -> None:
    """Draw on a logarithmic scale with a few plain numbers beside it."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def study_correction(
    systems: Mapping[str, FullRanks],
    *,
    metrics: Sequence[str | RankMetric] = METRICS,
    estimators: Sequence[str | Estimator] = ESTIMATORS,
    negatives: int = 100,
    replace: bool = True,
    repeats: int = 100,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> Sampled:
    """Sample negatives again and again, and estimate the exact metrics from every sample.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items.
    metrics
        Metrics of ranks.
    estimators
        Names or values; see :mod:`analyses.sampled.estimators`.
    negatives, replace
        Negatives sampled for each user, the relevant items not counted, and how.
    repeats, seed
        Samples, at least 2, and their seed; all systems share their random numbers.
    n_jobs
        Threads; results do not depend on it.
    advance
        Called when a system is done.

    Raises
    ------
    InputError
        If a name or number makes no sense, systems have different users, or an estimator is not
        for uniform samples of one size.

    Notes
    -----
    Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 and 3.

    Examples
    --------
    All four negatives of five candidates, without replacement, leave nothing to chance:

    >>> systems = {"one": FullRanks.of([1, 4], n_candidates=5)}
    >>> asked = {"metrics": ["AP"], "estimators": ["uncorrected"], "replace": False}
    >>> study_correction(systems, **asked, negatives=4, repeats=2, seed=1).estimates.ravel()
    array([0.625, 0.625])
    """
    require_same_users(systems)
    if repeats < 2:
        raise InputError(f"`repeats` must be at least 2, got {repeats}.")
    first = next(iter(systems.values()))
    if not len(first):
        raise InputError("the systems have no ranks.")
    require_negatives(negatives, first.n_irrelevant)
    plan = _Plan(read_metrics(metrics), read_estimators(estimators), negatives, replace, seed)
    workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found = []
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with threadpool_limits(1, user_api="blas"):
        for each in workers(delayed(plan.estimate)(s, repeats) for s in systems.values()):
            found.append(each)
            advance()
    estimates, errors, zeros = (np.stack(parts, axis=-1) for parts in zip(*found, strict=True))
    return Sampled(
        systems=tuple(systems),
        metrics=tuple(map(str, plan.metrics)),
        estimators=tuple(map(str, plan.estimators)),
        exact=np.array([[exact_metric(m, s) for s in systems.values()] for m in plan.metrics]),
        estimates=estimates.swapaxes(2, 3),
        errors=errors.swapaxes(2, 3),
        zero_cutoffs=zeros,
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        candidates=(int(first.n_candidates.min()), int(first.n_candidates.max())),
        negatives=negatives,
        replace=replace,
        seed=seed,
    )


def read_metrics(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Read metrics of ranks.

    Raises
    ------
    InputError
        If one is none or stands twice, or there is none.
    """
    return _distinct([rank_metric(name) for name in names], "metric")


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators for samples of one size.

    Raises
    ------
    InputError
        If one is none, needs other samples or stands twice, or there is none.
    """
    read = _distinct([find_estimator(name) for name in names], "estimator")
    for estimator in read:
        if isinstance(estimator, HorvitzThompson):
            raise InputError(f"{estimator} is for samples of a proposal, and these are uniform.")
        if isinstance(estimator, AdaptiveMaximumLikelihood):
            raise InputError(
                f"{estimator} is for adaptive samples, and these are of one size: take mle."
            )
    return read


def _distinct(values: Sequence[Value], what: str) -> tuple[Value, ...]:
    if not values:
        raise InputError(f"there must be at least one {what}.")
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f"the {what} {value} stands twice.")
    return tuple(values)


@dataclass(frozen=True)
class _Plan:
    """What is estimated from the samples of each system; see :func:`study_correction`."""

    metrics: tuple[RankMetric, ...]
    estimators: tuple[Estimator, ...]
    negatives: int
    replace: bool
    seed: int

    @property
    def curves(self) -> tuple[RankMetric, ...]:
        """The metrics with a cut-off, at every cut-off that errors are taken over."""
        cut = dict.fromkeys(replace(m, cutoff=None) for m in self.metrics if m.cutoff is not None)
        return tuple(replace(metric, cutoff=k) for metric in cut for k in CUTOFFS)

    def estimate(self, ranks: FullRanks, repeats: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Give estimates and errors, (n_estimators, n_metrics, n_repeats), and cut-offs of 0."""
        asked = tuple(dict.fromkeys((*self.metrics, *self.curves)))
        deepest = max(metric.cutoff or 0 for metric in asked)
        samples = [self._sample(ranks, repeat) for repeat in range(repeats)]
        counted = tally(samples, n="mean", path="grid" if deepest <= HEAD else "full")
        truth = np.array([exact_metric(metric, ranks) for metric in asked])
        values = np.array([e.fit_tally(counted).estimates(asked) for e in self.estimators])
        errors = np.array([[self._errors(asked, row, truth) for row in of] for of in values])
        places = [asked.index(metric) for metric in self.metrics]
        zeros = [int((truth[self._curve(asked, m)] == 0).sum()) for m in self.metrics]
        return values[:, :, places].swapaxes(1, 2), errors.swapaxes(1, 2), np.array(zeros)

    def _sample(self, ranks: FullRanks, repeat: int) -> SampledRanks:
        return sample_ranks(
            ranks.rank,
            n_candidates=ranks.n_candidates,
            m=self.negatives,
            seed=self.seed,
            repeat=repeat,
            replace=self.replace,
            user=ranks.user,
        )

    def _errors(self, asked: Sequence[RankMetric], values: Floats, truth: Floats) -> list[float]:
        """Give the relative error of the curve that each metric is a point of."""
        curves = [self._curve(asked, metric) for metric in self.metrics]
        return [relative_error(values[curve], truth[curve]).value for curve in curves]

    def _curve(self, asked: Sequence[RankMetric], metric: RankMetric) -> list[int]:
        """Find the places of a metric at all cut-offs; none for a metric of whole lists."""
        if metric.cutoff is None:
            return []
        return [asked.index(replace(metric, cutoff=k)) for k in CUTOFFS]
