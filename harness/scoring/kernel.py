"""The seven built-in metrics together, over judged hits, for many judgement samples at once.

Lists do not change when judgements are taken away; only judged hits matter. They are found once
per run. The inner loops run over the samples of a level, so that they vectorise. The readable
definitions are in `harness.metrics`; tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.metrics.infap import SMOOTHING
from qrels import Qrels, match
from runs import Run
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.compiled import jit_like_numpy
from runs.shared.fields import offsets_of

Places = Numbers
Kinds = NDArray[np.int8]
Bits = NDArray[np.uint8]

FUSED = ("P", "Recall", "AP", "RR", "bpref", "infAP", "nDCG")
"""Names of the metrics, in the order of the first axis of the kernel's results."""

P, RECALL, AP, RR, BPREF, INFAP, NDCG, EARLY_NDCG = range(len(FUSED) + 1)
"""What is summed: one row for each metric, and nDCG that counts at one cut-off alone."""

N_SUMS = EARLY_NDCG + 1

PADDED_TO = 8
"""Samples are padded to a multiple of this: loops without a remainder are a third faster."""

SUMS_AT_ONCE = 1 << 19
"""Sums of groups of users that are on the way at a time: 4 MB, which stay in cache."""

RELEVANT, NONRELEVANT, NEITHER = 1, 2, 0


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged items in the lists of all systems, and the judgements by falling grade.

    The order has the positions of the judgements user by user, those of a user by falling grade; in
    it gains are grades, 0 for negative ones, and kinds `RELEVANT`, `NONRELEVANT` or `NEITHER`; each
    is of shape (n_judgements,). The hits in the list of system s for user u are
    ``offsets[i]:offsets[i + 1]``, with ``i = u * n_systems + s``; ranks, rising within a list, and
    places of their judgements in ``order`` are of shape (n_hits,).
    """

    qrels: Qrels
    order: Longs
    gains: Floats
    kinds: Kinds
    offsets: Longs
    ranks: Ints
    judgements: Ints

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return (len(self.offsets) - 1) // max(self.qrels.n_users, 1)

    def at_level(self, relevance_level: int) -> Hits:
        """See the same hits with another relevance level."""
        qrels = replace(self.qrels, relevance_level=relevance_level)
        return replace(self, qrels=qrels, kinds=_kinds(qrels)[self.order])


def find_hits(runs: Sequence[Run], qrels: Qrels, *, depth: int) -> Hits:
    """Find the judged items in the first ranks of every list, down to a depth."""
    # The judgements of a user stay together, by falling grade.
    highest = int(qrels.grades.max(initial=0))
    span = highest - int(qrels.grades.min(initial=0)) + 1
    order = np.argsort(qrels.users * np.int64(span) + (highest - qrels.grades), kind="stable")
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    counts, ranks, judgements = [], [], []
    for run in runs:
        matches = match(run, qrels)[:, :depth]
        found = np.flatnonzero(matches >= 0)
        user, column = np.divmod(found, matches.shape[1])
        counts.append(np.bincount(user, minlength=qrels.n_users))
        ranks.append((column + 1).astype(np.int32))
        judgements.append(places[matches.ravel()[found]])
    offsets, by_user = _users_first(np.array(counts))
    return Hits(
        qrels=qrels,
        order=order,
        gains=np.maximum(qrels.grades[order], 0).astype(np.float64),
        kinds=_kinds(qrels)[order],
        offsets=offsets,
        ranks=np.concatenate(ranks)[by_user],
        judgements=np.concatenate(judgements)[by_user],
    )


def _kinds(qrels: Qrels) -> Kinds:
    kinds = np.where(qrels.relevant, RELEVANT, np.where(qrels.nonrelevant, NONRELEVANT, NEITHER))
    return kinds.astype(np.int8)


def _users_first(counts: Longs) -> tuple[Longs, Longs]:
    """Order hits that come system by system user by user, from counts (n_systems, n_users)."""
    starts = np.cumsum(counts).reshape(counts.shape) - counts
    per_list = counts.T.ravel()
    offsets = offsets_of(per_list)
    shifts = np.repeat(starts.T.ravel() - offsets[:-1], per_list)
    return offsets, shifts + np.arange(offsets[-1])


def group_sums(
    hits: Hits, kept: Masks, *, cutoffs: Sequence[int], groups: Places
) -> Iterator[tuple[slice, Floats]]:
    """Score every system by the seven metrics, in the sum over each group of users.

    The users of a group are scored one after the other, so that their sums stay in cache. Users
    are summed in one fixed order and samples never meet, so the sums do not depend on how samples
    are divided among calls or workers.

    Hits are from `find_hits`, at least as deep as the deepest of the rising cut-offs; ``kept`` is a
    mask of the judgements left in each sample, (n_judgements, n_samples); groups are those of the
    users, (n_users,): every number from 0 on.
    """
    order = np.argsort(groups, kind="stable")
    borders = offsets_of(np.bincount(groups))
    n_samples = kept.shape[1]
    width = n_samples if n_samples < PADDED_TO else n_samples + -n_samples % PADDED_TO
    at_once = max(1, SUMS_AT_ONCE // (hits.n_systems * len(cutoffs) * N_SUMS * width))
    for first in range(0, len(borders) - 1, at_once):
        some = slice(first, min(first + at_once, len(borders) - 1))
        users = order[borders[some.start] : borders[some.stop]]
        judgements = hits.order[hits.qrels.judgement_rows(users)]
        masks = np.zeros((len(judgements), width), dtype=np.uint8)
        masks[:, :n_samples] = kept[judgements]
        sums = _sum(hits, masks, cutoffs, users, groups[users] - first)
        yield some, _finish(sums, cutoffs)[..., :n_samples]


def _sum(hits: Hits, masks: Bits, cutoffs: Sequence[int], users: Places, groups: Places) -> Floats:
    """Sum over users' groups: (n_groups, n_systems, n_cutoffs, N_SUMS, n_samples)."""
    borders = np.asarray(cutoffs, dtype=np.int64)
    bucket_of_rank = np.searchsorted(borders, np.arange(borders[-1] + 1))
    discounts = 1.0 / np.log2(np.arange(2, borders[-1] + 2))
    n_groups = groups.max(initial=0) + 1
    sums = np.zeros((n_groups, hits.n_systems, len(borders), N_SUMS, masks.shape[1]))
    of_lists, of_qrels = (hits.offsets, hits.ranks, hits.judgements), hits.qrels.offsets
    lists = (*of_lists, of_qrels, hits.gains, hits.kinds)
    at_ranks = np.concatenate([[0.0], discounts])
    depths = (borders, bucket_of_rank, at_ranks, np.cumsum(at_ranks))
    _accumulate(users, groups, lists, depths, masks, SMOOTHING, sums)
    return sums


