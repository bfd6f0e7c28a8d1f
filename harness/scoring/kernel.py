"""The seven built-in metrics together, over judged hits, for many judgement samples at once.

Lists do not change when judgements are taken away; only judged hits matter. They are found once
per run. The inner loops run over the samples of a level, so that they vectorise. The readable
definitions are in `harness.metrics`; tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.metrics.infap import SMOOTHING
from qrels import Qrels, match
from runs import Run
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.compiled import jit_like_numpy
from runs.shared.fields import offsets_of

Bytes: TypeAlias = NDArray[np.int8]
Bits: TypeAlias = NDArray[np.uint8]

FUSED = ("P", "Recall", "AP", "RR", "bpref", "infAP", "nDCG")
"""Names of the metrics, in the order of the first axis of the kernel's results."""

P, RECALL, AP, RR, BPREF, INFAP, NDCG, EARLY_NDCG = range(len(FUSED) + 1)
"""What is summed, by number: each metric, and nDCG that counts at one cut-off alone."""

N_SUMS = EARLY_NDCG + 1

PADDED_TO = 8
"""Samples are padded to a multiple of this: loops without a remainder are a third faster."""

SUMS_AT_ONCE = 1 << 19
"""Sums of groups of users that are on the way at a time: 4 MB, which stay in cache."""

NEITHER = 0
RELEVANT = 1
NONRELEVANT = 2
"""What a judgement says of its item, by its grade; negative grades may say neither."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged items in the lists of all systems, and the judgements by falling grade.

    Parameters
    ----------
    qrels
        The judgements.
    order
        Positions of the judgements user by user, those of a user by falling grade, of shape
        (n_judgements,).
    gains
        Grades in this order, 0 for negative ones, of the same shape.
    relevance
        `RELEVANT`, `NONRELEVANT` or `NEITHER`, in this order, of the same shape.
    offsets
        Where the hits of each list begin and end: those of system s for user u are
        ``offsets[i]:offsets[i + 1]``, with ``i = u * n_systems + s``.
    ranks
        The rank of each hit, from 1, rising within a list, of shape (n_hits,).
    judgements
        The place of the judgement of each hit in ``order``, of shape (n_hits,).
    """

    qrels: Qrels
    order: Longs
    gains: Floats
    relevance: Bytes
    offsets: Longs
    ranks: Ints
    judgements: Ints

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return (len(self.offsets) - 1) // max(self.qrels.n_users, 1)

    def at_level(self, relevance_level: int) -> Hits:
        """Mark what is relevant in the same hits by another relevance level."""
        qrels = replace(self.qrels, relevance_level=relevance_level)
        relevance = _relevance(qrels)[self.order]
        return replace(self, qrels=qrels, relevance=relevance)


def find_hits(runs: Sequence[Run], qrels: Qrels, *, depth: int) -> Hits:
    """Find the judged items (hits) in the first ranks of every list, down to a depth.

    Runs and judgements are of the same users; there is at least one run. Hits are ordered by user,
    then system, then rank; judgements by user, then falling grade.
    """
    order = _by_falling_grade(qrels)
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    hit_counts = []
    ranks = []
    judgements = []
    for run in runs:
        matches = match(run, qrels)[:, :depth]
        # Positions in the table of users and ranks, row by row.
        cells = np.flatnonzero(matches >= 0)
        users, columns = np.divmod(cells, matches.shape[1])
        hit_counts.append(np.bincount(users, minlength=qrels.n_users))
        ranks.append((columns + 1).astype(np.int32))
        judgements.append(places[matches.ravel()[cells]])
    offsets, by_user = _users_first(np.array(hit_counts))
    gains = np.maximum(qrels.grades[order], 0)
    relevance = _relevance(qrels)[order]
    ranks_by_user = np.concatenate(ranks)[by_user]
    judgements_by_user = np.concatenate(judgements)[by_user]
    return Hits(
        qrels=qrels,
        order=order,
        gains=gains.astype(np.float64),
        relevance=relevance,
        offsets=offsets,
        ranks=ranks_by_user,
        judgements=judgements_by_user,
    )


