"""Qrels: what is known about the relevance of items to users, and counts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qrels.subtopics import Subtopics
from runs import InputError
from runs.shared.arrays import Integers, Ints, Longs, Masks
from runs.shared.arrow import arrow_stream
from runs.shared.errors import warn
from runs.shared.fields import offsets_of, rows_of_groups


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements of every user (topic), in compressed rows.

    An item is relevant if its grade is at or above the relevance level, and *judged non-relevant*
    if its grade is between 0 and that level. A negative grade means "in the pool, but not judged".
    An item without a judgement is unjudged.

    Parameters
    ----------
    offsets
        The judgements of user u are ``offsets[u]:offsets[u + 1]``; int64 of shape (n_users + 1,).
    items
        Item numbers, rising within a user; int32 of shape (n_judgements,).
    grades
        Grades, int32 of shape (n_judgements,).
    relevance_level
        Lowest grade that is relevant, at least 1 (trec_eval's ``-l``).
    subtopics
        The grades of the judgements for subtopics of their topics, of which ``grades`` are the
        highest; None where items are judged for whole topics.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 2]), np.array([3, 7], dtype=np.int32),
    ...               np.array([5, 2], dtype=np.int32), relevance_level=4)
    >>> qrels.relevant, qrels.nonrelevant
    (array([ True, False]), array([False,  True]))
    """

    offsets: Longs
    items: Ints
    grades: Ints
    relevance_level: int
    subtopics: Subtopics | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a relevance level below 1, or items of a user that do not rise.

        Raises ValueError for subtopics of another number of judgements. ``self.users`` and
        ``self.items`` have the user and the item of each judgement.
        """
        if self.relevance_level < 1:
            raise InputError(f"the relevance level must be at least 1, got {self.relevance_level}.")
        same_user = self.users[1:] == self.users[:-1]
        does_not_rise = self.items[1:] <= self.items[:-1]
        if (same_user & does_not_rise).any():
            raise InputError("the items of a user must rise, each judged once.")
        if self.subtopics is not None and self.subtopics.n_judgements != len(self.items):
            raise ValueError(
                f"subtopics of {self.subtopics.n_judgements:,} judgements do not fit "
                f"{len(self.items):,} judgements."
            )

    def __repr__(self) -> str:
        """Print the counts of `judgement_facts`, one a line."""
        facts = judgement_facts(self)
        lines = [f"{name}: {count:,}" for name, count in facts.items()]
        return "\n".join(["Qrels", *lines])

    @property
    def n_users(self) -> int:
        """Number of users, including those without a judgement."""
        return len(self.offsets) - 1

    @cached_property
    def users(self) -> Ints:
        """User number of every judgement, of shape (n_judgements,)."""
        counts = np.diff(self.offsets)
        numbers = np.arange(self.n_users, dtype=np.int32)
        return np.repeat(numbers, counts)

    @cached_property
    def relevant(self) -> Masks:
        """Mask of the relevant judgements, of shape (n_judgements,)."""
        return self.grades >= self.relevance_level

    @cached_property
    def nonrelevant(self) -> Masks:
        """Mask of the judged non-relevant ones, of shape (n_judgements,)."""
        return (self.grades >= 0) & ~self.relevant

    def count_by_user(self, mask: Masks) -> Longs:
        """Count the judgements of every user in a mask of shape (n_judgements,): (n_users,)."""
        counts = np.bincount(self.users[mask], minlength=self.n_users)
        return counts.astype(np.int64)

    def keep(self, mask: Masks) -> Qrels:
        """Keep the judgements in a mask of shape (n_judgements,), and all users.

        Raises ValueError if the mask is not of this shape.
        """
        if mask.shape != self.items.shape:
            raise ValueError(
                f"a mask of judgements must be of shape {self.items.shape}, got {mask.shape}."
            )
        offsets = offsets_of(self.count_by_user(mask))
        return self._with_judgements(offsets, np.flatnonzero(mask))

    def select_users(self, users: Integers) -> Qrels:
        """Keep the judgements of the users with these numbers, and number them anew in this order.

        Judgements of user u are rows ``offsets[u]:offsets[u + 1]``.
        """
        counts = np.diff(self.offsets)[users]
        rows = self.judgement_rows(users)
        return self._with_judgements(offsets_of(counts), rows)

    def _with_judgements(self, offsets: Longs, rows: Integers) -> Qrels:
        """Keep the judgements at some rows, (n,), each with its subtopics, in this order.

        The judgements of user u are then ``offsets[u]:offsets[u + 1]``; ``offsets`` has the shape
        (n_users + 1,).
        """
        subtopics = None if self.subtopics is None else self.subtopics.select(rows)
        return replace(
            self,
            offsets=offsets,
            items=self.items[rows],
            grades=self.grades[rows],
            subtopics=subtopics,
        )

    def judgement_rows(self, users: Integers) -> Longs:
        """List the indices of the judgements of these users, user by user, int64 of shape (n,).

        Judgements of user u have the indices ``offsets[u]`` to ``offsets[u + 1] - 1``.
        """
        return rows_of_groups(self.offsets, users)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out the judgements as Arrow: columns user and item (numbers), and grade."""
        judgements = {"user": self.users, "item": self.items, "grade": self.grades}
        return arrow_stream(judgements, requested_schema=requested_schema)


