"""Which ranks a correction should have in mind: its prior, learned, pooled, uniform or true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as with_options
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.curve_points import CURVES, CurvePoints, mean_of_known
from analyses.sampled.estimates import distinct, each_system, first_of, require_repeats
from analyses.sampled.estimators import Estimator, Tally, find_estimator, tally
from analyses.sampled.estimators.bv import BiasVariance
from analyses.sampled.estimators.mn import Multinomial
from analyses.sampled.estimators.priors import canonical_prior
from analyses.sampled.expectation.candidates import whose
from analyses.sampled.expectation.designs import FixedSize
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.samples.sampled_ranks import SampledRanks
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
Corrector: TypeAlias = BiasVariance | Multinomial

ESTIMATORS = ("bv(gamma=0.1)", "bv(gamma=0.01)", "mn")
PRIORS = ("uniform", "mle", "mes", "pooled:mle", "pooled:mes", "true")

TRUE = "true"
"""The prior that nobody has: how the ranks of the system are distributed."""

UNIFORM = "uniform"

MIDDLE = (0.1, 0.9)
"""Quantiles over the samples that whiskers reach."""


def unavailable(prior: str) -> str:
    """Say why nobody has a prior who has one sample; nothing if it can be had.

    Examples
    --------
    >>> unavailable("pooled:mle@100"), unavailable("mle@100")
    ('uses the other repeats', '')
    """
    if prior == TRUE:
        return "an oracle: the true ranks"
    return "uses the other repeats" if prior.startswith("pooled:") else ""


@dataclass(frozen=True, eq=False)
class Priors:
    """Errors of corrections that differ in the distribution of ranks they have in mind.

    Parameters
    ----------
    systems, metrics, estimators, priors
        Labels of the axes; metrics are curves and have no cut-off, estimators have no prior.
    errors
        Relative error of the curve at cut-offs 1 to 50, in per cent, of shape (n_estimators,
        n_priors, n_metrics, n_systems, n_repeats); NaN where the truth is 0 everywhere.
    n_users, n_relevant
        Users, and their relevant items.
    corrected_for
        Whether corrections take the ``"mean"`` number of candidates or that of the ``"users"``.
    negatives, replace, seed
        What was sampled: m, whether with replacement, and the seed of the samples.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    priors: tuple[str, ...]
    errors: Floats
    n_users: int
    n_relevant: int
    corrected_for: str
    negatives: int
    replace: bool
    seed: int

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.errors.shape[4]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics, each a panel of the figure."""
        return tuple(Measure(metric) for metric in self.metrics)

    @property
    def mean(self) -> Floats:
        """Mean over the repeats, (n_estimators, n_priors, n_metrics, n_systems)."""
        return np.asarray(self.errors.mean(axis=4))

    @property
    def sd(self) -> Floats:
        """Standard deviation over the repeats, of the same shape."""
        return np.asarray(self.errors.std(axis=4, ddof=1))

    def better_than_uniform(self) -> NDArray[np.int64]:
        """Count the repeats in which a prior has a smaller error than the uniform one.

        Of shape (n_estimators, n_priors, n_metrics, n_systems).

        Raises
        ------
        InputError
            If the uniform prior was not studied.
        """
        if UNIFORM not in self.priors:
            raise InputError(f"the priors {', '.join(self.priors)} have no uniform one.")
        uniform = self.errors[:, [self.priors.index(UNIFORM)]]
        return np.asarray((self.errors < uniform).sum(axis=4))

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each estimator, prior, metric and system.

        Returns
        -------
        Columns system, metric, estimator, prior; unavailable, why nobody has such a prior, or
        nothing; m, replace, repeats; error and error_sd over the repeats, in per cent; and
        better_than_uniform, in how many repeats, if a uniform prior was studied.
        """
        import pandas as pd

        frame = pd.DataFrame(
            product(self.estimators, self.priors, self.metrics, self.systems),
            columns=["estimator", "prior", "metric", "system"],
        )
        frame = frame[["system", "metric", "estimator", "prior"]].assign(
            unavailable=frame["prior"].map(unavailable),
            m=self.negatives,
            replace=self.replace,
            repeats=self.n_repeats,
            error=self.mean.ravel(),
            error_sd=self.sd.ravel(),
        )
        if UNIFORM in self.priors:
            frame["better_than_uniform"] = self.better_than_uniform().ravel()
        return frame

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw the mean error for each prior, and how it varies: a colour for each estimator.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric; the first by default.
        cutoff
            None: errors are of whole curves.
        """
        number = chosen_panel(self.metrics, metric, cutoff)
        ax = axes_or_new(ax)
        means = mean_of_known(self.mean[:, :, number])
        low, high = mean_of_known(np.quantile(self.errors[:, :, number], MIDDLE, axis=-1))
        apart = np.linspace(-0.2, 0.2, len(self.estimators)) if len(self.estimators) > 1 else [0.0]
        for (label, style), mean, *limits, shift in zip(
            categories(self.estimators), means, low, high, apart, strict=True
        ):
            places = np.arange(len(self.priors)) + shift
            dots = style | {"linestyle": "none"}
            draw_whiskers(ax, places, mean, (limits[0], limits[1]), dots, label=label)
        self._mark_priors(ax)
        scale_by_factors(ax, along="y")
        ax.set_ylabel("relative error in per cent")
        ax.set_title(self.metrics[number])
        legend_beside(ax)
        return ax

    def _mark_priors(self, ax: Axes) -> None:
        """Name the priors, and shade those that nobody has."""
        ax.set_xticks(range(len(self.priors)), self.priors, rotation=40, ha="right")
        ax.set_xlim(-0.5, len(self.priors) - 0.5)
        ax.set_xlabel("prior (shaded: nobody has it)")
        for place, prior in enumerate(self.priors):
            if unavailable(prior):
                ax.axvspan(place - 0.5, place + 0.5, color="0.92", linewidth=0, zorder=0)

    def caption(self) -> str:
        """Say what is shown, which priors nobody has, and what learned ones are worth."""
        how = "with" if self.replace else "without"
        hidden = "; ".join(f"{p}: {unavailable(p)}" for p in self.priors if unavailable(p))
        shaded = f" Nobody has the priors that are shaded ({hidden})." if hidden else ""
        worth = "".join(self._worth()) if UNIFORM in self.priors else ""
        return (
            f"Relative error of the curves at cut-offs 1 to 50 by the prior of the correction, the "
            f"distribution of ranks that its bias is averaged over: mean over {self.n_repeats:,} "
            f"samples and {len(self.systems):,} systems; whiskers hold the middle eight tenths of "
            f"the samples, of one system on average. m = {self.negatives:,} negatives, sampled "
            f"{how} replacement, seed {self.seed}; {self.n_relevant:,} relevant items of "
            f"{self.n_users:,} users; "
            f"corrections use {whose(self.corrected_for)}.{shaded}{worth}"
        )

    def _worth(self) -> Iterator[str]:
        """Say how often learned priors have a smaller error than the uniform one."""
        better = self.better_than_uniform().sum(axis=(2, 3)).T
        n_known = int((~np.isnan(self.errors[0, 0])).sum())
        for prior, counts in zip(self.priors, better.tolist(), strict=True):
            if n_known and prior != UNIFORM and not unavailable(prior):
                shares = (f"{100 * count / n_known:.0f} %" for count in counts)
                said = zip(self.estimators, shares, strict=True)
                yield (
                    f" The error with {prior} is below that with the uniform prior in so many of "
                    f"the samples, systems and metrics: {', '.join(map(' '.join, said))}."
                )


def study_prior(
    systems: Mapping[str, FullRanks],
    *,
    metrics: Sequence[str | RankMetric] = CURVES,
    estimators: Sequence[str | Estimator] = ESTIMATORS,
    priors: Sequence[str] | None = None,
    negatives: int = 100,
    replace: bool = True,
    corrected_for: Literal["mean", "users"] = "mean",
    repeats: int = 20,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> Priors:
    """Correct the same samples with several priors, and compare the curves with the true ones.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items.
    metrics
        Metrics of ranks; their curves are looked at, whatever their cut-off.
    estimators
        BV and MN, names or values, whatever their prior.
    priors
        Those of BV, and ``"true"``, how the ranks of the system are distributed among all
        candidates: an oracle, which shows the most that a prior can do. It is taken rank by rank,
        not on a grid, in the time and memory of n (m + 1) numbers for each number of candidates
        that is corrected for. By default ``PRIORS``, without those of MES where each user's own
        candidates are corrected for: MES takes one number.
    negatives, replace
        Negatives sampled for each user, the relevant items not counted, and how.
    corrected_for
        Whether corrections take the mean number of candidates, or the users' own.
    repeats, seed
        Samples, at least 2, and their seed: those of the other studies of sampled metrics.
    n_jobs
        Threads; results do not depend on it.
    advance
        Called when a system is done.

    Raises
    ------
    InputError
        If a name or number makes no sense, or systems have different users.

    Notes
    -----
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation; the released
    code takes pooled priors, the mean of what all repeats suggest. Who has one sample has not.

    Examples
    --------
    >>> systems = {"one": FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)}
    >>> asked = {"metrics": ["Recall"], "estimators": ["mn"], "priors": ["uniform", "true"]}
    >>> found = study_prior(systems, **asked, negatives=20, seed=1)
    >>> found.better_than_uniform()[0, 1, 0].item()
    20
    """
    require_repeats(repeats)
    first = first_of(systems)
    design = FixedSize(negatives, replace)
    design.check(first)
    plan = _Plan(
        points=CurvePoints.of_curves(metrics),
        correctors=_read_correctors(estimators),
        priors=read_priors(_fitting(corrected_for) if priors is None else priors),
        design=design,
        corrected_for=corrected_for,
        seed=seed,
        repeats=repeats,
    )
    found = each_system(plan.errors, systems, n_jobs=n_jobs, advance=advance)
    return Priors(
        systems=tuple(systems),
        metrics=plan.points.names,
        estimators=tuple(map(_name, plan.correctors)),
        priors=plan.priors,
        errors=np.stack(found, axis=-2),
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        corrected_for=corrected_for,
        negatives=negatives,
        replace=replace,
        seed=seed,
    )


def true_masses(ranks: FullRanks, counted: Tally) -> Floats:
    """Give the true distribution of ranks at the nodes of a tally that has every rank.

    Returns
    -------
    Of shape (n_nodes, 1). Who has more irrelevant candidates above than there are nodes, since
    corrections are for the mean number, counts as last.

    Examples
    --------
    >>> ranks = FullRanks.of([1, 3, 3, 4], n_candidates=4)
    >>> sample = FixedSize(2).draw(ranks, seed=1, repeat=0)
    >>> true_masses(ranks, tally([sample], n="mean", path="full"))[:, 0]
    array([0.25, 0.  , 0.5 , 0.25])
    """
    n_nodes = len(counted.nodes)
    counts = np.bincount(np.minimum(ranks.above, n_nodes - 1), minlength=n_nodes)
    return counts[:, np.newaxis] / len(ranks)


def _fitting(corrected_for: str) -> list[str]:
    """Give the priors that can be learned; MES does with one number of candidates alone."""
    return [prior for prior in PRIORS if corrected_for == "mean" or not prior.endswith("mes")]


def read_priors(names: Sequence[str]) -> tuple[str, ...]:
    """Read priors.

    Raises
    ------
    InputError
        If one is none or stands twice, or there is none.
    """
    return distinct([name if name == TRUE else canonical_prior(name) for name in names], "prior")


def _read_correctors(names: Sequence[str | Estimator]) -> tuple[Corrector, ...]:
    """Read estimators that have a prior, and forget theirs.

    Raises
    ------
    InputError
        If one has none or stands twice, or there is none.
    """
    return distinct([_corrector(find_estimator(name)) for name in names], "estimator")


def _corrector(estimator: Estimator) -> Corrector:
    if not isinstance(estimator, Corrector):
        raise InputError(f"{estimator} has no prior; BV and MN have.")
    return with_options(estimator, prior=UNIFORM)


def _name(corrector: Corrector) -> str:
    """Print an estimator without its prior.

    Examples
    --------
    >>> _name(BiasVariance(0.1)), _name(Multinomial())
    ('BV(gamma=0.1)', 'MN')
    """
    options = [one.name for one in fields(corrector) if one.name != "prior"]
    shown = ",".join(f"{name}={getattr(corrector, name):g}" for name in options)
    return f"{corrector.label}({shown})" if shown else corrector.label


@dataclass(frozen=True)
class _Plan:
    """What is done with the samples of each system; see :func:`study_prior`."""

    points: CurvePoints
    correctors: tuple[Corrector, ...]
    priors: tuple[str, ...]
    design: FixedSize
    corrected_for: Literal["mean", "users"]
    seed: int
    repeats: int

    def errors(self, ranks: FullRanks) -> Floats:
        """Give errors of a system, (n_estimators, n_priors, n_metrics, n_repeats)."""
        truth = self.points.exact(ranks)
        samples = [
            self.design.draw(ranks, seed=self.seed, repeat=repeat) for repeat in range(self.repeats)
        ]
        known = self._known(ranks, samples)
        return np.array(
            [
                [
                    self.points.errors(self._estimates(corrector, prior, *known[prior]), truth).T
                    for prior in self.priors
                ]
                for corrector in self.correctors
            ]
        )

    def _known(
        self, ranks: FullRanks, samples: Sequence[SampledRanks]
    ) -> dict[str, tuple[Tally, Floats | None]]:
        """Give what each prior is told: the counted samples, and the oracle the true ranks too."""
        counted = self.points.count(samples, n=self.corrected_for)
        known: dict[str, tuple[Tally, Floats | None]] = dict.fromkeys(self.priors, (counted, None))
        if TRUE in known:
            everywhere = tally(samples, n=self.corrected_for, path="full")
            known[TRUE] = everywhere, true_masses(ranks, everywhere)
        return known

    def _estimates(
        self, corrector: Corrector, prior: str, counted: Tally, masses: Floats | None
    ) -> Floats:
        named = corrector if prior == TRUE else with_options(corrector, prior=prior)
        return self.points.estimates(named, counted, masses=masses)
