"""Grades: ratings as the integers that TREC qrels hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings
from runs import InputError

LARGEST_GRADE = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Scale:
    """How the ratings of a data set become integer grades: grade = factor * rating.

    Made by `rating_scale` from **all** ratings of a data set, then used on any part of them: a
    test set may by chance hold whole stars only.

    Parameters
    ----------
    factor
        1 for integer ratings, 2 for half stars.

    Examples
    --------
    >>> half_stars = Scale(factor=2)
    >>> half_stars.grades_of(np.array([0.5, 4.0]))
    array([1, 8], dtype=int32)
    >>> half_stars.grade_of_threshold(4.0)
    8
    """

    factor: int

    def grades_of(self, ratings: NDArray[np.float64]) -> NDArray[np.int32]:
        """Grades of ratings on this scale, int32 of the same shape.

        Raises
        ------
        InputError
            If a rating is negative, not on the scale, or too large.
        """
        grades = ratings * self.factor
        _refuse(ratings[ratings < 0], "must not be negative: shift the scale to start at 0 or 1")
        _refuse(ratings[grades % 1 != 0], f"must be multiples of {1 / self.factor:g}")
        _refuse(ratings[grades > LARGEST_GRADE], f"must not exceed {LARGEST_GRADE}")
        return grades.astype(np.int32)

    def grade_of_threshold(self, threshold: float) -> int:
        """Lowest grade that is relevant: that of the lowest rating at or above the threshold.

        Raises
        ------
        InputError
            If the grade is below 1, which trec_eval's ``-l`` does not mean as a level, or the
            threshold is not finite.

        Examples
        --------
        >>> Scale(factor=1).grade_of_threshold(3.5)
        4
        """
        if not (math.isfinite(threshold) and threshold > 0):
            raise InputError(f"the relevance threshold must be above 0, got {threshold}.")
        return math.ceil(threshold * self.factor)


def rating_scale(ratings: Ratings) -> Scale:
    """Find the factor that makes all ratings of a whole data set, before any split, integers.

    Raises
    ------
    InputError
        If a rating is negative, or neither an integer nor a half.

    Examples
    --------
    >>> from runs import Numbering
    >>> ids = Numbering.of(["a", "b"])
    >>> user, item = np.array([[0, 1], [0, 0]], dtype=np.int32)
    >>> rating_scale(Ratings(ids, ids, user, item, np.array([3.5, 4.0])))
    Scale(factor=2)
    """
    distinct = np.unique(ratings.rating)
    scale = Scale(factor=1 if (distinct % 1 == 0).all() else 2)
    scale.grades_of(distinct)
    return scale


def _refuse(offending: NDArray[np.float64], rule: str) -> None:
    if offending.size:
        raise InputError(f"ratings that become grades {rule}; found {offending[0]:g}.")