def qrels_from_columns(
    users: Integers,
    items: Integers,
    grades: Integers,
    *,
    n_users: int,
    relevance_level: int,
    subtopics: Subtopics | None = None,
) -> Qrels:
    """Sort judgements given as columns into qrels.

    Parameters
    ----------
    users, items, grades
        Number of the user, number of the item and grade of each judgement, in any order, of shape
        (n_judgements,).
    n_users
        Number of users, including those without a judgement.
    relevance_level
        Lowest relevant grade, at least 1.
    subtopics
        Grades of the judgements, in the order of the columns, for subtopics of their topics; None
        where items are judged for whole topics.

    Raises
    ------
    ValueError
        If the columns differ in length.
    InputError
        If the relevance level is below 1, or a user judges an item twice.
    """
    if not len(users) == len(items) == len(grades):
        raise ValueError(
            "the columns of judgements must have one length, got "
            f"{len(users)}, {len(items)} and {len(grades)}."
        )
    order = np.lexsort((items, users))
    sorted_items = items[order].astype(np.int32)
    sorted_grades = grades[order].astype(np.int32)
    counts = np.bincount(users, minlength=n_users)
    offsets = offsets_of(counts)
    return Qrels(
        offsets=offsets,
        items=sorted_items,
        grades=sorted_grades,
        relevance_level=relevance_level,
        subtopics=None if subtopics is None else subtopics.select(order),
    )


def judgement_facts(qrels: Qrels, units: str = "users") -> dict[str, int]:
    """Count users and judgements, and users without relevant or judged non-relevant items.

    The counts, and the relevance level among them, are by their names, in the order to print them.
    ``units``: what these names call the users, such as "topics".
    """
    has_no_relevant = qrels.count_by_user(qrels.relevant) == 0
    has_no_nonrelevant = qrels.count_by_user(qrels.nonrelevant) == 0
    facts: dict[str, int] = {}
    facts[units] = qrels.n_users
    facts["judgements"] = len(qrels.items)
    facts["relevant judgements"] = int(qrels.relevant.sum())
    facts["relevance level"] = qrels.relevance_level
    facts[f"{units} without relevant items"] = int(has_no_relevant.sum())
    facts[f"{units} without judged non-relevant items"] = int(has_no_nonrelevant.sum())
    return facts


def warn_of_one_sided_judgements(
    qrels: Qrels, collapsed_metrics: Sequence[str] = ("bpref equals Recall",)
) -> None:
    """Warn if no judgement is relevant, or no user has relevant and judged non-relevant items.

    ``collapsed_metrics``: clauses that say what the metrics of a study become for users without
    judged non-relevant items. If it is empty, there is no warning of the second kind.
    """
    has_relevant = qrels.count_by_user(qrels.relevant) > 0
    has_nonrelevant = qrels.count_by_user(qrels.nonrelevant) > 0
    if not qrels.relevant.any():
        warn(f"{no_relevant_sentence(qrels)} Measures of relevant items are 0; nDCG is not.")
    elif collapsed_metrics and not (has_relevant & has_nonrelevant).any():
        listed_metrics = ", ".join(collapsed_metrics)
        warn(f"no user has both relevant and judged non-relevant items: {listed_metrics}.")


def no_relevant_sentence(qrels: Qrels) -> str:
    """Word that no judgement reaches the relevance level; there must be judgements."""
    return (
        f"no judgement is relevant: the highest grade is {qrels.grades.max()}, the relevance level "
        f"{qrels.relevance_level}."
    )
