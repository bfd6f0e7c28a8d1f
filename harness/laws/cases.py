"""What laws are tried on: one list, or two that differ in the one thing a law speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from harness.laws.law import Case
from harness.laws.lists import MOST_MISSED, Shape, UserList


def one_list(shape: Shape) -> SearchStrategy[Case]:
    """Any list."""
    return st.tuples(_lists(shape))


def two_users(shape: Shape) -> SearchStrategy[Case]:
    """Lists of two users."""
    return st.tuples(_lists(shape), _lists(shape))


@st.composite
def promotion(draw: st.DrawFn, shape: Shape) -> Case:
    """Swap a relevant item with a non-relevant one anywhere above it: before, after."""
    length = draw(st.integers(2, shape.depth))
    ranked = draw(_marks(shape, length, length))
    lower = draw(st.integers(1, length - 1))
    upper = draw(st.integers(0, lower - 1))
    relevant = draw(st.sampled_from(shape.relevant_grades))
    other = draw(st.sampled_from([None, *shape.nonrelevant_grades]))
    missed = draw(_missed(shape))
    before = _with(ranked, {lower: relevant, upper: other})
    after = _with(ranked, {lower: other, upper: relevant})
    return UserList(before, missed), UserList(after, missed)


@st.composite
def neighbours_swapped(draw: st.DrawFn, shape: Shape) -> Case:
    """Swap two neighbours of a list: before, after."""
    length = draw(st.integers(2, shape.depth))
    ranked, place = draw(_marks(shape, length, length)), draw(st.integers(0, length - 2))
    missed = draw(_missed(shape))
    swapped = _with(ranked, {place: ranked[place + 1], place + 1: ranked[place]})
    return UserList(ranked, missed), UserList(swapped, missed)


def unjudged_replaced(shape: Shape) -> SearchStrategy[Case]:
    """Put a missed relevant item in the place of an unjudged one: before, after."""
    return _replacement(shape, st.none())


def unjudged_replaced_above(shape: Shape) -> SearchStrategy[Case]:
    """Put a missed relevant item in the place of an unjudged one above the cut-off."""
    return _replacement(shape, st.none(), last=shape.cutoff)


def nonrelevant_replaced(shape: Shape) -> SearchStrategy[Case]:
    """Put a missed relevant item in the place of a judged non-relevant one: before, after."""
    return _replacement(shape, st.sampled_from(shape.nonrelevant_grades))


@st.composite
def _replacement(
    draw: st.DrawFn, shape: Shape, replaced: SearchStrategy[int | None], *, last: int | None = None
) -> Case:
    length = draw(st.integers(1, shape.depth))
    ranked = draw(_marks(shape, length, length))
    place = draw(st.integers(0, min(length, last or length) - 1))
    relevant, other = draw(st.sampled_from(shape.relevant_grades)), draw(replaced)
    missed = draw(_missed(shape))
    left_over = missed if other is None else (*missed, other)
    before = UserList(_with(ranked, {place: other}), (*missed, relevant))
    return before, UserList(_with(ranked, {place: relevant}), left_over)


@st.composite
def changed_below(draw: st.DrawFn, shape: Shape) -> Case:
    """Two lists that are the same down to the cut-off, of a user with the same judgements."""
    head = draw(_marks(shape, shape.cutoff, shape.cutoff))
    tail = draw(_marks(shape, 1, shape.depth - shape.cutoff))
    missed = draw(_missed(shape))
    other = draw(st.permutations(tail))
    kept = draw(st.integers(0, len(tail)))
    lost = tuple(grade for grade in other[kept:] if grade is not None)
    return UserList((*head, *tail), missed), UserList((*head, *other[:kept]), (*missed, *lost))


@st.composite
def judgement_withheld(draw: st.DrawFn, shape: Shape) -> Case:
    """A list with a judged non-relevant item, and with an unjudged one in its place."""
    length = draw(st.integers(1, shape.depth))
    ranked = draw(_marks(shape, length, length))
    place = draw(st.integers(0, length - 1))
    other = draw(st.sampled_from(shape.nonrelevant_grades))
    missed = draw(_missed(shape))
    judged = UserList(_with(ranked, {place: other}), missed)
    return judged, UserList(_with(ranked, {place: None}), (*missed, other))


@st.composite
def ideal(draw: st.DrawFn, shape: Shape) -> Case:
    """All items of a user with relevant ones, the best first, then unjudged ones."""
    grades = st.sampled_from(shape.relevant_grades)
    relevant = draw(st.lists(grades, min_size=1, max_size=shape.depth))
    judged = UserList((*relevant, *draw(_missed(shape))))
    return (perfected(judged, max(shape.cutoff, len(judged.ranked))),)


def beside_the_perfect(shape: Shape) -> SearchStrategy[Case]:
    """A perfect list of the length of another: judged items by grade, then unjudged ones."""
    return _lists(shape).map(lambda listed: (perfected(listed, len(listed.ranked)), listed))


def beside_the_empty(shape: Shape) -> SearchStrategy[Case]:
    """No list at all, and a list."""
    return _lists(shape).map(lambda listed: (UserList((), listed.judgements), listed))


def beside_the_ungraded(shape: Shape) -> SearchStrategy[Case]:
    """A list, and the same where all relevant items have the grade of the relevance level."""

    def ungraded(listed: UserList) -> UserList:
        ranked = (None if grade is None else min(grade, shape.level) for grade in listed.ranked)
        return UserList(tuple(ranked), tuple(min(grade, shape.level) for grade in listed.missed))

    return _lists(shape).map(lambda listed: (listed, ungraded(listed)))


def perfected(listed: UserList, length: int) -> UserList:
    """Give the user the best list of this length."""
    judgements = listed.judgements
    filling = (None,) * max(length - len(judgements), 0)
    return UserList((*judgements, *filling)[:length], judgements[length:])


@st.composite
def _lists(draw: st.DrawFn, shape: Shape) -> UserList:
    return UserList(draw(_marks(shape, 0, shape.depth)), draw(_missed(shape)))


def _marks(shape: Shape, shortest: int, longest: int) -> SearchStrategy[tuple[int | None, ...]]:
    """Grades of a list of some length; the plainest item is an unjudged one."""
    (plain, *graded), (low, *others) = shape.relevant_grades, shape.nonrelevant_grades
    grades = st.sampled_from([None, plain, low, *graded, *others])
    return st.lists(grades, min_size=shortest, max_size=longest).map(tuple)


def _missed(shape: Shape) -> SearchStrategy[tuple[int, ...]]:
    grades = st.sampled_from([*shape.relevant_grades, *shape.nonrelevant_grades])
    return st.lists(grades, max_size=MOST_MISSED).map(tuple)


def _with(ranked: Sequence[int | None], changes: dict[int, int | None]) -> tuple[int | None, ...]:
    return tuple(changes.get(column, grade) for column, grade in enumerate(ranked))
