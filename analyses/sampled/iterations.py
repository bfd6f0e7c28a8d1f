"""How many iterations of EM: errors fall and rise again, while the likelihood always rises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from analyses.sampled.estimators import adaptive_mle, mle
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.samples.designs import SampleDesign, require_rising
from analyses.sampled.shared.facts import crossed
from analyses.sampled.shared.sampling_experiment import Experiment, experiment
from analyses.sampled.shared.settings import GrowingSettings
from analyses.sampled.shared.trials import Way
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs.shared.members import Sizes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

ITERATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000)

LIKELIHOOD = "log-likelihood"
"""Name of the panel that shows it."""

THIN: dict[str, Any] = {"marker": "", "linewidth": 0.6, "alpha": 0.45, "zorder": 1}


class Settings(GrowingSettings):
    """Estimates by maximum likelihood after several numbers of iterations."""

    iterations: Sizes = Field(ITERATIONS, description="Of EM, in the study `iterations`.")

    def designs(self, ranks: FullRanks) -> tuple[SampleDesign, ...]:
        """Give the samples that such users can have: adaptive ones are for one relevant item."""
        require_rising(self.iterations, name="iterations", least=1)
        fixed, adaptive = self.fixed(ranks), self.growing(ranks)
        if (ranks.n_relevant > 1).any():
            return (fixed,)
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
    adaptive ones are left out where users have several relevant items. Li et al. (2023) stop after
    100 iterations, and after 50 on adaptive samples.

    Examples
    --------
    >>> from analyses.shared.work import RanksAlone
    >>> ranks = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
    >>> asked = {"metrics": ("Recall",), "iterations": (1, 10, 1000), "negatives": 20}
    >>> found = iterations(RanksAlone({"one": ranks}, seed=1), Settings(**asked, repeats=20))
    >>> found.best[["sample", "iterations"]].values.tolist()
    [['m = 20', 10], ['21 to 42', 10]]
    """
    ways = [
        Way((adaptive_mle if design.adaptive else mle)(number), design)
        for design in settings.designs(first_of(work.full_ranks))
        for number in settings.iterations
    ]
    return experiment(Iterations, work, settings, ways)


@dataclass(frozen=True, eq=False)
class Iterations(Experiment):
    """Errors of maximum likelihood, and the likelihood, after numbers of iterations of EM."""

    label, without = "Iterating", "iters"

    @property
    def parts(self) -> tuple[str, ...]:
        """Panels of the figure: the metrics, which are curves, and the likelihood."""
        return (*self.metrics, LIKELIHOOD)

    def rows(self) -> pd.DataFrame:
        """Add whether no other number of iterations has a smaller error."""
        frame = super().rows()
        least = frame.groupby(["sample", "metric", "system"])["error"].transform("min")
        return frame.assign(best=frame["error"] == least)

    @property
    def best(self) -> pd.DataFrame:
        """The rows of sample, metric, iterations and error with the smallest mean over systems."""
        keys = ["sample", "metric", "iterations"]
        means = self.rows().groupby(keys, sort=False)["error"].mean().reset_index()
        known = means.dropna(subset="error")
        return known.loc[known.groupby(["sample", "metric"], sort=False)["error"].idxmin()]

    @table("sampled_iterations", "relative errors of MLE, by iterations of EM")
    def by_number(self) -> Table:
        """Tabulate mean errors by number of iterations."""
        return crossed(
            self.rows(),
            ["iterations"],
            ["metric", "sample"],
            "error",
            best=min,
            name="sampled_iterations",
            title="Relative error of MLE in per cent, by iterations of EM; mean over the systems",
            note=self.caption(),
        )

    @figure(
        "sampled_iterations",
        "Sampled negatives: error by iterations of EM",
        number=16,
        panels="part",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, part: str | None = None) -> Axes:
        """Draw the error of a curve, or the likelihood, against the number of iterations.

        Thin curves are of systems, thick ones their mean, with a mark where the error is least;
        the likelihood is drawn as what it is short of that after the most iterations.
        """
        of_likelihood, number = part == LIKELIHOOD, max(self.iterations)
        ax, frame = self.panel(ax, self.metrics[0] if of_likelihood else part)
        last = frame[frame["iterations"] == number].set_index(["sample", "system"])["likelihood"]
        short = frame.join(last.rename("last"), on=["sample", "system"])
        values = short["last"] - short["likelihood"] if of_likelihood else frame["error"]
        frame = frame.assign(value=values)[frame["iterations"] < number + (not of_likelihood)]
        samples = frame.groupby("sample", sort=False)
        for (label, style), (_, own) in zip(categories([*samples.groups]), samples, strict=True):
            of_systems = own.pivot(index="iterations", columns="system", values="value")
            mean = of_systems.mean(axis=1)
            place = [int(mean.argmin())] if mean.notna().any() and not of_likelihood else []
            ax.plot(of_systems.index, of_systems, **style | THIN)
            ax.plot(of_systems.index, mean, **style, label=label, markevery=place)
        if of_likelihood:
            ax.set(yscale="log", ylabel=f"short of that after {number:,}, per user")
            ax.invert_yaxis()
        else:
            scale_by_factors(ax, along="y")
            ax.set_ylabel("relative error in per cent")
        ax.set(title=part or self.metrics[0], xscale="log", xlabel="iterations of EM")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown, and which number of iterations had the smallest error."""
        return (
            f"Relative error of the curves at cut-offs 1 to 50 that maximum likelihood estimates "
            f"after so many iterations of EM from a uniform distribution: mean over "
            f"{self.counted} (thin: each of them). {self.of_samples} "
            f"Smallest error (marked): {'; '.join(self._smallest())}. "
            "The log-likelihood rises all the while, and is shown as what it is short of that "
            f"after {max(self.iterations):,} iterations: not the fit but stopping early makes the "
            "estimate good."
        )

    def _smallest(self) -> Iterator[str]:
        """Name the best numbers for each sample, and their errors."""
        best = self.best
        for sample in dict.fromkeys(self.samples):
            said = [
                f"{row.metric} after {row.iterations:,} ({row.error:.3g} %)"
                for row in best[best["sample"] == sample].itertuples()
            ]
            yield f"{sample}: {', '.join(said) or 'not known, since the truth is 0'}"
