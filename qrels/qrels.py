"""Qrels: what is known about the relevance of items to users, and counts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from runs import InputError
from runs.shared.arrays import Integers, Ints, Longs, Masks
from runs.shared.errors import warn
from runs.shared.fields import offsets_of


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

    def __post_init__(self) -> None:
        if self.relevance_level < 1:
            raise InputError(f"the relevance level must be at least 1, got {self.relevance_level}.")
        same_user = self.users[1:] == self.users[:-1]
        if (same_user & (self.items[1:] <= self.items[:-1])).any():
            raise InputError("the items of a user must rise, each judged once.")

    def __repr__(self) -> str:
        facts = (f"{name}: {count:,}" for name, count in judgement_facts(self).items())
        return "\n".join(["Qrels", *facts])

    @property
    def n_users(self) -> int:
        """Number of users, including those without a judgement."""
        return len(self.offsets) - 1

    @cached_property
    def users(self) -> Ints:
        """User number of every judgement, of shape (n_judgements,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def relevant(self) -> Masks:
        """Mask of the relevant judgements, of shape (n_judgements,)."""
        return self.grades >= self.relevance_level

    @cached_property
    def nonrelevant(self) -> Masks:
        """Mask of the judged non-relevant ones, of shape (n_judgements,)."""
        return (self.grades >= 0) & ~self.relevant

    def count_by_user(self, chosen: Masks) -> Longs:
        """Count the chosen judgements of every user, of shape (n_users,)."""
        return np.bincount(self.users[chosen], minlength=self.n_users).astype(np.int64)

    def keep(self, kept: Masks) -> Qrels:
        """Keep the judgements of a mask of shape (n_judgements,), and all users."""
        offsets = offsets_of(self.count_by_user(kept))
        return replace(self, offsets=offsets, items=self.items[kept], grades=self.grades[kept])

    def select_users(self, users: Integers) -> Qrels:
        """Keep the users with the given numbers, in the given order."""
        offsets = offsets_of(np.diff(self.offsets)[users])
        rows = self.judgement_rows(users)
        return replace(self, offsets=offsets, items=self.items[rows], grades=self.grades[rows])

    def judgement_rows(self, users: Integers) -> Longs:
        """Give the numbers of the judgements of some users, user by user."""
        counts = self.offsets[users + 1] - self.offsets[users]
        before = np.cumsum(counts) - counts
        return np.repeat(self.offsets[users] - before, counts) + np.arange(counts.sum())


def qrels_from_columns(
    users: Integers, items: Integers, grades: Integers, *, n_users: int, relevance_level: int
) -> Qrels:
    """Sort judgements given as columns, of shape (n_judgements,) in any order, into qrels.

    The users, ``n_users`` of them, include those without a judgement.
    """
    order = np.lexsort((items, users))
    counts = np.bincount(users, minlength=n_users)
    return Qrels(
        offsets=offsets_of(counts),
        items=items[order].astype(np.int32),
        grades=grades[order].astype(np.int32),
        relevance_level=relevance_level,
    )


def judgement_facts(qrels: Qrels, units: str = "users") -> dict[str, int]:
    """Count judgements, and the users for whom a metric can say little."""
    n_relevant, n_nonrelevant = (
        qrels.count_by_user(qrels.relevant),
        qrels.count_by_user(qrels.nonrelevant),
    )
    return {
        units: qrels.n_users,
        "judgements": len(qrels.items),
        "relevant judgements": int(qrels.relevant.sum()),
        "relevance level": qrels.relevance_level,
        f"{units} without relevant items": int((n_relevant == 0).sum()),
        f"{units} without judged non-relevant items": int((n_nonrelevant == 0).sum()),
    }


def warn_of_one_sided_judgements(
    qrels: Qrels, become: Sequence[str] = ("bpref equals Recall",)
) -> None:
    """Warn of metrics that collapse because all judgements, or all of each user, are of a kind.

    Of the metrics that are computed: what they are for a user without judged non-relevant items;
    where none of them collapses so, there is no warning.
    """
    n_relevant, n_nonrelevant = (
        qrels.count_by_user(qrels.relevant),
        qrels.count_by_user(qrels.nonrelevant),
    )
    if not qrels.relevant.any():
        warn(f"{no_relevant_sentence(qrels)} Measures of relevant items are 0; nDCG is not.")
    elif become and not ((n_relevant > 0) & (n_nonrelevant > 0)).any():
        told = ", ".join(become)
        warn(f"no user has both relevant and judged non-relevant items: {told}.")


def no_relevant_sentence(qrels: Qrels) -> str:
    """Say that no judgement reaches the relevance level."""
    return (
        f"no judgement is relevant: the highest grade is {qrels.grades.max()}, the relevance level "
        f"{qrels.relevance_level}."
    )
