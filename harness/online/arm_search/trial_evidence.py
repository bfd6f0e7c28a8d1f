"""What is kept of a trial of a model: the recall of every tuning user, and some of their lists."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from analyses.recall.user_recalls import user_recalls
from harness.online.simulation.world.profiles import profiles_before
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from recommenders.kernels.hidden import Hiding, rank_hidden
from recommenders.shared.sparse import row_of_entry
from runs import top_items
from runs.shared.files import write_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LISTED_USERS = 2000
"""Users at most whose lists are kept, spread over all."""

BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class Evidence:
    """How one model serves the tuning users.

    Numbers and recalls of the users are int32 and float32 of shape (n_users,). Lists are items
    recommended from the whole profiles of some of them, -1 at the end, int32 of shape (n_listed,
    cutoff).
    """

    users: NDArray[np.int32]
    recalls: NDArray[np.float32]
    lists: NDArray[np.int32]

    @property
    def mean(self) -> float:
        """Mean recall of the users."""
        return float(self.recalls.mean(dtype=np.float64))

    def write(self, path: Path) -> None:
        """Write a file of arrays."""
        stream = BytesIO()
        np.savez_compressed(stream, users=self.users, recalls=self.recalls, lists=self.lists)
        write_whole(path, stream.getvalue())

    @classmethod
    def read(cls, path: Path) -> Evidence | None:
        """Read it back; None if there is no such file, or it is broken."""
        try:
            with np.load(BytesIO(path.read_bytes())) as arrays:
                return cls(arrays["users"], arrays["recalls"], arrays["lists"])
        except (OSError, EOFError, KeyError, ValueError, BadZipFile, zlib.error):
            return None


def gather_evidence(
    matrix: csr_array[Any],
    tuning: Interactions,
    counts: NDArray[np.integer],
    *,
    cutoff: int,
    beta: float,
    n_jobs: int,
) -> Evidence:
    """Measure a model on tuning users, all of whom have two distinct items or more.

    The matrix holds similarities, as `recommenders.kernels.hidden.rank_hidden` takes them; counts
    are the training events on every item, of shape (n_items,). Recall is under leave last one out.
    """
    ranks = rank_hidden(matrix, tuning, Hiding(deepest=cutoff), n_jobs=n_jobs)
    users, recalls = _recalls(ranks, counts, cutoff=cutoff, beta=beta)
    listed = users[:: -(-len(users) // LISTED_USERS)]
    return Evidence(users, recalls, top_lists(matrix, tuning, listed, depth=cutoff))


def _recalls(
    ranks: HiddenRanks, counts: NDArray[np.integer], *, cutoff: int, beta: float
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Give the users and the recall of each."""
    blocks = list(user_recalls(ranks, counts, validation="LLOO", betas=[beta], cutoffs=[cutoff]))
    recalls = np.concatenate([block.shares[:, 0, 0] for block in blocks])
    return np.concatenate([block.users for block in blocks]), recalls


def top_lists(
    matrix: csr_array[Any], events: Interactions, users: NDArray[np.int32], *, depth: int
) -> NDArray[np.int32]:
    """Recommend to users from all that they had, what they had excluded.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from runs import Numbering
    >>> events = Interactions.of(
    ...     Numbering.of("u"), Numbering.of("abc"), user=[0], item=[0], time=[1]
    ... )
    >>> votes = csr_array([[0, 0.25, 0.5], [0.25, 0, 0], [0.5, 0, 0]])
    >>> top_lists(votes, events, np.array([0], dtype=np.int32), depth=3)
    array([[ 2,  1, -1]], dtype=int32)
    """
    ends = np.full(len(users), np.iinfo(np.int64).max)
    profiles = profiles_before(events, users, ends, n_items=len(events.items))
    lists = np.full((len(users), depth), -1, dtype=np.int32)
    size = max(1, BLOCK_BYTES // (8 * matrix.shape[1]))
    for first in range(0, len(users), size):
        rows = slice(first, first + size)
        known = profiles[rows]
        scores = (known @ matrix).toarray()
        scores[row_of_entry(known), known.indices] = 0
        lists[rows] = top_items(np.where(scores > 0, scores, -np.inf), depth=depth)
    return lists
