"""Subtopics: for which aspects of its topic each judged item is relevant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from runs import Numbering
from runs.shared.arrays import Integers, Ints, Longs
from runs.shared.fields import offsets_of, rows_of_groups


class CoveredSubtopics(NamedTuple):
    """The subtopics that each judged item covers, in compressed rows.

    Those of judgement j are ``numbers[starts[j]:starts[j + 1]]``. ``starts``: int64 of shape
    (n_judgements + 1,); ``numbers``: numbers of subtopics, int64 of shape (n_covered,).
    """

    starts: Longs
    numbers: Longs


@dataclass(frozen=True, eq=False)
class Subtopics:
    """The grades of each judged item for subtopics of its topic, in compressed rows.

    Topics may have subtopics of the same ids: metrics look at the judgements of one topic at a
    time.

    Parameters
    ----------
    ids
        Ids of the subtopics of all topics.
    offsets
        The grades of judgement j are ``offsets[j]:offsets[j + 1]``; int64 of shape
        (n_judgements + 1,).
    numbers
        Number of the subtopic that each grade is for, its place among the ids; int32 of shape
        (n_grades,).
    grades
        Grades, int32 of shape (n_grades,).

    Examples
    --------
    Judgement 0 has grades for subtopics "a" and "b", judgement 1 for "b" alone:

    >>> subtopics = Subtopics(
    ...     ids=Numbering.of(["a", "b"]), offsets=np.array([0, 2, 3]),
    ...     numbers=np.array([0, 1, 1], dtype=np.int32), grades=np.array([2, 0, 1], dtype=np.int32),
    ... )
    >>> subtopics.covered(1)
    CoveredSubtopics(starts=array([0, 1, 2]), numbers=array([0, 1]))
    """

    ids: Numbering
    offsets: Longs
    numbers: Ints
    grades: Ints

    @property
    def n_judgements(self) -> int:
        """Number of judgements."""
        return len(self.offsets) - 1

    def select(self, judgements: Integers) -> Subtopics:
        """Keep the judgements with these numbers, (n,), and number them anew in this order."""
        counts = np.diff(self.offsets)[judgements]
        rows = rows_of_groups(self.offsets, judgements)
        return Subtopics(
            ids=self.ids,
            offsets=offsets_of(counts),
            numbers=self.numbers[rows],
            grades=self.grades[rows],
        )

    def covered(self, level: float) -> CoveredSubtopics:
        """Look up the subtopics for which each judgement has a grade of at least ``level``.

        Those of judgement j are ``numbers[starts[j]:starts[j + 1]]`` of the result, which is kept
        for the level. ``self.offsets``, (n_judgements + 1,), begins the grades of each judgement in
        ``self.grades`` and their subtopics in ``self.numbers``, of shape (n_grades,).
        """
        if level not in self._covered_by_level:
            is_covered = self.grades >= level
            n_covered_before = offsets_of(is_covered.astype(np.int64))
            self._covered_by_level[level] = CoveredSubtopics(
                starts=n_covered_before[self.offsets],
                numbers=self.numbers[is_covered].astype(np.int64),
            )
        return self._covered_by_level[level]

    @cached_property
    def _covered_by_level(self) -> dict[float, CoveredSubtopics]:
        """What `covered` has computed, by level: metrics ask for it block by block of users."""
        return {}