def _finish(sums: Floats, cutoffs: Sequence[int]) -> Floats:
    """Turn sums over buckets into scores: (7, n_cutoffs, n_systems, n_groups, n_samples)."""
    scores = sums[:, :, :, : len(FUSED)]
    for cutoff in range(1, len(cutoffs)):
        scores[:, :, cutoff] += scores[:, :, cutoff - 1]
    scores[:, :, :, NDCG] += sums[:, :, :, EARLY_NDCG]
    scores[:, :, :, P] /= np.asarray(cutoffs)[:, None]
    return scores.transpose(3, 2, 1, 0, 4)


Lists: TypeAlias = tuple[Longs, Ints, Ints, Longs, Floats, Kinds]
"""The arrays of `Hits` that loops go through, those of the qrels before gains and kinds."""

Depths: TypeAlias = tuple[Longs, Longs, Floats, Floats]
"""Cut-offs, the number of the first that reaches each rank, discounts and their sums."""


@jit_like_numpy
def _accumulate(
    users: Places,
    groups: Places,
    lists: Lists,
    depths: Depths,
    masks: Bits,
    smoothing: float,
    sums: Floats,
) -> None:
    """Add every user's scores to ``sums`` (groups of users, systems, buckets, sums, samples).

    Masks are of the judgements of these users alone, user by user.
    """
    offsets, ranks, hit_judgements, judgement_offsets, gains, kinds = lists
    cutoffs, bucket_of_rank, discounts, ideals = depths
    _, n_systems, n_cutoffs, _, n_samples = sums.shape
    kept = np.empty((np.diff(judgement_offsets).max(), n_samples))
    totals = np.empty((2, n_samples))
    shares = np.empty((2, n_samples))
    above = np.empty((2, n_samples))
    normaliser = np.empty((n_cutoffs, n_samples))
    dcg = np.empty((n_cutoffs, n_samples))
    count = np.empty(n_samples, dtype=np.int64)
    for place in range(len(users)):
        user, group = users[place], groups[place]
        start, end = judgement_offsets[user], judgement_offsets[user + 1]
        settled = bucket_of_rank[min(end - start, cutoffs[-1])]
        own_masks, masks = masks[: end - start], masks[end - start :]
        _look_up(kinds[start:end], own_masks, kept, totals, shares)
        _normalise(gains[start:end], own_masks, cutoffs, ideals, settled, count, normaliser)
        for system in range(n_systems):
            first = offsets[user * n_systems + system]
            last = offsets[user * n_systems + system + 1]
            if first == last:
                continue
            own = sums[group, system]
            above[:] = 0.0
            dcg[: settled + 1] = 0.0
            for hit in range(first, last):
                judgement, rank = hit_judgements[hit], ranks[hit]
                row, bucket = judgement - start, bucket_of_rank[rank]
                gain = gains[judgement] * discounts[rank]
                if bucket < settled:
                    _add_gain(kept, row, gain, dcg, bucket)
                else:
                    # Here and beyond, the ideal no longer changes.
                    for w in range(n_samples):
                        own[bucket, NDCG, w] += gain * kept[row, w] * normaliser[settled, w]
                if kinds[judgement] == RELEVANT:
                    _add_relevant(kept, row, rank, totals, shares, above, smoothing, own[bucket])
                elif kinds[judgement] == NONRELEVANT:
                    _add_gain(kept, row, 1.0, above, 1)
            _add_early(dcg, normaliser, bucket_of_rank[ranks[first]], settled, own)


