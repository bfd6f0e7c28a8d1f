"""What metrics need of lists when judgements are lost: tried out on the lists themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric
from harness.scoring.blocks import Samples, divide
from qrels import Catalogue, Judged, Qrels
from runs import Run

TRIED_USERS = 400
"""About so many users are scored both ways: the same several times, where there are fewer."""

SHARES = (1.0, 0.5, 0.1, 0.0)
"""Shares of the judgements that are left."""

Needs = Literal["nothing", "judged ranks", "all ranks"]
"""What the scores of a sample are made from: those on all judgements will do, or these ranks."""

NEEDS: tuple[Needs, ...] = get_args(Needs)
"""From the cheapest on."""

TOLERANCE = 1e-12


def needs_of(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
    *,
    depth: int,
) -> list[Needs]:
    """Tell of each measure what it needs of the lists when judgements are lost.

    Some users are scored from all ranks and from judged ranks alone: on all their judgements, on
    half of them, on a tenth, and on none. Of few users several such samples are tried.
    """
    users = np.arange(0, qrels.n_users, max(1, qrels.n_users // TRIED_USERS))
    runs = [Run(run.system, run.items[users]) for run in runs]
    catalogue = catalogue.of_users(users, qrels.rows_of(users))
    qrels = qrels.of_users(users)
    repeats = ceil(TRIED_USERS / max(1, len(users)))
    n_samples = repeats * len(SHARES)
    chances = np.random.default_rng(0).random((len(qrels.items), repeats))
    kept = chances[:, :, None] < SHARES
    samples = Samples.of(qrels, catalogue, kept.reshape(len(chances), -1))
    whole, hits = (
        divide(
            runs,
            qrels,
            depth=depth,
            n_samples=n_samples,
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
        _needs(metrics[measure.metric], measure.cutoff, lists, n_samples) for measure in measures
    ]


def _needs(
    metric: Metric,
    cutoff: int | None,
    lists: Sequence[tuple[Judged, Judged]],
    n_samples: int,
) -> Needs:
    if metric.per_user:
        return "all ranks"
    scores = [metric(by_lists, cutoff=cutoff) for by_lists, _ in lists]
    if all(_is_unmoved(found.reshape(-1, n_samples)) for found in scores):
        return "nothing"
    same = (
        _is_scored(metric, cutoff, by_hits, found)
        for (_, by_hits), found in zip(lists, scores, strict=True)
    )
    return "judged ranks" if all(same) else "all ranks"


def _is_unmoved(by_user: NDArray[np.float64]) -> bool:
    return bool((by_user == by_user[:, :1]).all())


def _is_scored(
    metric: Metric, cutoff: int | None, judged: Judged, expected: NDArray[np.float64]
) -> bool:
    """Tell whether lists score as expected: a metric may count on columns that are left out."""
    try:
        found = metric(judged, cutoff=cutoff)
    except (ValueError, IndexError):
        return False
    return bool(np.allclose(found, expected, rtol=0, atol=TOLERANCE))
