"""Validity with fewer judgements: what is left, compared with the truth."""

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
        """Give the curves of one truth, with their bands."""
        return Curves(measures, self.levels, self.taus[truth], self.replicates[truth])


@dataclass(frozen=True, eq=False)
class LossOfJudgements:
    """Judgements of a study that can be removed, and the scores that are left."""

    work: Work
    comparison: Comparison
    replicates: int

    def at_random(self, levels: Sequence[float], *, n_samples: int) -> TruthCurves:
        """Keep random shares of all judgements: the samples of the analysis sparsity."""
        n_judgements, seed = len(self.work.qrels.items), self.work.seed
        kept = (
            sample_judgements(n_judgements, level=level, n_samples=n_samples, seed=seed)
            if level < 1
            else np.ones((n_judgements, 1), dtype=np.bool_)
            for level in levels
        )
        return self.curves(kept, levels, self.work.rescorer(len(levels) * n_samples))

    def of_popular(self, levels: Sequence[float]) -> TruthCurves:
        """Keep those of the least popular items, in the orders of the analysis popularity."""
        qrels, seed = self.work.qrels, self.work.seed
        counts = next(iter(self.work.popularity_counts.values()))
        orders = [random_words(len(counts), seed, "popularity", order) for order in range(N_ORDERS)]
        kept = (
            np.concatenate([keep_items(qrels, counts, levels=[level], ties=o) for o in orders], 1)
            for level in levels
        )
        return self.curves(kept, levels, self.work.rescorer(len(levels) * N_ORDERS))

    def curves(
        self, kept: Iterable[Masks], levels: Sequence[float], sum_samples: SumSamples
    ) -> TruthCurves:
        """Score the samples of every level, masks of shape (n_judgements, n_samples)."""
        work, measured, true = self.work, self.comparison.measured, self.comparison.true
        n_users, measures = len(measured.users), measured.measures
        resampling = Resampling.of(n_users, replicates=self.replicates, seed=work.seed)
        # True sums are scaled as if the truth had as many users as the study.
        true_sums = block_sums(true, measured.users, resampling.blocks, seed=work.seed)
        true_sums = (true_sums * (n_users / len(true.users)))[self.comparison.references]
        numbers = np.array(work.scores.measures.indices(measures), dtype=np.intp)
        signs = measures.signs[:, np.newaxis, np.newaxis, np.newaxis]

        def sums_of(masks: Masks) -> Floats:
            sums = sum_samples(masks, blocks=resampling.blocks)[numbers]
            return np.asarray(sum_over_runs(sums, work.scores.runs) * signs)

        def means_of(sums: Floats) -> Floats:
            return np.asarray(sums.sum(axis=1).swapaxes(1, 2) / n_users)

        full = means_of(sums_of(np.ones((len(work.qrels.items), 1), dtype=np.bool_)))
        true_means = true_sums.sum(axis=2) / n_users
        itself, taus, replicates = [], [], []
        for masks in kept:
            sums = sums_of(masks)
            means = means_of(sums)
            itself.append(mean_of_defined(tau_b(means, full)))
            taus.append([mean_of_defined(tau_b(means, one[:, np.newaxis])) for one in true_means])
            drawn = (resampling.taus(sums, one).swapaxes(1, 2) for one in true_sums)
            replicates.append(np.stack([mean_of_defined(each) for each in drawn]))
        of_itself = np.stack(itself, -1)
        of_truth = np.stack([np.stack(each) for each in taus], -1)
        return TruthCurves(tuple(levels), of_itself, of_truth, np.stack(replicates, -2))
