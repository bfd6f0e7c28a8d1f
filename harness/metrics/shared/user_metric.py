"""Metrics written over one user's list: plain Python, and slower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from harness.metrics.shared.metric import Metric, metric
from qrels import Judged
from runs.shared.arrays import Floats

UserFunction = Callable[..., float]
"""Score of one user: ``function(grades, user, **options)``."""


@dataclass(frozen=True, eq=False)
class User:
    """The judgements of one user, for a metric that is written for one list.

    Parameters
    ----------
    cutoff
        Number of ranks to consider; the list may be shorter.
    relevance_level
        Lowest relevant grade.
    n_relevant, n_nonrelevant
        R and N: numbers of the user's relevant and judged non-relevant items.
    ideal_grades
        All grades of the user in the qrels, in falling order, of shape (n_judged,).
    """

    cutoff: int
    relevance_level: float
    n_relevant: int
    n_nonrelevant: int
    ideal_grades: Floats


def user_metric(name: str, *, source: str, **facts: Any) -> Callable[[UserFunction], Metric]:
    """Declare a function of one user's list as a metric (decorator).

    The function takes the grades at the ranks down to the cut-off or the end of the list, of shape
    (n_ranks,), NaN where the item is unjudged or its grade below 0, and a `User`. It returns the
    score. Its keyword-only parameters are options of the metric. It is called once for each user,
    which takes 30 to 200 times as long as a function of all lists (see `harness.metric`).

    Parameters
    ----------
    name, source, facts
        See `harness.metric`.

    Examples
    --------
    >>> @user_metric("first-grade", source="by hand", high=5.0)
    ... def first_grade(grades, user):
    ...     "Grade of the first judged item; 0 if there is none."
    ...     return next((grade for grade in grades if grade >= 0), 0.0)
    >>> first_grade(Judged(np.array([[np.nan, 3.0], [5.0, 1.0]]), np.ones((2, 1))))
    array([3., 5.])
    """

    def declare(function: UserFunction) -> Metric:
        """Make the metric that calls the function for each user."""

        @wraps(function)
        def score_users(judged: Judged, *, cutoff: int | None = None, **options: Any) -> Floats:
            """Call the function for one user after the other; scores of shape (n_users,).

            An error is raised again with a note that has the number of the user.
            """
            cutoff = judged.depth if cutoff is None else cutoff
            scores = np.empty(judged.n_users)
            for number in range(judged.n_users):
                length = min(cutoff, int(judged.n_retrieved[number]))
                grades = judged.grades[number, :length]
                judgements = judged.judgements[number]
                n_relevant = int(judged.n_relevant[number])
                n_nonrelevant = int(judged.n_nonrelevant[number])
                ideal_grades = -np.sort(-judgements[judgements >= 0])
                user = User(
                    cutoff=cutoff,
                    relevance_level=judged.relevance_level,
                    n_relevant=n_relevant,
                    n_nonrelevant=n_nonrelevant,
                    ideal_grades=ideal_grades,
                )
                nonnegative_grades = np.where(grades >= 0, grades, np.nan)
                try:
                    scores[number] = float(function(nonnegative_grades, user, **options))
                except Exception as error:
                    error.add_note(f"for user number {number}")
                    raise
            return scores

        declared = metric(name, source=source, **facts)(score_users)
        return replace(declared, per_user=True)

    return declare
