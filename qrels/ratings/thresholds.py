"""Which ratings are relevant: the usual threshold, and what others would make of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings

USUAL_THRESHOLD: Final = 4.0
USUAL_TOP: Final = 5.0
QUARTERS: Final = (0.75, 0.5, 0.25)
FEW: Final = 11


@dataclass(frozen=True)
class Threshold:
    """A threshold, and what it makes of ratings that are tested.

    Parameters
    ----------
    value
        Lowest rating that is relevant.
    relevant
        Share of the ratings that are, in [0, 1].
    without_relevant, without_nonrelevant
        Shares of the users none of whose ratings is relevant, or none is below the threshold.
    """

    value: float
    relevant: float
    without_relevant: float
    without_nonrelevant: float

    @classmethod
    def over(cls, tested: Ratings, value: float) -> Threshold:
        """Count what a threshold makes of ratings, of which there is at least one.

        Examples
        --------
        >>> from runs import Numbering
        >>> ids = Numbering.of(["a", "b"])
        >>> user, item = np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int32)
        >>> Threshold.over(Ratings(ids, ids, user, item, np.array([4.0, 5.0, 4.0])), 5.0)
        ... # doctest: +NORMALIZE_WHITESPACE
        Threshold(value=5.0, relevant=0.3333333333333333, without_relevant=0.5,
                  without_nonrelevant=0.0)
        """
        is_relevant = tested.rating >= value
        n_ratings = tested.user_counts()
        n_relevant = tested.select(is_relevant).user_counts()[n_ratings > 0]
        return cls(
            value=value,
            relevant=float(is_relevant.mean()),
            without_relevant=float((n_relevant == 0).mean()),
            without_nonrelevant=float((n_relevant == n_ratings[n_ratings > 0]).mean()),
        )

    def __str__(self) -> str:
        return (
            f"threshold = {self.value:g}: {_percent(self.relevant)} of the test ratings are "
            f"relevant; {_percent(self.without_relevant)} of the users have no relevant test "
            f"item, {_percent(self.without_nonrelevant)} no judged non-relevant one."
        )


def usual_threshold(ratings: Ratings) -> float | None:
    """Give 4 on scales that go up to 5, and None on others, which have no usual threshold."""
    low, high = ratings.rating.min(), ratings.rating.max()
    return USUAL_THRESHOLD if low >= 0 and low < high == USUAL_TOP else None


def candidate_thresholds(rating: NDArray[np.float64]) -> tuple[float, ...]:
    """Give up to three thresholds, falling: the quartiles, or the highest rating.

    The lowest rating is not among them: nothing would be below it.

    Examples
    --------
    >>> candidate_thresholds(np.array([1.0, 6.0, 7.0, 8.0, 10.0]))
    (8.0, 7.0, 6.0)
    >>> candidate_thresholds(np.array([0.0, 0.0, 0.0, 0.0, 1.0]))
    (1.0,)
    """
    quartiles = np.quantile(rating, QUARTERS, method="higher")
    found = [float(value) for value in dict.fromkeys(quartiles) if value > rating.min()]
    return tuple(found) or (float(rating.max()),)


def proposed_threshold(tested: Ratings, candidates: tuple[float, ...]) -> float:
    """Choose the threshold that leaves the fewest users without one of both kinds of judgements."""
    effects = [Threshold.over(tested, value) for value in candidates]
    return min(effects, key=lambda e: e.without_relevant + e.without_nonrelevant).value


def distribution(rating: NDArray[np.float64]) -> str:
    """Say how often each rating occurs; of many different ones, where the quarters end.

    Examples
    --------
    >>> distribution(np.array([1.0, 2.0, 2.0, 2.0]))
    '1 (25 %), 2 (75 %)'
    >>> distribution(np.arange(101.0))
    'from 0 to 100; a quarter up to 25, half up to 50, three quarters up to 75'
    """
    distinct, counts = np.unique(rating, return_counts=True)
    if len(distinct) <= FEW:
        shares = counts / len(rating)
        pairs = zip(distinct, shares, strict=True)
        return ", ".join(f"{value:g} ({_percent(share)})" for value, share in pairs)
    first, second, third = np.quantile(rating, QUARTERS[::-1])
    return (
        f"from {distinct[0]:g} to {distinct[-1]:g}; a quarter up to {first:g}, half up to "
        f"{second:g}, three quarters up to {third:g}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
