"""Judged lists: a run seen through qrels; all that a metric may know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrels.qrels import Qrels
from runs import InputError, Run

UNJUDGED = -1

CELLS_AT_ONCE = 250_000
"""Size of the table of users x items through which items are looked up: 2 MB."""

OF_JUDGEMENTS = ("ideal_gains", "n_relevant", "n_nonrelevant")
"""Properties of `Judged` that do not depend on the lists."""


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
        if relevance_level == self.relevance_level:
            return self
        if relevance_level not in self._levels:
            self._levels[relevance_level] = replace(self, relevance_level=relevance_level)
        return self._levels[relevance_level]

    def with_lists(
        self, grades: NDArray[np.float64], lengths: NDArray[np.integer] | None
    ) -> Judged:
        """See other lists of the same users; what follows from the judgements is kept."""
        other = replace(self, grades=grades, lengths=lengths)
        known = {name: value for name, value in vars(self).items() if name in OF_JUDGEMENTS}
        vars(other).update(known)
        return other

    def once(self, derive: Callable[..., NDArray[Any]], **options: Any) -> NDArray[Any]:
        """Derive something from the lists once: a metric at many cut-offs asks for it again.

        What is derived depends on these lists and the options alone, and is not to be written
        into.

        Examples
        --------
        >>> judged = Judged(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
        >>> def where(judged):
        ...     return judged.relevant.argmax(axis=1)
        >>> judged.once(where) is judged.once(where)
        True
        """
        key = (derive, repr(options))
        if key not in self._derived:
            self._derived[key] = derive(self, **options)
        return self._derived[key]

    def total(
        self,
        earned: Callable[..., NDArray[np.float64]],
        *,
        cutoff: int | None = None,
        **options: Any,
    ) -> NDArray[np.float64]:
        """Add what the first ranks earn; worked out once for all cut-offs.

        Ranks are added one after the other, so that ranks that earn nothing change no digit.

        Parameters
        ----------
        earned
            Gives what each rank earns, float64 of shape (n_users, depth).
        cutoff
            Ranks considered; all of them by default.
        options
            Further keywords of ``earned``.

        Returns
        -------
        Sums of shape (n_users,).

        Examples
        --------
        >>> judged = Judged(np.array([[5.0, 4.0, 1.0]]), np.ones((1, 3)))
        >>> def grades(judged):
        ...     return judged.gains
        >>> judged.total(grades, cutoff=2), judged.total(grades)
        (array([9.]), array([10.]))
        """
        key = (earned, repr(options))
        if key not in self._running:
            self._running[key] = running_sum(earned(self, **options))
        return down_to(cutoff, self._running[key])

    def hits(self, cutoff: int | None = None) -> NDArray[np.float64]:
        """Count the relevant items in the first ranks, float64 of shape (n_users,)."""
        return down_to(cutoff, self.relevant_so_far)

    @cached_property
    def _levels(self) -> dict[float, Judged]:
        return {}

    @cached_property
    def _derived(self) -> dict[tuple[Callable[..., NDArray[Any]], str], NDArray[Any]]:
        return {}

    @cached_property
    def _running(self) -> dict[tuple[Callable[..., NDArray[Any]], str], NDArray[np.float64]]:
        return {}

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
    def relevant_so_far(self) -> NDArray[np.float64]:
        """Number of relevant items down to each rank, of shape (n_users, depth)."""
        return running_sum(self.relevant)

    @cached_property
    def nonrelevant_so_far(self) -> NDArray[np.float64]:
        """Number of judged non-relevant items down to each rank, of shape (n_users, depth)."""
        return running_sum(self.nonrelevant)

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """Grade at each rank, 0 where there is none, of shape (n_users, depth)."""
        return np.fmax(self.grades, 0.0)

    @cached_property
    def ideal_gains(self) -> NDArray[np.float64]:
        """All grades of each user from the best down, 0 at the end, of shape (n_users, n)."""
        return np.sort(np.fmax(self.judgements, 0.0), axis=1)[:, ::-1]

    @cached_property
    def n_relevant(self) -> NDArray[np.intp]:
        """R: relevant items in the user's qrels, of shape (n_users,)."""
        return np.count_nonzero(self.judgements >= self.relevance_level, axis=1)

    @cached_property
    def n_nonrelevant(self) -> NDArray[np.intp]:
        """N: judged non-relevant items in the user's qrels, of shape (n_users,)."""
        return np.count_nonzero(self.judgements >= 0, axis=1) - self.n_relevant

    @cached_property
    def n_retrieved(self) -> NDArray[np.intp]:
        """Items in each list, of shape (n_users,)."""
        if self.lengths is None:
            return np.full(self.n_users, self.depth)
        return np.asarray(self.lengths, dtype=np.intp)


def running_sum(values: NDArray[Any]) -> NDArray[np.float64]:
    """Add up the columns of (n_users, depth) from left to right, as ``cumsum(axis=1)``.

    Adding column to column is several times faster than numpy's walk along each row.

    Examples
    --------
    >>> running_sum(np.array([[True, False, True]]))
    array([[1., 1., 2.]])
    """
    columns = np.array(values.T, dtype=np.float64, order="C")
    for before, column in pairwise(columns):
        column += before
    return columns.T


def down_to(cutoff: int | None, running: NDArray[np.float64]) -> NDArray[np.float64]:
    """Read running sums of shape (n_users, depth) at a cut-off, or at the end if it comes first.

    Examples
    --------
    >>> down_to(2, np.array([[1.0, 3.0, 6.0]])), down_to(9, np.array([[1.0, 3.0, 6.0]]))
    (array([3.]), array([6.]))
    """
    depth = running.shape[1]
    last = depth if cutoff is None else min(cutoff, depth)
    return running[:, last - 1] if last > 0 else np.zeros(len(running))


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
    width = int(max(qrels.items.max(), run.items.max(initial=0))) + 2
    users_at_once = max(1, CELLS_AT_ONCE // width)
    known = np.full(users_at_once * width, UNJUDGED, dtype=np.int64)
    matches = np.empty(run.items.shape, dtype=np.int64)
    for first in range(0, run.n_users, users_at_once):
        items = run.items[first : first + users_at_once]
        start, end = qrels.offsets[first], qrels.offsets[first + len(items)]
        cells = (qrels.users[start:end] - first) * np.int64(width) + qrels.items[start:end]
        known[cells] = np.arange(start, end)
        # The end of a list, item -1, falls into the last cell of the row before: always empty.
        wanted = np.arange(len(items))[:, None] * width + items
        np.take(known, wanted, mode="wrap", out=matches[first : first + len(items)])
        known[cells] = UNJUDGED
    return matches


def judge(run: Run, qrels: Qrels) -> Judged:
    """See a run through the judgements of the same users.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 2]), np.array([3, 7], dtype=np.int32),
    ...               np.array([5, 2], dtype=np.int32), relevance_level=4)
    >>> judge(Run("s", np.array([[7, 1, 3]], dtype=np.int32)), qrels).grades
    array([[ 2., nan,  5.]])
    """
    grades = qrels.grades.astype(np.float64)
    return Judged(
        grades=np.append(grades, np.nan)[match(run, qrels)],
        judgements=_rows(grades, qrels),
        relevance_level=qrels.relevance_level,
        lengths=run.lengths,
    )


def _rows(grades: NDArray[np.float64], qrels: Qrels) -> NDArray[np.float64]:
    """Lay the grades of each user in a row, NaN at the end."""
    counts = np.diff(qrels.offsets)
    rows = np.full((qrels.n_users, int(counts.max(initial=0))), np.nan)
    rows[np.arange(rows.shape[1]) < counts[:, None]] = grades
    return rows
