"""How many iterations of EM: errors fall and rise again, while the likelihood always rises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.curve_points import CURVES, CurvePoints, mean_of_known
from analyses.sampled.estimates import each_system, first_of, require_repeats
from analyses.sampled.estimators import mle
from analyses.sampled.estimators.em import likelihood_path
from analyses.sampled.expectation.candidates import whose
from analyses.sampled.expectation.designs import Adaptive, Design, FixedSize
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
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ITERATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000)

LIKELIHOOD = "log-likelihood"
"""Name of the panel that shows it."""

THIN: dict[str, Any] = {"marker": "", "linewidth": 0.6, "alpha": 0.45, "zorder": 1}


@dataclass(frozen=True, eq=False)
class Iterations:
    """Errors of maximum likelihood, and the likelihood, after numbers of iterations of EM.

    Parameters
    ----------
    systems, metrics, iterations
        Labels of the axes; metrics are curves and have no cut-off.
    samples
        How negatives were sampled: as many for all users, and adaptively where users have one
        relevant item each.
    errors
        Relative error of the curve at cut-offs 1 to 50, in per cent, of shape (n_samples,
        n_iterations, n_metrics, n_systems, n_repeats); NaN where the truth is 0 everywhere.
    likelihoods
        Mean log-likelihood per user, in natural units, of shape (n_samples, n_iterations,
        n_systems, n_repeats). Those of different samples are not comparable.
    n_users, n_relevant
        Users, and their relevant items.
    corrected_for
        Whether estimates take the ``"mean"`` number of candidates or that of the ``"users"``.
    replace, seed
        Whether samples of one size were drawn with replacement, and the seed.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    iterations: tuple[int, ...]
    samples: tuple[str, ...]
    errors: Floats
    likelihoods: Floats
    n_users: int
    n_relevant: int
    corrected_for: str
    replace: bool
    seed: int

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.errors.shape[4]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics and the likelihood, each a panel of the figure."""
        return tuple(Measure(name) for name in (*self.metrics, LIKELIHOOD))

    @property
    def mean(self) -> Floats:
        """Mean error over the repeats, (n_samples, n_iterations, n_metrics, n_systems)."""
        return np.asarray(self.errors.mean(axis=4))

    @property
    def best(self) -> NDArray[np.int64]:
        """Number of iterations with the smallest mean error; 0 where errors are not known.

        Of shape (n_samples, n_metrics, n_systems).
        """
        return self._number_of_least(self.mean)

    @property
    def best_of_all(self) -> NDArray[np.int64]:
        """Number of iterations with the smallest mean over all systems: (n_samples, n_metrics)."""
        return self._number_of_least(mean_of_known(self.mean))

    def _number_of_least(self, errors: Floats) -> NDArray[np.int64]:
        least = np.where(np.isnan(errors), np.inf, errors).argmin(axis=1)
        return np.where(np.isnan(errors).any(axis=1), 0, np.array(self.iterations)[least])

    def likelihood_rises(self) -> bool:
        """Whether no more iterations ever lowered the likelihood, but for rounding."""
        return bool((np.diff(self.likelihoods, axis=1) > -1e-12).all())

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each sample, number of iterations, metric and system.

        Returns
        -------
        Columns system, metric, sample, iterations, repeats; error and error_sd over the repeats,
        in per cent; best, whether no other number has a smaller error; likelihood, the mean
        log-likelihood per user, and likelihood_sd.
        """
        import pandas as pd

        frame = pd.DataFrame(
            product(self.samples, self.iterations, self.metrics, self.systems),
            columns=["sample", "iterations", "metric", "system"],
        )
        numbers = np.array(self.iterations)[:, np.newaxis, np.newaxis]
        likelihoods = self.likelihoods[:, :, np.newaxis]
        shape = self.mean.shape
        return frame[["system", "metric", "sample", "iterations"]].assign(
            repeats=self.n_repeats,
            error=self.mean.ravel(),
            error_sd=self.errors.std(axis=4, ddof=1).ravel(),
            best=(numbers == self.best[:, np.newaxis]).ravel(),
            likelihood=np.broadcast_to(likelihoods.mean(axis=4), shape).ravel(),
            likelihood_sd=np.broadcast_to(likelihoods.std(axis=4, ddof=1), shape).ravel(),
        )

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw the error of a curve, or the likelihood, against the number of iterations.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric, or ``"log-likelihood"``; the first metric by default.
        cutoff
            None: errors are of whole curves.
        """
        number = chosen_panel((*self.metrics, LIKELIHOOD), metric, cutoff)
        ax = axes_or_new(ax)
        if metric == LIKELIHOOD:
            self._draw_likelihood(ax)
        else:
            self._draw_errors(ax, number)
        ax.set_xscale("log")
        ax.set_xlabel("iterations of EM")
        ax.set_title(metric or self.metrics[0])
        legend_beside(ax)
        return ax

    def _draw_errors(self, ax: Axes, number: int) -> None:
        """Draw the mean over systems with a mark where it is least, and each system thinly."""
        errors = self.mean[:, :, number]
        best = self.best_of_all[:, number]
        for (label, style), of_systems, least in zip(
            categories(self.samples), errors, best.tolist(), strict=True
        ):
            mean = mean_of_known(of_systems)
            place = [self.iterations.index(least)] if least else []
            ax.plot(self.iterations, of_systems, **style | THIN)
            ax.plot(self.iterations, mean, **style, label=label, markevery=place)
        scale_by_factors(ax, along="y")
        ax.set_ylabel("relative error in per cent")

    def _draw_likelihood(self, ax: Axes) -> None:
        """Draw how far the likelihood is below that of the largest number of iterations."""
        means = self.likelihoods.mean(axis=3)
        short = means[:, -1:] - means
        for (label, style), of_systems in zip(categories(self.samples), short, strict=True):
            before = self.iterations[:-1]
            ax.plot(before, of_systems[:-1], **style | THIN)
            ax.plot(before, of_systems[:-1].mean(axis=1), **style | {"marker": ""}, label=label)
        ax.set_yscale("log")
        ax.invert_yaxis()
        ax.set_ylabel(f"short of that after {self.iterations[-1]:,}, per user")

    def caption(self) -> str:
        """Say what is shown, and which number of iterations had the smallest error."""
        how = "with" if self.replace else "without"
        return (
            f"Relative error of the curves at cut-offs 1 to 50 that maximum likelihood estimates "
            f"after so many iterations of EM from a uniform distribution: mean over "
            f"{self.n_repeats:,} samples, seed {self.seed}, and over {len(self.systems):,} systems "
            f"(thin: each of them). Samples: {self._sampled(how)}; {self.n_relevant:,} relevant "
            f"items of {self.n_users:,} users; estimates use {whose(self.corrected_for)}. "
            f"Smallest error (marked): {'; '.join(self._smallest())}. {self._of_likelihood()}"
        )

    def _sampled(self, how: str) -> str:
        fixed = f"{self.samples[0]} negatives for every user, drawn {how} replacement"
        if len(self.samples) > 1:
            return (
                f"{fixed}, and {self.samples[1]} items, drawn with replacement, which double "
                "while the relevant item is the first"
            )
        return f"{fixed}; none adaptive, since some users have several relevant items"

    def _smallest(self) -> Iterator[str]:
        """Name the best numbers for each sample, and their errors."""
        means = mean_of_known(self.mean)
        for sample, errors, best in zip(
            self.samples, means, self.best_of_all.tolist(), strict=True
        ):
            said = [
                f"{metric} after {number:,} ({errors[self.iterations.index(number), place]:.3g} %)"
                for place, (metric, number) in enumerate(zip(self.metrics, best, strict=True))
                if number
            ]
            yield f"{sample}: {', '.join(said) or 'not known, since the truth is 0'}"

    def _of_likelihood(self) -> str:
        if not self.likelihood_rises():
            return "The log-likelihood does not always rise, as it must: look at the samples."
        return (
            "The log-likelihood rises all the while, and is shown as what it is short of that "
            f"after {self.iterations[-1]:,} iterations: not the fit but stopping early makes the "
            "estimate good."
        )


def study_iterations(
    systems: Mapping[str, FullRanks],
    *,
    metrics: Sequence[str | RankMetric] = CURVES,
    iterations: Sequence[int] = ITERATIONS,
    negatives: int = 100,
    replace: bool = True,
    n_max: int | None = None,
    corrected_for: Literal["mean", "users"] = "mean",
    repeats: int = 20,
    seed: int,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> Iterations:
    """Stop EM after several numbers of iterations, and compare the curves with the true ones.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items.
    metrics
        Metrics of ranks; their curves are looked at, whatever their cut-off.
    iterations
        Numbers of iterations, rising; one run of EM passes all of them.
    negatives, replace
        Negatives sampled for each user, the relevant items not counted, and how.
    n_max
        What adaptive samples grow to, as for :func:`analyses.sampled.study_correction`. They are
        left out where users have several relevant items.
    corrected_for
        Whether estimates take the mean number of candidates, or the users' own.
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
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, stop after 100
    iterations, and after 50 on adaptive samples.

    Examples
    --------
    >>> systems = {"one": FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)}
    >>> asked = {"metrics": ["Recall"], "iterations": [1, 10, 1000], "negatives": 20}
    >>> found = study_iterations(systems, **asked, seed=1)
    >>> found.samples, found.best_of_all.ravel().tolist()
    (('m = 20', 'adaptive, 21 to 42'), [10, 10])
    """
    require_repeats(repeats)
    first = first_of(systems)
    designs = _designs(first, FixedSize(negatives, replace), n_max)
    plan = _Plan(
        CurvePoints.of_curves(metrics), designs, _rising(iterations), corrected_for, seed, repeats
    )
    found = each_system(plan.follow, systems, n_jobs=n_jobs, advance=advance)
    errors, likelihoods = (np.stack(parts, axis=-2) for parts in zip(*found, strict=True))
    return Iterations(
        systems=tuple(systems),
        metrics=plan.points.names,
        iterations=plan.iterations,
        samples=tuple(_label(design) for design in designs),
        errors=errors,
        likelihoods=likelihoods,
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        corrected_for=corrected_for,
        replace=replace,
        seed=seed,
    )


def _rising(iterations: Sequence[int]) -> tuple[int, ...]:
    if not iterations or iterations[0] < 1 or sorted(set(iterations)) != list(iterations):
        raise InputError(f"`iterations` must rise from at least 1, got {list(iterations)}.")
    return tuple(iterations)


def _designs(ranks: FullRanks, fixed: FixedSize, n_max: int | None) -> tuple[Design, ...]:
    """Give the samples that such users can have: adaptive ones are for one relevant item each."""
    fixed.check(ranks)
    if (ranks.n_relevant > 1).any():
        return (fixed,)
    adaptive = Adaptive.suited(ranks, n0=fixed.negatives + 1, n_max=n_max)
    adaptive.check(ranks)
    return fixed, adaptive


def _label(design: Design) -> str:
    return f"adaptive, {design}" if isinstance(design, Adaptive) else str(design)


@dataclass(frozen=True)
class _Plan:
    """What is done with the samples of each system; see :func:`study_iterations`."""

    points: CurvePoints
    designs: tuple[Design, ...]
    iterations: tuple[int, ...]
    corrected_for: Literal["mean", "users"]
    seed: int
    repeats: int

    def follow(self, ranks: FullRanks) -> tuple[Floats, Floats]:
        """Give errors, (n_samples, n_iterations, n_metrics, n_repeats), and likelihoods."""
        truth = self.points.exact(ranks)
        errors, likelihoods = [], []
        for design in self.designs:
            samples = [
                design.draw(ranks, seed=self.seed, repeat=repeat) for repeat in range(self.repeats)
            ]
            counted = self.points.count(samples, n=self.corrected_for)
            path = likelihood_path(counted, iterations=self.iterations)
            for number, (masses, likelihood) in zip(self.iterations, path, strict=True):
                values = self.points.estimates(mle(iters=number), counted, masses=masses)
                errors.append(self.points.errors(values, truth).T)
                likelihoods.append(likelihood)
        shape = (len(self.designs), len(self.iterations))
        return (
            np.reshape(errors, (*shape, *errors[0].shape)),
            np.reshape(likelihoods, (*shape, self.repeats)),
        )
