"""Which metrics may leave out the ranks that hold nothing judged: tried on the lists themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, rising_cutoffs
from harness.metrics.shared.metric import Metric
from harness.scoring.blocks import Samples, divide
from qrels import Judged, Qrels
from runs import InputError, Run

TRIED_USERS = 400
"""About so many users are scored both ways."""

SHARES = (1.0, 0.5, 0.1)
"""Shares of the judgements that are left."""

TOLERANCE = 1e-12


def same_from_hits(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
) -> list[bool]:
    """Tell of each measure whether judged ranks alone give the scores that whole lists give.

    Some users are scored both ways: on all their judgements, on half of them, and on a tenth.
    """
    users = np.arange(0, qrels.n_users, max(1, qrels.n_users // TRIED_USERS))
    runs = [Run(run.system, run.items[users]) for run in runs]
    qrels = qrels.of_users(users)
    chances = np.random.default_rng(0).random((len(qrels.items), 1))
    samples = Samples.of(qrels, chances < SHARES)
    whole, hits = (
        divide(
            runs,
            qrels,
            depth=rising_cutoffs(measures)[-1],
            n_samples=len(SHARES),
            hits_only=hits_only,
        )
        for hits_only in (False, True)
    )
    lists = [
        (by_lists, by_hits)
        for block, of_hits in zip(whole, hits, strict=True)
        for by_lists, by_hits in zip(block.judge(samples), of_hits.judge(samples), strict=True)
    ]
    return [
        not metrics[measure.metric].per_user
        and all(_agree(metrics[measure.metric], measure.cutoff, *pair) for pair in lists)
        for measure in measures
    ]


def _agree(metric: Metric, cutoff: int | None, by_lists: Judged, by_hits: Judged) -> bool:
    expected = metric(by_lists, cutoff=cutoff)
    try:
        found: NDArray[np.float64] = metric(by_hits, cutoff=cutoff)
    except InputError:
        return False
    return bool(np.allclose(found, expected, rtol=0, atol=TOLERANCE))
