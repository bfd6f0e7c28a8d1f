"""Lists judged again and again, a block of users at a time; and what metrics need of them.

A metric scores every user by that user's lists alone, so it does not matter which users share a
block: a study tries metrics out for it before any work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import ClassVar, Literal

import numpy as np

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric
from qrels import Catalogue, Judged, Qrels
from qrels.catalogue import ItemsOfLists
from qrels.listed_ranks import ListedRanks
from qrels.matches import match_users
from runs import NO_ITEM, Run
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.fields import place_in_group

USERS_AT_ONCE = 2048
"""Largest number of users in a block."""

CELLS_AT_ONCE = 1 << 18
"""Judgements of a block's users in all the samples that are judged at once: 2 MB of grades."""

RANKS_AT_ONCE = 1 << 22
"""Largest number of ranks in the lists of a block, unless it has one system: 80 MB."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The lists of one system for a block of users, rank after rank.

    Parameters
    ----------
    judgements
        Judgement of the item at each rank, by its number in the qrels, -1 where there is none, of
        shape (n_ranks, n_users).
    lengths
        Number of items retrieved for each user, of shape (n_users,).
    listed_ranks
        Which ranks these are if some are left out; else None.
    run
        The run, of all users.
    """

    judgements: Longs
    lengths: Numbers
    listed_ranks: ListedRanks | None
    run: Run

    def items(self, users: Numbers, qrels: Qrels) -> Ints:
        """Look up the item at each rank, of shape (n_ranks, n_users), -1 where there is none.

        ``users`` are the numbers of the block's users in the qrels, of shape (n_users,).
        """
        if self.listed_ranks is None:
            return self.run.items[users, : len(self.judgements)].T
        return _judged_items(self.judgements, qrels)


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of the judgements, with a last row that stands for no judgement.

    Parameters
    ----------
    qrels
        All judgements.
    catalogue
        What metrics may know of the items.
    grades
        Grades of the judgements, then NaN, of shape (n_judgements + 1,).
    is_kept
        Which judgements each sample has, of shape (n_judgements + 1, n_samples); the last row is
        False.
    """

    qrels: Qrels
    catalogue: Catalogue
    grades: Floats
    is_kept: Masks

    @classmethod
    def of_masks(cls, qrels: Qrels, catalogue: Catalogue, is_kept: Masks) -> Samples:
        """Add the row for no judgement to masks of shape (n_judgements, n_samples).

        It is the last, number -1, of the masks and of the grades.

        Raises ValueError if there is not one row for each judgement.
        """
        n_judgements = len(qrels.items)
        if len(is_kept) != n_judgements:
            raise ValueError(
                f"masks of shape {is_kept.shape} do not fit {n_judgements:,} judgements."
            )
        no_judgement = np.zeros((1, is_kept.shape[1]), dtype=np.bool_)
        grades = np.append(qrels.grades.astype(np.float64), np.nan)
        is_kept_or_none = np.concatenate([is_kept, no_judgement])
        return cls(qrels, catalogue, grades, is_kept_or_none)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.is_kept.shape[1]

    @cached_property
    def _grades_of_only_sample(self) -> Floats:
        """Grades in the first sample, NaN where it has none, of shape (n_judgements + 1,)."""
        return np.where(self.is_kept[:, 0], self.grades, np.nan)

    def grades_of(self, judgements: Longs) -> Floats:
        """Look up grades of judgements in all samples, NaN where a sample does not have them.

        ``judgements`` are numbers in the qrels, or -1, of shape (n_ranks, n_users). The result has
        the shape (n_users * n_samples, n_ranks): all samples of a user, then of the next. One rank
        of all users stands in memory after the other: metrics then add whole columns at a time.
        ``self.grades`` and ``self.is_kept`` have a last row, for -1, of NaN and False.
        """
        if self.n_samples == 1:
            return self._grades_of_only_sample[judgements].T
        n_ranks, n_users = judgements.shape
        grades = self.grades[judgements][..., np.newaxis]
        sampled = np.where(self.is_kept[judgements], grades, np.nan)
        return sampled.reshape(n_ranks, n_users * self.n_samples).T


@dataclass(frozen=True, eq=False)
class AllJudgements:
    """All judgements of the qrels, as the only sample; no copy is made of them.

    Parameters
    ----------
    qrels
        The judgements.
    catalogue
        What metrics may know of the items.
    """

    qrels: Qrels
    catalogue: Catalogue
    n_samples: ClassVar[int] = 1

    def grades_of(self, judgements: Longs) -> Floats:
        """Look up grades of judgements: (n_users, n_ranks), rank after rank in memory.

        ``judgements`` are numbers in the qrels, or -1, of shape (n_ranks, n_users), where the grade
        is NaN.
        """
        if len(self.qrels.grades) == 0:
            return np.full(judgements.shape, np.nan).T
        # The last grade stands for -1 until it becomes NaN.
        grades = self.qrels.grades[judgements]
        return np.where(judgements >= 0, grades, np.nan).T


@dataclass(frozen=True, eq=False)
class Block:
    """Some users, and their lists by some systems, ready to be judged.

    Parameters
    ----------
    users
        Numbers of the users in the qrels, of shape (n_users,).
    judgements
        Numbers of their judgements in the qrels, of shape (n, n_users), -1 where a user has fewer.
    systems
        The lists of the systems for these users.
    first_system
        Number of the first of these systems among all; the others follow it.
    """

    users: Numbers
    judgements: Longs
    systems: Sequence[Columns]
    first_system: int = 0

    def judge(self, samples: Samples | AllJudgements) -> Iterator[Judged]:
        """Yield the lists of one system after the other, judged by samples of the judgements.

        Rows of the judged lists, (n_users * n_samples, n_ranks), are the samples of the first user
        of the block, then those of the next. Grades are NaN where nothing is judged or a sample
        does not have the judgement. ``self.judgements`` are numbers of the judgements of each user,
        (n, n_users), and ``self.systems`` has those of each system's lists, (n_ranks, n_users).
        """
        grades_by_user = samples.grades_of(self.judgements)
        no_lists = np.empty((len(grades_by_user), 0))
        judged = Judged(no_lists, grades_by_user, samples.qrels.relevance_level)
        for lists in self.systems:
            grades = samples.grades_of(lists.judgements)
            lengths = np.repeat(lists.lengths, samples.n_samples)
            judged_lists = judged.with_lists(grades, lengths, listed_ranks=lists.listed_ranks)
            # Items are looked up when a metric asks for them.
            look_up_items = partial(self._items_of_lists, lists, samples)
            yield judged_lists.with_items(look_up_items)

    def _items_of_lists(self, lists: Columns, samples: Samples | AllJudgements) -> ItemsOfLists:
        """Look up the items of one system's lists, and those that are judged, for metrics."""
        listed_items = lists.items(self.users, samples.qrels)
        judged_items = _judged_items(self.judgements, samples.qrels)
        subtopics = samples.qrels.subtopics
        return ItemsOfLists(
            catalogue=samples.catalogue,
            users=self.users,
            listed=listed_items,
            judged=judged_items,
            judgements=self.judgements,
            system=lists.run.system,
            listed_judgements=None if subtopics is None else lists.judgements,
            subtopics=subtopics,
        )


