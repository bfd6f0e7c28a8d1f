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

if TYPE_CHECKING:
    from analyses.shared.work import Work


def lose_at_random(
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


def lose_popular(
    work: Work, rulers: NDArray[np.intp], levels: Sequence[float], *, replicates: int
) -> TruthCurves:
    """Keep the judgements of the least popular items."""
    counts = next(iter(work.popularity_counts.values()))
    kept = keep_items(work.qrels, counts, levels=levels)
    columns = (kept[:, [level]] for level in range(len(levels)))
    scored = _loss(work, rulers, n_samples=len(levels), replicates=replicates)
    return scored.curves(columns, levels)


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
