"""Validity with fewer judgements: the orderings that remain, compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyses.intervals.areas import Curves, area
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.resampling import sum_over_runs
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.popularity import keep_items
from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Measures
from analyses.validity.comparison import Comparison, block_sums
from runs.shared.arrays import Floats, Masks
from runs.shared.streams import random_words

if TYPE_CHECKING:
    from analyses.shared.work import SumSamples, Work


N_ORDERS = 10
"""Random orders of equally popular items; the mean over them is taken."""


@dataclass(frozen=True, eq=False, repr=False)
class TruthCurves:
    """Agreement with the truth at each level of loss, and with the measure on all judgements.

    Parameters
    ----------
    levels
        Shares kept.
    itself
        tau-b with the ordering on all judgements, of shape (n_measures, n_levels): robustness.
    taus
        tau-b with each true ordering, of shape (n_truths, n_measures, n_levels): validity.
    replicates
        The same with resampled users, of shape (n_truths, n_measures, n_levels, n_replicates).
    """

    levels: tuple[float, ...]
    itself: Floats
    taus: Floats
    replicates: Floats

    @property
    def robustness(self) -> Floats:
        """Area under the curve of ``itself``: the mean over levels, of shape (n_measures,)."""
        return area(self.levels, self.itself)

    def curves(self, truth: int, measures: Measures) -> Curves:
        """Select the curves of one truth, given by its number, with their replicates."""
        taus = self.taus[truth]
        replicates = self.replicates[truth]
        return Curves(measures, self.levels, taus, replicates)


@dataclass(frozen=True, eq=False)
class LossOfJudgements:
    """Judgements of a study that can be removed, and the scores on what remains.

    Parameters
    ----------
    work
        The study.
    comparison
        Its measures and the truth.
    replicates
        Number of bootstrap replicates of the users.
    """

    work: Work
    comparison: Comparison
    replicates: int

    def curves_at_random(self, levels: Sequence[float], *, n_samples: int) -> TruthCurves:
        """Keep random shares of all judgements: the samples of the analysis sparsity.

        At level 1, the only sample has all judgements.
        """
        n_judgements = len(self.work.qrels.items)
        samples = (
            self._random_samples(n_judgements, level, n_samples=n_samples) for level in levels
        )
        n_samples_in_all = len(levels) * n_samples
        sum_samples = self.work.rescorer(n_samples_in_all)
        return self.curves(samples, levels, sum_samples)

    def _random_samples(self, n_judgements: int, level: float, *, n_samples: int) -> Masks:
        """Draw samples of a share of the judgements: masks of shape (n_judgements, n_samples).

        At level 1, there is one sample, of all judgements.
        """
        if level == 1:
            return _all_judgements(n_judgements)
        return sample_judgements(
            n_judgements, level=level, n_samples=n_samples, seed=self.work.seed
        )

    def curves_without_popular(self, levels: Sequence[float]) -> TruthCurves:
        """Keep the judgements of the least popular items, as the analysis popularity does.

        Levels are shares of the items. Equally popular items are taken in 10 random orders
        (`N_ORDERS`), which are the samples of a level.
        """
        qrels = self.work.qrels
        # The first is where the analyses count ratings by default.
        counted_in = next(iter(self.work.popularity_counts))
        item_counts = self.work.popularity_counts[counted_in]
        orders = [
            random_words(len(item_counts), self.work.seed, "popularity", order)
            for order in range(N_ORDERS)
        ]

        def samples_of(level: float) -> Masks:
            """Mark the judgements at a level: (n_judgements, n_orders)."""
            samples = [keep_items(qrels, item_counts, levels=[level], ties=o) for o in orders]
            return np.concatenate(samples, axis=1)

        sum_samples = self.work.rescorer(len(levels) * N_ORDERS)
        return self.curves(map(samples_of, levels), levels, sum_samples)

    def curves(
        self, samples: Iterable[Masks], levels: Sequence[float], sum_samples: SumSamples
    ) -> TruthCurves:
        """Score the samples of every level, and compare them with the truth.

        Parameters
        ----------
        samples
            For each level, which judgements each sample has: (n_judgements, n_samples).
        levels
            The shares that the samples keep.
        sum_samples
            Scores samples, and adds the scores up over blocks of users.
        """
        work = self.work
        measured = self.comparison.measured
        n_users = len(measured.users)
        resampling = Resampling.of(n_users, replicates=self.replicates, seed=work.seed)
        true_sums = self._true_sums(resampling)
        true_means = true_sums.sum(axis=2) / n_users
        numbers = np.array(work.scores.measures.indices(measured.measures), dtype=np.intp)
        # Less is better by some measures: their scores change the sign.
        signs = measured.measures.signs[:, np.newaxis, np.newaxis, np.newaxis]

        def sums_of(masks: Masks) -> Floats:
            """Add up scores over blocks: (n_measures, n_blocks, n_systems, n_samples)."""
            sums_of_all = sum_samples(masks, blocks=resampling.blocks)
            sums = sums_of_all[numbers]
            return np.asarray(sum_over_runs(sums, work.scores.runs) * signs)

        def means_of(sums: Floats) -> Floats:
            """Average over all users: (n_measures, n_samples, n_systems)."""
            totals = sums.sum(axis=1)
            return np.asarray(totals.swapaxes(1, 2) / n_users)

        all_judgements = _all_judgements(len(work.qrels.items))
        means_of_all = means_of(sums_of(all_judgements))
        taus_with_itself = []
        taus_with_truth = []
        replicates = []
        for masks in samples:
            sums = sums_of(masks)
            means = means_of(sums)
            taus = tau_b(means, means_of_all)
            taus_with_itself.append(mean_of_defined(taus))
            taus_with_truth.append(_taus_with_truth(means, true_means))
            replicates.append(_resampled_taus(resampling, sums, true_sums))
        itself_by_level = np.stack(taus_with_itself, axis=-1)
        truth_by_level = np.stack(taus_with_truth, axis=-1)
        replicates_by_level = np.stack(replicates, axis=-2)
        return TruthCurves(tuple(levels), itself_by_level, truth_by_level, replicates_by_level)

    def _true_sums(self, resampling: Resampling) -> Floats:
        """Add up true scores over the blocks of users of a resampling.

        They are scaled as if the truth had as many users as the study. The result has the shape
        (n_truths, n_measures, n_blocks, n_systems).
        """
        users = self.comparison.measured.users
        true = self.comparison.true
        sums = block_sums(true, users, resampling.blocks, seed=self.work.seed)
        factor = len(users) / len(true.users)
        scaled = sums * factor
        return np.asarray(scaled[self.comparison.references])


def _all_judgements(n_judgements: int) -> Masks:
    """Mark all judgements as one sample: (n_judgements, 1)."""
    return np.ones((n_judgements, 1), dtype=np.bool_)


def _taus_with_truth(means: Floats, true_means: Floats) -> Floats:
    """Average tau-b of the samples of one level with each true ordering.

    Means have the shapes (n_measures, n_samples, n_systems) and (n_truths, n_measures, n_systems),
    the result (n_truths, n_measures): NaN where no sample has a tau.
    """
    means_of_truths = []
    for reference in true_means:
        taus = tau_b(means, reference[:, np.newaxis])
        means_of_truths.append(mean_of_defined(taus))
    return np.stack(means_of_truths)


def _resampled_taus(resampling: Resampling, sums: Floats, true_sums: Floats) -> Floats:
    """Average tau-b of the samples of one level with each true ordering, in every replicate.

    Sums over blocks of users have the shapes (n_measures, n_blocks, n_systems, n_samples) and
    (n_truths, n_measures, n_blocks, n_systems), the result (n_truths, n_measures, n_replicates).
    """
    means_of_truths = []
    for reference in true_sums:
        taus = resampling.taus(sums, reference).swapaxes(1, 2)
        means_of_truths.append(mean_of_defined(taus))
    return np.stack(means_of_truths)