def _by_falling_grade(qrels: Qrels) -> Longs:
    """Order the judgements user by user, those of a user by falling grade: (n_judgements,)."""
    highest = int(qrels.grades.max(initial=0))
    lowest = int(qrels.grades.min(initial=0))
    n_grades = np.int64(highest - lowest + 1)
    sort_keys = qrels.users * n_grades + (highest - qrels.grades)
    return np.argsort(sort_keys, kind="stable")


def _relevance(qrels: Qrels) -> Bytes:
    """Mark each judgement as `RELEVANT`, `NONRELEVANT` or `NEITHER`: (n_judgements,)."""
    relevance = np.where(qrels.nonrelevant, NONRELEVANT, NEITHER)
    relevance = np.where(qrels.relevant, RELEVANT, relevance)
    return relevance.astype(np.int8)


def _users_first(hit_counts: Longs) -> tuple[Longs, Longs]:
    """Order hits user by user that come system by system.

    ``hit_counts`` has the number of hits in each list, of shape (n_systems, n_users). The results
    are where the hits of each list then begin, of shape (n_users * n_systems + 1,), and the order,
    of shape (n_hits,).
    """
    starts = np.cumsum(hit_counts).reshape(hit_counts.shape) - hit_counts
    hits_per_list = hit_counts.T.ravel()
    offsets = offsets_of(hits_per_list)
    shifts = starts.T.ravel() - offsets[:-1]
    order = np.repeat(shifts, hits_per_list) + np.arange(offsets[-1])
    return offsets, order