def _judged_items(judgements: Longs, qrels: Qrels) -> Ints:
    """Look up the items of judgements by number, of the same shape; -1 stays."""
    return np.append(qrels.items, NO_ITEM)[judgements]


def divide(
    runs: Sequence[Run],
    qrels: Qrels,
    *,
    depth: int,
    n_samples: int = 1,
    hits_only: bool = False,
    cells_at_once: int = CELLS_AT_ONCE,
) -> Iterator[Block]:
    """Divide users and runs into blocks, each with the lists of some runs for some users.

    Users of a block have about equally many judgements, which are prepared once for all its runs.

    Parameters
    ----------
    runs, qrels
        Lists and judgements of the same users.
    depth
        Number of ranks of all lists; shorter ones end with empty ranks.
    n_samples
        Number of samples in which a block is judged at once: the more, the fewer users it has.
    hits_only
        Whether to leave out ranks that hold nothing judged; the result knows which remain.
    cells_at_once
        About the most judgements of a block's users, in all samples.

    Yields
    ------
    Blocks, from users with few judgements to those with many, each with the numbers of its users,
    of their judgements, and of the judgement at each rank of each list. Memory is that of a block,
    however many users and runs there are: at most `USERS_AT_ONCE` users, about ``cells_at_once``
    judgements or those of one user, and `RANKS_AT_ONCE` ranks or those of one run.
    """
    for users in _users_of_blocks(qrels, n_samples, cells_at_once):
        judgements = _judgements_of(users, qrels)
        n_ranks_of_run = max(1, len(users) * depth)
        runs_at_once = max(1, RANKS_AT_ONCE // n_ranks_of_run)
        for first_system in range(0, len(runs), runs_at_once):
            runs_of_block = runs[first_system : first_system + runs_at_once]
            matches = match_users(runs_of_block, qrels, users, depth=depth)
            systems: list[Columns] = []
            for run, matches_of_run in zip(runs_of_block, matches, strict=True):
                lengths = np.minimum(run.lengths[users], depth)
                if hits_only:
                    lists = _judged_ranks(matches_of_run.T, lengths, run)
                else:
                    contiguous = np.ascontiguousarray(matches_of_run.T)
                    lists = Columns(contiguous, lengths, listed_ranks=None, run=run)
                systems.append(lists)
            yield Block(users, judgements, systems, first_system)


def _users_of_blocks(qrels: Qrels, n_samples: int, cells_at_once: int) -> Iterator[Numbers]:
    """Yield the numbers of users block by block, from few judgements to many; rising in a block.

    A block has at most `USERS_AT_ONCE` users, and about ``cells_at_once`` judgements in
    ``n_samples`` samples.
    """
    judgement_counts = np.diff(qrels.offsets)
    order = np.argsort(judgement_counts, kind="stable")
    cells_per_user = n_samples * np.maximum(judgement_counts[order], 1)
    users_at_once = np.clip(cells_at_once // cells_per_user, 1, USERS_AT_ONCE)
    start = 0
    while start < len(order):
        # Later users have more judgements: the last that may be in the block limits its size.
        latest = min(start + users_at_once[start], len(order)) - 1
        stop = start + users_at_once[latest]
        yield np.sort(order[start:stop])
        start = stop


def _judgements_of(users: Numbers, qrels: Qrels) -> Longs:
    """Number the judgements of each user, of shape (n, n_users), -1 where a user has fewer."""
    starts = qrels.offsets[users]
    ends = qrels.offsets[users + 1]
    most = (ends - starts).max(initial=0)
    numbers = starts + np.arange(most)[:, np.newaxis]
    return np.where(numbers < ends, numbers, -1)


def _judged_ranks(judgements: Longs, lengths: Numbers, run: Run) -> Columns:
    """Move the judged ranks of every list of a run to its beginning.

    ``judgements`` are numbers in the qrels, -1 where an item is not judged, of shape (depth,
    n_users). The result has as many ranks as the list with the most judged items: lists with fewer
    end with -1, at the rank depth + 1. The actual ranks, from 1, are in ``listed_ranks``.
    ``lengths`` are those of the lists, of shape (n_users,), passed on.
    """
    depth, n_users = judgements.shape
    rows, columns = np.nonzero(judgements >= 0)
    order = np.argsort(columns, kind="stable")
    rows = rows[order]
    users = columns[order]
    places = place_in_group(users) - 1
    n_judged = np.bincount(users, minlength=n_users)
    numbers = np.full((n_judged.max(initial=0), n_users), -1)
    ranks = np.full(numbers.shape, depth + 1)
    numbers[places, users] = judgements[rows, users]
    ranks[places, users] = rows + 1
    return Columns(numbers, lengths, ListedRanks(ranks, depth), run)


TRIED_USERS = 400
"""About so many users are scored both ways: the same several times, where there are fewer."""

TRIED_SHARES = (1.0, 0.5, 0.1, 0.0)
"""Shares of the judgements that are kept when a metric is tried out."""

Needs = Literal["nothing", "judged ranks", "all ranks"]
"""What the scores of a sample are made from: those on all judgements will do, or these ranks.

The cheapest stands first.
"""

TOLERANCE = 1e-12
"""Scores that differ by less are equal."""


def needs_of(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
    *,
    depth: int,
) -> list[Needs]:
    """Find out what each measure needs of the lists when judgements are lost.

    Some users, about 400, are scored from all ranks and from judged ranks alone: on all their
    judgements, on half of them, on a tenth, and on none. Of few users several such samples are
    tried. The result has one of "nothing" (scores are the same in all samples), "judged ranks"
    (these alone give the same scores) and "all ranks" for each measure.

    Parameters
    ----------
    runs, qrels
        Lists and judgements of the same users.
    measures
        The measures.
    metrics
        Metrics by name.
    catalogue
        What metrics may know of the items.
    depth
        Number of ranks that are scored.
    """
    runs, qrels, catalogue = with_tried_users(runs, qrels, catalogue)
    repeats = ceil(TRIED_USERS / max(1, qrels.n_users))
    samples = _trial_samples(qrels, catalogue, repeats=repeats)
    n_samples = samples.n_samples
    whole = divide(runs, qrels, depth=depth, n_samples=n_samples)
    hits = divide(runs, qrels, depth=depth, n_samples=n_samples, hits_only=True)
    lists: list[tuple[Judged, Judged]] = []
    for block, block_of_hits in zip(whole, hits, strict=True):
        by_lists = block.judge(samples)
        by_hits = block_of_hits.judge(samples)
        lists += zip(by_lists, by_hits, strict=True)
    return [
        _needs_of_metric(metrics[measure.metric], measure.cutoff, lists, n_samples)
        for measure in measures
    ]


def with_tried_users(
    runs: Sequence[Run], qrels: Qrels, catalogue: Catalogue
) -> tuple[list[Run], Qrels, Catalogue]:
    """Select some users to try metrics with: each, or every n-th, so that there are about 400.

    Returns their lists, their judgements, and what is known of items and users; users have new
    numbers, in their order.
    """
    step = max(1, qrels.n_users // TRIED_USERS)
    users = np.arange(0, qrels.n_users, step)
    judgements = qrels.judgement_rows(users)
    tried_runs = [Run(run.system, run.items[users]) for run in runs]
    return tried_runs, qrels.select_users(users), catalogue.select_users(users, judgements)


def _trial_samples(qrels: Qrels, catalogue: Catalogue, *, repeats: int) -> Samples:
    """Draw ``repeats`` samples of each of the shares 1, .5, .1 and 0 of the judgements.

    Always the same ones: the random seed is 0. Samples of a repeat contain each other.
    """
    n_judgements = len(qrels.items)
    random_numbers = np.random.default_rng(0).random((n_judgements, repeats))
    is_kept = random_numbers[:, :, np.newaxis] < TRIED_SHARES
    masks = is_kept.reshape(n_judgements, repeats * len(TRIED_SHARES))
    return Samples.of_masks(qrels, catalogue, masks)


def _needs_of_metric(
    metric: Metric, cutoff: int | None, lists: Sequence[tuple[Judged, Judged]], n_samples: int
) -> Needs:
    """Find out what a metric at a cut-off needs of the lists when judgements are lost.

    ``lists`` are judged twice in the same samples: with all ranks, and with judged ranks alone;
    their rows are the samples of a user, then those of the next. All ranks are needed by a
    metric that scores one user at a time, and by one that fails where ranks are left out.
    """
    if metric.per_user:
        return "all ranks"
    scores = [metric(by_lists, cutoff=cutoff) for by_lists, _ in lists]
    if all(_is_constant_in_samples(values, n_samples) for values in scores):
        return "nothing"
    for (_, by_hits), values in zip(lists, scores, strict=True):
        try:
            values_by_hits = metric(by_hits, cutoff=cutoff)
            is_equal = np.allclose(values_by_hits, values, rtol=0, atol=TOLERANCE)
        except (ValueError, IndexError):
            # A metric may count on columns that are left out.
            return "all ranks"
        if not is_equal:
            return "all ranks"
    return "judged ranks"


def _is_constant_in_samples(scores: Floats, n_samples: int) -> bool:
    """Check that the scores, (n_users * n_samples,), of every user are the same in all samples."""
    by_user = scores.reshape(-1, n_samples)
    return bool((by_user == by_user[:, :1]).all())
