"""Validity when judgements are lost: orderings on what is left, compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.areas import Curves, area
from analyses.intervals.bands import Resampling
from analyses.intervals.resampling import of_systems
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.measure import Measures, RunDeviations
from analyses.shared.work import SumSamples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
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
    """What compares orderings on what is left of the judgements with the truth.

    Parameters
    ----------
    sum_samples
        Scores under changed judgements.
    numbers
        Which of the measures that it scores are compared.
    resampling
        Users in blocks.
    true_sums
        True scores in the sums of the blocks, (n_truths, n_measures, n_blocks, n_systems), as if
        there were as many users of the truth as of the study.
    signs
        -1 for measures of which less is better, of shape (n_measures,).
    everything
        A mask that keeps all judgements.
    runs
        What the runs of one system differ by, where there are several of one.
    """

    sum_samples: SumSamples
    numbers: NDArray[np.intp]
    resampling: Resampling
    true_sums: Floats
    signs: Floats
    everything: NDArray[np.bool_]
    runs: RunDeviations | None

    def curves(self, kept: Iterable[NDArray[np.bool_]], levels: Sequence[float]) -> TruthCurves:
        """Score the samples of every level, masks of shape (n_judgements, n_samples)."""
        full = self._means(self._sums(self.everything))
        found = [self._level(masks, full) for masks in kept]
        itself, taus, replicates = zip(*found, strict=True)
        return TruthCurves(
            tuple(levels), np.stack(itself, -1), np.stack(taus, -1), np.stack(replicates, -2)
        )

    def _level(self, kept: NDArray[np.bool_], full: Floats) -> tuple[Floats, Floats, Floats]:
        sums = self._sums(kept)
        means, true = self._means(sums), self.true_sums.sum(axis=2) / len(self.resampling.blocks)
        taus = [mean_of_defined(tau_b(means, one[:, np.newaxis])) for one in true]
        replicates = [
            mean_of_defined(self.resampling.taus(sums, one).swapaxes(1, 2))
            for one in self.true_sums
        ]
        return mean_of_defined(tau_b(means, full)), np.stack(taus), np.stack(replicates)

    def _means(self, sums: Floats) -> Floats:
        return np.asarray(sums.sum(axis=1).swapaxes(1, 2) / len(self.resampling.blocks))

    def _sums(self, kept: NDArray[np.bool_]) -> Floats:
        sums = self.sum_samples(kept, blocks=self.resampling.blocks)[self.numbers]
        sums = of_systems(sums, self.runs)
        return np.asarray(sums * self.signs[:, np.newaxis, np.newaxis, np.newaxis])