def group_sums(
    hits: Hits, is_kept: Masks, *, cutoffs: Sequence[int], groups: Numbers
) -> Iterator[tuple[slice, Floats]]:
    """Score every system by the seven metrics, in the sum over each group of users.

    The users of a group are scored one after the other, so that their sums stay in cache. Users
    are summed in one fixed order and samples never meet, so the sums do not depend on how samples
    are divided among calls or workers.

    Parameters
    ----------
    hits
        From `find_hits`, at least as deep as the deepest cut-off.
    is_kept
        Which judgements each sample has, of shape (n_judgements, n_samples).
    cutoffs
        The cut-offs, rising.
    groups
        The group of each user, of shape (n_users,): every number from 0 on.

    Yields
    ------
    Some groups at a time, as a slice of all, and their scores, of shape (n_metrics, n_cutoffs,
    n_systems, n_groups, n_samples), in the order of `FUSED`.
    """
    users_by_group = np.argsort(groups, kind="stable")
    group_offsets = offsets_of(np.bincount(groups))
    n_groups = len(group_offsets) - 1
    n_samples = is_kept.shape[1]
    # Loops over a multiple of `PADDED_TO` samples are faster.
    padding = 0 if n_samples < PADDED_TO else -n_samples % PADDED_TO
    width = n_samples + padding
    sums_per_group = hits.n_systems * len(cutoffs) * N_SUMS * width
    groups_at_once = max(1, SUMS_AT_ONCE // sums_per_group)
    for start in range(0, n_groups, groups_at_once):
        stop = min(start + groups_at_once, n_groups)
        users = users_by_group[group_offsets[start] : group_offsets[stop]]
        judgements = hits.order[hits.qrels.judgement_rows(users)]
        masks = np.zeros((len(judgements), width), dtype=np.uint8)
        masks[:, :n_samples] = is_kept[judgements]
        sums = _sum_over_groups(hits, masks, cutoffs, users, groups[users] - start)
        scores = _scores_of_sums(sums, cutoffs)
        yield slice(start, stop), scores[..., :n_samples]


def _sum_over_groups(
    hits: Hits, masks: Bits, cutoffs: Sequence[int], users: Numbers, groups: Numbers
) -> Floats:
    """Add up what the hits of some users earn, by group, system, bucket of ranks and metric.

    A bucket has the ranks from one cut-off, which it does not have, to the next.

    Parameters
    ----------
    hits
        The hits of all users.
    masks
        Which judgements of these users each sample has, user by user: (n_judgements, n_samples).
    cutoffs
        The cut-offs, rising.
    users, groups
        Numbers of the users, and of their groups, from 0, each of shape (n_users,).

    Returns
    -------
    Sums of shape (n_groups, n_systems, n_cutoffs, N_SUMS, n_samples).
    """
    borders = np.asarray(cutoffs, dtype=np.int64)
    bucket_of_rank = np.searchsorted(borders, np.arange(borders[-1] + 1))
    ranks = np.arange(1, borders[-1] + 1)
    discounts = np.concatenate([[0.0], 1.0 / np.log2(ranks + 1)])
    n_groups = groups.max(initial=0) + 1
    n_samples = masks.shape[1]
    sums = np.zeros((n_groups, hits.n_systems, len(borders), N_SUMS, n_samples))
    lists = ListArrays(
        offsets=hits.offsets,
        ranks=hits.ranks,
        judgements=hits.judgements,
        judgement_offsets=hits.qrels.offsets,
        gains=hits.gains,
        relevance=hits.relevance,
    )
    depths = DepthArrays(borders, bucket_of_rank, discounts, sums_of_discounts=discounts.cumsum())
    _accumulate(users, groups, lists, depths, masks, SMOOTHING, sums)
    return sums


def _scores_of_sums(sums: Floats, cutoffs: Sequence[int]) -> Floats:
    """Turn sums over buckets of ranks into scores, in place: the result is a view of ``sums``.

    ``sums`` has the shape (n_groups, n_systems, n_cutoffs, N_SUMS, n_samples), the result
    (n_metrics, n_cutoffs, n_systems, n_groups, n_samples), in the order of `FUSED`. A bucket has
    the ranks from one cut-off to the next. Scores at a cut-off are cumulated from all buckets up to
    it, but for what nDCG counts at one cut-off alone; P is divided by the cut-off.
    """
    scores = sums[:, :, :, : len(FUSED)]
    for cutoff in range(1, len(cutoffs)):
        scores[:, :, cutoff] += scores[:, :, cutoff - 1]
    scores[:, :, :, NDCG] += sums[:, :, :, EARLY_NDCG]
    scores[:, :, :, P] /= np.asarray(cutoffs)[:, None]
    return scores.transpose(3, 2, 1, 0, 4)


class ListArrays(NamedTuple):
    """The arrays of `Hits` that loops go through, with the offsets of each user's judgements."""

    offsets: Longs
    ranks: Ints
    judgements: Ints
    judgement_offsets: Longs
    gains: Floats
    relevance: Bytes


class DepthArrays(NamedTuple):
    """Cut-offs, and by rank, from 0: its bucket (number of the first cut-off that reaches it).

    Discounts of ranks are 1 / log2(rank + 1), 0 for rank 0; their sums are those down to a rank.
    """

    cutoffs: Longs
    bucket_of_rank: Longs
    discounts: Floats
    sums_of_discounts: Floats


@jit_like_numpy
def _accumulate(
    users: Numbers,
    groups: Numbers,
    lists: ListArrays,
    depths: DepthArrays,
    masks: Bits,
    smoothing: float,
    sums: Floats,
) -> None:
    """Add what every user's hits earn to ``sums``.

    Its shape is (n_groups, n_systems, n_buckets, N_SUMS, n_samples). Users and the number of the
    group of each are of shape (n_users,). Masks are of the judgements of these users alone, user by
    user, of shape (n_judgements, n_samples). ``smoothing`` is that of infAP.
    """
    offsets, ranks, hit_judgements, judgement_offsets, gains, relevance = lists
    cutoffs, bucket_of_rank, discounts, sums_of_discounts = depths
    _, n_systems, n_cutoffs, _, n_samples = sums.shape
    is_kept = np.empty((np.diff(judgement_offsets).max(), n_samples))
    totals = np.empty((2, n_samples))
    shares = np.empty((2, n_samples))
    above = np.empty((2, n_samples))
    normaliser = np.empty((n_cutoffs, n_samples))
    dcg = np.empty((n_cutoffs, n_samples))
    n_kept = np.empty(n_samples, dtype=np.int64)
    for place in range(len(users)):
        user = users[place]
        group = groups[place]
        start = judgement_offsets[user]
        end = judgement_offsets[user + 1]
        n_judgements = end - start
        # From this bucket on, the ideal list has all judgements.
        settled = bucket_of_rank[min(n_judgements, cutoffs[-1])]
        user_masks = masks[:n_judgements]
        masks = masks[n_judgements:]
        _look_up(relevance[start:end], user_masks, is_kept, totals, shares)
        _normalise(
            gains[start:end], user_masks, cutoffs, sums_of_discounts, settled, n_kept, normaliser
        )
        for system in range(n_systems):
            first = offsets[user * n_systems + system]
            last = offsets[user * n_systems + system + 1]
            if first == last:
                continue
            list_sums = sums[group, system]
            above[:] = 0.0
            dcg[: settled + 1] = 0.0
            for hit in range(first, last):
                judgement = hit_judgements[hit]
                rank = ranks[hit]
                row = judgement - start
                bucket = bucket_of_rank[rank]
                gain = gains[judgement] * discounts[rank]
                if bucket < settled:
                    _add_gain(is_kept, row, gain, dcg, bucket)
                else:
                    # Here and beyond, the ideal no longer changes.
                    for w in range(n_samples):
                        list_sums[bucket, NDCG, w] += (
                            gain * is_kept[row, w] * normaliser[settled, w]
                        )
                if relevance[judgement] == RELEVANT:
                    _add_relevant(
                        is_kept, row, rank, totals, shares, above, smoothing, list_sums[bucket]
                    )
                elif relevance[judgement] == NONRELEVANT:
                    _add_gain(is_kept, row, 1.0, above, 1)
            _add_early(dcg, normaliser, bucket_of_rank[ranks[first]], settled, list_sums)


@jit_like_numpy
def _look_up(
    relevance: Bytes, masks: Bits, is_kept: Floats, totals: Floats, shares: Floats
) -> None:
    """Copy a user's masks as 1.0 or 0.0, and count the relevant and non-relevant judgements.

    ``relevance`` is that of the user's judgements, (n_judgements,); their masks are of shape
    (n_judgements, n_samples). With R relevant and N non-relevant judgements in a sample, written
    are ``is_kept``, of at least as many rows, ``totals`` (R and N) and ``shares`` (1 / R and
    1 / min(R, N), 1 where there are none), both of shape (2, n_samples).
    """
    totals[:] = 0.0
    for row in range(len(relevance)):
        for w in range(masks.shape[1]):
            is_kept[row, w] = masks[row, w]
        if relevance[row] == RELEVANT:
            _add_gain(is_kept, row, 1.0, totals, 0)
        elif relevance[row] == NONRELEVANT:
            _add_gain(is_kept, row, 1.0, totals, 1)
    for w in range(masks.shape[1]):
        n_relevant = totals[0, w]
        n_nonrelevant = totals[1, w]
        shares[0, w] = 1.0 / max(n_relevant, 1.0)
        shares[1, w] = 1.0 / max(min(n_relevant, n_nonrelevant), 1.0)


@jit_like_numpy
def _normalise(
    gains: Floats,
    masks: Bits,
    cutoffs: Longs,
    sums_of_discounts: Floats,
    settled: int,
    n_kept: Longs,
    normaliser: Floats,
) -> None:
    """Compute 1 / IDCG (0 where there is no gain) at the cut-offs where it changes.

    IDCG is summed by steps of the gain: so many judgements gain at least as much as this one.
    ``gains``, falling, are those of a user's judgements, (n_judgements,); masks have the shape
    (n_judgements, n_samples). Written is ``normaliser``, of shape (n_cutoffs, n_samples), down to
    the cut-off ``settled``, a number; ``n_kept``, of shape (n_samples,), is a buffer.
    """
    normaliser[: settled + 1] = 0.0
    n_kept[:] = 0
    for row in range(len(gains)):
        for w in range(len(n_kept)):
            n_kept[w] += masks[row, w]
        next_gain = gains[row + 1] if row + 1 < len(gains) else 0.0
        step = gains[row] - next_gain
        if step > 0.0:
            for c in range(settled + 1):
                for w in range(len(n_kept)):
                    normaliser[c, w] += step * sums_of_discounts[min(n_kept[w], cutoffs[c])]
    for c in range(settled + 1):
        for w in range(len(n_kept)):
            normaliser[c, w] = 1.0 / normaliser[c, w] if normaliser[c, w] > 0.0 else 0.0


@jit_like_numpy
def _add_gain(is_kept: Floats, row: int, gain: float, totals: Floats, total: int) -> None:
    """Add a gain to a row of totals in the samples that have the judgement.

    ``is_kept`` is 1.0 or 0.0, (n_judgements, n_samples); ``row`` is the judgement's, ``total`` that
    of ``totals``, (n_totals, n_samples).
    """
    for w in range(is_kept.shape[1]):
        totals[total, w] += gain * is_kept[row, w]


@jit_like_numpy
def _add_early(dcg: Floats, normaliser: Floats, begin: int, settled: int, sums: Floats) -> None:
    """Add DCG / IDCG of the buckets from ``begin`` on to the cut-offs where the ideal changes.

    ``dcg``, of buckets, is accumulated in its place; it and ``normaliser``, 1 / IDCG, have the
    shape (n_cutoffs, n_samples), ``sums`` (n_cutoffs, N_SUMS, n_samples). From ``settled`` on, IDCG
    is the same.
    """
    for c in range(begin, settled):
        for w in range(dcg.shape[1]):
            sums[c, EARLY_NDCG, w] += dcg[c, w] * normaliser[c, w]
            dcg[c + 1, w] += dcg[c, w]
    for w in range(dcg.shape[1]):
        sums[settled, NDCG, w] += dcg[settled, w] * normaliser[settled, w]


@jit_like_numpy
def _add_relevant(
    is_kept: Floats,
    row: int,
    rank: int,
    totals: Floats,
    shares: Floats,
    above: Floats,
    smoothing: float,
    sums: Floats,
) -> None:
    """Add what a relevant hit earns in each metric but nDCG, and count it in ``above``.

    ``is_kept`` is 1.0 or 0.0, (n_judgements, n_samples), and ``row`` the judgement's. Totals and
    shares are those of `_look_up`; ``above`` has the numbers of relevant and non-relevant hits at
    higher ranks, (2, n_samples); ``sums`` has the shape (N_SUMS, n_samples).
    """
    per_rank = 1.0 / rank
    for w in range(is_kept.shape[1]):
        hit = is_kept[row, w]
        n_relevant = above[0, w]
        n_nonrelevant = above[1, w]
        share = hit * shares[0, w]
        share_of_rank = share * per_rank
        estimate = (n_relevant + smoothing) / (n_relevant + n_nonrelevant + 2.0 * smoothing)
        sums[P, w] += hit
        sums[RECALL, w] += share
        sums[AP, w] += share_of_rank * (n_relevant + 1.0)
        sums[RR, w] += hit * per_rank if n_relevant == 0.0 else 0.0
        sums[BPREF, w] += share * (1.0 - min(n_nonrelevant, totals[0, w]) * shares[1, w])
        sums[INFAP, w] += share_of_rank * (1.0 + (rank - 1.0) * estimate)
        above[0, w] = n_relevant + hit
