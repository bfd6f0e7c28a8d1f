"""How many iterations of EM: errors fall and rise again, while the likelihood always rises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.sampled.estimators import mle
from analyses.sampled.estimators.shared.em import likelihood_path
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.designs import Adaptive, Design, require_rising
from analyses.sampled.shared.curve_points import CurvePoints, mean_of_known
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.repeated_samples import SampledSystem, each_system
from analyses.sampled.shared.rows import tidy
from analyses.sampled.shared.sampled_result import RepeatedResult
from analyses.sampled.shared.settings import GrowingSettings
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, legend_beside, scale_by_factors
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs.shared.settings import Sizes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

ITERATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000)

LIKELIHOOD = "log-likelihood"
"""Name of the panel that shows it."""

THIN: dict[str, Any] = {"marker": "", "linewidth": 0.6, "alpha": 0.45, "zorder": 1}


class Settings(GrowingSettings):
    """Estimates by maximum likelihood after several numbers of iterations."""

    iterations: Sizes = Field(ITERATIONS, description="Of EM, in the study `iterations`.")

    def designs(self, ranks: FullRanks) -> tuple[Design, ...]:
        """Give the samples that such users can have: adaptive ones are for one relevant item each.

        Iterations must rise.
        """
        require_rising(self.iterations, name="iterations", least=1)
        fixed = self.fixed(ranks)
        if (ranks.n_relevant > 1).any():
            return (fixed,)
        adaptive = self.growing(ranks)
        adaptive.check(ranks)
        return fixed, adaptive


@analysis(
    "iterations",
    source="Li et al. (2023), Towards reliable item sampling for recommendation evaluation",
    needs=("full_ranks",),
)
def iterations(work: Work, settings: Settings) -> Iterations:
    """Stop EM after several numbers of iterations, and compare the curves with the true ones.

    One run of EM passes all numbers. Samples are those of the other studies of sampled metrics;
    adaptive ones are left out where users have several relevant items.

    Raises
    ------
    InputError
        If a name or number makes no sense, or systems have different users.

    Notes
    -----
    Li et al. (2023) stop after 100 iterations, and after 50 on adaptive samples.

    Examples
    --------
    >>> from analyses.shared.work import RanksAlone
    >>> ranks = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
    >>> asked = {"metrics": ("Recall",), "iterations": (1, 10, 1000), "negatives": 20}
    >>> found = iterations(RanksAlone({"one": ranks}, seed=1), Settings(**asked, repeats=20))
    >>> found.samples, found.best_of_all.ravel().tolist()
    (('m = 20', 'adaptive, 21 to 42'), [10, 10])
    """
    first = first_of(work.full_ranks)
    designs, numbers = settings.designs(first), tuple(settings.iterations)
    points = CurvePoints.of_curves(settings.metrics)

    def find(system: SampledSystem) -> tuple[Any, ...]:
        errors, likelihoods = [], []
        for design in designs:
            counted = system.sample(design).counted
            path = likelihood_path(counted, iterations=numbers)
            for number, (masses, likelihood) in zip(numbers, path, strict=True):
                values = points.estimates(mle(iters=number), counted, masses=masses)
                errors.append(system.errors(values).T)
                likelihoods.append(likelihood)
        shape = (len(designs), len(numbers))
        return (
            np.reshape(errors, (*shape, *errors[0].shape)),
            np.reshape(likelihoods, (*shape, system.repeats)),
        )

    errors, likelihoods = (
        np.stack(parts, axis=-2) for parts in each_system(work, "Iterating", settings, points, find)
    )
    return Iterations(
        measures=Measures((*points.measures, Measure(LIKELIHOOD))),
        systems=tuple(work.full_ranks),
        iterations=numbers,
        samples=tuple(_label(design) for design in designs),
        errors=errors,
        likelihoods=likelihoods,
        ranked=Ranked.of(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed, settings.draws),
    )


def _label(design: Design) -> str:
    return f"adaptive, {design}" if isinstance(design, Adaptive) else str(design)


@dataclass(frozen=True, eq=False)
class Iterations(RepeatedResult):
    """Errors of maximum likelihood, and the likelihood, after numbers of iterations of EM.

    Parameters
    ----------
    measures
        Panels of the figure: the metrics, which are curves and have no cut-off, and the likelihood.
    iterations
        Label of an axis.
    samples
        How negatives were sampled: as many for all users, and adaptively where users have one
        relevant item each.
    errors
        Of shape (n_samples, n_iterations, n_metrics, n_systems, n_repeats).
    likelihoods
        Mean log-likelihood per user, in natural units, of shape (n_samples, n_iterations,
        n_systems, n_repeats). Those of different samples are not comparable.
    """

    iterations: tuple[int, ...]
    samples: tuple[str, ...]
    likelihoods: Floats

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, the label of an axis of the errors."""
        return self.measures.metrics[:-1]

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
        likelihoods = self.likelihoods[:, :, np.newaxis]
        numbers = np.array(self.iterations)[:, np.newaxis, np.newaxis]
        labels = {"sample": self.samples, "iterations": self.iterations, "metric": self.metrics}
        frame = tidy(
            {**labels, "system": self.systems},
            repeats=self.n_repeats,
            error=self.mean,
            error_sd=self.sd,
            best=numbers == self.best[:, np.newaxis],
            likelihood=likelihoods.mean(axis=4),
            likelihood_sd=likelihoods.std(axis=4, ddof=1),
        )
        return frame[["system", "metric", "sample", "iterations", *frame.columns[4:]]]

    @table("sampled_iterations", "relative errors of MLE, by iterations of EM")
    def by_number(self) -> Table:
        """Tabulate mean errors by number of iterations."""
        return self.errors_by(
            "iterations",
            map(str, self.iterations),
            self.samples,
            name="sampled_iterations",
            title="Relative error of MLE in per cent, by iterations of EM; mean over the systems",
        )

    @figure(
        "sampled_iterations",
        "Sampled negatives: error by iterations of EM",
        number=16,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the error of a curve, or the likelihood, against the number of iterations.

        The first metric by default, on new axes by default.
        """
        ax, number = self.panel(ax, metric)
        if metric == LIKELIHOOD:
            self._draw_likelihood(ax)
        else:
            self._draw_errors(ax, number)
        ax.set_xscale("log")
        ax.set_xlabel("iterations of EM")
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
        return (
            f"Relative error of the curves at cut-offs 1 to 50 that maximum likelihood estimates "
            f"after so many iterations of EM from a uniform distribution: mean over "
            f"{self.n_repeats:,} samples, seed {self.drawn.seed}, and over "
            f"{len(self.systems):,} systems (thin: each of them). Samples: {self._sampled()}; "
            f"{self.ranked}; estimates use {self.drawn.whose}. "
            f"Smallest error (marked): {'; '.join(self._smallest())}. {self._of_likelihood()}"
        )

    def _sampled(self) -> str:
        fixed = f"{self.samples[0]} negatives for every user, drawn {self.drawn.how}"
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
