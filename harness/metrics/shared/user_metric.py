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
    """What a metric may know of a user besides the list.

    Parameters
    ----------
    cutoff
        Ranks considered; the list may be shorter.
    relevance_level
        Lowest relevant grade.
    n_relevant, n_nonrelevant
        R and N: the user's relevant and judged non-relevant items, in the list or not.
    ideal_grades
        All grades of the user, in the list or not, from the best down.
    """

    cutoff: int
    relevance_level: float
    n_relevant: int
    n_nonrelevant: int
    ideal_grades: Floats


def user_metric(name: str, *, source: str, **facts: Any) -> Callable[[UserFunction], Metric]:
    """Make a metric of a function over one user's list.

    The function takes the grades at the first ranks, down to the cut-off or the end of the
    list (1-d, NaN where the item is unjudged), and a `User`; keyword-only parameters are the
    metric's options. It is called once for every user, which takes some thirty to two hundred times
    as long as one function over the lists of all users (`harness.metrics.shared.metric.metric`).

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
        @wraps(function)
        def score_each(judged: Judged, *, cutoff: int | None = None, **options: Any) -> Floats:
            cutoff = judged.depth if cutoff is None else cutoff
            scores = np.empty(judged.n_users)
            for number in range(judged.n_users):
                length = min(cutoff, int(judged.n_retrieved[number]))
                grades, judgements = judged.grades[number, :length], judged.judgements[number]
                user = User(
                    cutoff=cutoff,
                    relevance_level=judged.relevance_level,
                    n_relevant=int(judged.n_relevant[number]),
                    n_nonrelevant=int(judged.n_nonrelevant[number]),
                    ideal_grades=-np.sort(-judgements[judgements >= 0]),
                )
                known = np.where(grades >= 0, grades, np.nan)
                try:
                    scores[number] = float(function(known, user, **options))
                except Exception as error:
                    error.add_note(f"for user number {number}")
                    raise
            return scores

        made = metric(name, source=source, **facts)
        return replace(made(score_each), per_user=True)

    return declare
