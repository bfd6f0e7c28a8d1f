"""Random loss of judgements: what samples of them do to the ordering of the systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from analyses.intervals.areas import HIGHER_IS_BETTER, Curves, area, areas_in_words
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.contested_loss import ContestedComparison, KeptShares
from analyses.intervals.resampling import RESAMPLING_SAMPLES, resampled_users, sum_over_runs
from analyses.intervals.systems import subset_taus
from analyses.intervals.yardsticks import Yardsticks, consistency_of_halves, taus_with_others
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.ordering.coefficients import mean_coefficients, stack_levels
from analyses.shared.contested_shares import ContestedShares
from analyses.shared.families import Families, SubsetValues
from analyses.shared.judgement_samples import LossSettings
from analyses.shared.limits import RANDOM_LOSS_FACTOR
from analyses.shared.measure import Measures, tidy
from analyses.shared.result import Result
from qrels import Qrels
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.parallel import delayed, run_in_threads

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.measure_estimates import Estimates
    from analyses.shared.scores import RunDeviations
    from analyses.shared.work import SumSamples, Work


LossT = TypeVar("LossT", bound="RandomLoss")

SAMPLES_AT_ONCE = 100
"""Samples that are scored together, of some levels.

Of 100, each takes two thirds of the time that it takes of 50, and twice the memory.
"""

MASKS_AT_ONCE = 1 << 28
"""Judgements kept or lost, in all samples that are scored together: 256 MB."""


def lose_at_random(
    result_class: type[LossT],
    work: Work,
    settings: LossSettings,
    draw: Callable[[float], Masks],
    **facts: Any,
) -> LossT:
    """Score systems on random samples of the judgements, and compare their orderings.

    The result has Kendall's tau-b between the ordering on every sample and that on all judgements,
    by measure and level. Levels, the shares that are kept, are scored in threads, some together.

    Parameters
    ----------
    result_class
        Class of the result.
    work
        The study.
    settings
        Levels, and numbers of samples and of bootstrap replicates.
    draw
        Draws the samples of a level: which judgements each has, (n_judgements, n_samples).
    facts
        Further fields of the result, such as ``loss`` and ``drawing``.
    """
    qrels = work.qrels
    levels = settings.levels
    n_samples = settings.samples
    n_levels = len(levels)
    measures = work.scores.measures
    samples = _LossSamples.of(work, settings, draw)
    # Levels that are scored together: as many as time and memory allow.
    n_judgements_of_level = n_samples * len(qrels.items)
    most_by_time = SAMPLES_AT_ONCE // n_samples
    most_by_memory = MASKS_AT_ONCE // max(n_judgements_of_level, 1)
    at_once = max(1, min(most_by_time, most_by_memory))
    level_groups = [levels[first : first + at_once] for first in range(0, n_levels, at_once)]
    tasks = (delayed(samples.compare_levels)(group) for group in level_groups)
    tasks_done = run_in_threads(tasks, n_jobs=work.n_jobs, return_as="generator")
    levels_done = chain.from_iterable(tasks_done)
    by_level = list(work.steps("Taking judgements away", n_levels, levels_done))
    taus = np.stack([level.taus for level in by_level], axis=1)
    replicates = np.stack([level.replicates for level in by_level], axis=1)
    coefficients = stack_levels([level.coefficients for level in by_level])
    within = np.stack([level.within for level in by_level], axis=-1)
    crossed = np.stack([level.crossed for level in by_level], axis=-1)
    n_without_relevant = np.array([level.n_without_relevant for level in by_level])
    n_kept = np.array([level.n_kept for level in by_level])
    kept = KeptShares.stacked([level.kept for level in by_level])
    contested = samples.contested.over_levels(levels, kept)
    with_others = np.stack([level.with_others for level in by_level], axis=-1)
    yardsticks = Yardsticks(
        with_others=area(levels, with_others),
        consistency=consistency_of_halves(work.scores, seed=work.seed),
    )
    areas_within = area(levels, within)
    areas_crossed = area(levels, crossed)
    areas_in_subsets = SubsetValues(
        work.families.n_families, values=areas_within, crossed=areas_crossed
    )
    return result_class(
        measures=measures,
        levels=levels,
        taus=taus,
        coefficients=coefficients,
        replicates=replicates,
        within=areas_in_subsets,
        contested=contested,
        without_relevant=n_without_relevant,
        n_kept=n_kept,
        families=work.families,
        n_users=qrels.n_users,
        n_judgements=len(qrels.items),
        yardsticks=yardsticks,
        **facts,
    )


@dataclass(frozen=True, eq=False)
class _LevelAgreement:
    """Agreement of the orderings on the samples of one level with that on all judgements.

    Parameters
    ----------
    taus
        Kendall's tau-b of every sample, of shape (n_measures, n_samples).
    coefficients
        By further coefficient: its mean over samples, of shape (n_measures,).
    replicates
        Mean tau with other users and samples, of shape (n_measures, n_replicates).
    within
        Mean tau in random subsets of the systems, of shape (n_measures, n_subsets).
    crossed
        The same with other users, of shape (n_measures, n_resamples, n_subsets); NaN for measures
        that are not reported.
    with_others
        Mean tau with the orderings by the other report measures, (n_measures,).
    kept
        Shares of the contested pairs that keep their order, in the mean over samples.
    n_without_relevant
        Mean number of users left without a relevant item.
    n_kept
        Mean number of judgements left.
    """

    taus: Floats
    coefficients: Mapping[str, Floats]
    replicates: Floats
    within: Floats
    crossed: Floats
    with_others: Floats
    kept: KeptShares
    n_without_relevant: float
    n_kept: float


@dataclass(frozen=True, eq=False)
class _LossSamples:
    """What scores and compares samples of the judgements, of any level.

    Parameters
    ----------
    qrels
        All judgements.
    draw
        Draws the samples of a level: which judgements each has, (n_judgements, n_samples).
    sum_samples
        Scores samples, in sums over blocks of users.
    n_samples
        Number of samples of each level.
    seed
        Random seed.
    runs
        Deviations of single runs, if systems have several.
    resampling
        The blocks of users, and how replicates draw them.
    reference
        Sums of the scores by all judgements over blocks, of shape (n_measures, n_blocks,
        n_systems); with several runs of a system, of runs in place of systems.
    subsets
        Random subsets of the systems, of shape (n_subsets, n_systems).
    measures
        All measures.
    reported
        Positions of the report measures.
    contested
        Compares the contested pairs of systems.
    """

    qrels: Qrels
    draw: Callable[[float], Masks]
    sum_samples: SumSamples
    n_samples: int
    seed: int
    runs: RunDeviations | None
    resampling: Resampling
    reference: Floats
    subsets: Masks
    measures: Measures
    reported: Sequence[int]
    contested: ContestedComparison

    @classmethod
    def of(cls, work: Work, settings: LossSettings, draw: Callable[[float], Masks]) -> _LossSamples:
        """Score the systems by all judgements, and draw replicates and subsets of systems.

        ``draw`` draws the samples of a level: which judgements each has, (n_judgements, n_samples).
        """
        qrels = work.qrels
        runs = work.scores.runs
        measures = work.scores.measures
        resampling = Resampling.of(
            qrels.n_users, replicates=settings.replicates, seed=work.seed, runs=runs
        )
        n_samples = len(settings.levels) * settings.samples
        sum_samples = work.rescorer(n_samples)
        all_judgements = np.ones((len(qrels.items), 1), dtype=np.bool_)
        sums_of_all = sum_samples(all_judgements, blocks=resampling.blocks)
        subsets = work.families.subsets(seed=work.seed)
        reported = measures.indices(measures.reported)
        return cls(
            qrels=qrels,
            draw=draw,
            sum_samples=sum_samples,
            n_samples=settings.samples,
            seed=work.seed,
            runs=runs,
            resampling=resampling,
            reference=sums_of_all[..., 0],
            subsets=subsets,
            measures=measures,
            reported=reported,
            contested=ContestedComparison.of(work, resampling),
        )

    def compare_levels(self, levels: Sequence[float]) -> list[_LevelAgreement]:
        """Score the samples of some levels together, and compare each level with all judgements.

        Levels are shares of the judgements that are kept. If every sample of a level has all
        judgements, one is scored for all. The result: an agreement for each level, in order.
        """
        samples = []
        for level in levels:
            is_kept = self.draw(level)
            samples.append(is_kept[:, :1] if is_kept.all() else is_kept)
        all_samples = np.concatenate(samples, axis=1)
        sums = self.sum_samples(all_samples, blocks=self.resampling.blocks)
        # Where the samples of each level end, along the last axis of the sums.
        ends = np.cumsum([is_kept.shape[1] for is_kept in samples])
        parts = np.split(sums, ends[:-1], axis=-1)
        return [
            self._compare_level(level, is_kept, level_sums)
            for level, is_kept, level_sums in zip(levels, samples, parts, strict=True)
        ]

    def _compare_level(self, level: float, is_kept: Masks, sums: Floats) -> _LevelAgreement:
        """Compare the orderings on the samples of a level with that on all judgements, by tau-b.

        Parameters
        ----------
        level
            Share of the judgements that is kept.
        is_kept
            Which judgements each sample has, of shape (n_judgements, n_samples), or (n_judgements,
            1) if all samples are the same.
        sums
            Sums of scores over blocks of users, of shape (n_measures, n_blocks, n_systems,
            n_samples); with several runs of a system, of runs in place of systems.
        """
        n_scored = is_kept.shape[1]
        means = self._means(sums)
        reference_means = self._means(self.reference[..., np.newaxis])
        taus = tau_b(means, reference_means)
        resampled_taus = self.resampling.taus(sums, self.reference)
        replicates = _resample_samples(resampled_taus, level=level, seed=self.seed)
        crossed = self.resampling.subset_taus(
            sums, self.reference, self.subsets, measures=self.reported
        )
        # Of shape (n_measures, n_samples, n_resamples, n_subsets); samples last, to average over.
        crossed = np.moveaxis(crossed, 1, -1)
        # Of shape (n_measures, n_subsets, n_samples).
        within = subset_taus(means, reference_means, self.subsets)
        with_others = taus_with_others(means, reference_means[:, 0], self.measures)
        kept = self._keep_order(level, sums)
        # One sample that stands for all is repeated.
        n_repeats = self.n_samples // n_scored
        n_kept = np.count_nonzero(is_kept) / n_scored
        n_without_relevant = _mean_without_relevant(self.qrels, is_kept)
        return _LevelAgreement(
            taus=np.repeat(taus, n_repeats, axis=1),
            coefficients=mean_coefficients(means, reference_means),
            replicates=replicates,
            within=mean_of_defined(within),
            crossed=mean_of_defined(crossed),
            with_others=mean_of_defined(with_others),
            kept=kept,
            n_without_relevant=n_without_relevant,
            n_kept=n_kept,
        )

    def _keep_order(self, level: float, sums: Floats) -> KeptShares:
        """Compute shares of contested pairs that keep their order, in the mean over samples.

        ``sums`` are those of `_compare_level`. Replicates average over samples that are drawn anew.
        """
        shares = self.contested.compare(sums, self.reference)
        resampled = shares.replicates.swapaxes(1, 2)
        replicates = _resample_samples(resampled, level=level, seed=self.seed)
        means = shares.transformed(mean_of_defined)
        return replace(means, replicates=replicates)

    def _means(self, sums: Floats) -> Floats:
        """Average sums over blocks, (n_measures, n_blocks, n_systems, n_samples), over users.

        With several runs of a system, sums are of runs in place of systems. The means have the
        shape (n_measures, n_samples, n_systems).
        """
        totals = sum_over_runs(sums.sum(axis=1), self.runs)
        return totals.swapaxes(1, 2) / self.qrels.n_users


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
    contested
        Shares of the contested pairs of systems that keep their order; None if nothing is lost.
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
    yardsticks
        What the areas are read beside; None if it is not known.
    """

    measures: Measures
    levels: tuple[float, ...]
    taus: Floats
    coefficients: Mapping[str, Floats]
    replicates: Floats
    within: SubsetValues
    without_relevant: Floats
    n_kept: Floats
    contested: ContestedShares | None
    families: Families
    n_users: int
    n_judgements: int
    loss: str
    drawing: str
    yardsticks: Yardsticks | None = field(default=None, kw_only=True)
    name: ClassVar[str]
    least_area: ClassVar[float]

    @property
    def n_samples(self) -> int:
        """Number of samples at each level."""
        return self.taus.shape[2]

    @cached_property
    def undefined(self) -> Numbers:
        """Number of samples whose tau is undefined, of shape (n_measures, n_levels)."""
        is_undefined = np.isnan(self.taus)
        return np.count_nonzero(is_undefined, axis=2)

    def means(self) -> Floats:
        """Average tau over the samples in which it is defined, of shape (n_measures, n_levels)."""
        return mean_of_defined(self.taus)

    @cached_property
    def curves(self) -> Curves:
        """The means, with their bands (95 %, over users and samples) and areas."""
        return Curves(
            self.measures,
            self.levels,
            self.means(),
            self.replicates,
            within=self.within,
            families=self.families,
            factor=RANDOM_LOSS_FACTOR,
            yardsticks=self.yardsticks,
        )

    def estimates(self) -> Estimates:
        """Estimate the areas under the curves with their intervals."""
        return self.curves.estimates(loss=self.loss, threshold=self.least_area)

    def contested_shares(self) -> ContestedShares | None:
        """Look up the shares of the contested pairs that keep their order; None without a loss."""
        return self.contested

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate the curves (see `to_frame`), the areas under them, and differences of areas.

        For ``self.name`` "sparsity" the frames are called ``sparsity``, ``sparsity_areas`` and
        ``sparsity_area_differences``; the last has a row for each pair of comparable measures.
        """
        frames: dict[str, pd.DataFrame] = {}
        frames[self.name] = self.to_frame()
        frames[f"{self.name}_areas"] = self.curves.areas()
        frames[f"{self.name}_area_differences"] = self.estimates().differences()
        return frames

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the curves: a row for each measure and level.

        The result: columns metric, cutoff, level, tau (the mean), sd (of the samples' taus),
        standard_error (of the mean, from the samples alone), low, high (95 %, from users and
        samples), samples (their number), undefined (number of samples in which all systems tie),
        users_without_relevant and judgements (left; means over samples), and by its name one for
        each further coefficient (the mean of the samples in which it is defined). Means are of the
        samples with a tau; NaN without any, and deviations with fewer than two.
        """
        low, high = self.curves.band
        deviations = deviation_of_defined(self.taus)
        n_defined = self.n_samples - self.undefined
        # Without a tau the deviation is NaN already: 1 avoids a division by 0.
        standard_errors = deviations / np.sqrt(np.maximum(n_defined, 1))
        return tidy(
            self.measures,
            {"level": self.levels},
            tau=self.means(),
            sd=deviations,
            standard_error=standard_errors,
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
        """Describe the curves, and in how many samples tau is undefined."""
        n_undefined = int(self.undefined.sum())
        n_systems = self.families.n_systems
        users = counted(self.n_users, self.unit)
        samples = counted(self.n_samples, "sample")
        note = ""
        if n_undefined:
            note = f" In {counted(n_undefined, 'sample')} all systems tie: tau is undefined."
        return (
            f"Kendall's tau-b between the orderings of {n_systems} systems on a share of the "
            f"{self.n_judgements:,} judgements of {users} and on all of "
            f"them: mean of {samples} at each share. {self.drawing}. "
            f"{areas_in_words(self.levels)}. "
            f"{HIGHER_IS_BETTER}{note}"
        )


def _resample_samples(taus: Floats, *, level: float, seed: int) -> Floats:
    """Average the taus of every replicate over samples that are drawn anew, with replacement.

    ``taus`` has the shape (n_measures, n_samples, n_replicates), the result (n_measures,
    n_replicates). NaN is left out; the result is NaN where no sample that is drawn has a tau. Draws
    depend on the level, the seed, and the number of samples.
    """
    _, n_samples, n_replicates = taus.shape
    # Each level has draws of its own in one stream.
    first = round(level * 1e9) * n_replicates
    weights = resampled_users(
        first,
        first + n_replicates,
        n_users=n_samples,
        seed=seed,
        purpose=RESAMPLING_SAMPLES,
    )
    return mean_of_defined(taus.swapaxes(1, 2), weights)


def _mean_without_relevant(qrels: Qrels, is_kept: Masks) -> float:
    """Count the users who have no relevant judgement in a sample, and average over samples.

    ``is_kept`` marks the judgements of each sample, of shape (n_judgements, n_samples). Judgements
    of the qrels are sorted by user.
    """
    users = qrels.users[qrels.relevant]
    first_of_user = np.flatnonzero(np.diff(users, prepend=-1))
    # Samples are packed as bits of bytes, to be joined for each user at little memory.
    packed_samples = np.packbits(is_kept[qrels.relevant], axis=1)
    has_relevant = np.bitwise_or.reduceat(packed_samples, first_of_user, axis=0)
    n_samples = is_kept.shape[1]
    n_with_relevant = np.unpackbits(has_relevant, axis=1, count=n_samples).sum(axis=0)
    return float(qrels.n_users - n_with_relevant.mean())
