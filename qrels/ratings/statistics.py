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
    the ratings of a user and of an item; lowest, highest and number of distinct ratings; and the
    ``first`` and ``last`` time in UTC, None without times.

    Examples
    --------
    One user rates both items, another only the first:

    >>> from runs import Numbering
    >>> ids = Numbering.of(["a", "b"])
    >>> user, item = np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int32)
    >>> found = describe(Ratings(ids, ids, user, item, np.array([4.0, 5.0, 4.0])))
    >>> found["density"], found["distinct_ratings"], found["item_median"]
    (0.75, 2, 1.5)
    """
    if len(ratings) == 0:
        raise InputError("there are no ratings to describe.")
    of_users, of_items = (c[c > 0] for c in (ratings.user_counts(), ratings.item_counts()))
    time = ratings.time
    return {
        "users": len(of_users),
        "items": len(of_items),
        "ratings": len(ratings),
        "density": len(ratings) / (len(of_users) * len(of_items)),
        "gini": gini(of_items),
        **_spread("user", of_users),
        **_spread("item", of_items),
        "lowest_rating": float(ratings.rating.min()),
        "highest_rating": float(ratings.rating.max()),
        "distinct_ratings": len(np.unique(ratings.rating)),
        "first": None if time is None else _date(int(time.min())),
        "last": None if time is None else _date(int(time.max())),
    }


def _spread(side: str, counts: Integers) -> dict[str, float]:
    found = {"minimum": int(counts.min()), "median": float(np.median(counts))}
    return {f"{side}_{part}": n for part, n in (found | {"maximum": int(counts.max())}).items()}


def gini(counts: Integers) -> float:
    r"""Gini index of counts: 0 if all are equal, near 1 if one has everything.

    .. math:: G = \frac{\sum_{i=1}^{n} (2i - n - 1)\, x_{(i)}}{n \sum_{i=1}^{n} x_{(i)}}

    with the counts :math:`x_{(1)} \le \dots \le x_{(n)}` in rising order: half the mean absolute
    difference of two counts, relative to their mean.

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
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * np.sort(counts)).sum() / (n * counts.sum()))


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")


USUAL_THRESHOLD: Final = 4.0
USUAL_TOP: Final = 5.0
QUARTERS: Final = (0.75, 0.5, 0.25)
FEW: Final = 11


@dataclass(frozen=True)
class Threshold:
    """A threshold, and what it makes of ratings that are tested.

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
        """Count what a threshold makes of ratings, of which there is at least one."""
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


def candidate_thresholds(rating: Floats) -> tuple[float, ...]:
    """Give up to three thresholds, falling: the quartiles, or the highest rating.

    The lowest rating is not among them: nothing would be below it.
    """
    quartiles = np.quantile(rating, QUARTERS, method="higher")
    found = [float(value) for value in dict.fromkeys(quartiles) if value > rating.min()]
    return tuple(found) or (float(rating.max()),)


def propose_threshold(tested: Ratings, candidates: tuple[float, ...]) -> float:
    """Choose the threshold that leaves the fewest users without one of both kinds of judgements."""
    effects = [Threshold.evaluate(tested, value) for value in candidates]
    return min(effects, key=lambda e: e.without_relevant + e.without_nonrelevant).value


def describe_values(rating: Floats) -> str:
    """Say how often each rating occurs; of many different ones, where the quarters end."""
    distinct, counts = np.unique(rating, return_counts=True)
    if len(distinct) <= FEW:
        pairs = zip(distinct, counts / len(rating), strict=True)
        return ", ".join(f"{value:g} ({_percent(share)})" for value, share in pairs)
    first, second, third = np.quantile(rating, QUARTERS[::-1])
    return (
        f"from {distinct[0]:g} to {distinct[-1]:g}; a quarter up to {first:g}, half up to "
        f"{second:g}, three quarters up to {third:g}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
