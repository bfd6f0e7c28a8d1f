"""The latest share of each user's ratings."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import (
    SplitSettings,
    TestShare,
    hold_out_last,
    order_in_time,
    share_of_each,
    split,
)


class Settings(SplitSettings):
    """Share of test ratings."""

    test_share: TestShare = 0.2


@split("user-last", source="Campos et al. (2014)")
def user_last(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    """Hold out the latest ratings of each user, as many as `user_random` holds out.

    Ratings in one second are ordered by item number.

    Examples
    --------
    A share of 0.4; bob rated three items in one second::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 . 3     5 . . 4 .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    n_test = share_of_each(ratings, settings.test_share)
    return hold_out_last(ratings, order_in_time(ratings), n_test)
