"""Judgements taken away as the analyses of robustness do, to see what becomes of validity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.bands import Resampling
from analyses.popularity import keep_items
from analyses.shared.judgement_samples import sample_judgements
from analyses.verdicts.joint_users import block_sums
from analyses.verdicts.rulers import oriented, signs_of
from analyses.verdicts.truth_curves import LossOfJudgements, TruthCurves
from runs.shared.streams import random_words

if TYPE_CHECKING:
    from analyses.shared.work import Work

N_ORDERS = 10
"""Random orders of equally popular items, over which is averaged."""


def validity_of_shares(
    work: Work,
    rulers: NDArray[np.intp],
    levels: Sequence[float],
    *,
    n_samples: int,
    replicates: int,
) -> TruthCurves:
    """Keep random shares of all judgements: the samples of the analysis sparsity."""
    n_judgements = len(work.qrels.items)
    kept = (
        sample_judgements(n_judgements, level=level, n_samples=n_samples, seed=work.seed)
        if level < 1
        else np.ones((n_judgements, 1), dtype=np.bool_)
        for level in levels
    )
    scored = _loss(work, rulers, n_samples=len(levels) * n_samples, replicates=replicates)
    return scored.curves(kept, levels)


def validity_of_unpopular(
    work: Work, rulers: NDArray[np.intp], levels: Sequence[float], *, replicates: int
) -> TruthCurves:
    """Keep the judgements of the least popular items, in the orders of the analysis popularity."""
    counts, seed = next(iter(work.popularity_counts.values())), work.seed
    orders = [random_words(len(counts), seed, "popularity", order) for order in range(N_ORDERS)]
    kept = (
        np.concatenate([keep_items(work.qrels, counts, levels=[level], ties=o) for o in orders], 1)
        for level in levels
    )
    scored = _loss(work, rulers, n_samples=len(levels) * N_ORDERS, replicates=replicates)
    return scored.curves(kept, levels)


def _loss(
    work: Work, rulers: NDArray[np.intp], *, n_samples: int, replicates: int
) -> LossOfJudgements:
    scores, true = work.scores, oriented(work.truth.scores)
    n_users = len(scores.users)
    resampling = Resampling.of(n_users, replicates=replicates, seed=work.seed)
    sums = block_sums(true, scores.users, resampling.blocks, seed=work.seed)
    return LossOfJudgements(
        work.rescorer(n_samples),
        resampling,
        (sums * (n_users / len(true.users)))[rulers],
        signs_of(scores.measures),
        np.ones((len(work.qrels.items), 1), dtype=np.bool_),
    )
