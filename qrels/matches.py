"""Matches of a run and qrels: the judgement of every ranked item, and the judged lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrels.catalogue import NO_JUDGEMENT, Catalogue, ItemsOfLists
from qrels.judged import Judged
from qrels.qrels import Qrels
from runs import NO_ITEM, InputError, Run
from runs.shared.arrays import Longs, Numbers
from runs.shared.fields import offsets_of

CELLS_AT_ONCE = 250_000
"""Size of the table of users x items through which items are looked up: 2 MB."""


def match(run: Run, qrels: Qrels, *, depth: int | None = None) -> Longs:
    """Find the judgement of every ranked item, down to a depth; by default at all ranks.

    Run and qrels are of the same users, in the same order. Users are looked up block by block, in
    a table of all pairs of a user of the block and an item, so that memory is bounded.

    Returns
    -------
    Positions of judgements in ``qrels.items``, int64 of shape (n_users, n_ranks); -1 where the item
    has no judgement, or the list has ended.

    Raises
    ------
    InputError
        If the run and the qrels have not as many users.
    """
    if run.n_users != qrels.n_users:
        raise InputError(
            f"run {run.system!r} has {run.n_users} users, the qrels have {qrels.n_users}."
        )
    depth = run.depth if depth is None else min(depth, run.depth)
    users = np.arange(qrels.n_users)
    return match_users([run], qrels, users, depth=depth)[0]


def match_users(runs: Sequence[Run], qrels: Qrels, users: Numbers, *, depth: int) -> Longs:
    """Find the judgement of every item that several runs rank for some users, down to a depth.

    The table of `match` is filled once for all runs, which pays where there are many judgements.

    Parameters
    ----------
    runs, qrels
        Lists and judgements of the same users.
    users
        Numbers of the users whose lists are looked at, rising, of shape (n_users,).
    depth
        Number of ranks; shorter lists end with empty ranks.

    Returns
    -------
    Positions of judgements in ``qrels.items``, int64 of shape (n_runs, n_users, depth); -1 where
    the item has no judgement, or the list has ended.
    """
    matches = np.full((len(runs), len(users), depth), NO_JUDGEMENT, dtype=np.int64)
    judgements = qrels.judgement_rows(users)
    if len(judgements) == 0 or matches.size == 0:
        return matches
    judged_items = qrels.items[judgements]
    listed_items = [run.items[users, :depth] for run in runs]
    highest_listed = max(int(items.max(initial=0)) for items in listed_items)
    highest_item = max(int(judged_items.max()), highest_listed)
    # One more than there are items, so that the last cell of each row stays empty.
    width = highest_item + 2
    users_at_once = max(1, CELLS_AT_ONCE // width)
    # Position of the judgement of each user of a block and each item.
    positions = np.full(users_at_once * width, NO_JUDGEMENT, dtype=np.int64)
    first_cells = np.arange(users_at_once) * width
    judgement_counts = np.diff(qrels.offsets)[users]
    offsets = offsets_of(judgement_counts)
    for start in range(0, len(users), users_at_once):
        stop = min(start + users_at_once, len(users))
        counts_of_block = judgement_counts[start:stop]
        rows_of_block = slice(offsets[start], offsets[stop])
        cells_of_users = first_cells[: stop - start]
        judged_cells = np.repeat(cells_of_users, counts_of_block) + judged_items[rows_of_block]
        positions[judged_cells] = judgements[rows_of_block]
        for items, matches_of_run in zip(listed_items, matches, strict=True):
            # The end of a list, item -1, falls into the last cell of the row before: always empty.
            listed_cells = cells_of_users[:, np.newaxis] + items[start:stop]
            n_ranks = items.shape[1]
            np.take(positions, listed_cells, mode="wrap", out=matches_of_run[start:stop, :n_ranks])
        positions[judged_cells] = NO_JUDGEMENT
    return matches


def judge(run: Run, qrels: Qrels, catalogue: Catalogue | None = None) -> Judged:
    """Look up the grade of every ranked item in the judgements of the same users.

    Parameters
    ----------
    run, qrels
        Of the same users, in the same order.
    catalogue
        What is known of the items (popularity, features and so on), for metrics that ask for it.
        By default nothing is; metrics that ask for items are then refused, but for those that
        count the subtopics of judgements, if the qrels have these.

    Returns
    -------
    The grade of the item at each rank, NaN where it has no judgement or the list has ended, of
    shape (n_users, depth); beside all grades of each user.

    Raises
    ------
    InputError
        If the run and the qrels have not as many users.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 2]), np.array([3, 7], dtype=np.int32),
    ...               np.array([5, 2], dtype=np.int32), relevance_level=4)
    >>> judge(Run("s", np.array([[7, 1, 3]], dtype=np.int32)), qrels).grades
    array([[ 2., nan,  5.]])
    """
    grades = qrels.grades.astype(np.float64)
    # Position -1, of items without a judgement, is that of the NaN at the end.
    grade_or_nan = np.append(grades, np.nan)
    matches = match(run, qrels)
    ranked_grades = grade_or_nan[matches]
    all_grades = _rows(grades, qrels, missing=np.nan)
    judged = Judged(
        grades=ranked_grades,
        judgements=all_grades,
        relevance_level=qrels.relevance_level,
        lengths=run.lengths,
    )
    if catalogue is None and qrels.subtopics is None:
        return judged

    def find_items() -> ItemsOfLists:
        """Lay items and numbers of judgements in columns of users, when a metric asks for them."""
        judged_items = _rows(qrels.items, qrels, missing=int(NO_ITEM))
        numbers = np.arange(len(qrels.items))
        judgements = _rows(numbers, qrels, missing=NO_JUDGEMENT)
        return ItemsOfLists(
            catalogue=Catalogue(n_items=0) if catalogue is None else catalogue,
            users=np.arange(run.n_users),
            listed=run.items.T,
            judged=judged_items.T,
            judgements=judgements.T,
            system=run.system,
            listed_judgements=None if qrels.subtopics is None else matches.T,
            subtopics=qrels.subtopics,
        )

    return judged.with_items(find_items)


def _rows(values: NDArray[Any], qrels: Qrels, *, missing: float) -> NDArray[Any]:
    """Lay a column of values, one for each judgement in the qrels, in rows, one for each user.

    ``values`` are of shape (n_judgements,), user by user.
    The result is of shape (n_users, n), where n is the most judgements that a user has; the ends of
    shorter rows are filled with ``missing``.
    """
    counts = np.diff(qrels.offsets)
    width = int(counts.max(initial=0))
    rows = np.full((qrels.n_users, width), missing, dtype=values.dtype)
    is_filled = np.arange(width) < counts[:, None]
    rows[is_filled] = values
    return rows
