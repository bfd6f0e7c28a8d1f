"""Judged lists: a run seen through qrels; all that a metric may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from qrels.catalogue import Catalogue, ItemsOfLists
from qrels.qrels import Qrels
from qrels.ranks.judged_ranks import JudgedRanks
from runs import NO_ITEM, InputError, Run
from runs.shared.arrays import Floats, Integers, Longs, Masks, Numbers

UNJUDGED = -1

CELLS_AT_ONCE = 250_000
"""Size of the table of users x items through which items are looked up: 2 MB."""

T = TypeVar("T")
Number = TypeVar("Number", bound=np.integer)

Cutoff: TypeAlias = int | Integers | None
"""Ranks considered: of all users, of each of them (n_users,), or all ranks."""


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

    grades: Floats
    judgements: Floats
    relevance_level: float = 1.0
    lengths: Integers | None = None

    def __post_init__(self) -> None:
        shapes = self.grades.shape, self.judgements.shape
        if {*map(len, shapes)} != {2} or shapes[0][0] != shapes[1][0]:
            finding = f"of shape (n_users, n), got {shapes[0]} and {shapes[1]}."
            raise InputError(f"`grades` and `judgements` must be of the same users, {finding}")

    def at_level(self, relevance_level: float) -> Judged:
        """See the same lists with another relevance level."""
        if relevance_level == self.relevance_level:
            return self
        return self.once(_at_level, relevance_level=relevance_level)

    def with_lists(
        self, grades: Floats, lengths: Integers | None, *, listed_ranks: ListedRanks | None = None
    ) -> Judged:
        """See other lists of the same users; what follows from the judgements is kept.

        Where ranks that hold nothing judged are left out, ``listed_ranks`` says which are there.
        """
        other = replace(self, grades=grades, lengths=lengths)
        vars(other)["_of_judgements"] = self._of_judgements
        if listed_ranks is not None:
            vars(other)["_listed_ranks"] = listed_ranks
        return other

    def as_deep_as(self, depth: int) -> Judged:
        """See the same lists as the first ranks of deeper ones, whose other ranks are empty.

        So that measures of whole lists see all users equally deep, where rows hold some of them.

        Examples
        --------
        >>> Judged(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])).as_deep_as(1000).depth
        1000
        """
        deeper = self.with_lists(self.grades, self.n_retrieved)
        vars(deeper)["depth"] = depth
        return deeper

    def once(self, derive: Callable[..., T], **options: Any) -> T:
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
        return _once(self._of_lists, derive, self, options)

    def once_for_all(self, derive: Callable[..., T], **options: Any) -> T:
        """Derive something from the judgements once, for all lists that are judged by them.

        What is derived depends on the judgements, their items and the options alone; otherwise as
        `once`.
        """
        return _once(self._of_judgements, derive, self, options)

    def total(
        self, earned: Callable[..., Floats], *, cutoff: Cutoff = None, **options: Any
    ) -> Floats:
        """Add what the first ranks earn; worked out once for all cut-offs.

        Ranks are added one after the other, so that ranks that earn nothing change no digit.

        Parameters
        ----------
        earned
            Gives what each rank earns, float64 of shape (n_users, n_ranks).
        cutoff
            Ranks considered, of all users or of each; all of them by default.
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
        return self.down_to(cutoff, self.once(_running, of=earned, by=np.add, **options))

    def highest(
        self, earned: Callable[..., Floats], *, cutoff: Cutoff = None, **options: Any
    ) -> Floats:
        """Give the most that one of the first ranks earns, at least 0; otherwise as `total`."""
        return self.down_to(cutoff, self.once(_running, of=earned, by=np.maximum, **options))

    def best_so_far(self, earned: Callable[..., Floats], **options: Any) -> Floats:
        """Add what the best list earns down to each rank, of shape (n_users, n_ranks)."""
        running = self.best.once(_running, of=earned, by=np.add, **options)
        if running.shape[1] == 0:
            return np.zeros(self.grades.shape)
        columns = np.minimum(self.ranks, running.shape[1]) - 1
        if columns.ndim == 1:
            return running[:, columns]
        return np.take_along_axis(running, columns, axis=1)

    def hits(self, cutoff: Cutoff = None) -> Floats:
        """Count the relevant items in the first ranks, float64 of shape (n_users,)."""
        return self.down_to(cutoff, self.relevant_so_far)

    def nonrelevant_hits(self, cutoff: Cutoff = None) -> Floats:
        """Count the judged non-relevant items in the first ranks, of shape (n_users,)."""
        return self.down_to(cutoff, self.nonrelevant_so_far)

    def down_to(self, cutoff: Cutoff, running: Floats) -> Floats:
        """Read a running total at a cut-off, or at the end of the lists if that comes first."""
        if running.shape[1] == 0:
            return np.zeros(self.n_users)
        if cutoff is None:
            return running[:, -1]
        if isinstance(cutoff, int) and self._listed_ranks is None:
            last = min(cutoff, running.shape[1])
            return running[:, last - 1] if last > 0 else np.zeros(self.n_users)
        if isinstance(cutoff, int):
            cells = self.once(_cells, cutoff=cutoff)
        else:
            cells = _cells(self, cutoff=np.asarray(cutoff))
        return np.where(cells >= 0, running.T.reshape(-1)[cells], 0.0)

    @cached_property
    def _listed_ranks(self) -> ListedRanks | None:
        return None

    @cached_property
    def _of_lists(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _of_judgements(self) -> dict[Any, Any]:
        return {}

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.grades.shape[0]

    @cached_property
    def depth(self) -> int:
        """Deepest rank of the lists."""
        return self.grades.shape[1] if self._listed_ranks is None else self._listed_ranks.depth

    @cached_property
    def ranks(self) -> Longs:
        """Rank of every column, of shape (n_ranks,).

        Of shape (n_users, n_ranks) where ranks that hold nothing judged are left out, as they are
        to score samples of the judgements fast.
        """
        if self._listed_ranks is not None:
            return self._listed_ranks.ranks(self.n_users)
        return np.arange(1, self.grades.shape[1] + 1)

    @cached_property
    def relevant(self) -> Masks:
        """Where a relevant item is ranked, of shape (n_users, n_ranks)."""
        return self.grades >= self.relevance_level

    @cached_property
    def nonrelevant(self) -> Masks:
        """Where a *judged* non-relevant item is ranked, of shape (n_users, n_ranks)."""
        return (self.grades >= 0) & (self.grades < self.relevance_level)

    @cached_property
    def relevant_so_far(self) -> Floats:
        """Number of relevant items down to each rank, of shape (n_users, n_ranks)."""
        return accumulate(self.relevant)

    @cached_property
    def nonrelevant_so_far(self) -> Floats:
        """Number of judged non-relevant items down to each rank, of shape (n_users, n_ranks)."""
        return accumulate(self.nonrelevant)

    @cached_property
    def gains(self) -> Floats:
        """Grade at each rank, 0 where there is none, of shape (n_users, n_ranks)."""
        return np.fmax(self.grades, 0.0)

    @property
    def catalogue(self) -> Catalogue:
        """What is known of the items."""
        return self._items_seen.catalogue

    @cached_property
    def users(self) -> Integers:
        """Number of every user, of shape (n_users,)."""
        seen = self._items_seen.users
        return np.repeat(seen, self.n_users // max(len(seen), 1))

    @cached_property
    def items(self) -> Integers:
        """Number of the item at each rank, of shape (n_users, n_ranks), -1 where there is none."""
        return self._for_each_row(self._items_seen.listed)

    @cached_property
    def judged_items(self) -> Integers:
        """Number of the item of each judgement, of shape (n_users, n), -1 where there is none."""
        return self._for_each_row(self._items_seen.judged)

    @cached_property
    def hidden_ranks(self) -> JudgedRanks:
        """Rank of the item of each judgement when it is hidden, each of shape (n_users, n)."""
        return self._items_seen.hidden_ranks().map(self._for_each_row)

    def with_items(self, see: Callable[[], ItemsOfLists]) -> Judged:
        """Let metrics ask for items; ``see`` is called if one does."""
        vars(self)["_see_items"] = see
        return self

    @cached_property
    def _items_seen(self) -> ItemsOfLists:
        see: Callable[[], ItemsOfLists] | None = vars(self).get("_see_items")
        if see is None:
            raise InputError(
                "these lists have grades only, not items, such as ideal rankings; the items of all "
                "judgements are in `judged_items`."
            )
        return see()

    def _for_each_row(self, table: NDArray[Number]) -> NDArray[Number]:
        """Repeat columns for all samples of the judgements, and lay them in rows."""
        return np.repeat(table, self.n_users // max(table.shape[1], 1), axis=1).T

    @property
    def condensed(self) -> Judged:
        """The lists without their unjudged items: ranks count judged items alone.

        A negative grade counts as unjudged. The lists are as deep as before, and end sooner.
        """
        return self.once(_condensed)

    @property
    def best(self) -> Judged:
        """The best lists that the judgements allow: all judged items by falling grade."""
        return self.once_for_all(_best_lists)

    @property
    def ideal_gains(self) -> Floats:
        """All grades of each user from the best down, 0 at the end, of shape (n_users, n)."""
        return self.best.gains

    @property
    def n_relevant(self) -> Numbers:
        """R: relevant items in the user's qrels, of shape (n_users,)."""
        return self.once_for_all(_count_relevant)

    @property
    def n_nonrelevant(self) -> Numbers:
        """N: judged non-relevant items in the user's qrels, of shape (n_users,)."""
        return self.once_for_all(_count_nonrelevant)

    @cached_property
    def n_retrieved(self) -> Numbers:
        """Items in each list, of shape (n_users,)."""
        if self.lengths is None:
            return np.full(self.n_users, self.depth)
        return np.asarray(self.lengths, dtype=np.intp)


def _once(
    known: dict[Any, Any], derive: Callable[..., T], judged: Judged, options: dict[str, Any]
) -> T:
    """Look up what was derived of the lists, or derive it."""
    values = (tuple(sorted(v.items())) if isinstance(v, Mapping) else v for v in options.values())
    key = (derive, judged.relevance_level, *zip(options, values, strict=True))
    if key not in known:
        known[key] = derive(judged, **options)
    return cast("T", known[key])


def _at_level(judged: Judged, *, relevance_level: float) -> Judged:
    other = replace(judged, relevance_level=relevance_level)
    vars(other).update(
        _of_judgements=judged._of_judgements, _listed_ranks=judged._listed_ranks, depth=judged.depth
    )
    if "_see_items" in vars(judged):
        other.with_items(lambda: judged._items_seen)
    return other


def _condensed(judged: Judged) -> Judged:
    """Move the judged items of every list to its beginning."""
    is_judged = judged.grades >= 0
    cells = np.flatnonzero(is_judged.T)
    places = accumulate(is_judged).T.reshape(-1)[cells].astype(np.intp) - 1
    cells_left = places * judged.n_users + cells % judged.n_users

    def moved(table: NDArray[Any], *, missing: Any) -> NDArray[Any]:
        condensed = np.full(table.size, missing, dtype=table.dtype)
        condensed[cells_left] = table.T.reshape(-1)[cells]
        return condensed.reshape(table.T.shape).T

    lists = judged.with_lists(moved(judged.grades, missing=np.nan), is_judged.sum(axis=1))
    vars(lists).update(depth=judged.depth)
    if "_see_items" in vars(judged):
        lists.with_items(
            lambda: replace(judged._items_seen, listed=moved(judged.items, missing=NO_ITEM).T)
        )
    return lists


def _best_lists(judged: Judged) -> Judged:
    grades = np.sort(np.fmax(judged.judgements, 0.0), axis=1)[:, ::-1]
    best = judged.with_lists(grades, None)
    # These lists are among what is known of the judgements: they may not hold it themselves, or
    # all of it stays until Python looks for cycles, gigabytes of a truth.
    vars(best)["_of_judgements"] = judged._of_judgements.copy()
    return best


def _count_relevant(judged: Judged) -> Numbers:
    return np.count_nonzero(judged.judgements >= judged.relevance_level, axis=1)


def _count_nonrelevant(judged: Judged) -> Numbers:
    return np.count_nonzero(judged.judgements >= 0, axis=1) - judged.n_relevant


def _running(judged: Judged, *, of: Callable[..., Floats], by: np.ufunc, **options: Any) -> Floats:
    """Add up, or take the highest of, what each rank earns, down to every rank."""
    return accumulate(of(judged, **options), by=by)


def accumulate(values: NDArray[Any], *, by: np.ufunc = np.add) -> Floats:
    """Add up the columns of (n_users, n_ranks) from left to right, as ``cumsum(axis=1)``.

    Adding column to column is several times faster than numpy's walk along each row.

    Examples
    --------
    >>> accumulate(np.array([[True, False, True]]))
    array([[1., 1., 2.]])
    """
    columns = np.array(values.T, dtype=np.float64, order="C")
    for before, column in pairwise(columns):
        by(column, before, out=column)
    return columns.T


def _cells(judged: Judged, *, cutoff: int | Integers) -> Numbers:
    """Find the last rank down to a cut-off in tables laid out rank by rank; negative: none."""
    if isinstance(cutoff, int) and judged._listed_ranks is not None:
        columns = judged._listed_ranks.last(cutoff, n_rows=judged.n_users)
    else:
        within = judged.ranks <= np.reshape(cutoff, (-1, 1))
        columns = np.count_nonzero(within, axis=1) - 1
    return columns * judged.n_users + np.arange(judged.n_users) * (columns >= 0)


@dataclass(frozen=True, eq=False)
class ListedRanks:
    """Which ranks lists hold where those without anything judged are left out.

    ``listed``: ranks, rising, of shape (n_ranks, n_lists); at the end of shorter lists below
    ``depth``; ``depth``: deepest rank of the lists.
    """

    listed: Longs
    depth: int

    def ranks(self, n_rows: int) -> Longs:
        """Give the ranks of rows, (n_rows, n_ranks): each list in all samples of judgements."""
        return np.repeat(self.listed, self._repeats(n_rows), axis=1).T

    def last(self, cutoff: int, *, n_rows: int) -> Numbers:
        """Find the last column down to a cut-off, of shape (n_rows,); -1 where there is none."""
        columns = np.count_nonzero(self.listed <= cutoff, axis=0) - 1
        return np.repeat(columns, self._repeats(n_rows))

    def _repeats(self, n_rows: int) -> int:
        return n_rows // max(self.listed.shape[1], 1)


def match(run: Run, qrels: Qrels, *, depth: int | None = None) -> Longs:
    """Find the judgement of every ranked item, down to a depth.

    Returns
    -------
    Positions in ``qrels.items``, of shape (n_users, n_ranks); -1 where there is none.
    """
    if run.n_users != qrels.n_users:
        raise InputError(
            f"run {run.system!r} has {run.n_users} users, the qrels have {qrels.n_users}."
        )
    ranked = run.items[:, :depth]
    if len(qrels.items) == 0:
        return np.full(ranked.shape, UNJUDGED, dtype=np.int64)
    width = int(max(qrels.items.max(), ranked.max(initial=0))) + 2
    users_at_once = max(1, CELLS_AT_ONCE // width)
    # Position of the judgement of each user and item, UNJUDGED where there is none.
    positions = np.full(users_at_once * width, UNJUDGED, dtype=np.int64)
    matches = np.empty(ranked.shape, dtype=np.int64)
    for first in range(0, run.n_users, users_at_once):
        items = ranked[first : first + users_at_once]
        start = qrels.offsets[first]
        end = qrels.offsets[first + len(items)]
        cells = (qrels.users[start:end] - first) * np.int64(width) + qrels.items[start:end]
        positions[cells] = np.arange(start, end)
        # The end of a list, item -1, falls into the last cell of the row before: always empty.
        wanted = np.arange(len(items))[:, None] * width + items
        np.take(positions, wanted, mode="wrap", out=matches[first : first + len(items)])
        positions[cells] = UNJUDGED
    return matches


def judge(run: Run, qrels: Qrels, catalogue: Catalogue | None = None) -> Judged:
    """See a run through the judgements of the same users, and of what is known of the items.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 2]), np.array([3, 7], dtype=np.int32),
    ...               np.array([5, 2], dtype=np.int32), relevance_level=4)
    >>> judge(Run("s", np.array([[7, 1, 3]], dtype=np.int32)), qrels).grades
    array([[ 2., nan,  5.]])
    """
    grades = qrels.grades.astype(np.float64)
    judged = Judged(
        grades=np.append(grades, np.nan)[match(run, qrels)],
        judgements=_rows(grades, qrels, np.nan),
        relevance_level=qrels.relevance_level,
        lengths=run.lengths,
    )
    if catalogue is None:
        return judged
    items = _rows(qrels.items, qrels, -1)
    numbers = _rows(np.arange(len(qrels.items)), qrels, -1)
    users = np.arange(run.n_users)
    return judged.with_items(
        lambda: ItemsOfLists(catalogue, users, run.items.T, items.T, numbers.T, run.system)
    )


def _rows(values: NDArray[Any], qrels: Qrels, missing: float) -> NDArray[Any]:
    """Lay what belongs to the judgements of each user in a row."""
    counts = np.diff(qrels.offsets)
    rows = np.full((qrels.n_users, int(counts.max(initial=0))), missing, dtype=values.dtype)
    rows[np.arange(rows.shape[1]) < counts[:, None]] = values
    return rows
