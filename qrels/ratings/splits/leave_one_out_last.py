"""The latest rating of each user."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import (
    SplitSettings,
    TimeTies,
    hold_out_last,
    n_test_of_one,
    order_in_time,
    split,
)


class Settings(SplitSettings):
    """Order of ratings in the same second."""

    time_ties: TimeTies = "item"


@split("leave-one-out-last", source="He et al. (2017)")
def leave_one_out_last(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    """Hold out the latest rating of each user who has two or more.

    The seed decides between ratings of one second, where ties are random.

    Examples
    --------
    ::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 4 3     5 . . . .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    position = order_in_time(ratings, settings.time_ties, seed)
    return hold_out_last(ratings, position, n_test_of_one(ratings))
