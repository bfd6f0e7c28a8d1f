"""Judged lists: a run seen through qrels; all that a metric may know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qrels.qrels import Qrels
from runs import InputError, Run

UNJUDGED = -1


@dataclass(frozen=True, eq=False)
class Judged:
    """The grade at every rank of every list, and all grades of every user.

    Parameters
    ----------
    grades
        Grade of the item at each rank, float64 of shape (n_users, depth): column 0 is rank 1;
        NaN where the item is unjudged or the list has ended; a negative grade counts as
        unjudged.
    judgements
        Every grade that the qrels hold for the user, retrieved or not, float64 of shape
        (n_users, n), NaN at the end of a row.
    relevance_level
        Lowest relevant grade.
    lengths
        Items retrieved for each user, of shape (n_users,); the full depth by default.

    Examples
    --------
    Ranks 1 to 3 hold a relevant, an unjudged and a judged non-relevant item; a second relevant
    item was not found:

    >>> judged = Judged(np.array([[1.0, np.nan, 0.0]]), np.array([[1.0, 1.0, 0.0]]))
    >>> judged.relevant
    array([[ True, False, False]])
    >>> judged.nonrelevant
    array([[False, False,  True]])
    >>> judged.n_relevant, judged.n_nonrelevant
    (array([2]), array([1]))
    """

    grades: NDArray[np.float64]
    judgements: NDArray[np.float64]
    relevance_level: float = 1.0
    lengths: NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        if self.grades.ndim != 2 or self.judgements.ndim != 2:
            raise InputError("`grades` and `judgements` must have two dimensions, users first.")
        if len(self.grades) != len(self.judgements):
            raise InputError(
                f"`grades` are of {len(self.grades)} users, `judgements` of "
                f"{len(self.judgements)}: they must be of the same."
            )

    def at_level(self, relevance_level: float) -> Judged:
        """See the same lists with another relevance level."""
        return replace(self, relevance_level=relevance_level)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.grades.shape[0]

    @property
    def depth(self) -> int:
        """Number of ranks."""
        return self.grades.shape[1]

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Where a relevant item is ranked, of shape (n_users, depth)."""
        return self.grades >= self.relevance_level

    @cached_property
    def nonrelevant(self) -> NDArray[np.bool_]:
        """Where a *judged* non-relevant item is ranked, of shape (n_users, depth)."""
        return (self.grades >= 0) & (self.grades < self.relevance_level)

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """Grade at each rank, 0 where there is none, of shape (n_users, depth)."""
        return np.nan_to_num(np.maximum(self.grades, 0.0))

    @cached_property
    def ideal_gains(self) -> NDArray[np.float64]:
        """All grades of each user from the best down, 0 at the end, of shape (n_users, n)."""
        return -np.sort(-np.nan_to_num(np.maximum(self.judgements, 0.0)), axis=1)

    @cached_property
    def n_relevant(self) -> NDArray[np.intp]:
        """R: relevant items in the user's qrels, of shape (n_users,)."""
        return np.count_nonzero(self.judgements >= self.relevance_level, axis=1)

    @cached_property
    def n_nonrelevant(self) -> NDArray[np.intp]:
        """N: judged non-relevant items in the user's qrels, of shape (n_users,)."""
        judged = (self.judgements >= 0) & (self.judgements < self.relevance_level)
        return np.count_nonzero(judged, axis=1)

    @cached_property
    def n_retrieved(self) -> NDArray[np.intp]:
        """Items in each list, of shape (n_users,)."""
        if self.lengths is None:
            return np.full(self.n_users, self.depth)
        return np.asarray(self.lengths, dtype=np.intp)


def match(run: Run, qrels: Qrels) -> NDArray[np.int64]:
    """Find the judgement of every ranked item.

    Returns
    -------
    Positions in ``qrels.items``, of shape (n_users, depth); -1 where there is none.

    Raises
    ------
    InputError
        If run and qrels have different numbers of users.
    """
    if run.n_users != qrels.n_users:
        raise InputError(
            f"run {run.system!r} has {run.n_users} users, the qrels have {qrels.n_users}."
        )
    if len(qrels.items) == 0:
        return np.full(run.items.shape, UNJUDGED, dtype=np.int64)
    stride = np.int64(max(qrels.items.max(), run.items.max(initial=0)) + 1)
    judged_pairs = qrels.users * stride + qrels.items
    pairs = np.arange(run.n_users, dtype=np.int64)[:, None] * stride + run.items
    found = np.minimum(np.searchsorted(judged_pairs, pairs), len(judged_pairs) - 1)
    return np.where((judged_pairs[found] == pairs) & (run.items >= 0), found, UNJUDGED)


def judge(
    run: Run,
    qrels: Qrels,
    *,
    matches: NDArray[np.int64] | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> Judged:
    """See a run through qrels.

    Parameters
    ----------
    run, qrels
        A run and the judgements of the same users.
    matches
        ``match(run, qrels)``, if it is known.
    kept
        Mask over the judgements, of shape (n_judgements,): those left; all by default.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 2]), np.array([3, 7], dtype=np.int32),
    ...               np.array([5, 2], dtype=np.int32), relevance_level=4)
    >>> judge(Run("s", np.array([[7, 1, 3]], dtype=np.int32)), qrels).grades
    array([[ 2., nan,  5.]])
    """
    matches = match(run, qrels) if matches is None else matches
    grades = qrels.grades.astype(np.float64)
    if kept is not None:
        grades = np.where(kept, grades, np.nan)
    known = np.append(grades, np.nan)
    return Judged(
        grades=known[matches],
        judgements=_rows(grades, qrels),
        relevance_level=qrels.relevance_level,
        lengths=run.lengths,
    )


def _rows(grades: NDArray[np.float64], qrels: Qrels) -> NDArray[np.float64]:
    """Lay the grades of each user in a row, NaN at the end and where taken away."""
    width = int(np.diff(qrels.offsets).max(initial=0))
    rows = np.full((qrels.n_users, width), np.nan)
    rows[qrels.users, np.arange(len(grades)) - qrels.offsets[qrels.users]] = grades
    return rows
