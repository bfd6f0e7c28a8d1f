"""Grades: ratings as the integers that TREC qrels hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings
from runs import InputError

LARGEST_GRADE: Final = np.iinfo(np.int32).max
FACTORS: Final = (1, 2, 10, 100, 1000)
"""What makes whole numbers of whole stars, half stars, and one to three decimals."""

GradeRule: TypeAlias = Literal["values", "ranks"] | tuple[float, ...]
"""How ratings become grades: by their values, by their ranks, or by the cuts that they reach."""


class _Graded(NamedTuple):
    """Whole numbers of the distinct ratings, the lowest relevant one, and how they were made."""

    grades: NDArray[np.int64]
    level: int
    rule: str


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

    ratings: NDArray[np.float64]
    grades: NDArray[np.int32]
    threshold: float
    level: int
    rule: str

    def grades_of(self, ratings: NDArray[np.float64]) -> NDArray[np.int32]:
        """Grades of ratings on this scale, int32 of the same shape."""
        places = np.minimum(np.searchsorted(self.ratings, ratings), len(self.ratings) - 1)
        unknown = ratings[self.ratings[places] != ratings]
        if unknown.size:
            raise InputError(f"the rating {unknown[0]:g} is not on the scale of the data set.")
        return self.grades[places]

    def nearest_grades(self, ratings: NDArray[np.float64]) -> NDArray[np.int32]:
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
    if not math.isfinite(threshold):
        raise InputError(f"the relevance threshold must be finite, got {threshold}.")
    distinct = np.unique(ratings.rating)
    grades, level, said = _graded(distinct, threshold, rule)
    raised = int(max(0, -grades.min(), 1 - level))
    if raised:
        said = f"{said}, plus {raised}"
    return Scale(distinct, (grades + raised).astype(np.int32), threshold, level + raised, said)


def _graded(distinct: NDArray[np.float64], threshold: float, rule: GradeRule | None) -> _Graded:
    if isinstance(rule, tuple):
        return _by_cuts(distinct, threshold, rule)
    factor = _factor(distinct)
    if rule == "ranks" or (rule is None and factor is None):
        return _by_ranks(distinct, threshold)
    if factor is None:
        raise InputError(
            'grades by "values" need ratings with at most three decimals and a range of at most '
            f"{LARGEST_GRADE} steps; found {_odd(distinct):g}. `grades` may also be "
            '"ranks", or a list of cuts.'
        )
    return _by_values(distinct, threshold, factor)


def _by_values(distinct: NDArray[np.float64], threshold: float, factor: int) -> _Graded:
    level = math.ceil(threshold * factor)
    # A product of decimals may lie a little above the whole number that is meant.
    level -= (level - 1) / factor >= threshold
    return _Graded(np.rint(distinct * factor).astype(np.int64), level, f"rating times {factor}")


def _by_ranks(distinct: NDArray[np.float64], threshold: float) -> _Graded:
    level = int(np.searchsorted(distinct, threshold)) + 1
    said = f"rank among the {len(distinct):,} distinct ratings"
    return _Graded(np.arange(1, len(distinct) + 1), level, said)


def _by_cuts(distinct: NDArray[np.float64], threshold: float, cuts: Sequence[float]) -> _Graded:
    shown = ", ".join(f"{cut:g}" for cut in cuts)
    grades = np.searchsorted(np.array(cuts), distinct, side="right")
    level = int(np.searchsorted(np.array(cuts), threshold, side="right"))
    if ((grades >= level) != (distinct >= threshold)).any():
        raise InputError(
            f"the threshold {threshold:g} must be one of the cuts, {shown}: ratings of one grade "
            "are relevant or not together."
        )
    return _Graded(grades, level, f"number of the cuts {shown} that the rating reaches")


def _factor(distinct: NDArray[np.float64]) -> int | None:
    """Find the first factor that makes ratings whole numbers within the range of grades."""
    most = max(abs(distinct[0]), abs(distinct[-1]), distinct[-1] - distinct[0])
    return next(
        (
            factor
            for factor in FACTORS
            if most * factor < LARGEST_GRADE and _is_whole(distinct, factor).all()
        ),
        None,
    )


def _is_whole(distinct: NDArray[np.float64], factor: int) -> NDArray[np.bool_]:
    """Mark what a whole number divided by the factor gives, to the last bit."""
    return np.rint(distinct * factor) / factor == distinct


def _odd(distinct: NDArray[np.float64]) -> float:
    """Give a rating that no factor makes a grade."""
    odd = ~_is_whole(distinct, FACTORS[-1])
    return float(distinct[odd.argmax()] if odd.any() else distinct[np.abs(distinct).argmax()])
