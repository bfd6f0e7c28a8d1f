"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analyses.sampled.curve_points import CurvePoints
from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood
from analyses.sampled.expectation.candidates import in_words, whose
from analyses.sampled.expectation.crossings import (
    DECIMALS,
    refuse_whole_precision,
    require_same_users,
)
from analyses.sampled.expectation.designs import Adaptive, Design, FixedSize, scores_per_user
from analyses.sampled.expectation.errors import OrderCount, order_count, winner_count
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    draw_whiskers,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.measure import Measure
from qrels import FullRanks
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
    scored
        Mean number of items scored for a user, of shape (n_estimators, n_systems): those of the
        sample, the relevant ones included.
    candidates
        Smallest and largest number of candidates of a user.
    corrected_for
        Whether corrections take the ``"mean"`` number of candidates or that of the ``"users"``.
    negatives, replace, seed
        What was sampled: m, whether with replacement, and the seed of the samples.
    n_max
        Largest adaptive sample, for estimators that ask for those; 0 if there are none.
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
    scored: Floats
    candidates: tuple[int, int]
    corrected_for: str
    negatives: int
    replace: bool
    seed: int
    n_max: int

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
        Columns system, metric, cutoff, estimator, m, replace, scored (items for each user),
        repeats, exact; mean, sd and standard_error (of the mean) over the repeats; error and
        error_sd, the relative error of the curve in per cent, and zero_cutoffs, those left out.
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
                "scored": np.broadcast_to(self.scored[:, np.newaxis], shape).ravel(),
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
        number = chosen_panel(self.metrics, metric, cutoff)
        ax = axes_or_new(ax)
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
            scale_by_factors(ax, along="y")
        ax.set_xlabel("exact")
        ax.set_ylabel("estimated from samples")
        ax.set_title(self.metrics[number])
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        n = in_words(self.candidates)
        how = "with" if self.replace else "without"
        return (
            f"Metrics of {len(self.systems)} systems estimated from m = {self.negatives:,} "
            f"negatives, sampled uniformly {how} replacement, against the exact ones among all "
            f"n = {n} candidates, of {self.n_relevant:,} relevant items of {self.n_users:,} users: "
            f"mean and standard deviation over {self.n_repeats:,} samples of the negatives, not of "
            f"the users, seed {self.seed}. A falling curve has systems in the wrong order. Ties "
            f"are settled as in the full ranks; corrections use {whose(self.corrected_for)}. "
            f"{self._of_adaptive()}Estimators: {'; '.join(self.estimators)}."
        )

    def _of_adaptive(self) -> str:
        if not self.n_max:
            return ""
        return (
            f"Adaptive samples start with the relevant item and {self.negatives:,} negatives, "
            f"drawn with replacement, and double up to {self.n_max:,} items while it is the first. "
        )


def _metric_columns(metrics: Sequence[RankMetric]) -> dict[str, Any]:
    import pandas as pd

    return {
        "metric": [str(replace(metric, cutoff=None)) for metric in metrics],
        "cutoff": pd.array([metric.cutoff for metric in metrics], dtype="Int64"),
    }


def _counts(count: OrderCount) -> dict[str, int]:
    return {"correct": count.n_correct, "repeats": count.n_repeats}


