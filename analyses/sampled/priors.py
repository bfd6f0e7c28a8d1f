"""Which ranks a correction should have in mind: its prior, learned, pooled, uniform or true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from analyses.sampled.estimators import bv, mn
from analyses.sampled.estimators.learned_priors import WithPrior, canonical_prior
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.samples.designs import SampleDesign
from analyses.sampled.shared.facts import crossed
from analyses.sampled.shared.sampling_experiment import Experiment, experiment
from analyses.sampled.shared.settings import SampleSettings, distinct
from analyses.sampled.shared.trials import Way
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, draw_whiskers, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs.shared.members import read_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

UNIFORM, TRUE = "uniform", "true"
"""The second is the prior that nobody has: how the ranks of the system are distributed."""

PRIORS = (UNIFORM, "mle", "mes", "pooled:mle", "pooled:mes", TRUE)
CORRECTORS: tuple[WithPrior, ...] = (bv(0.1), bv(0.01), mn(prior=UNIFORM))


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


def read_priors(names: Sequence[str]) -> tuple[str, ...]:
    """Read priors, each another."""
    return distinct([name if name == TRUE else canonical_prior(name) for name in names], "prior")


class Settings(SampleSettings):
    """Corrections of the same samples with several priors."""

    priors: Annotated[tuple[str, ...], read_by(read_priors)] | None = Field(
        None, description="Of BV and MN, in the study `priors`; by default all, and the true one."
    )

    def designs(self, ranks: FullRanks) -> SampleDesign:
        """Give the one way in which users are sampled."""
        return self.fixed(ranks)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The priors in full; by default all."""
        return read_priors(PRIORS if self.priors is None else self.priors)


@analysis(
    "priors",
    source="Li et al. (2023), Towards reliable item sampling for recommendation evaluation",
    needs=("full_ranks",),
)
def priors(work: Work, settings: Settings) -> Priors:
    """Correct the same samples with several priors, and compare the curves with the true ones.

    The prior ``"true"`` is how the ranks of the system are distributed among all candidates: an
    oracle, which shows the most that a prior can do. It is taken rank by rank, not on a grid, in
    the time and memory of n (m + 1) numbers.
    The released code of Li et al. takes pooled priors, the mean of what all repeats suggest; who
    has one sample has not.

    Examples
    --------
    >>> from analyses.shared.work import RanksAlone
    >>> ranks = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
    >>> asked = {"metrics": ("Recall",), "priors": ("uniform", "true"), "negatives": 20}
    >>> found = priors(RanksAlone({"one": ranks}, seed=1), Settings(**asked, repeats=20))
    >>> uniform, true = found.errors[-2:].mean(axis=-1).ravel()
    >>> bool(true < uniform)
    True
    """
    design = settings.designs(first_of(work.full_ranks))
    ways = [
        Way(one.with_prior(UNIFORM if name == TRUE else name), design, oracle=name == TRUE)
        for one in CORRECTORS
        for name in settings.wanted
    ]
    return experiment(Priors, work, settings, ways)


@dataclass(frozen=True, eq=False)
class Priors(Experiment):
    """Errors of corrections of the same samples, by estimator and prior."""

    label, without = "Comparing priors", "prior"

    @property
    def each(self) -> tuple[str, ...]:
        """The priors, each once."""
        return tuple(dict.fromkeys(self.priors))

    def rows(self) -> pd.DataFrame:
        """Add why nobody has a prior, and between which limits most errors are."""
        frame = super().rows()
        low, high = np.quantile(self.errors, (0.1, 0.9), axis=-1)
        hidden = frame["prior"].map(unavailable)
        return frame.assign(unavailable=hidden, low=low.ravel(), high=high.ravel())

    @table("sampled_priors", "relative errors of BV and MN, by prior")
    def by_prior(self) -> Table:
        """Tabulate mean errors by prior."""
        frame = self.rows()
        why = [f" ({said})" if said else "" for said in frame["unavailable"]]
        return crossed(
            frame.assign(prior=frame["prior"] + why),
            ["prior"],
            ["metric", "estimator"],
            "error",
            best=min,
            name="sampled_priors",
            title="Relative error in per cent, by prior; mean over the systems",
            note=self.caption(),
        )

    @figure(
        "sampled_priors",
        "Sampled negatives: error by the prior of the correction",
        number=17,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the mean error for each prior, and how it varies: a colour for each estimator."""
        ax, frame = self.panel(ax, metric)
        keys = ["estimator", "prior"]
        means = frame.groupby(keys, sort=False)[["error", "low", "high"]].mean()
        every = means.groupby("estimator", sort=False)
        apart = np.linspace(-0.2, 0.2, every.ngroups)
        drawn = zip(categories(self.distinct), every, apart, strict=True)
        for (label, style), (_, own), shift in drawn:
            places, (mean, low, high) = np.arange(len(own)) + shift, own.to_numpy().T
            draw_whiskers(ax, places, mean, (low, high), style | {"linestyle": "none"}, label=label)
        self._mark_priors(ax)
        scale_by_factors(ax, along="y")
        ax.set_ylabel("relative error in per cent")
        label_curves(ax)
        return ax

    def _mark_priors(self, ax: Axes) -> None:
        """Name the priors, and shade those that nobody has."""
        ax.set_xticks(range(len(self.each)), self.each, rotation=40, ha="right")
        ax.set(xlim=(-0.5, len(self.each) - 0.5), xlabel="prior (shaded: nobody has it)")
        for place, prior in enumerate(self.each):
            if unavailable(prior):
                ax.axvspan(place - 0.5, place + 0.5, color="0.92", linewidth=0, zorder=0)

    def caption(self) -> str:
        """Say what is shown, and which priors nobody has."""
        hidden = "; ".join(f"{p}: {unavailable(p)}" for p in self.each if unavailable(p))
        shaded = f" Nobody has the priors that are shaded ({hidden})." if hidden else ""
        return (
            f"Relative error of the curves at cut-offs 1 to 50 by the prior of the correction, the "
            f"distribution of ranks that its bias is averaged over: mean over "
            f"{self.counted}; whiskers hold the middle eight tenths of the samples, "
            f"of one system on average. {self.of_samples}{shaded}"
        )
