"""Judgements taken away as the analyses of robustness do, to see what becomes of validity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.bands import Resampling
from analyses.popularity import keep_items
from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Scores
from analyses.verdicts.joint_users import block_sums
from analyses.verdicts.rulers import oriented, signs_of
from analyses.verdicts.truth_curves import LossOfJudgements, TruthCurves
from runs.shared.streams import random_words

if TYPE_CHECKING:
    from analyses.shared.work import Work

N_ORDERS = 10
"""Random orders of equally popular items, over which is averaged."""


@dataclass(frozen=True, eq=False)
class Loss:
    """Judgements of a study that can be taken away.

    Parameters
    ----------
    work
        What is studied.
    measured
        The scores that are compared with the truth, such that more is better.
    rulers
        The true measures that each is compared with, of shape (n_truths, n_measures).
    replicates
        How often users are drawn.
    """

    work: Work
    measured: Scores
    rulers: NDArray[np.intp]
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
        return self._scored(len(levels) * n_samples).curves(kept, levels)

    def of_popular(self, levels: Sequence[float]) -> TruthCurves:
        """Keep those of the least popular items, in the orders of the analysis popularity."""
        qrels, seed = self.work.qrels, self.work.seed
        counts = next(iter(self.work.popularity_counts.values()))
        orders = [random_words(len(counts), seed, "popularity", order) for order in range(N_ORDERS)]
        kept = (
            np.concatenate([keep_items(qrels, counts, levels=[level], ties=o) for o in orders], 1)
            for level in levels
        )
        return self._scored(len(levels) * N_ORDERS).curves(kept, levels)

    def _scored(self, n_samples: int) -> LossOfJudgements:
        work, measured, true = self.work, self.measured, oriented(self.work.truth.scores)
        n_users = len(measured.users)
        resampling = Resampling.of(n_users, replicates=self.replicates, seed=work.seed)
        sums = block_sums(true, measured.users, resampling.blocks, seed=work.seed)
        return LossOfJudgements(
            work.rescorer(n_samples),
            np.array(work.scores.measures.numbers(measured.measures), dtype=np.intp),
            resampling,
            (sums * (n_users / len(true.users)))[self.rulers],
            signs_of(measured.measures),
            np.ones((len(work.qrels.items), 1), dtype=np.bool_),
            work.scores.runs,
        )
