"""Lists judged again and again, a block of users at a time; and what metrics need of them.

A metric scores every user by that user's lists alone, so it does not matter which users share a
block: `harness.study.run` tries metrics out for it before any work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import Literal

import numpy as np

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric
from qrels import Catalogue, Judged, Qrels, match
from qrels.catalogue import ItemsOfLists
from qrels.listed_ranks import ListedRanks
from runs import NO_ITEM, Run
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.fields import place_in_group

USERS_AT_ONCE = 2048

CELLS_AT_ONCE = 1 << 18
"""Judgements of a block's users in all the samples that are judged at once: 2 MB of grades."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The lists of one system for a block of users, rank after rank.

    The judgements of the items at the ranks are numbers in the qrels, -1 where there is none, of
    shape (n_ranks, n_users). Lengths are the items retrieved for each user, (n_users,). Listed
    ranks say which ranks there are if some are left out. The run is that of all users.
    """

    judgements: Longs
    lengths: Numbers
    listed_ranks: ListedRanks | None
    run: Run

    def items(self, users: Numbers, qrels: Qrels) -> Ints:
        """Give the item at each rank, of shape (n_ranks, n_users), -1 where there is none."""
        if self.listed_ranks is None:
            return self.run.items[users, : len(self.judgements)].T
        return _judged_items(self.judgements, qrels)


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of the judgements: grades, (n_judgements + 1,), and masks of those that are kept.

    Masks are of shape (n_judgements + 1, n_samples). The last row stands for no judgement.
    """

    qrels: Qrels
    catalogue: Catalogue
    grades: Floats
    kept: Masks

    @classmethod
    def of(cls, qrels: Qrels, catalogue: Catalogue, kept: Masks) -> Samples:
        """Take masks of shape (n_judgements, n_samples)."""
        nothing = np.zeros((1, kept.shape[1]), dtype=np.bool_)
        grades = np.append(qrels.grades.astype(np.float64), np.nan)
        return cls(qrels, catalogue, grades, np.concatenate([kept, nothing]))

    @cached_property
    def _of_one_sample(self) -> Floats:
        return np.where(self.kept[:, 0], self.grades, np.nan)

    def grades_of(self, judgements: Longs) -> Floats:
        """Look up judgements (n_ranks, n_users): (n_users * n_samples, n_ranks), NaN where lost.

        One rank of all users stands after the other: metrics then add whole columns at a time.
        """
        if self.kept.shape[1] == 1:
            return self._of_one_sample[judgements].T
        grades = self.grades[judgements][..., np.newaxis]
        return (
            np.where(self.kept[judgements], grades, np.nan)
            .reshape(len(judgements), judgements.shape[1] * self.kept.shape[1])
            .T
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Some users, ready to be judged.

    Users, of shape (n_users,), are numbers in the qrels, and so are their judgements, (n, n_users),
    -1 where a user has fewer. Systems are the lists of all systems.
    """

    users: Numbers
    judgements: Longs
    systems: Sequence[Columns]

    def judge(self, samples: Samples) -> Iterator[Judged]:
        """See the lists of one system after the other through samples of the judgements.

        Rows of the lists are the samples of the first user, then those of the next.
        """
        n_samples = samples.kept.shape[1]
        rows = samples.grades_of(self.judgements)
        judged = Judged(np.empty((len(rows), 0)), rows, samples.qrels.relevance_level)
        for lists in self.systems:
            grades = samples.grades_of(lists.judgements)
            lengths = np.repeat(lists.lengths, n_samples)
            yield judged.with_lists(grades, lengths, listed_ranks=lists.listed_ranks).with_items(
                partial(self._items_of_lists, lists, samples)
            )

    def _items_of_lists(self, lists: Columns, samples: Samples) -> ItemsOfLists:
        users, judgements = self.users, self.judgements
        listed = lists.items(users, samples.qrels)
        judged = _judged_items(judgements, samples.qrels)
        return ItemsOfLists(samples.catalogue, users, listed, judged, judgements, lists.run.system)


def _judged_items(judgements: Longs, qrels: Qrels) -> Ints:
    """Give the items of judgements by number; -1 stays."""
    return np.append(qrels.items, NO_ITEM)[judgements]


def divide(
    runs: Sequence[Run], qrels: Qrels, *, depth: int, n_samples: int = 1, hits_only: bool = False
) -> list[Block]:
    """Divide the users into blocks: those of one have about equally many judgements.

    Lists that are shorter than the depth end with empty ranks. The more samples a block is judged
    in at once, the fewer users it has. Ranks that hold nothing judged may be left out.
    """
    blocks = [
        (users, _judgements_of(users, qrels), list[Columns]()) for users in _alike(qrels, n_samples)
    ]
    for run in runs:
        matches = match(run, qrels, depth=depth)
        n_empty_ranks = depth - matches.shape[1]
        matches = np.pad(matches, ((0, 0), (0, n_empty_ranks)), constant_values=-1)
        for users, _, systems in blocks:
            judgements = matches[users].T
            lengths = np.minimum(run.lengths[users], depth)
            if hits_only:
                systems.append(_judged_ranks(judgements, lengths, run))
            else:
                systems.append(Columns(np.ascontiguousarray(judgements), lengths, None, run))
    return [Block(*block) for block in blocks]


def _alike(qrels: Qrels, n_samples: int) -> Iterator[Numbers]:
    """Give users block by block, by the number of their judgements; rising within a block."""
    counts = np.diff(qrels.offsets)
    order = np.argsort(counts, kind="stable")
    at_once = np.clip(CELLS_AT_ONCE // (n_samples * np.maximum(counts[order], 1)), 1, USERS_AT_ONCE)
    first = 0
    while first < len(order):
        last = first + at_once[min(first + at_once[first], len(order)) - 1]
        yield np.sort(order[first:last])
        first = last


def _judgements_of(users: Numbers, qrels: Qrels) -> Longs:
    """Number the judgements of each user, of shape (n, n_users), -1 where a user has fewer."""
    first, last = qrels.offsets[users], qrels.offsets[users + 1]
    numbers = first + np.arange((last - first).max(initial=0))[:, np.newaxis]
    return np.where(numbers < last, numbers, -1)


def _judged_ranks(judgements: Longs, lengths: Numbers, run: Run) -> Columns:
    """Move the judged ranks of every list to its beginning; what is left is below the lists."""
    depth, n_users = judgements.shape
    rank, user = np.nonzero(judgements >= 0)
    counts = np.bincount(user, minlength=n_users)
    order = np.argsort(user, kind="stable")
    place = place_in_group(user[order]) - 1
    numbers = np.full((counts.max(initial=0), n_users), -1)
    ranks = np.full(numbers.shape, depth + 1)
    numbers[place, user[order]] = judgements[rank[order], user[order]]
    ranks[place, user[order]] = rank[order] + 1
    return Columns(numbers, lengths, ListedRanks(ranks, depth), run)


TRIED_USERS = 400
"""About so many users are scored both ways: the same several times, where there are fewer."""

SHARES = (1.0, 0.5, 0.1, 0.0)
"""Shares of the judgements that are left."""

Needs = Literal["nothing", "judged ranks", "all ranks"]
"""What the scores of a sample are made from: those on all judgements will do, or these ranks.

The cheapest stands first.
"""

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
    catalogue = catalogue.select_users(users, qrels.judgement_rows(users))
    qrels = qrels.select_users(users)
    repeats = ceil(TRIED_USERS / max(1, len(users)))
    n_samples = repeats * len(SHARES)
    chances = np.random.default_rng(0).random((len(qrels.items), repeats))
    kept = chances[:, :, None] < SHARES
    samples = Samples.of(qrels, catalogue, kept.reshape(len(chances), -1))
    whole, hits = (
        divide(runs, qrels, depth=depth, n_samples=n_samples, hits_only=hits_only)
        for hits_only in (False, True)
    )
    lists = [
        (by_lists, by_hits)
        for block, of_hits in zip(whole, hits, strict=True)
        for by_lists, by_hits in zip(block.judge(samples), of_hits.judge(samples), strict=True)
    ]
    return [_needs(metrics[m.metric], m.cutoff, lists, n_samples) for m in measures]


def _needs(
    metric: Metric, cutoff: int | None, lists: Sequence[tuple[Judged, Judged]], n_samples: int
) -> Needs:
    if metric.per_user:
        return "all ranks"
    scores = [metric(by_lists, cutoff=cutoff) for by_lists, _ in lists]
    by_user = [found.reshape(-1, n_samples) for found in scores]
    if all((found == found[:, :1]).all() for found in by_user):
        return "nothing"
    try:
        same = [
            np.allclose(metric(by_hits, cutoff=cutoff), found, rtol=0, atol=TOLERANCE)
            for (_, by_hits), found in zip(lists, scores, strict=True)
        ]
    except (ValueError, IndexError):
        # A metric may count on columns that are left out.
        return "all ranks"
    return "judged ranks" if all(same) else "all ranks"
