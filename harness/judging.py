"""Lists that are judged again and again, a block of users at a time, so that arrays stay in cache.

A metric scores every user by that user's lists alone, so blocks change nothing, not even the last
digit: `harness.running` tries metrics out for it before any work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels import Judged, Qrels, match
from runs import Run

USERS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Listed:
    """The judged items in one system's lists for a block of users.

    Parameters
    ----------
    cells
        Where they are in the lists, laid end to end; of shape (n_hits,).
    judgements
        Which of the block's judgements they have, of shape (n_hits,).
    lengths
        Items retrieved for each user, of shape (n_users,).
    depth
        Length of the lists.
    """

    cells: NDArray[np.intp]
    judgements: NDArray[np.int64]
    lengths: NDArray[np.intp]
    depth: int


@dataclass(frozen=True, eq=False)
class Block:
    """Some users, ready to be judged.

    Parameters
    ----------
    users, judgements
        The users, and their judgements in the qrels.
    cells
        Where the judgements go in rows of ``width``, one row a user; of shape (n_judgements,).
    width
        The most judgements of a user of the whole qrels.
    listed
        The judged items of every system.
    """

    users: slice
    judgements: slice
    cells: NDArray[np.int64]
    width: int
    listed: Sequence[Listed]

    def judge(self, qrels: Qrels, kept: NDArray[np.bool_] | None = None) -> Iterator[Judged]:
        """See the lists of one system after the other through qrels.

        Parameters
        ----------
        qrels
            All judgements.
        kept
            Mask over the judgements, of shape (n_judgements,): those left; all by default.
        """
        grades = qrels.grades[self.judgements].astype(np.float64)
        if kept is not None:
            grades[~kept[self.judgements]] = np.nan
        n_users = self.users.stop - self.users.start
        rows = _fill((n_users, self.width), self.cells, grades)
        judged = Judged(np.empty((n_users, 0)), rows, qrels.relevance_level)
        for listed in self.listed:
            shape = (n_users, listed.depth)
            lists = _fill(shape, listed.cells, grades[listed.judgements])
            judged = judged.with_lists(lists, listed.lengths)
            yield judged


def _fill(
    shape: tuple[int, int], cells: NDArray[np.integer], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put values into rows, one a user, NaN elsewhere."""
    rows = np.full(shape, np.nan)
    rows.reshape(-1)[cells] = values
    return rows


def divide(runs: Sequence[Run], qrels: Qrels, *, depth: int) -> list[Block]:
    """Divide the users into blocks.

    Parameters
    ----------
    runs, qrels
        Runs and the judgements of the same users.
    depth
        Ranks to keep.
    """
    matches = [match(run, qrels)[:, :depth] for run in runs]
    width = int(np.diff(qrels.offsets).max(initial=0))
    columns = np.arange(len(qrels.items)) - qrels.offsets[qrels.users]
    cells = qrels.users * np.int64(width) + columns
    blocks = []
    for first in range(0, qrels.n_users, USERS_AT_ONCE):
        users = slice(first, min(first + USERS_AT_ONCE, qrels.n_users))
        judgements = slice(*qrels.offsets[[users.start, users.stop]].tolist())
        listed = [
            _list(run, found[users], users, judgements.start)
            for run, found in zip(runs, matches, strict=True)
        ]
        rows = cells[judgements] - first * width
        blocks.append(Block(users, judgements, rows, width, listed))
    return blocks


def _list(run: Run, matches: NDArray[np.int64], users: slice, first_judgement: int) -> Listed:
    cells = np.flatnonzero(matches >= 0)
    return Listed(
        cells=cells,
        judgements=matches.reshape(-1)[cells] - first_judgement,
        lengths=np.minimum(run.lengths[users], matches.shape[1]),
        depth=matches.shape[1],
    )
