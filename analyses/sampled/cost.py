"""How far estimates are off, against what their samples cost: scores computed for a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.curve_points import CURVES, CUTOFFS, CurvePoints, mean_of_known
from analyses.sampled.estimates import (
    each_system,
    first_of,
    read_estimators,
    require_repeats,
    takes,
)
from analyses.sampled.estimators import Estimator
from analyses.sampled.expectation.candidates import in_words, whose
from analyses.sampled.expectation.designs import (
    Adaptive,
    Design,
    FixedSize,
    first_size,
    require_rising,
    scores_per_user,
    sizes_suited,
)
from analyses.sampled.expectation.metrics import RankMetric
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.measure import Measure
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "bv(gamma=0.1)",
    "bv(gamma=0.01)",
    "mle(iters=100)",
)
ADAPTIVE_ESTIMATORS = ("adaptive-mle(iters=50)",)


@dataclass(frozen=True, eq=False)
class Cost:
    """Errors of estimates from samples of several sizes, and the items scored for them.

    Parameters
    ----------
    systems, metrics, estimators, samples
        Names; labels of the axes. Metrics are curves over cut-offs and have none in their name.
    takes
        Whether an estimator is for such samples, of shape (n_estimators, n_samples).
    scored
        Mean number of items scored for a user, the relevant ones included, of shape
        (n_samples, n_systems).
    errors
        Relative error of the metric's curve at cut-offs 1 to 50, in per cent, of shape
        (n_estimators, n_samples, n_metrics, n_systems, n_repeats); NaN where the estimator is not
        for such samples, and where the truth is 0 at all cut-offs.
    zero_cutoffs
        Cut-offs that were left out, because the truth is 0, of shape (n_metrics, n_systems).
    n_users, n_relevant
        Users, and their relevant items.
    candidates
        Smallest and largest number of candidates of a user.
    mean_candidates
        Their mean over the users: what an exact metric scores.
    corrected_for
        Whether corrections take the ``"mean"`` number of candidates or that of the ``"users"``.
    replace, seed
        Whether samples of one size are drawn with replacement, and the seed of all.
    n_max
        Largest adaptive sample; 0 if there are none.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    samples: tuple[str, ...]
    takes: NDArray[np.bool_]
    scored: Floats
    errors: Floats
    zero_cutoffs: NDArray[np.int64]
    n_users: int
    n_relevant: int
    candidates: tuple[int, int]
    mean_candidates: float
    corrected_for: str
    replace: bool
    seed: int
    n_max: int

    @property
    def n_repeats(self) -> int:
        """Samples of each size, for each system."""
        return self.errors.shape[-1]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics, each a panel of the figure."""
        return tuple(Measure(metric) for metric in self.metrics)

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each system, metric, estimator and sample that it is for.

        Returns
        -------
        Columns system, metric, estimator, sample; scored, the mean number of items scored for a
        user, and share, that of the candidates; error and error_sd over the repeats, in per cent;
        zero_cutoffs, the cut-offs left out.
        """
        import pandas as pd

        shape = self.errors.shape[:-1]
        scored = np.broadcast_to(self.scored[:, np.newaxis], shape)
        takes = np.broadcast_to(self.takes[:, :, np.newaxis, np.newaxis], shape)
        labels = pd.DataFrame(
            product(self.estimators, self.samples, self.metrics, self.systems),
            columns=["estimator", "sample", "metric", "system"],
        )
        frame = labels[["system", "metric", "estimator", "sample"]].assign(
            scored=scored.ravel(),
            share=scored.ravel() / self.mean_candidates,
            error=self.errors.mean(axis=-1).ravel(),
            error_sd=self.errors.std(axis=-1, ddof=1).ravel(),
            zero_cutoffs=np.broadcast_to(self.zero_cutoffs, shape).ravel(),
        )
        return frame[takes.ravel()].reset_index(drop=True)

    def mean_errors(self) -> Floats:
        """Mean over systems and repeats, of shape (n_estimators, n_samples, n_metrics).

        Systems whose truth is 0 at all cut-offs have no error and do not count; NaN if all are so.
        """
        return mean_of_known(self.errors.mean(axis=-1))

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw errors of a metric's curve against items scored, a curve for each estimator.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric; the first by default.
        cutoff
            None: errors are those of whole curves.
        """
        number = chosen_panel(self.metrics, metric, cutoff)
        ax = axes_or_new(ax)
        errors, scored = self.mean_errors()[..., number], self.scored.mean(axis=1)
        # No error at all has no place on a logarithmic axis.
        errors = np.where(errors > 0, errors, np.nan)
        for (label, style), of_estimator, taken in zip(
            categories(self.estimators), errors, self.takes, strict=True
        ):
            ax.plot(scored[taken], of_estimator[taken], label=label, **style)
        scale_by_factors(ax, along="x")
        scale_by_factors(ax, along="y")
        ax.set_xlabel("items scored for a user")
        ax.set_ylabel("relative error, %")
        ax.set_title(self.metrics[number])
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        n = in_words(self.candidates)
        how = "with" if self.replace else "without"
        return (
            f"Relative error of estimated curves of {', '.join(self.metrics)} at cut-offs "
            f"{CUTOFFS[0]} to {CUTOFFS[-1]}, in per cent, against the items scored for a user, the "
            f"relevant ones included: mean over {len(self.systems)} systems and {self.n_repeats:,} "
            f"samples of each size, seed {self.seed}, for {self.n_relevant:,} relevant items of "
            f"{self.n_users:,} users. Exact metrics score all n = {n} candidates, in the mean "
            f"{self.mean_candidates:,.0f}. Samples: "
            f"{'; '.join(self.samples)}. Those of m negatives are drawn uniformly {how} "
            f"replacement. {self._of_adaptive()}{self._of_zeros()}"
            f"Corrections use {whose(self.corrected_for)}. "
            f"Estimators: {'; '.join(self.estimators)}."
        )

    def _of_adaptive(self) -> str:
        if self.n_relevant > self.n_users:
            return "Adaptive samples are left out: they are for users with one relevant item each. "
        if not self.n_max:
            return ""
        return (
            "Adaptive ones, drawn with replacement, double from their first size up to their last "
            f"({self.n_max:,} items at most) while the relevant item is the first. "
        )

    def _of_zeros(self) -> str:
        if not self.zero_cutoffs.any():
            return ""
        return (
            f"Cut-offs where the truth is 0, up to {self.zero_cutoffs.max()} of a curve, are left "
            "out. "
        )


def study_cost(
    systems: Mapping[str, FullRanks],
    *,
    metrics: Sequence[str | RankMetric] = CURVES,
    estimators: Sequence[str | Estimator] | None = None,
    negatives: Sequence[int] | None = None,
    replace: bool = True,
    n0: int | None = None,
    n_max: int | None = None,
    corrected_for: Literal["mean", "users"] = "mean",
    repeats: int = 20,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> Cost:
    r"""Sample negatives, few and many, and compare estimated curves with the exact ones.

    The error of a curve is

    .. math:: 100 \cdot \mathrm{mean}_{K = 1 .. 50} \frac{|\hat M@K - M@K|}{M@K}

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items.
    metrics
        Metrics of ranks; their curves are looked at, whatever their cut-off.
    estimators
        Names or values; see :mod:`analyses.sampled.estimators`. By default ``ESTIMATORS``, and
        ``ADAPTIVE_ESTIMATORS`` where users have one relevant item each. With thousands of
        negatives ``mn`` takes much longer than all of these, a quarter of a minute for a system.
    negatives, replace
        Numbers of negatives, rising, the relevant items not counted, and how they are sampled; by
        default 10, 20, 50, 100, ... up to a third of the fewest candidates.
    n0, n_max
        What adaptive samples start with, the relevant item included, by default 100 items if
        candidates are three times as many, and grow to at most, by default 32 times as much, or a
        third of the candidates; smaller ends on the way are studied, too.
    corrected_for
        Whether corrections take the mean number of candidates, or the users' own.
    repeats, seed
        Samples of each size, at least 2, and their seed; all systems share their random numbers.
    n_jobs
        Threads; results do not depend on it.
    advance
        Called when a system is done.

    Raises
    ------
    InputError
        If a name or number makes no sense, systems have different users, an estimator is not for
        uniform samples, or one for adaptive samples is asked for users with several relevant items.

    Notes
    -----
    Li et al. (2023), tables 1 and 2.

    Examples
    --------
    Two negatives, or all four; those, without replacement, leave no error:

    >>> systems = {"one": FullRanks.of([1, 4], n_candidates=5)}
    >>> asked = {"metrics": ["Recall@1"], "estimators": ["uncorrected"], "replace": False}
    >>> found = study_cost(systems, **asked, negatives=[2, 4], repeats=2, seed=1)
    >>> found.samples, found.scored.ravel(), found.mean_errors()[0, 1]
    (('m = 2', 'm = 4'), array([3., 5.]), array([0.]))
    """
    require_repeats(repeats)
    first = first_of(systems)
    read = read_estimators(_suited_estimators(first) if estimators is None else estimators)
    points = CurvePoints.of_curves(metrics)
    designs = _designs(first, read, negatives=negatives, replace=replace, n0=n0, n_max=n_max)
    plan = _Plan(points, read, designs, corrected_for, repeats, seed)
    found = each_system(plan.compare, systems, n_jobs=n_jobs, advance=advance)
    scored, errors, zeros = (np.stack(parts, axis=-1) for parts in zip(*found, strict=True))
    return Cost(
        systems=tuple(systems),
        metrics=points.names,
        estimators=tuple(map(str, read)),
        samples=tuple(map(str, designs)),
        takes=np.array([[takes(each, design) for design in designs] for each in read]),
        scored=scored,
        errors=np.ascontiguousarray(errors.transpose(1, 0, 3, 4, 2)),
        zero_cutoffs=zeros,
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        candidates=(int(first.n_candidates.min()), int(first.n_candidates.max())),
        mean_candidates=_mean_candidates(first),
        corrected_for=corrected_for,
        replace=replace,
        seed=seed,
        n_max=max((each.n_max for each in designs if isinstance(each, Adaptive)), default=0),
    )


def _suited_estimators(ranks: FullRanks) -> tuple[str, ...]:
    """Leave out those for adaptive samples where users have several relevant items."""
    return ESTIMATORS if (ranks.n_relevant > 1).any() else (*ESTIMATORS, *ADAPTIVE_ESTIMATORS)


def _designs(
    ranks: FullRanks,
    estimators: Sequence[Estimator],
    *,
    negatives: Sequence[int] | None,
    replace: bool,
    n0: int | None,
    n_max: int | None,
) -> list[Design]:
    """Give the samples of all sizes that some estimator takes, those of fixed size first."""
    sizes = sizes_suited(ranks) if negatives is None else negatives
    require_rising(sizes)
    fixed = [FixedSize(m, replace) for m in sizes]
    for design in fixed:
        design.check(ranks)
    largest = Adaptive.suited(ranks, n0=n0 or first_size(ranks), n_max=n_max)
    designs: list[Design] = []
    if any(takes(each, fixed[0]) for each in estimators):
        designs += fixed
    if any(takes(each, largest) for each in estimators):
        largest.check(ranks)
        designs += largest.on_the_way()
    return designs


def _mean_candidates(ranks: FullRanks) -> float:
    """Give the mean over the users, whatever the number of their relevant items."""
    return float(np.average(ranks.n_candidates, weights=1 / ranks.n_relevant))


@dataclass(frozen=True)
class _Plan:
    """What is estimated from the samples of each system; see :func:`study_cost`."""

    points: CurvePoints
    estimators: Sequence[Estimator]
    designs: Sequence[Design]
    corrected_for: Literal["mean", "users"]
    repeats: int
    seed: int

    def compare(self, ranks: FullRanks) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Compare the estimates of a system with its exact curves.

        Returns
        -------
        Items scored for a user, (n_samples,); errors, (n_samples, n_estimators, n_repeats,
        n_metrics); and cut-offs where the truth is 0, (n_metrics,).
        """
        truth = self.points.exact(ranks)
        scored, errors = zip(
            *(self._at(design, ranks, truth) for design in self.designs), strict=True
        )
        return np.array(scored), np.array(errors), self.points.zero_cutoffs(truth)

    def _at(self, design: Design, ranks: FullRanks, truth: Floats) -> tuple[float, Floats]:
        """Sample in one way: items scored, and errors, (n_estimators, n_repeats, n_metrics)."""
        samples = [design.draw(ranks, seed=self.seed, repeat=r) for r in range(self.repeats)]
        counted = self.points.count(samples, n=self.corrected_for)
        errors = np.full((len(self.estimators), self.repeats, len(self.points.metrics)), np.nan)
        for place, estimator in enumerate(self.estimators):
            if takes(estimator, design):
                values = self.points.estimates(estimator, counted)
                errors[place] = self.points.errors(values, truth)
        return float(np.mean([scores_per_user(sample) for sample in samples])), errors
