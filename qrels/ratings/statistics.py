"""Statistics of a data set, and the thresholds that make its ratings relevant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.arrays import Floats, Integers


def describe(ratings: Ratings) -> dict[str, Any]:
    """Describe the users and items that have ratings, as in Table 2 of Valcarce et al. (2018).

    Returns
    -------
    How many ``users``, ``items`` and ``ratings`` there are; ``density``, the share of the pairs
    that are rated; ``gini`` of the numbers of ratings of items; the minimum, median and maximum of
    the ratings of a user and of an item; lowest, highest and number of distinct ratings; and, if
    ratings have times, the ``first`` and the ``last`` in UTC.

    Raises
    ------
    InputError
        If there are no ratings.

    Examples
    --------
    One user rates both items, another only the first:

    >>> from runs import Numbering
    >>> ids = Numbering.of(["a", "b"])
    >>> user, item = np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int32)
    >>> statistics = describe(Ratings(ids, ids, user, item, np.array([4.0, 5.0, 4.0])))
    >>> statistics["density"], statistics["distinct_ratings"], statistics["item_median"]
    (0.75, 2, 1.5)
    """
    if len(ratings) == 0:
        raise InputError("there are no ratings to describe.")
    user_counts = ratings.user_counts()
    user_counts = user_counts[user_counts > 0]
    item_counts = ratings.item_counts()
    item_counts = item_counts[item_counts > 0]
    n_pairs = len(user_counts) * len(item_counts)
    statistics: dict[str, Any] = {}
    statistics["users"] = len(user_counts)
    statistics["items"] = len(item_counts)
    statistics["ratings"] = len(ratings)
    statistics["density"] = len(ratings) / n_pairs
    statistics["gini"] = gini(item_counts)
    for side, counts in (("user", user_counts), ("item", item_counts)):
        statistics[f"{side}_minimum"] = int(counts.min())
        statistics[f"{side}_median"] = float(np.median(counts))
        statistics[f"{side}_maximum"] = int(counts.max())
    statistics["lowest_rating"] = float(ratings.rating.min())
    statistics["highest_rating"] = float(ratings.rating.max())
    statistics["distinct_ratings"] = len(np.unique(ratings.rating))
    if ratings.time is not None:
        statistics["first"] = _date(int(ratings.time.min()))
        statistics["last"] = _date(int(ratings.time.max()))
    return statistics


def gini(counts: Integers) -> float:
    r"""Compute the Gini index of counts: 0 if all are equal, near 1 if one has everything.

    .. math:: G = \frac{\sum_{i=1}^{n} (2i - n - 1)\, x_{(i)}}{n \sum_{i=1}^{n} x_{(i)}}

    with the n counts :math:`x_{(1)} \le \dots \le x_{(n)}` in rising order: half the mean absolute
    difference of two counts, relative to their mean. NaN if all counts are 0.

    Notes
    -----
    Shani & Gunawardana (2011, Recommender Systems Handbook) divide by n - 1 in
    place of n, so that one who has everything gives 1. With a thousand items the two differ by
    one part in a thousand.

    References
    ----------
    C. Gini (1912), Variabilità e mutabilità; in this form A. Sen (1973), On Economic Inequality.
    """
    n = len(counts)
    order = np.arange(1, n + 1)
    weights = 2 * order - n - 1
    weighted_sum = (weights * np.sort(counts)).sum()
    return float(weighted_sum / (n * counts.sum()))


def _date(seconds: int) -> str:
    """Write seconds since 1970 as date and time in UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(sep=" ", timespec="seconds")


USUAL_THRESHOLD: Final = 4.0
USUAL_TOP: Final = 5.0
QUARTERS: Final = (0.75, 0.5, 0.25)
MAX_LISTED_RATINGS: Final = 11
"""Number of distinct ratings up to which each is printed with its share."""
HALF: Final = 0.5
FIFTH: Final = 0.2


@dataclass(frozen=True)
class Threshold:
    """A threshold, and its effect on test ratings.

    ``value``: lowest rating that is relevant; ``relevant``: share of the ratings that are, in [0,
    1]; ``without_relevant``, ``without_nonrelevant``: shares of the users none of whose ratings is
    relevant, or none is below the threshold.
    """

    value: float
    relevant: float
    without_relevant: float
    without_nonrelevant: float

    @classmethod
    def evaluate(cls, tested: Ratings, value: float) -> Threshold:
        """Compute the effect of a threshold on test ratings, of which there is at least one.

        ``value``: lowest rating that is relevant. The shares of users without relevant, or without
        non-relevant ratings, are of the users with test ratings.
        """
        is_relevant = tested.rating >= value
        user_counts = tested.user_counts()
        relevant_counts = np.bincount(tested.user[is_relevant], minlength=len(tested.users))
        has_ratings = user_counts > 0
        n_ratings = user_counts[has_ratings]
        n_relevant = relevant_counts[has_ratings]
        has_no_relevant = n_relevant == 0
        has_no_nonrelevant = n_relevant == n_ratings
        return cls(
            value=value,
            relevant=float(is_relevant.mean()),
            without_relevant=float(has_no_relevant.mean()),
            without_nonrelevant=float(has_no_nonrelevant.mean()),
        )

    def __str__(self) -> str:
        """Print the threshold and its effect in a sentence."""
        relevant = _percent(self.relevant)
        without_relevant = _percent(self.without_relevant)
        without_nonrelevant = _percent(self.without_nonrelevant)
        return (
            f"threshold = {self.value:g}: {relevant} of the test ratings are relevant; "
            f"{without_relevant} of the users have no relevant test item, {without_nonrelevant} no "
            "judged non-relevant one."
        )


