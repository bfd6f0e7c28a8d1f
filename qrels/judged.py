"""Judged lists: a run seen through qrels; all that a metric may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from qrels.catalogue import NO_JUDGEMENT, Catalogue, ItemsOfLists
from qrels.listed_ranks import ListedRanks
from qrels.ranks.judged_ranks import JudgedRanks
from qrels.subtopics import Subtopics
from runs import NO_ITEM, InputError
from runs.shared.arrays import Floats, Integers, Longs, Masks, Numbers

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
        """Raise InputError if grades and judgements are no tables of as many rows (users)."""
        grades_shape = self.grades.shape
        judgements_shape = self.judgements.shape
        are_tables = len(grades_shape) == len(judgements_shape) == 2
        if not are_tables or grades_shape[0] != judgements_shape[0]:
            raise InputError(
                "`grades` and `judgements` must be of the same users, of shape (n_users, n), got "
                f"{grades_shape} and {judgements_shape}."
            )

    def at_level(self, relevance_level: float) -> Judged:
        """Judge the same lists with another relevance level."""
        if relevance_level == self.relevance_level:
            return self
        return self.once(_at_level, relevance_level=relevance_level)

    def with_lists(
        self,
        grades: Floats,
        lengths: Integers | None,
        *,
        listed_ranks: ListedRanks | None = None,
    ) -> Judged:
        """Judge other lists of the same users; the cache of what judgements alone decide is shared.

        Parameters
        ----------
        grades
            Grade of the item at each rank, of shape (n_users, n_ranks); NaN where there is none.
        lengths
            Number of items in each list, of shape (n_users,); None if all ranks are filled.
        listed_ranks
            The ranks that columns of ``grades`` stand for, where ranks without a judged item are
            left out; by default column 0 is rank 1, column 1 rank 2, and so on.
        """
        judged = replace(self, grades=grades, lengths=lengths)
        vars(judged)["_derived_from_judgements"] = self._derived_from_judgements
        if listed_ranks is not None:
            vars(judged)["_listed_ranks"] = listed_ranks
        return judged

    def as_deep_as(self, depth: int) -> Judged:
        """Treat the same lists as the first ranks of deeper ones, whose other ranks are empty.

        The new lists have ``depth`` ranks by name; their arrays stay as wide as they are. So
        measures of whole lists count equally many ranks for users in tables of different widths.

        Examples
        --------
        >>> Judged(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])).as_deep_as(1000).depth
        1000
        """
        deeper = self.with_lists(self.grades, self.n_retrieved)
        vars(deeper)["depth"] = depth
        if "_find_items" in vars(self):
            deeper.with_items(lambda: self._items_of_lists)
        return deeper

    def once(self, derive: Callable[..., T], **options: Any) -> T:
        """Compute ``derive(judged, **options)`` once: a metric at many cut-offs asks for it again.

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
        return _once(self._derived_from_lists, derive, self, options)

    def once_for_all(self, derive: Callable[..., T], **options: Any) -> T:
        """Compute ``derive(judged, **options)`` once for all lists with these judgements.

        What is derived depends on the judgements, their items and the options alone; otherwise as
        `once`.
        """
        return _once(self._derived_from_judgements, derive, self, options)

    def total(
        self, rank_values: Callable[..., Floats], *, cutoff: Cutoff = None, **options: Any
    ) -> Floats:
        """Add the values of the first ranks; they are added up once for all cut-offs.

        Ranks are added one after the other, so that ranks of value 0 change no digit.

        Parameters
        ----------
        rank_values
            Function of judged lists and options; it computes the value of each rank, such as a
            discounted gain, float64 of shape (n_users, n_ranks).
        cutoff
            Ranks considered, of all users or of each; all of them by default.
        options
            Keywords of ``rank_values``.

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
        totals = self.once(_accumulated, rank_values=rank_values, by=np.add, **options)
        return self.down_to(cutoff, totals)

    def highest(
        self, rank_values: Callable[..., Floats], *, cutoff: Cutoff = None, **options: Any
    ) -> Floats:
        """Compute the highest value of the first ranks, of shape (n_users,); otherwise as `total`.

        It is 0 where the cut-off is before the first rank, or lists have no ranks.
        """
        if cutoff is None and self.grades.shape[1] > 0:
            # Nothing is kept for other cut-offs.
            return np.asarray(rank_values(self, **options), dtype=np.float64).max(axis=1)
        maxima = self.once(_accumulated, rank_values=rank_values, by=np.maximum, **options)
        return self.down_to(cutoff, maxima)

    def best_so_far(self, rank_values: Callable[..., Floats], **options: Any) -> Floats:
        """Add the values of the best list down to each rank, of shape (n_users, n_ranks).

        The best list has all judged items of the user by falling grade. ``rank_values`` computes
        the value of each of its ranks from these lists and ``options``; it is called once for all
        runs that share the judgements. Beyond the end of the best list, sums stay the same; they
        are 0 if no user has a judgement.
        """
        totals = self.best.once(_accumulated, rank_values=rank_values, by=np.add, **options)
        n_best_ranks = totals.shape[1]
        if n_best_ranks == 0:
            return np.zeros(self.grades.shape)
        # Ranks are of shape (n_ranks,), or (n_users, n_ranks) where some ranks are left out.
        columns = np.minimum(self.ranks, n_best_ranks) - 1
        if columns.ndim == 1:
            return totals[:, columns]
        return np.take_along_axis(totals, columns, axis=1)

    def hits(self, cutoff: Cutoff = None) -> Floats:
        """Count the relevant items in the first ranks, float64 of shape (n_users,)."""
        return self.down_to(cutoff, self.relevant_so_far)

    def nonrelevant_hits(self, cutoff: Cutoff = None) -> Floats:
        """Count the judged non-relevant items in the first ranks, float64 of shape (n_users,)."""
        return self.down_to(cutoff, self.nonrelevant_so_far)

    def down_to(self, cutoff: Cutoff, totals: Floats) -> Floats:
        """Look up running totals at a cut-off, or at the end of the lists if that comes first.

        Parameters
        ----------
        cutoff
            A rank, one for each user, or None for the end of the lists.
        totals
            Sums down to each rank, as `accumulate` computes them, of shape (n_users, n_ranks).

        Returns
        -------
        Of shape (n_users,); 0 where no rank is at or before the cut-off.

        Notes
        -----
        If ``self._listed_ranks`` is None, column k is rank k + 1; otherwise it holds the ranks.
        """
        n_ranks = totals.shape[1]
        if n_ranks == 0:
            return np.zeros(self.n_users)
        if cutoff is None:
            return totals[:, -1]
        if isinstance(cutoff, int) and self._listed_ranks is None:
            last_rank = min(cutoff, n_ranks)
            if last_rank <= 0:
                return np.zeros(self.n_users)
            return totals[:, last_rank - 1]
        # Positions in the flat table of ranks x users, negative where there is no rank.
        if isinstance(cutoff, int):
            cells = self.once(_last_cells, cutoff=cutoff)
        else:
            cells = _last_cells(self, cutoff=np.asarray(cutoff))
        totals_by_rank = totals.T.reshape(-1)
        return np.where(cells >= 0, totals_by_rank[cells], 0.0)

    @cached_property
    def _listed_ranks(self) -> ListedRanks | None:
        return None

    @cached_property
    def _derived_from_lists(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _derived_from_judgements(self) -> dict[Any, Any]:
        return {}

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.grades.shape[0]

    @cached_property
    def depth(self) -> int:
        """Deepest rank of the lists."""
        if self._listed_ranks is not None:
            return self._listed_ranks.depth
        return self.grades.shape[1]

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
        return self._items_of_lists.catalogue

    @cached_property
    def users(self) -> Integers:
        """Number of every user, of shape (n_users,)."""
        users = self._items_of_lists.users
        n_samples = self.n_users // max(len(users), 1)
        return np.repeat(users, n_samples)

    @cached_property
    def items(self) -> Integers:
        """Number of the item at each rank, of shape (n_users, n_ranks), -1 where there is none."""
        return self._rows_of_samples(self._items_of_lists.listed)

    @cached_property
    def judged_items(self) -> Integers:
        """Number of the item of each judgement, of shape (n_users, n), -1 where there is none."""
        return self._rows_of_samples(self._items_of_lists.judged)

    @property
    def subtopics(self) -> Subtopics | None:
        """Subtopics of all judgements in the qrels; None where items are judged for whole topics.

        Their numbers are those in `listed_judgements` and `judgement_numbers`. Raises InputError if
        these lists know grades alone, such as the best lists.
        """
        return self._items_of_lists.subtopics

    @cached_property
    def listed_judgements(self) -> Integers:
        """Number of the judgement of the item at each rank, (n_users, n_ranks), -1 without one.

        Samples that lack a judgement have its number, too: their grade is NaN. Raises ValueError
        where items are judged for whole topics. `_rows_of_samples` repeats columns, (n_ranks,
        n_lists), for all samples of the judgements, as rows.
        """
        listed_judgements = self._items_of_lists.listed_judgements
        if listed_judgements is None:
            raise ValueError("numbers of judgements are known only where these have subtopics.")
        return self._rows_of_samples(listed_judgements)

    @cached_property
    def judgement_numbers(self) -> Integers:
        """Number of each judgement, of shape (n_users, n), -1 where there is none.

        Raises ValueError if numbers are not known. `_rows_of_samples` repeats columns, (n,
        n_lists), for all samples of the judgements, as rows.
        """
        judgements = self._items_of_lists.judgements
        if judgements is None:
            raise ValueError("numbers of judgements are not known.")
        return self._rows_of_samples(judgements)

    @cached_property
    def hidden_ranks(self) -> JudgedRanks:
        """Rank of the item of each judgement when it is hidden, each of shape (n_users, n)."""
        return self._items_of_lists.hidden_ranks().map(self._rows_of_samples)

    def with_items(self, find_items: Callable[[], ItemsOfLists]) -> Judged:
        """Let metrics ask for items: ``find_items`` is called when one does. Returns these lists.

        What it returns may be of fewer lists than these, which then hold all samples of the first
        list, of the second, and so on.
        """
        vars(self)["_find_items"] = find_items
        return self

    @cached_property
    def _items_of_lists(self) -> ItemsOfLists:
        """Items, if they are known; raises InputError if `with_items` was not called."""
        find_items: Callable[[], ItemsOfLists] | None = vars(self).get("_find_items")
        if find_items is None:
            raise InputError(
                "these lists have grades only, not items, such as ideal rankings; the items of all "
                "judgements are in `judged_items`."
            )
        return find_items()

    def _rows_of_samples(self, table: NDArray[Number]) -> NDArray[Number]:
        """Repeat columns of shape (n, n_lists) for all samples of the judgements, as rows.

        The result is of shape (n_users, n), where n_users is n_lists times the number of samples.
        """
        n_samples = self.n_users // max(table.shape[1], 1)
        return np.repeat(table, n_samples, axis=1).T

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
    derived: dict[Any, Any], derive: Callable[..., T], judged: Judged, options: dict[str, Any]
) -> T:
    """Look up in the cache ``derived`` the value of ``derive(judged, **options)``.

    If it is missing, it is computed and added to the cache. The key is the function, the relevance
    level, and names and values of the options; a mapping among the values is keyed by its items.
    """
    option_values = [
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value
        for value in options.values()
    ]
    key = (derive, judged.relevance_level, *zip(options, option_values, strict=True))
    if key not in derived:
        derived[key] = derive(judged, **options)
    return cast("T", derived[key])


def _at_level(judged: Judged, *, relevance_level: float) -> Judged:
    """Copy judged lists with another relevance level; ranks, depth and items stay.

    The copies share the cache of what is derived from the judgements, whose keys hold the level.
    """
    at_level = replace(judged, relevance_level=relevance_level)
    vars(at_level).update(
        _derived_from_judgements=judged._derived_from_judgements,
        _listed_ranks=judged._listed_ranks,
        depth=judged.depth,
    )
    if "_find_items" in vars(judged):
        at_level.with_items(lambda: judged._items_of_lists)
    return at_level


def _condensed(judged: Judged) -> Judged:
    """Move the judged items of every list to its beginning, so that no unjudged item is ranked.

    Items with a grade of 0 or more are judged. The new lists have grades of the same shape, NaN at
    the end, and the same depth; they know the items if these lists do.
    """
    is_judged = judged.grades >= 0
    # Cells of tables that are laid out rank by rank: (n_ranks, n_users), made flat.
    old_cells = np.flatnonzero(is_judged.T)
    n_judged_so_far = accumulate(is_judged).T.reshape(-1)
    new_columns = n_judged_so_far[old_cells].astype(np.intp) - 1
    users = old_cells % judged.n_users
    new_cells = new_columns * judged.n_users + users

    def moved(table: NDArray[Any], *, missing: Any) -> NDArray[Any]:
        """Move the judged cells of a table, (n_users, n_ranks), and fill the others."""
        condensed = np.full(table.size, missing, dtype=table.dtype)
        condensed[new_cells] = table.T.reshape(-1)[old_cells]
        return condensed.reshape(table.T.shape).T

    condensed_grades = moved(judged.grades, missing=np.nan)
    lists = judged.with_lists(condensed_grades, is_judged.sum(axis=1))
    vars(lists).update(depth=judged.depth)
    if "_find_items" in vars(judged):

        def find_items() -> ItemsOfLists:
            """Move the items, and their judgements where these have subtopics, likewise."""
            items = moved(judged.items, missing=NO_ITEM)
            condensed_items = replace(judged._items_of_lists, listed=items.T)
            if judged.subtopics is None:
                return condensed_items
            listed_judgements = moved(judged.listed_judgements, missing=NO_JUDGEMENT)
            return replace(condensed_items, listed_judgements=listed_judgements.T)

        lists.with_items(find_items)
    return lists


def _best_lists(judged: Judged) -> Judged:
    """Rank all judged items of each user by falling grade; negative and missing grades are 0.

    The grades of the new lists are of the shape of ``judged.judgements``, (n_users, n).
    """
    rising_grades = np.sort(np.fmax(judged.judgements, 0.0), axis=1)
    grades = rising_grades[:, ::-1]
    best = judged.with_lists(grades, None)
    # These lists are kept among what is derived from the judgements. If they held that themselves,
    # all of it would stay until Python looks for cycles, gigabytes of a truth.
    vars(best)["_derived_from_judgements"] = judged._derived_from_judgements.copy()
    return best


def _count_relevant(judged: Judged) -> Numbers:
    return np.count_nonzero(judged.judgements >= judged.relevance_level, axis=1)


def _count_nonrelevant(judged: Judged) -> Numbers:
    n_judged = np.count_nonzero(judged.judgements >= 0, axis=1)
    return n_judged - judged.n_relevant


def _accumulated(
    judged: Judged, *, rank_values: Callable[..., Floats], by: np.ufunc, **options: Any
) -> Floats:
    """Accumulate the values that a function computes for each rank, (n_users, n_ranks).

    ``by`` is ``np.add`` for sums down to each rank, ``np.maximum`` for highest values.
    """
    values = rank_values(judged, **options)
    return accumulate(values, by=by)


FEW_USERS = 128
"""Below this number of users, numpy's own running totals are faster than column by column."""


