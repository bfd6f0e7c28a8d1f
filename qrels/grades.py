"""Grades: ratings as the integers that TREC qrels hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.arrays import Floats, Ints, Longs, Masks

LARGEST_GRADE: Final = np.iinfo(np.int32).max
FACTORS: Final = (1, 2, 10, 100, 1000)
"""What makes whole numbers of whole stars, half stars, and one to three decimals."""

GradeRule: TypeAlias = Literal["values", "ranks"] | tuple[float, ...]
"""How ratings become grades: by their values, by their ranks, or by the cuts that they reach."""


@dataclass(frozen=True, eq=False)
class Scale:
    """How the ratings of a data set become integer grades, and which grades are relevant.

    Made by `rating_scale` from **all** ratings of a data set, then used on any part of them: a
    test set may by chance hold whole stars only.

    Parameters
    ----------
    ratings
        The distinct ratings, rising, float64 of shape (n,).
    grades
        The grade of each, rising, int32 of shape (n,).
    threshold
        Lowest rating that is relevant.
    level
        Lowest relevant grade, at least 1.
    rule
        How grades were made, in words.
    """

    ratings: Floats
    grades: Ints
    threshold: float
    level: int
    rule: str

    def grades_of(self, ratings: Floats) -> Ints:
        """Grades of ratings on this scale, int32 of the same shape."""
        places = np.minimum(np.searchsorted(self.ratings, ratings), len(self.ratings) - 1)
        unknown = ratings[self.ratings[places] != ratings]
        if unknown.size:
            raise InputError(f"the rating {unknown[0]:g} is not on the scale of the data set.")
        return self.grades[places]

    def nearest_grades(self, ratings: Floats) -> Ints:
        """Grades of numbers between ratings, such as expected ones, int32 of the same shape.

        A number has the grade of the nearest rating, as far as that leaves relevant what reaches
        the threshold, and nothing else.
        """
        halfway = (self.ratings[1:] + self.ratings[:-1]) / 2
        grades = self.grades[np.searchsorted(halfway, ratings, side="right")]
        relevant = np.maximum(grades, self.level)
        return np.where(ratings >= self.threshold, relevant, np.minimum(grades, self.level - 1))


def rating_scale(ratings: Ratings, *, threshold: float, rule: GradeRule | None = None) -> Scale:
    """Grade the ratings of a whole data set, before any split.

    Parameters
    ----------
    ratings
        All ratings of the data set.
    threshold
        Lowest rating that is relevant.
    rule
        ``"values"``: the rating times 1, 2, 10, 100 or 1000, the first that makes all ratings
        whole. ``"ranks"``: 1 for the lowest rating that occurs, 2 for the next, and so on. Cuts,
        rising: how many of them the rating reaches. By default values, and ranks where ratings have
        more than three decimals.

    Returns
    -------
    The scale. Where a grade would be negative, or the lowest relevant grade below 1, which
    trec_eval's ``-l`` does not mean as a level, all grades are raised by the least that mends it.

    Examples
    --------
    >>> from runs import Numbering
    >>> ids = Numbering.of(["a", "b", "c"])
    >>> user, item = np.array([[0, 1, 2], [0, 0, 0]], dtype=np.int32)
    >>> ratings = Ratings(ids, ids, user, item, np.array([3.5, 4.0, 5.0]))
    >>> scale = rating_scale(ratings, threshold=4.0)
    >>> scale.grades.tolist(), scale.level, scale.rule
    ([7, 8, 10], 8, 'rating times 2')
    >>> scale = rating_scale(ratings, threshold=4.0, rule=(2.0, 4.0))
    >>> scale.grades.tolist(), scale.level
    ([1, 2, 2], 2)
    """
    distinct = np.unique(ratings.rating)
    grades, level, words = _graded(distinct, threshold, rule)
    raised = int(max(0, -grades.min(), 1 - level))
    if raised:
        words = f"{words}, plus {raised}"
    return Scale(distinct, (grades + raised).astype(np.int32), threshold, level + raised, words)


def _graded(distinct: Floats, threshold: float, rule: GradeRule | None) -> tuple[Longs, int, str]:
    """Give whole numbers for the distinct ratings, the lowest relevant one, and the rule."""
    if isinstance(rule, tuple):
        return _by_cuts(distinct, threshold, rule)
    # The first factor that makes ratings whole numbers within the range of grades.
    most = max(abs(distinct[0]), abs(distinct[-1]), distinct[-1] - distinct[0])
    fitting = (f for f in FACTORS if most * f < LARGEST_GRADE and _is_whole(distinct, f).all())
    factor = next(fitting, None)
    if rule == "ranks" or (rule is None and factor is None):
        level = int(np.searchsorted(distinct, threshold)) + 1
        words = f"rank among the {len(distinct):,} distinct ratings"
        return np.arange(1, len(distinct) + 1), level, words
    if factor is None:
        odd = ~_is_whole(distinct, FACTORS[-1])
        example = distinct[odd.argmax() if odd.any() else np.abs(distinct).argmax()]
        raise InputError(
            'grades by "values" need ratings with at most three decimals and a range of at most '
            f"{LARGEST_GRADE} steps; found {example:g}. `grades` may also be "
            '"ranks", or a list of thresholds.'
        )
    level = math.ceil(threshold * factor)
    # A product of decimals may lie a little above the whole number that is meant.
    level -= (level - 1) / factor >= threshold
    how = "rating" if factor == 1 else f"rating times {factor}"
    return np.rint(distinct * factor).astype(np.int64), level, how


def _by_cuts(distinct: Floats, threshold: float, cuts: Sequence[float]) -> tuple[Longs, int, str]:
    listed = ", ".join(f"{cut:g}" for cut in cuts)
    grades = np.searchsorted(np.array(cuts), distinct, side="right")
    level = int(np.searchsorted(np.array(cuts), threshold, side="right"))
    if ((grades >= level) != (distinct >= threshold)).any():
        raise InputError(
            f"the threshold {threshold:g} must be one of those in `grades`, {listed}: ratings of "
            "the same grade must all be relevant, or all not."
        )
    return grades, level, f"number of the cuts {listed} that the rating reaches"


def _is_whole(distinct: Floats, factor: int) -> Masks:
    """Mark what a whole number divided by the factor gives, to the last bit."""
    return np.rint(distinct * factor) / factor == distinct
