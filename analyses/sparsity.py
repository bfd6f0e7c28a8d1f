"""Sparsity bias: what random loss of judgements does to the ordering of the systems.

Figures 2 and 6 of Valcarce et al. (2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.areas import Curves
from analyses.intervals.bands import Resampling
from analyses.intervals.draws import RESAMPLING_SAMPLES
from analyses.intervals.resampling import resampled_users
from analyses.ordering import tau_b
from analyses.ordering.agreement import IN_TABLES, mean_coefficients, mean_of_defined, stacked
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.judgement_samples import Mode, Sampling
from analyses.shared.measure import Measures
from analyses.shared.result import Result, figure
from qrels import Qrels
from runs.shared.settings import Levels, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.estimate import Estimates
    from analyses.shared.work import Work


class Settings(AnalysisSettings):
    """Random loss of judgements."""

    levels: Levels = Field(
        tuple(percent / 100 for percent in range(100, 0, -5)),
        min_length=1,
        description="Shares of the judgements that are kept.",
    )
    samples: Whole = Field(50, ge=1, description="Samples per level.")
    mode: Mode = Field(
        "all",
        description="What a level is a share of: all judgements, each user's, or each user's "
        "relevant and judged non-relevant items.",
    )
    least_relevant: Whole = Field(1, ge=0, description='Kept of every user; "stratified" only.')
    least_nonrelevant: Whole = Field(10, ge=0, description='Kept of every user; "stratified" only.')
    replicates: Whole = Field(
        200, ge=0, description="Bootstrap replicates of a curve; 0: no bands."
    )

    @property
    def sampling(self) -> Sampling:
        """How judgements are drawn."""
        return Sampling(self.mode, self.least_relevant, self.least_nonrelevant)


@analysis("sparsity", source="Valcarce et al. (2018), Figures 2 and 6; Buckley & Voorhees (2004)")
def sparsity(work: Work, settings: Settings) -> Sparsity:
    """Score systems on random samples of the judgements, and compare their orderings.

    Sample k of a level depends on (seed, level, k) alone. Levels are scored in threads.

    References
    ----------
    Buckley & Voorhees (2004); Valcarce et al. (2018), section 4.1.
    """
    qrels, seed, n_samples, sampling = work.qrels, work.seed, settings.samples, settings.sampling
    sum_samples = work.rescorer(len(settings.levels) * n_samples)
    resampling = Resampling.of(qrels.n_users, replicates=settings.replicates, seed=seed)
    everything = np.ones((len(qrels.items), 1), dtype=np.bool_)
    reference = sum_samples(everything, blocks=resampling.blocks)[:, :, :, 0]

    def study(level: float) -> tuple[Any, ...]:
        """Give, of one level, what `Sparsity` has of all: taus to n_kept."""
        kept = sampling.draw(qrels, level=level, n_samples=n_samples, seed=seed)
        if kept.all():
            kept = everything
        sums = sum_samples(kept, blocks=resampling.blocks)
        means = sums.sum(axis=1).swapaxes(1, 2) / qrels.n_users
        full = reference.sum(axis=1)[:, None, :] / qrels.n_users
        return (
            np.repeat(tau_b(means, full), n_samples // kept.shape[1], axis=1),
            mean_coefficients(means, full),
            _resample_samples(resampling.taus(sums, reference), level=level, seed=seed),
            _without_relevant(qrels, kept),
            float(kept.sum(axis=0).mean()),
        )

    studied = []
    tasks = (joblib.delayed(study)(level) for level in settings.levels)
    workers = joblib.Parallel(n_jobs=work.n_jobs, prefer="threads", return_as="generator")
    with work.progress("Taking judgements away", len(settings.levels)) as bar:
        for found in workers(tasks):
            studied.append(found)
            bar.advance()
    taus, coefficients, replicates, without_relevant, n_kept = zip(*studied, strict=True)
    return Sparsity(
        measures=work.scores.measures,
        levels=settings.levels,
        taus=np.stack(taus, axis=1),
        coefficients=stacked(coefficients),
        replicates=np.stack(replicates, axis=1),
        without_relevant=np.array(without_relevant),
        n_kept=np.array(n_kept),
        sampling=sampling,
        n_systems=reference.shape[2],
        n_users=qrels.n_users,
        n_judgements=len(qrels.items),
        seed=seed,
    )


@dataclass(frozen=True, eq=False)
class Sparsity(Result):
    """Agreement of every measure with itself when judgements are lost at random.

    Parameters
    ----------
    measures
        Label of the first axis.
    levels
        Shares of the judgements kept, label of the second axis.
    taus
        Kendall's tau-b of every sample with the full judgements, float64 of shape
        (n_measures, n_levels, n_samples); NaN where all systems tie.
    coefficients
        By further coefficient: the mean of the samples in which it is defined, float64 of shape
        (n_measures, n_levels).
    replicates
        Mean tau with other users and samples, drawn with replacement from those that there are;
        float64 of shape (n_measures, n_levels, n_replicates).
    without_relevant
        Mean number of users left without a relevant item, of shape (n_levels,).
    n_kept
        Mean number of judgements left, of shape (n_levels,).
    sampling
        How judgements were drawn.
    n_systems, n_users, n_judgements, seed
        Facts for the caption.
    """

    measures: Measures
    levels: tuple[float, ...]
    taus: NDArray[np.float64]
    coefficients: Mapping[str, NDArray[np.float64]]
    replicates: NDArray[np.float64]
    without_relevant: NDArray[np.float64]
    n_kept: NDArray[np.float64]
    sampling: Sampling
    n_systems: int
    n_users: int
    n_judgements: int
    seed: int

    @property
    def n_samples(self) -> int:
        """Samples per level."""
        return self.taus.shape[2]

    @property
    def undefined(self) -> NDArray[np.intp]:
        """Samples whose tau is undefined, of shape (n_measures, n_levels)."""
        return np.count_nonzero(np.isnan(self.taus), axis=2)

    def means(self) -> NDArray[np.float64]:
        """Mean tau of the samples in which it is defined, of shape (n_measures, n_levels)."""
        return mean_of_defined(self.taus)

    @property
    def curves(self) -> Curves:
        """The means, with their bands (95 %, over users and samples) and areas."""
        return Curves(self.measures, self.levels, self.means(), self.replicates)

    def estimates(self) -> Estimates:
        """Areas under the curves with their intervals."""
        return self.curves.estimates(loss="random loss of judgements")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``sparsity`` (see `to_frame`), ``sparsity_areas``, ``sparsity_area_differences``."""
        return {
            "sparsity": self.to_frame(),
            "sparsity_areas": self.curves.areas(),
            "sparsity_area_differences": self.estimates().differences(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and level.

        Returns
        -------
        Columns metric, cutoff, level, tau (the mean), sd (of the samples' taus), standard_error
        (of the mean, from the samples alone), low, high (95 %, from users and samples), samples,
        undefined (samples in which all systems tie), users_without_relevant, judgements (left),
        mode, and by its name one for each further coefficient (the mean of the samples in which
        it is defined).
        """
        import pandas as pd

        n_measures, n_levels = len(self.measures), len(self.levels)
        low, high = self.curves.band()
        deviations = _deviations(self.taus)
        defined = self.n_samples - self.undefined
        return pd.DataFrame(
            {
                "metric": np.repeat([m.metric for m in self.measures], n_levels),
                "cutoff": self.measures.column.repeat(n_levels),
                "level": np.tile(self.levels, n_measures),
                "tau": self.means().ravel(),
                "sd": deviations.ravel(),
                "standard_error": (deviations / np.sqrt(np.maximum(defined, 1))).ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "samples": self.n_samples,
                "undefined": self.undefined.ravel(),
                "users_without_relevant": np.tile(self.without_relevant, n_measures),
                "judgements": np.tile(self.n_kept, n_measures),
                "mode": self.sampling.mode,
                **{name: values.ravel() for name, values in self.coefficients.items()},
            }
        )

    @figure(
        "sparsity_cutoffs",
        "Sparsity: loss of judgements, by cut-off",
        number=2,
        panels="metric",
        over_cutoffs=True,
    )
    @figure("sparsity_metrics", "Sparsity: loss of judgements, by metric", number=6)
    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw mean tau against the share kept: cut-offs of one metric, or metrics at one cut-off.

        Metrics have their bands drawn.
        """
        ax = self.curves.plot(ax, metric=metric, cutoff=cutoff)
        ax.set_xlabel("judgements kept (%)")
        return ax

    def cautions(self) -> Sequence[str]:
        """Name the metrics that no loss moves."""
        return self.curves.cautions()

    def caption(self) -> str:
        """Say what the curves are, and how many samples they could not use."""
        undefined = int(self.undefined.sum())
        note = (
            f" In {undefined} samples all systems tied and tau is undefined." if undefined else ""
        )
        return (
            f"Mean Kendall's tau-b between the ordering of {self.n_systems} systems on "
            f"{self.n_samples} random samples of the {self.n_judgements:,} judgements of "
            f"{self.n_users:,} users and their ordering on all of them. "
            f"{self.sampling.in_words()}; users left without judgements score 0 (seed {self.seed})."
            f"{self.curves.in_words(samples=' and over samples,')}{note}{IN_TABLES}"
        )


def _resample_samples(taus: NDArray[np.float64], *, level: float, seed: int) -> NDArray[np.float64]:
    """Average replicates (n_measures, n_samples, n_replicates), each over samples drawn anew."""
    _, n_samples, replicates = taus.shape
    if replicates == 0:
        return np.empty((len(taus), 0))
    first = round(level * 1e9) * replicates
    weights = resampled_users(
        first, first + replicates, n_users=n_samples, seed=seed, purpose=RESAMPLING_SAMPLES
    )
    return mean_of_defined(taus.swapaxes(1, 2), weights)


def _without_relevant(qrels: Qrels, kept: NDArray[np.bool_]) -> float:
    """Count the users without a relevant judgement, in the mean over samples (bits of a byte)."""
    users = qrels.users[qrels.relevant]
    firsts = np.flatnonzero(np.diff(users, prepend=-1))
    samples = np.packbits(kept[qrels.relevant], axis=1)
    has_relevant = np.bitwise_or.reduceat(samples, firsts, axis=0)
    n_with = np.unpackbits(has_relevant, axis=1, count=kept.shape[1]).sum(axis=0)
    return float(qrels.n_users - n_with.mean())


def _deviations(taus: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the standard deviation of the defined taus along the last axis; NaN below two."""
    defined = ~np.isnan(taus)
    count = defined.sum(axis=-1)
    means = mean_of_defined(taus)
    squares = (np.where(defined, taus - means[..., None], 0.0) ** 2).sum(axis=-1)
    spread = np.divide(squares, count - 1, out=np.full(squares.shape, np.nan), where=count > 1)
    return np.sqrt(spread)