def accumulate(values: NDArray[Any], *, by: np.ufunc = np.add) -> Floats:
    """Add up the columns of (n_users, n_ranks) from left to right, as ``cumsum(axis=1)``.

    Another ufunc than ``np.add``, such as ``np.maximum``, accumulates by that. The result is
    float64 of the same shape. Adding column to column is several times faster than numpy's walk
    along each row, unless there are fewer than `FEW_USERS` (128) rows.

    Examples
    --------
    >>> accumulate(np.array([[True, False, True]]))
    array([[1., 1., 2.]])
    """
    if len(values) < FEW_USERS:
        return by.accumulate(values, axis=1, dtype=np.float64)
    columns = np.array(values.T, dtype=np.float64, order="C")
    for previous_column, column in pairwise(columns):
        by(column, previous_column, out=column)
    return columns.T


def _last_cells(judged: Judged, *, cutoff: int | Integers) -> Numbers:
    """Find the last rank of each user down to a cut-off, of shape (n_users,).

    The result are positions in a flat table of shape (n_ranks, n_users); negative where no rank is
    at or before the cut-off. ``cutoff``: one for all users, or one for each, of shape (n_users,).
    """
    if isinstance(cutoff, int) and judged._listed_ranks is not None:
        columns = judged._listed_ranks.last_columns(cutoff, n_rows=judged.n_users)
    else:
        is_within = judged.ranks <= np.reshape(cutoff, (-1, 1))
        columns = np.count_nonzero(is_within, axis=1) - 1
    # With user 0 where the column is -1, so that the position is negative for all users.
    users = np.where(columns >= 0, np.arange(judged.n_users), 0)
    return columns * judged.n_users + users
