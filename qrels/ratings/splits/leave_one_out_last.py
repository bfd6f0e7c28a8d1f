"""The latest rating of each user."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, hold_out_last, one_of_two, order_in_time, split


@split("leave-one-out-last", source="He et al. (2017)")
def leave_one_out_last(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    """Hold out the latest rating of each user who has two or more.

    Of ratings in one second, the one of the highest item number is the latest.

    Examples
    --------
    ::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 4 3     5 . . . .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    return hold_out_last(ratings, order_in_time(ratings), one_of_two(ratings))
