"""Lists that are judged again and again, a block of users at a time, so that arrays stay in cache.

A metric scores every user by that user's lists alone, so it does not matter which users share a
block: `harness.study.run` tries metrics out for it before any work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels import Judged, Qrels, match
from runs import Run

USERS_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Listed:
    """The judged items in one system's lists for a block of users.

    The hits are at ``cells`` of the lists, laid out rank after rank, and have the judgements of the
    block with these numbers, both of shape (n_hits,). Lengths are the items retrieved for each
    user, of shape (n_users,), the depth is that of the lists.
    """

    cells: NDArray[np.intp]
    judgements: NDArray[np.int64]
    lengths: NDArray[np.intp]
    depth: int


@dataclass(frozen=True, eq=False)
class Block:
    """Some users, ready to be judged.

    Users, of shape (n_users,), and their judgements, (n_judgements,), are numbers in the qrels; the
    judgements go to ``cells`` in rows, one for each user, of the width, the most judgements of one
    of them. Listed are the judged items of every system.
    """

    users: NDArray[np.intp]
    judgements: NDArray[np.int64]
    cells: NDArray[np.int64]
    width: int
    listed: Sequence[Listed]

    def judge(self, qrels: Qrels, kept: NDArray[np.bool_] | None = None) -> Iterator[Judged]:
        """See the lists of one system after the other through qrels, or the judgements kept."""
        grades = qrels.grades[self.judgements].astype(np.float64)
        if kept is not None:
            grades[~kept[self.judgements]] = np.nan
        n_users = len(self.users)
        rows = _fill((n_users, self.width), self.cells, grades)
        judged = Judged(np.empty((n_users, 0)), rows, qrels.relevance_level)
        for listed in self.listed:
            # One rank of all users after the other: metrics then add whole columns at a time.
            ranks = _fill((listed.depth, n_users), listed.cells, grades[listed.judgements])
            judged = judged.with_lists(ranks.T, listed.lengths)
            yield judged


def _fill(
    shape: tuple[int, int], cells: NDArray[np.integer], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put values into a table, NaN elsewhere."""
    table = np.full(shape, np.nan)
    table.reshape(-1)[cells] = values
    return table


def divide(runs: Sequence[Run], qrels: Qrels, *, depth: int) -> list[Block]:
    """Divide the users into blocks: those of one have about equally many judgements."""
    matches = [match(run, qrels)[:, :depth] for run in runs]
    by_count = np.argsort(np.diff(qrels.offsets), kind="stable")
    return [
        _block(np.sort(by_count[first : first + USERS_AT_ONCE]), runs, matches, qrels)
        for first in range(0, qrels.n_users, USERS_AT_ONCE)
    ]


def _block(
    users: NDArray[np.intp],
    runs: Sequence[Run],
    matches: Sequence[NDArray[np.int64]],
    qrels: Qrels,
) -> Block:
    first = qrels.offsets[users]
    counts = qrels.offsets[users + 1] - first
    rows = np.repeat(np.arange(len(users)), counts)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    # A judgement's number in the block is its number in the qrels less what the user skips.
    skipped = first - (np.cumsum(counts) - counts)
    width = int(counts.max(initial=0))
    return Block(
        users=users,
        judgements=first[rows] + columns,
        cells=rows * width + columns,
        width=width,
        listed=[
            _list(found[users], skipped, run.lengths[users])
            for run, found in zip(runs, matches, strict=True)
        ],
    )


def _list(
    matches: NDArray[np.int64], skipped: NDArray[np.int64], lengths: NDArray[np.intp]
) -> Listed:
    """Find the hits in the lists of a block, with the numbers that judgements have there."""
    n_users, depth = matches.shape
    by_rank = np.ascontiguousarray(matches.T).reshape(-1)
    cells = np.flatnonzero(by_rank >= 0)
    return Listed(
        cells=cells,
        judgements=by_rank[cells] - skipped[cells % max(n_users, 1)],
        lengths=np.minimum(lengths, depth),
        depth=depth,
    )