def study_correction(
    systems: Mapping[str, FullRanks],
    *,
    metrics: Sequence[str | RankMetric] = METRICS,
    estimators: Sequence[str | Estimator] = ESTIMATORS,
    negatives: int = 100,
    replace: bool = True,
    n_max: int | None = None,
    corrected_for: Literal["mean", "users"] = "mean",
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
        Names or values; see :mod:`analyses.sampled.estimators`. Those for adaptive samples are
        given such.
    negatives, replace
        Negatives sampled for each user, the relevant items not counted, and how.
    n_max
        What adaptive samples, which start with these negatives and the relevant item, grow to; by
        default 32 times as much, or a third of the candidates.
    corrected_for
        Whether corrections take the mean number of candidates, or the users' own.
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
        for uniform samples.

    Notes
    -----
    Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3.

    Examples
    --------
    All four negatives of five candidates, without replacement, leave nothing to chance:

    >>> systems = {"one": FullRanks.of([1, 4], n_candidates=5)}
    >>> asked = {"metrics": ["AP"], "estimators": ["uncorrected"], "replace": False}
    >>> study_correction(systems, **asked, negatives=4, repeats=2, seed=1).estimates.ravel()
    array([0.625, 0.625])
    """
    require_repeats(repeats)
    first = first_of(systems)
    read, points = read_estimators(estimators), CurvePoints(read_metrics(metrics))
    designs = designs_for(read, first, negatives=negatives, replace=replace, n_max=n_max)
    plan = _Plan(points, designs, corrected_for, seed)
    found = each_system(
        lambda ranks: plan.estimate(ranks, repeats), systems, n_jobs=n_jobs, advance=advance
    )
    estimates, errors, zeros, scored = (
        np.stack(parts, axis=-1) for parts in zip(*found, strict=True)
    )
    return Sampled(
        systems=tuple(systems),
        metrics=tuple(map(str, points.metrics)),
        estimators=tuple(map(str, read)),
        exact=np.array([points.at_metrics(points.exact(s)) for s in systems.values()]).T,
        estimates=np.moveaxis(estimates, 1, -1),
        errors=np.moveaxis(errors, 1, -1),
        zero_cutoffs=zeros,
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        scored=scored,
        candidates=(int(first.n_candidates.min()), int(first.n_candidates.max())),
        corrected_for=corrected_for,
        negatives=negatives,
        replace=replace,
        seed=seed,
        n_max=max((d.n_max for d in designs.values() if isinstance(d, Adaptive)), default=0),
    )


def each_system(
    work: Callable[[FullRanks], Value],
    systems: Mapping[str, FullRanks],
    *,
    n_jobs: int,
    advance: Callable[[], object],
) -> list[Value]:
    """Do the same work for each system, in threads, and say when one is done."""
    workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found = []
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with threadpool_limits(1, user_api="blas"):
        for each in workers(delayed(work)(ranks) for ranks in systems.values()):
            found.append(each)
            advance()
    return found


def first_of(systems: Mapping[str, FullRanks]) -> FullRanks:
    """Give the ranks of the first system, whose users are those of all others.

    Raises
    ------
    InputError
        If there are no ranks, or users differ.
    """
    require_same_users(systems)
    first = next(iter(systems.values()))
    if not len(first):
        raise InputError("the systems have no ranks.")
    return first


def require_repeats(repeats: int) -> None:
    """Refuse so few samples that they have no standard deviation.

    Raises
    ------
    InputError
        If there are fewer than two.
    """
    if repeats < 2:
        raise InputError(f"`repeats` must be at least 2, got {repeats}.")


def designs_for(
    estimators: Sequence[Estimator],
    ranks: FullRanks,
    *,
    negatives: int,
    replace: bool,
    n_max: int | None,
) -> dict[Estimator, Design]:
    """Give each estimator the samples that it is for.

    Raises
    ------
    InputError
        If the users of these ranks cannot be sampled so.
    """
    fixed = FixedSize(negatives, replace)
    fixed.check(ranks)
    adaptive = Adaptive.suited(ranks, n0=negatives + 1, n_max=n_max)
    designs: dict[Estimator, Design] = {
        each: adaptive if takes(each, adaptive) else fixed for each in estimators
    }
    for design in dict.fromkeys(designs.values()):
        design.check(ranks)
    return designs


def takes(estimator: Estimator, design: Design) -> bool:
    """Say whether an estimator is for such samples: adaptive ones for adaptive, else others.

    Examples
    --------
    >>> takes(find_estimator("adaptive-mle"), FixedSize(100))
    False
    """
    return isinstance(estimator, AdaptiveMaximumLikelihood) == isinstance(design, Adaptive)


def read_metrics(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Read metrics of ranks.

    Raises
    ------
    InputError
        If one is none, stands twice or tells no systems apart, or there is none.
    """
    read = distinct([rank_metric(name) for name in names], "metric")
    for metric in read:
        refuse_whole_precision(metric)
    return read


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators for uniform samples.

    Raises
    ------
    InputError
        If one is none, needs other samples or stands twice, or there is none.
    """
    read = distinct([find_estimator(name) for name in names], "estimator")
    for estimator in read:
        if isinstance(estimator, HorvitzThompson):
            raise InputError(f"{estimator} is for samples of a proposal, and these are uniform.")
    return read


def distinct(values: Sequence[Value], what: str) -> tuple[Value, ...]:
    """Give values, of which each must be another.

    Raises
    ------
    InputError
        If one stands twice, or there is none.
    """
    if not values:
        raise InputError(f"there must be at least one {what}.")
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f"the {what} {value} stands twice.")
    return tuple(values)


@dataclass(frozen=True)
class _Plan:
    """What is estimated from the samples of each system; see :func:`study_correction`."""

    points: CurvePoints
    designs: Mapping[Estimator, Design]
    corrected_for: Literal["mean", "users"]
    seed: int

    def estimate(
        self, ranks: FullRanks, repeats: int
    ) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Estimate the metrics of a system.

        Returns
        -------
        Estimates and errors, (n_estimators, n_repeats, n_metrics); cut-offs where the truth is 0,
        (n_metrics,); and items scored for a user, (n_estimators,).
        """
        truth = self.points.exact(ranks)
        tallies, scored = {}, {}
        for design in dict.fromkeys(self.designs.values()):
            samples = [design.draw(ranks, seed=self.seed, repeat=r) for r in range(repeats)]
            tallies[design] = self.points.count(samples, n=self.corrected_for)
            scored[design] = np.mean([scores_per_user(sample) for sample in samples])
        values = [self.points.estimates(e, tallies[design]) for e, design in self.designs.items()]
        return (
            self.points.at_metrics(np.array(values)),
            np.array([self.points.errors(of, truth) for of in values]),
            self.points.zero_cutoffs(truth),
            np.array([scored[design] for design in self.designs.values()]),
        )
