"""What laws are tried on: one list, or two that differ in the one thing a law speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from harness.laws.law import Case
from harness.laws.lists import MAX_MISSED, Shape, UserList


def one_list(shape: Shape) -> SearchStrategy[Case]:
    """Any list."""
    return st.tuples(_lists(shape))


def two_users(shape: Shape) -> SearchStrategy[Case]:
    """Lists of two users."""
    return st.tuples(_lists(shape), _lists(shape))


@st.composite
def promotion(draw: st.DrawFn, shape: Shape) -> Case:
    """Swap a relevant item with an unjudged or non-relevant one above it: before, after.

    Draws a list of at least two items, the ranks of both, their grades, and what the list misses.
    """
    length = draw(st.integers(2, shape.depth))
    ranked = draw(_grades_at_ranks(shape, length, length))
    lower = draw(st.integers(1, length - 1))
    upper = draw(st.integers(0, lower - 1))
    relevant = draw(st.sampled_from(shape.relevant_grades))
    not_relevant = draw(st.sampled_from([None, *shape.nonrelevant_grades]))
    missed = draw(_missed(shape))
    before = _with_changes(ranked, {lower: relevant, upper: not_relevant})
    after = _with_changes(ranked, {lower: not_relevant, upper: relevant})
    return UserList(before, missed), UserList(after, missed)


@st.composite
def neighbours_swapped(draw: st.DrawFn, shape: Shape) -> Case:
    """Swap two neighbours of a list, which may have equal grades: before, after."""
    length = draw(st.integers(2, shape.depth))
    ranked = draw(_grades_at_ranks(shape, length, length))
    upper = draw(st.integers(0, length - 2))
    lower = upper + 1
    missed = draw(_missed(shape))
    swapped = _with_changes(ranked, {upper: ranked[lower], lower: ranked[upper]})
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
    """Put a missed relevant item in the place of another: before, after.

    The other item, if it is judged, is then missed. ``replaced`` draws its grade, None if it is
    unjudged; ``last`` is the deepest rank of the place, which counts from 1; None for any.
    """
    length = draw(st.integers(1, shape.depth))
    ranked = draw(_grades_at_ranks(shape, length, length))
    place = draw(st.integers(0, min(length, last or length) - 1))
    relevant = draw(st.sampled_from(shape.relevant_grades))
    replaced_grade = draw(replaced)
    missed = draw(_missed(shape))
    missed_after = missed if replaced_grade is None else (*missed, replaced_grade)
    before = UserList(_with_changes(ranked, {place: replaced_grade}), (*missed, relevant))
    after = UserList(_with_changes(ranked, {place: relevant}), missed_after)
    return before, after


@st.composite
def changed_below(draw: st.DrawFn, shape: Shape) -> Case:
    """Draw two lists that are the same down to the cut-off, of a user with the same judgements.

    Below, the second has some of the items of the first, in any order; those that it lacks and
    that are judged are missed.
    """
    head = draw(_grades_at_ranks(shape, shape.cutoff, shape.cutoff))
    tail = draw(_grades_at_ranks(shape, 1, shape.depth - shape.cutoff))
    missed = draw(_missed(shape))
    permuted = draw(st.permutations(tail))
    length = draw(st.integers(0, len(tail)))
    removed = [grade for grade in permuted[length:] if grade is not None]
    first_list = UserList((*head, *tail), missed)
    second_list = UserList((*head, *permuted[:length]), (*missed, *removed))
    return first_list, second_list


@st.composite
def judgement_withheld(draw: st.DrawFn, shape: Shape) -> Case:
    """Draw a list with a judged non-relevant item, and the same with an unjudged one in its place.

    The grade of the former is then missed, so that the user has the same judgements.
    """
    length = draw(st.integers(1, shape.depth))
    ranked = draw(_grades_at_ranks(shape, length, length))
    place = draw(st.integers(0, length - 1))
    nonrelevant = draw(st.sampled_from(shape.nonrelevant_grades))
    missed = draw(_missed(shape))
    with_judged = UserList(_with_changes(ranked, {place: nonrelevant}), missed)
    with_unjudged = UserList(_with_changes(ranked, {place: None}), (*missed, nonrelevant))
    return with_judged, with_unjudged


@st.composite
def ideal(draw: st.DrawFn, shape: Shape) -> Case:
    """Draw the perfect list of a user with relevant items: the best first, then unjudged ones.

    It holds all judged items of the user, and goes down to the cut-off at least.
    """
    grades = st.sampled_from(shape.relevant_grades)
    relevant = draw(st.lists(grades, min_size=1, max_size=shape.depth))
    missed = draw(_missed(shape))
    judged = UserList((*relevant, *missed))
    length = max(shape.cutoff, len(judged.ranked))
    return (perfect_list(judged, length),)


def perfect_and_any_list(shape: Shape) -> SearchStrategy[Case]:
    """Draw a list, and the perfect one of its length before it."""

    def with_perfect(user_list: UserList) -> Case:
        return perfect_list(user_list, len(user_list.ranked)), user_list

    return _lists(shape).map(with_perfect)


def empty_and_any_list(shape: Shape) -> SearchStrategy[Case]:
    """Draw a list, and an empty one of the same user before it."""
    return _lists(shape).map(lambda user_list: (UserList((), user_list.judgements), user_list))


def graded_and_binary(shape: Shape) -> SearchStrategy[Case]:
    """Draw a list, and the same where all relevant items have the grade of the relevance level."""

    def with_binary(user_list: UserList) -> Case:
        """Lower the grades of a list, and those that it misses, to the level: before, after."""
        ranked = [None if grade is None else min(grade, shape.level) for grade in user_list.ranked]
        missed = [min(grade, shape.level) for grade in user_list.missed]
        return user_list, UserList(tuple(ranked), tuple(missed))

    return _lists(shape).map(with_binary)


def perfect_list(user_list: UserList, length: int) -> UserList:
    """Make the best list of a length for a user: judged items by grade, then unjudged ones."""
    judgements = user_list.judgements
    n_unjudged = max(length - len(judgements), 0)
    ranked = (*judgements[:length], *([None] * n_unjudged))
    return UserList(ranked, judgements[length:])


@st.composite
def _lists(draw: st.DrawFn, shape: Shape) -> UserList:
    """Draw a list of any length up to the depth, and what it misses."""
    ranked = draw(_grades_at_ranks(shape, 0, shape.depth))
    return UserList(ranked, draw(_missed(shape)))


def _grades_at_ranks(
    shape: Shape, min_length: int, max_length: int
) -> SearchStrategy[tuple[int | None, ...]]:
    """Draw the grades of a list, None for unjudged items.

    Lists have from ``min_length`` to ``max_length`` ranks, as tuples. Of equally short
    counterexamples, the search prefers what comes first in ``grades``: unjudged items, then default
    grades.
    """
    default_relevant, *further_relevant = shape.relevant_grades
    default_nonrelevant, *further_nonrelevant = shape.nonrelevant_grades
    grades = [
        None,
        default_relevant,
        default_nonrelevant,
        *further_relevant,
        *further_nonrelevant,
    ]
    lists = st.lists(st.sampled_from(grades), min_size=min_length, max_size=max_length)
    return lists.map(tuple)


def _missed(shape: Shape) -> SearchStrategy[tuple[int, ...]]:
    """Draw the grades of judged items that a list misses."""
    grades = st.sampled_from([*shape.relevant_grades, *shape.nonrelevant_grades])
    return st.lists(grades, max_size=MAX_MISSED).map(tuple)


def _with_changes(
    ranked: Sequence[int | None], changes: dict[int, int | None]
) -> tuple[int | None, ...]:
    """Change the grades in some columns, which count from 0, of a list."""
    return tuple(changes.get(column, grade) for column, grade in enumerate(ranked))
