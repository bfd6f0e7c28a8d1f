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
"""Factors that make whole numbers of whole stars, half stars, and one to three decimals."""

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
        """Look up the grades of ratings, int32 of the same shape.

        ``self.ratings`` are the distinct ratings of the data set, rising, and ``self.grades`` their
        grades, both of shape (n,). Raises InputError for a rating that is not among them.
        """
        last_position = len(self.ratings) - 1
        positions = np.minimum(np.searchsorted(self.ratings, ratings), last_position)
        unknown_ratings = ratings[self.ratings[positions] != ratings]
        if unknown_ratings.size:
            example = unknown_ratings[0]
            raise InputError(f"the rating {example:g} is not on the scale of the data set.")
        return self.grades[positions]

    def nearest_grades(self, ratings: Floats) -> Ints:
        """Compute grades of numbers between ratings, such as expected ratings.

        ``ratings`` are float64 of any shape, the result int32 of the same shape. A number has the
        grade of the nearest rating on the scale, the higher one at a midpoint. But a number at or
        above the threshold has at least the lowest relevant grade, ``self.level``, and a number
        below it has a lower grade.
        """
        midpoints = (self.ratings[1:] + self.ratings[:-1]) / 2
        nearest = self.grades[np.searchsorted(midpoints, ratings, side="right")]
        relevant_grades = np.maximum(nearest, self.level)
        nonrelevant_grades = np.minimum(nearest, self.level - 1)
        return np.where(ratings >= self.threshold, relevant_grades, nonrelevant_grades)


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

    Raises
    ------
    InputError
        If the rule is "values", and ratings have more than three decimals or too large a range; or
        if ratings with equally many cuts lie on both sides of the threshold.

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
    distinct_ratings = np.unique(ratings.rating)
    grades, level, words = _graded(distinct_ratings, threshold, rule)
    raised_by = int(max(0, -grades.min(), 1 - level))
    if raised_by:
        words = f"{words}, plus {raised_by}"
    raised_grades = (grades + raised_by).astype(np.int32)
    return Scale(
        ratings=distinct_ratings,
        grades=raised_grades,
        threshold=threshold,
        level=level + raised_by,
        rule=words,
    )


def _graded(
    distinct_ratings: Floats, threshold: float, rule: GradeRule | None
) -> tuple[Longs, int, str]:
    """Grade the distinct ratings, rising, of shape (n,), by a rule; see `rating_scale`.

    Returns their grades, whole numbers of shape (n,) that may be negative, the lowest relevant
    grade, and the rule in words.

    Raises
    ------
    InputError
        If the rule is "values", and ratings have more than three decimals or too large a range; or
        if ratings with equally many cuts lie on both sides of the threshold.
    """
    if isinstance(rule, tuple):
        return _by_cuts(distinct_ratings, threshold, rule)
    factor = _whole_number_factor(distinct_ratings)
    if rule == "ranks" or (rule is None and factor is None):
        level = int(np.searchsorted(distinct_ratings, threshold)) + 1
        words = f"rank among the {len(distinct_ratings):,} distinct ratings"
        return np.arange(1, len(distinct_ratings) + 1), level, words
    if factor is None:
        is_odd = ~_is_whole(distinct_ratings, FACTORS[-1])
        if is_odd.any():
            example = distinct_ratings[is_odd.argmax()]
        else:
            example = distinct_ratings[np.abs(distinct_ratings).argmax()]
        raise InputError(
            'grades by "values" need ratings with at most three decimals and a range of at most '
            f"{LARGEST_GRADE} steps; found {example:g}. `grades` may also be "
            '"ranks", or a list of thresholds.'
        )
    level = math.ceil(threshold * factor)
    # A product of decimals may lie a little above the whole number that is meant.
    if (level - 1) / factor >= threshold:
        level -= 1
    words = "rating" if factor == 1 else f"rating times {factor}"
    grades = np.rint(distinct_ratings * factor).astype(np.int64)
    return grades, level, words


def _whole_number_factor(distinct_ratings: Floats) -> int | None:
    """Find the first of 1, 2, 10, 100 and 1000 that makes whole numbers of all ratings.

    ``distinct_ratings`` rise, float64 of shape (n,). The products, and their range, must be below
    2^31 - 1. None if no factor does.
    """
    lowest = distinct_ratings[0]
    highest = distinct_ratings[-1]
    largest_number = max(abs(lowest), abs(highest), highest - lowest)
    for factor in FACTORS:
        is_in_range = largest_number * factor < LARGEST_GRADE
        if is_in_range and _is_whole(distinct_ratings, factor).all():
            return factor
    return None


def _by_cuts(
    distinct_ratings: Floats, threshold: float, cuts: Sequence[float]
) -> tuple[Longs, int, str]:
    """Count the cuts that each of the distinct ratings, of shape (n,), reaches; both rise.

    Returns these numbers, the grades, of shape (n,); the lowest relevant grade, which is the number
    of cuts that the threshold reaches; and the rule in words.

    Raises InputError if ratings of one grade lie on both sides of the threshold.
    """
    listed_cuts = ", ".join(f"{cut:g}" for cut in cuts)
    grades = np.searchsorted(np.array(cuts), distinct_ratings, side="right")
    level = int(np.searchsorted(np.array(cuts), threshold, side="right"))
    is_relevant_by_grade = grades >= level
    is_relevant = distinct_ratings >= threshold
    if (is_relevant_by_grade != is_relevant).any():
        raise InputError(
            f"the threshold {threshold:g} must be one of those in `grades`, {listed_cuts}: ratings "
            "of the same grade must all be relevant, or all not."
        )
    return grades, level, f"number of the cuts {listed_cuts} that the rating reaches"


def _is_whole(ratings: Floats, factor: int) -> Masks:
    """Mark the ratings that are, to the last bit, a whole number divided by the factor."""
    return np.rint(ratings * factor) / factor == ratings