@jit_like_numpy
def _look_up(kinds: Kinds, masks: Bits, kept: Floats, totals: Floats, shares: Floats) -> None:
    """Copy the user's masks as numbers; count R and N; take what hits are multiplied by."""
    totals[:] = 0.0
    for row in range(len(kinds)):
        for w in range(masks.shape[1]):
            kept[row, w] = masks[row, w]
        if kinds[row] == RELEVANT:
            _add_gain(kept, row, 1.0, totals, 0)
        elif kinds[row] == NONRELEVANT:
            _add_gain(kept, row, 1.0, totals, 1)
    for w in range(masks.shape[1]):
        n_relevant, n_nonrelevant = totals[0, w], totals[1, w]
        shares[0, w] = 1.0 / max(n_relevant, 1.0)
        shares[1, w] = 1.0 / max(min(n_relevant, n_nonrelevant), 1.0)


@jit_like_numpy
def _normalise(
    gains: Floats,
    masks: Bits,
    cutoffs: Longs,
    ideals: Floats,
    settled: int,
    count: Longs,
    normaliser: Floats,
) -> None:
    """Compute 1 / IDCG (0 where there is no gain) at the cut-offs where it changes."""
    normaliser[: settled + 1] = 0.0
    count[:] = 0
    for row in range(len(gains)):
        for w in range(len(count)):
            count[w] += masks[row, w]
        step = gains[row] - (gains[row + 1] if row + 1 < len(gains) else 0.0)
        if step > 0.0:
            for c in range(settled + 1):
                for w in range(len(count)):
                    normaliser[c, w] += step * ideals[min(count[w], cutoffs[c])]
    for c in range(settled + 1):
        for w in range(len(count)):
            normaliser[c, w] = 1.0 / normaliser[c, w] if normaliser[c, w] > 0.0 else 0.0


@jit_like_numpy
def _add_gain(kept: Floats, row: int, gain: float, totals: Floats, to: int) -> None:
    """Add a gain in the samples in which the judgement is left."""
    for w in range(kept.shape[1]):
        totals[to, w] += gain * kept[row, w]


@jit_like_numpy
def _add_early(dcg: Floats, normaliser: Floats, begin: int, settled: int, sums: Floats) -> None:
    """Add DCG / IDCG of the buckets from ``begin`` on to the cut-offs where the ideal changes."""
    for c in range(begin, settled):
        for w in range(dcg.shape[1]):
            sums[c, EARLY_NDCG, w] += dcg[c, w] * normaliser[c, w]
            dcg[c + 1, w] += dcg[c, w]
    for w in range(dcg.shape[1]):
        sums[settled, NDCG, w] += dcg[settled, w] * normaliser[settled, w]


@jit_like_numpy
def _add_relevant(
    kept: Floats,
    row: int,
    rank: int,
    totals: Floats,
    shares: Floats,
    above: Floats,
    smoothing: float,
    sums: Floats,
) -> None:
    """Add what a relevant hit earns in each metric but nDCG."""
    per_rank = 1.0 / rank
    for w in range(kept.shape[1]):
        k, r, n = kept[row, w], above[0, w], above[1, w]
        share = k * shares[0, w]
        share_of_rank = share * per_rank
        estimate = (r + smoothing) / (r + n + 2.0 * smoothing)
        sums[P, w] += k
        sums[RECALL, w] += share
        sums[AP, w] += share_of_rank * (r + 1.0)
        sums[RR, w] += k * per_rank if r == 0.0 else 0.0
        sums[BPREF, w] += share * (1.0 - min(n, totals[0, w]) * shares[1, w])
        sums[INFAP, w] += share_of_rank * (1.0 + (rank - 1.0) * estimate)
        above[0, w] = r + k
