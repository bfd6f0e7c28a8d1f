"""The seven built-in metrics together, over judged hits, for many judgement samples at once.

Lists do not change when judgements are taken away; only judged hits matter. They are found once
per run. Every sample is a lane: the inner loops run over the samples of a level, so that they
vectorise. The readable definitions are in `harness.metrics`; tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from harness.metrics.infap import SMOOTHING
from qrels import Qrels, match
from runs import Run

FUSED = ("P", "Recall", "AP", "RR", "bpref", "infAP", "nDCG")
"""Names of the metrics, in the order of the first axis of the kernel's sums."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged items in the lists of all systems.

    Parameters
    ----------
    offsets
        The hits of system s for user u are ``offsets[s, u]:offsets[s, u + 1]``; int64 of shape
        (n_systems, n_users + 1).
    ranks
        Rank of each hit, rising within a list; int32 of shape (n_hits,).
    judgements
        Position of its judgement in the qrels, int64 of shape (n_hits,).
    """

    offsets: NDArray[np.int64]
    ranks: NDArray[np.int32]
    judgements: NDArray[np.int64]


def find_hits(runs: Sequence[Run], qrels: Qrels, *, depth: int) -> Hits:
    """Find the judged items in the first ranks of every list."""
    offsets, ranks, judgements = [], [], []
    start = 0
    for run in runs:
        matches = match(run, qrels)[:, :depth]
        judged = (matches >= 0) & (qrels.grades[matches] >= 0)
        ends = start + np.cumsum(judged.sum(axis=1))
        offsets.append(np.concatenate([[start], ends]))
        ranks.append((np.nonzero(judged)[1] + 1).astype(np.int32))
        judgements.append(matches[judged])
        start = int(ends[-1])
    return Hits(np.array(offsets), np.concatenate(ranks), np.concatenate(judgements))


def sum_scores(
    hits: Hits, qrels: Qrels, kept: NDArray[np.bool_], *, cutoffs: Sequence[int]
) -> NDArray[np.float64]:
    """Sum the seven metrics over users, for every sample of the judgements.

    Users are summed in one fixed order, so the sums do not depend on how samples are divided
    among workers.

    Parameters
    ----------
    hits
        From `find_hits`, at least as deep as the deepest cut-off.
    qrels
        All judgements.
    kept
        Mask of the judgements left in each sample, of shape (n_judgements, n_samples).
    cutoffs
        Rising cut-offs.

    Returns
    -------
    Sums over users, float64 of shape (7, n_cutoffs, n_systems, n_samples), in the order of
    `FUSED`.
    """
    borders = np.asarray(cutoffs, dtype=np.int64)
    bucket_of_rank = np.searchsorted(borders, np.arange(borders[-1] + 1))
    longest = int(max(borders[-1], np.diff(qrels.offsets).max(initial=0)))
    discounts = np.concatenate([[0.0], 1.0 / np.log2(np.arange(2, longest + 2))])
    by_grade = np.lexsort((qrels.items, -qrels.grades, qrels.users))
    n_systems, n_samples = len(hits.offsets), kept.shape[1]
    sums = np.zeros((n_systems, len(FUSED), len(borders), n_samples))
    _accumulate(
        hits.offsets,
        hits.ranks,
        hits.judgements,
        qrels.offsets,
        np.maximum(qrels.grades, 0).astype(np.float64),
        qrels.relevant,
        qrels.nonrelevant,
        by_grade,
        bucket_of_rank,
        discounts,
        np.ascontiguousarray(kept, dtype=np.uint8),
        sums,
    )
    np.cumsum(sums[:, :-1], axis=2, out=sums[:, :-1])
    sums[:, 0] /= borders[:, None]
    return sums.transpose(1, 2, 0, 3)


@numba.njit(nogil=True, cache=True)
def _accumulate(
    hit_offsets: NDArray[np.int64],
    hit_ranks: NDArray[np.int32],
    hit_judgements: NDArray[np.int64],
    judgement_offsets: NDArray[np.int64],
    gains: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    nonrelevant: NDArray[np.bool_],
    by_grade: NDArray[np.int64],
    bucket_of_rank: NDArray[np.int64],
    discounts: NDArray[np.float64],
    kept: NDArray[np.uint8],
    sums: NDArray[np.float64],
) -> None:
    """Add every user's scores to ``sums`` (systems, metrics, buckets, samples).

    A bucket is the first cut-off at or below which a hit counts: all metrics but nDCG are sums
    over hits, so cut-offs follow as running sums over buckets. nDCG, whose ideal depends on the
    cut-off, is added per cut-off.
    """
    n_systems, _, n_cutoffs, n_samples = sums.shape
    n_relevant = np.empty(n_samples)
    n_nonrelevant = np.empty(n_samples)
    normaliser = np.empty((n_cutoffs, n_samples))
    above = np.empty((2, n_samples))
    dcg = np.empty((n_cutoffs, n_samples))
    for user in range(len(judgement_offsets) - 1):
        judged = by_grade[judgement_offsets[user] : judgement_offsets[user + 1]]
        _count(judged, relevant, kept, n_relevant)
        _count(judged, nonrelevant, kept, n_nonrelevant)
        _normalise(judged, gains, bucket_of_rank, discounts, kept, normaliser)
        for system in range(n_systems):
            above[:] = 0.0
            dcg[:] = 0.0
            for hit in range(hit_offsets[system, user], hit_offsets[system, user + 1]):
                rank, judgement = hit_ranks[hit], hit_judgements[hit]
                bucket = bucket_of_rank[rank]
                lanes = kept[judgement]
                _add_gain(gains[judgement] * discounts[rank], lanes, dcg[bucket])
                if relevant[judgement]:
                    _add_relevant(
                        rank, lanes, n_relevant, n_nonrelevant, above, sums[system, :, bucket]
                    )
                elif nonrelevant[judgement]:
                    _add_gain(1.0, lanes, above[1])
            _add_ndcg(dcg, normaliser, sums[system, 6])


@numba.njit(nogil=True, cache=True)
def _count(
    judged: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    kept: NDArray[np.uint8],
    count: NDArray[np.float64],
) -> None:
    """Count the user's chosen judgements that are left in each sample."""
    count[:] = 0.0
    for judgement in judged:
        if chosen[judgement]:
            _add_gain(1.0, kept[judgement], count)