def usual_threshold(ratings: Ratings) -> float | None:
    """Return the usual threshold of relevance, 4, of ratings on a scale up to 5; None for others.

    The lowest rating must be 0 or more, the highest exactly 5, and not both the same. There must
    be ratings.
    """
    lowest = ratings.rating.min()
    highest = ratings.rating.max()
    is_usual_scale = lowest >= 0 and lowest < highest == USUAL_TOP
    return USUAL_THRESHOLD if is_usual_scale else None


def candidate_thresholds(rating: Floats) -> tuple[float, ...]:
    """Choose up to three thresholds for ratings of shape (n,): their distinct quartiles, falling.

    A quartile is a rating that occurs. The lowest rating is left out, as nothing would be below it.
    If all quartiles are the lowest rating, the highest rating is the only threshold.
    """
    # As np.quantile with the method "higher", which takes three times as long.
    sorted_ratings = np.sort(rating)
    rows = np.ceil(np.array(QUARTERS) * (len(rating) - 1)).astype(np.intp)
    quartiles = sorted_ratings[rows]
    lowest = sorted_ratings[0]
    thresholds = [float(value) for value in dict.fromkeys(quartiles) if value > lowest]
    if not thresholds:
        return (float(sorted_ratings[-1]),)
    return tuple(thresholds)


def propose_threshold(tested: Ratings, candidates: tuple[float, ...]) -> float:
    """Choose the threshold under which most users have relevant and non-relevant test ratings.

    Of the candidates, lowest ratings that are relevant, the one with the smallest sum of two shares
    is chosen: of users without relevant and without non-relevant test ratings. Of equal ones the
    first is chosen. There must be candidates and test ratings.
    """

    def share_without_both_kinds(effect: Threshold) -> float:
        return effect.without_relevant + effect.without_nonrelevant

    effects = [Threshold.evaluate(tested, value) for value in candidates]
    best = min(effects, key=share_without_both_kinds)
    return best.value


def are_amounts(rating: Floats) -> bool:
    """Test whether numbers are amounts, such as plays or quantities, and no ratings.

    Amounts are whole numbers from 1 on, more than half of them 1, with a maximum above 5.
    ``rating`` is float64 of shape (n_ratings,).
    """
    is_positive = rating.min() >= 1.0
    has_long_tail = rating.max() > USUAL_TOP
    if not (is_positive and has_long_tail):
        return False
    is_whole = bool((rating == np.floor(rating)).all())
    share_of_ones = float((rating == 1.0).mean())
    return is_whole and share_of_ones > HALF


LOW_UNRATED: Final = (0.0, -1.0, -9.0, -99.0, -999.0)
HIGH_UNRATED: Final = (99.0, 999.0, 9999.0)
"""Values that stand for a rating that is not there."""

HIGHEST_OF_SCALES: Final = 10.0


def value_of_unrated(rating: Floats) -> float | None:
    """Find the value, such as 0, -1 or 99, that seems to mean "not rated"; None if none does.

    A low one is the lowest value, the next value is at least 1 and the highest at least 5; and,
    besides, the next value is more than 1 above it, or a fifth of all ratings have it. A high one
    is the highest value, and all others are at most 10.

    Parameters
    ----------
    rating
        The ratings, float64 of shape (n_ratings,).
    """
    lowest = float(rating.min())
    highest = float(rating.max())
    if lowest not in LOW_UNRATED and highest not in HIGH_UNRATED:
        return None
    values, counts = np.unique(rating, return_counts=True)
    if highest in HIGH_UNRATED and len(values) > 2 and values[-2] <= HIGHEST_OF_SCALES:
        return highest
    if lowest not in LOW_UNRATED or len(values) < 2:
        return None
    next_value = values[1]
    is_scale = next_value >= 1.0 and values[-1] >= USUAL_TOP
    has_gap = next_value - lowest > 1.0
    is_frequent = counts[0] >= FIFTH * len(rating)
    return lowest if is_scale and (has_gap or is_frequent) else None


def describe_values(rating: Floats) -> str:
    """Word how often each rating of a column of shape (n,) occurs, in percent, as "4 (25 %), ...".

    For more than 11 distinct ratings, words the lowest, the highest and the quartiles instead.
    """
    distinct_ratings, counts = np.unique(rating, return_counts=True)
    if len(distinct_ratings) <= MAX_LISTED_RATINGS:
        shares = counts / len(rating)
        listed = []
        for value, share in zip(distinct_ratings, shares, strict=True):
            listed.append(f"{value:g} ({_percent(share)})")
        return ", ".join(listed)
    lowest = distinct_ratings[0]
    highest = distinct_ratings[-1]
    first, second, third = np.quantile(rating, QUARTERS[::-1])
    return (
        f"from {lowest:g} to {highest:g}; a quarter up to {first:g}, half up to {second:g}, three "
        f"quarters up to {third:g}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
