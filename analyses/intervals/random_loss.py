"""Random loss of judgements: what samples of them do to the ordering of the systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from analyses.intervals.areas import HIGHER_IS_BETTER, Curves, area
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.resampling import RESAMPLING_SAMPLES, resampled_users, sum_over_runs
from analyses.intervals.systems import subset_taus
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.ordering.coefficients import mean_coefficients, stack_levels
from analyses.shared.families import Families, SubsetValues
from analyses.shared.judgement_samples import LossSettings
from analyses.shared.limits import RANDOM_LOSS_FACTOR
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import percent
from analyses.shared.result import Result
from qrels import Qrels
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.parallel import delayed, run_in_threads

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.measure_estimates import Estimates
    from analyses.shared.work import Work


LossT = TypeVar("LossT", bound="RandomLoss")

SAMPLES_AT_ONCE, MASKS_AT_ONCE = 100, 1 << 28
"""Samples that are scored together, of some levels: of 100, each takes two thirds of the time that
it takes of 50, and twice the memory. Beyond 256 MB of judgements kept or lost, fewer."""


def lose_at_random(
    kind: type[LossT],
    work: Work,
    settings: LossSettings,
    draw: Callable[[float], Masks],
    **facts: Any,
) -> LossT:
    """Score systems on random samples of the judgements, and compare their orderings.

    Levels, some together, are scored in threads.
    """
    qrels, seed, levels, n_samples = work.qrels, work.seed, settings.levels, settings.samples
    sum_samples = work.rescorer(len(levels) * n_samples)
    runs = work.scores.runs
    resampling = Resampling.of(qrels.n_users, replicates=settings.replicates, seed=seed, runs=runs)
    everything = np.ones((len(qrels.items), 1), dtype=np.bool_)
    reference = sum_samples(everything, blocks=resampling.blocks)[:, :, :, 0]
    subsets, measures = work.families.subsets(seed=seed), work.scores.measures
    reported = measures.indices(measures.reported)

    def study(some: Sequence[float]) -> list[tuple[Any, ...]]:
        """Score the samples of some levels together."""
        drawn = map(draw, some)
        kept = [everything if each.all() else each for each in drawn]
        sums = sum_samples(np.concatenate(kept, axis=1), blocks=resampling.blocks)
        ends = np.cumsum([each.shape[1] for each in kept])
        parts = np.split(sums, ends[:-1], axis=-1)
        return [compare(*level) for level in zip(some, kept, parts, strict=True)]

    def compare(level: float, kept: Masks, sums: Floats) -> tuple[Any, ...]:
        """Give, of one level, what `RandomLoss` has of all: taus to n_kept."""
        means = sum_over_runs(sums.sum(axis=1), runs).swapaxes(1, 2) / qrels.n_users
        full = sum_over_runs(reference.sum(axis=1)[..., None], runs).swapaxes(1, 2) / qrels.n_users
        crossed = resampling.subset_taus(sums, reference, subsets, of=reported)
        return (
            np.repeat(tau_b(means, full), n_samples // kept.shape[1], axis=1),
            mean_coefficients(means, full),
            _resample_samples(resampling.taus(sums, reference), level=level, seed=seed),
            mean_of_defined(subset_taus(means, full, subsets)),
            mean_of_defined(np.moveaxis(crossed, 1, -1)),
            _without_relevant(qrels, kept),
            np.count_nonzero(kept) / kept.shape[1],
        )

    n_masks = n_samples * len(qrels.items)
    at_once = max(1, min(SAMPLES_AT_ONCE // n_samples, MASKS_AT_ONCE // max(n_masks, 1)))
    tasks = (delayed(study)(levels[n : n + at_once]) for n in range(0, len(levels), at_once))
    results = run_in_threads(tasks, n_jobs=work.n_jobs, return_as="generator")
    studied = chain.from_iterable(results)
    columns = zip(*work.steps("Taking judgements away", len(levels), studied), strict=True)
    taus, coefficients, resampled, within, crossed, without_relevant, n_kept = columns
    areas = (area(levels, np.stack(each, axis=-1)) for each in (within, crossed))
    return kind(
        measures=measures,
        levels=levels,
        taus=np.stack(taus, axis=1),
        coefficients=stack_levels(coefficients),
        replicates=np.stack(resampled, axis=1),
        within=SubsetValues(work.families.n_families, *areas),
        without_relevant=np.array(without_relevant),
        n_kept=np.array(n_kept),
        families=work.families,
        n_users=qrels.n_users,
        n_judgements=len(qrels.items),
        **facts,
    )


@dataclass(frozen=True, eq=False)
class RandomLoss(Result):
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
    within
        Areas under the curves in random subsets of the systems.
    without_relevant
        Mean number of users left without a relevant item, of shape (n_levels,).
    n_kept
        Mean number of judgements left, of shape (n_levels,).
    families
        The families of the systems.
    n_users, n_judgements
        Facts for the caption.
    loss, drawing
        What is lost, and how judgements are drawn, in words.
    name
        Name of the main frame, with which those of areas and their differences begin.
    least_area
        Least area under the curve of tau that is acceptable.
    """

    measures: Measures
    levels: tuple[float, ...]
    taus: Floats
    coefficients: Mapping[str, Floats]
    replicates: Floats
    within: SubsetValues
    without_relevant: Floats
    n_kept: Floats
    families: Families
    n_users: int
    n_judgements: int
    loss: str
    drawing: str
    name: ClassVar[str]
    least_area: ClassVar[float]

    @property
    def n_samples(self) -> int:
        """Samples per level."""
        return self.taus.shape[2]

    @property
    def undefined(self) -> Numbers:
        """Samples whose tau is undefined, of shape (n_measures, n_levels)."""
        return np.count_nonzero(np.isnan(self.taus), axis=2)

    def means(self) -> Floats:
        """Mean tau of the samples in which it is defined, of shape (n_measures, n_levels)."""
        return mean_of_defined(self.taus)

    @property
    def curves(self) -> Curves:
        """The means, with their bands (95 %, over users and samples) and areas."""
        parts = self.means(), self.replicates, self.within, self.families
        return Curves(self.measures, self.levels, *parts, factor=RANDOM_LOSS_FACTOR)

    def estimates(self) -> Estimates:
        """Areas under the curves with their intervals."""
        return self.curves.estimates(loss=self.loss, threshold=self.least_area)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the curves (see `to_frame`), the areas under them, and differences of areas."""
        return {
            self.name: self.to_frame(),
            f"{self.name}_areas": self.curves.areas(),
            f"{self.name}_area_differences": self.estimates().differences(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and level.

        The result: columns metric, cutoff, level, tau (the mean), sd (of the samples' taus),
        standard_error (of the mean, from the samples alone), low, high (95 %, from users and
        samples), samples, undefined (samples in which all systems tie), users_without_relevant,
        judgements (left), and by its name one for each further coefficient (the mean of the samples
        in which it is defined).
        """
        low, high = self.curves.band
        deviations = deviation_of_defined(self.taus)
        defined = self.n_samples - self.undefined
        return tidy(
            self.measures,
            {"level": self.levels},
            tau=self.means(),
            sd=deviations,
            standard_error=deviations / np.sqrt(np.maximum(defined, 1)),
            low=low,
            high=high,
            samples=self.n_samples,
            undefined=self.undefined,
            users_without_relevant=self.without_relevant,
            judgements=self.n_kept,
            **self.coefficients,
        )

    def plot_curves(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw mean tau against the share kept: cut-offs of one metric, or metrics at one cut-off.

        Metrics have their bands drawn.
        """
        self.curves.plot(ax, metric=metric, over=f"{self.units} and samples")
        ax.set_xlabel("judgements kept (%)")

    def cautions(self) -> Sequence[str]:
        """Name the metrics whose ordering never changes."""
        return self.curves.cautions()

    def caption(self) -> str:
        """Say what the curves are, and in how many samples tau is undefined."""
        undefined = int(self.undefined.sum())
        n_systems = self.families.n_systems
        note = f" In {counted(undefined, 'sample')} all systems tie: tau is undefined." * (
            undefined > 0
        )
        return (
            f"Kendall's tau-b between the orderings of {n_systems} systems on a share of the "
            f"{self.n_judgements:,} judgements of {counted(self.n_users, self.unit)} and on all of "
            f"them: mean of {counted(self.n_samples, 'sample')} at each share. {self.drawing}. "
            "Areas "
            f"are mean taus from {percent(max(self.levels))} to {percent(min(self.levels))}. "
            f"{HIGHER_IS_BETTER}{note}"
        )


def _resample_samples(taus: Floats, *, level: float, seed: int) -> Floats:
    """Average replicates (n_measures, n_samples, n_replicates), each over samples drawn anew."""
    _, n_samples, replicates = taus.shape
    first = round(level * 1e9) * replicates
    weights = resampled_users(
        first, first + replicates, n_users=n_samples, seed=seed, purpose=RESAMPLING_SAMPLES
    )
    return mean_of_defined(taus.swapaxes(1, 2), weights)


def _without_relevant(qrels: Qrels, kept: Masks) -> float:
    """Count the users without a relevant judgement, in the mean over samples (bits of a byte)."""
    users = qrels.users[qrels.relevant]
    firsts = np.flatnonzero(np.diff(users, prepend=-1))
    samples = np.packbits(kept[qrels.relevant], axis=1)
    has_relevant = np.bitwise_or.reduceat(samples, firsts, axis=0)
    n_with = np.unpackbits(has_relevant, axis=1, count=kept.shape[1]).sum(axis=0)
    return float(qrels.n_users - n_with.mean())
