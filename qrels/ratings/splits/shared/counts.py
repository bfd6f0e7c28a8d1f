"""What became of the ratings in a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings, Split


@dataclass(frozen=True)
class SplitCounts:
    """What became of the ratings in a split, and of those who are hard to serve.

    Parameters
    ----------
    train_ratings, test_ratings, dropped_ratings
        Their sum is the number of ratings that were split.
    test_users
        Users with test ratings.
    train_only_users
        Users with training ratings alone: they are not evaluated.
    dropped_users
        Users who lost all their ratings.
    cold_users
        Test users without training ratings.
    cold_items
        Items with test ratings and without training ratings: nothing can be learnt of them.
    """

    train_ratings: int
    test_ratings: int
    dropped_ratings: int
    test_users: int
    train_only_users: int
    dropped_users: int
    cold_users: int
    cold_items: int

    @classmethod
    def of(cls, ratings: Ratings, split: Split) -> Self:
        """Count, given what was split and the result."""
        known, trained, tested = (
            part.user_counts() > 0 for part in (ratings, split.train, split.test)
        )
        trained_items, tested_items = (part.item_counts() > 0 for part in (split.train, split.test))
        return cls(
            train_ratings=len(split.train),
            test_ratings=len(split.test),
            dropped_ratings=len(ratings) - len(split.train) - len(split.test),
            test_users=_count(tested),
            train_only_users=_count(trained & ~tested),
            dropped_users=_count(known & ~trained & ~tested),
            cold_users=_count(tested & ~trained),
            cold_items=_count(tested_items & ~trained_items),
        )


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))
