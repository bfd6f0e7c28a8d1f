"""Which ranks a correction should have in mind: its prior, learned, pooled, uniform or true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as with_options
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.sampled.estimators import Tally, tally
from analyses.sampled.estimators.bv import BiasVariance
from analyses.sampled.estimators.learned_priors import canonical_prior
from analyses.sampled.estimators.mn import Multinomial
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.designs import FixedSize
from analyses.sampled.shared.curve_points import CurvePoints, mean_of_known
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.repeated_samples import SampledSystem, each_system
from analyses.sampled.shared.rows import tidy
from analyses.sampled.shared.sampled_result import RepeatedResult
from analyses.sampled.shared.settings import SampleSettings, distinct
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    categories,
    draw_whiskers,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs import InputError
from runs.shared.settings import read_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Corrector: TypeAlias = BiasVariance | Multinomial

PRIORS = ("uniform", "mle", "mes", "pooled:mle", "pooled:mes", "true")

TRUE = "true"
"""The prior that nobody has: how the ranks of the system are distributed."""

UNIFORM = "uniform"

CORRECTORS: tuple[Corrector, ...] = (
    BiasVariance(0.1, prior=UNIFORM),
    BiasVariance(0.01, prior=UNIFORM),
    Multinomial(prior=UNIFORM),
)

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


def read_priors(names: Sequence[str]) -> tuple[str, ...]:
    """Read priors.

    Raises
    ------
    InputError
        If one is none or is duplicated, or there is none.
    """
    return distinct([name if name == TRUE else canonical_prior(name) for name in names], "prior")


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


class Settings(SampleSettings):
    """Corrections of the same samples with several priors."""

    priors: Annotated[tuple[str, ...], read_by(read_priors)] | None = Field(
        None, description="Of BV and MN, in the study `priors`; by default all, and the true one."
    )

    def designs(self, ranks: FullRanks) -> FixedSize:
        """Give the one way in which users are sampled."""
        return self.fixed(ranks)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The priors in full; by default those that can be learned.

        MES does with one number of candidates alone, so not where each user's own are corrected
        for.
        """
        learned = [p for p in PRIORS if self.corrected_for == "mean" or not p.endswith("mes")]
        return read_priors(learned if self.priors is None else self.priors)


@analysis(
    "priors",
    source="Li et al. (2023), Towards reliable item sampling for recommendation evaluation",
    needs=("full_ranks",),
)
def priors(work: Work, settings: Settings) -> Priors:
    """Correct the same samples with several priors, and compare the curves with the true ones.

    The prior ``"true"`` is how the ranks of the system are distributed among all candidates: an
    oracle, which shows the most that a prior can do. It is taken rank by rank, not on a grid, in
    the time and memory of n (m + 1) numbers for each number of candidates that is corrected for.

    Raises
    ------
    InputError
        If a name or number makes no sense, or systems have different users.

    Notes
    -----
    The released code of Li et al. takes pooled priors, the mean of what all repeats suggest. Who
    has one sample has not.

    Examples
    --------
    >>> from analyses.shared.work import RanksAlone
    >>> ranks = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
    >>> asked = {"metrics": ("Recall",), "priors": ("uniform", "true"), "negatives": 20}
    >>> found = priors(RanksAlone({"one": ranks}, seed=1), Settings(**asked, repeats=20))
    >>> found.estimators[2], found.better_than_uniform()[2, 1, 0].item()
    ('MN', 20)
    """
    first = first_of(work.full_ranks)
    design = settings.fixed(first)
    points, names = CurvePoints.of_curves(settings.metrics), settings.wanted

    def find(system: SampledSystem) -> tuple[Floats]:
        known = _known(system, design, names)
        values = [
            [_estimates(points, corrector, name, *known[name]) for name in names]
            for corrector in CORRECTORS
        ]
        return (np.array([[system.errors(each).T for each in own] for own in values]),)

    (errors,) = each_system(work, "Comparing priors", settings, points, find)
    return Priors(
        measures=points.measures,
        systems=tuple(work.full_ranks),
        estimators=tuple(map(_name, CORRECTORS)),
        priors=names,
        errors=np.stack(errors, axis=-2),
        ranked=Ranked.of(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed, settings.draws),
        negatives=settings.negatives,
    )


def _known(
    system: SampledSystem, design: FixedSize, names: Sequence[str]
) -> dict[str, tuple[Tally, Floats | None]]:
    """Give what each prior is told: the counted samples, and the oracle the true ranks too."""
    samples = system.sample(design)
    known: dict[str, tuple[Tally, Floats | None]] = dict.fromkeys(names, (samples.counted, None))
    if TRUE in known:
        everywhere = tally(samples.drawn, n=system.corrected_for, path="full")
        known[TRUE] = everywhere, true_masses(system.ranks, everywhere)
    return known


def _estimates(
    points: CurvePoints, corrector: Corrector, prior: str, counted: Tally, masses: Floats | None
) -> Floats:
    named = corrector if prior == TRUE else with_options(corrector, prior=prior)
    return points.estimates(named, counted, masses=masses)


@dataclass(frozen=True, eq=False)
class Priors(RepeatedResult):
    """Errors of corrections that differ in the distribution of ranks they have in mind.

    Parameters
    ----------
    estimators, priors
        Labels of axes; measures are curves and have no cut-off, estimators have no prior.
    errors
        Of shape (n_estimators, n_priors, n_metrics, n_systems, n_repeats).
    negatives
        How many were sampled, m.
    """

    estimators: tuple[str, ...]
    priors: tuple[str, ...]
    negatives: int

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
        labels = {"estimator": self.estimators, "prior": self.priors, "metric": self.metrics}
        frame = tidy(
            {**labels, "system": self.systems},
            unavailable=np.array([[[unavailable(prior)]] for prior in self.priors], dtype=object),
            m=self.negatives,
            replace=self.drawn.replace,
            repeats=self.n_repeats,
            error=self.mean,
            error_sd=self.sd,
        )
        if UNIFORM in self.priors:
            frame["better_than_uniform"] = self.better_than_uniform().ravel()
        return frame[["system", "metric", "estimator", "prior", *frame.columns[4:]]]

    @table("sampled_priors", "relative errors of BV and MN, by prior")
    def by_prior(self) -> Table:
        """Tabulate mean errors by prior."""
        return self.errors_by(
            "prior",
            map(_marked, self.priors),
            self.estimators,
            name="sampled_priors",
            title="Relative error in per cent, by prior; mean over the systems",
        )

    @figure(
        "sampled_priors",
        "Sampled negatives: error by the prior of the correction",
        number=17,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the mean error for each prior, and how it varies: a colour for each estimator.

        The first metric by default, on new axes by default.
        """
        ax, number = self.panel(ax, metric)
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
        hidden = "; ".join(f"{p}: {unavailable(p)}" for p in self.priors if unavailable(p))
        shaded = f" Nobody has the priors that are shaded ({hidden})." if hidden else ""
        worth = "".join(self._worth()) if UNIFORM in self.priors else ""
        return (
            f"Relative error of the curves at cut-offs 1 to 50 by the prior of the correction, the "
            f"distribution of ranks that its bias is averaged over: mean over {self.n_repeats:,} "
            f"samples and {len(self.systems):,} systems; whiskers hold the middle eight tenths of "
            f"the samples, of one system on average. m = {self.negatives:,} negatives, sampled "
            f"{self.drawn.how}, seed {self.drawn.seed}; {self.ranked}; "
            f"corrections use {self.drawn.whose}.{shaded}{worth}"
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


def _marked(prior: str) -> str:
    why = unavailable(prior)
    return f"{prior} ({why})" if why else prior