@numba.njit(nogil=True, cache=True)
def _add_gain(gain: float, lanes: NDArray[np.uint8], total: NDArray[np.float64]) -> None:
    """Add the gain to the samples in which the judgement is left."""
    for w in range(len(lanes)):
        total[w] += lanes[w] * gain


@numba.njit(nogil=True, cache=True)
def _normalise(
    judged: NDArray[np.int64],
    gains: NDArray[np.float64],
    bucket_of_rank: NDArray[np.int64],
    discounts: NDArray[np.float64],
    kept: NDArray[np.uint8],
    normaliser: NDArray[np.float64],
) -> None:
    """Compute 1 / IDCG at every cut-off (0 where there is no gain) from grades that fall."""
    n_cutoffs, n_samples = normaliser.shape
    deepest = len(bucket_of_rank) - 1
    position = np.zeros(n_samples, dtype=np.int64)
    normaliser[:] = 0.0
    for judgement in judged:
        for w in range(n_samples):
            position[w] += kept[judgement, w]
            if kept[judgement, w] and position[w] <= deepest:
                bucket = bucket_of_rank[position[w]]
                normaliser[bucket, w] += gains[judgement] * discounts[position[w]]
    for w in range(n_samples):
        ideal = 0.0
        for c in range(n_cutoffs):
            ideal += normaliser[c, w]
            normaliser[c, w] = 1.0 / ideal if ideal > 0.0 else 0.0


@numba.njit(nogil=True, cache=True)
def _add_relevant(
    rank: int,
    lanes: NDArray[np.uint8],
    n_relevant: NDArray[np.float64],
    n_nonrelevant: NDArray[np.float64],
    above: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add what a relevant hit earns in each metric but nDCG; sums are (metrics, samples)."""
    for w in range(len(lanes)):
        r, n, k = above[0, w], above[1, w], float(lanes[w])
        part = k / max(n_relevant[w], 1.0)
        bound = max(min(n_relevant[w], n_nonrelevant[w]), 1.0)
        estimate = (r + SMOOTHING) / (r + n + 2.0 * SMOOTHING)
        sums[0, w] += k
        sums[1, w] += part
        sums[2, w] += part * (r + 1.0) / rank
        sums[3, w] += k / rank if r == 0.0 else 0.0
        sums[4, w] += part * (1.0 - min(n, n_relevant[w]) / bound)
        sums[5, w] += part * (1.0 + (rank - 1.0) * estimate) / rank
        above[0, w] = r + k


@numba.njit(nogil=True, cache=True)
def _add_ndcg(
    dcg: NDArray[np.float64], normaliser: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add DCG / IDCG at every cut-off, from the gains in each bucket."""
    n_cutoffs, n_samples = dcg.shape
    for c in range(n_cutoffs):
        for w in range(n_samples):
            if c > 0:
                dcg[c, w] += dcg[c - 1, w]
            sums[c, w] += dcg[c, w] * normaliser[c, w]
