"""The latest share of each user's ratings."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import (
    SplitSettings,
    TestShare,
    TimeTies,
    hold_out_last,
    n_test_by_share,
    order_in_time,
    split,
)


class Settings(SplitSettings):
    """Share of test ratings, and the order of ratings in the same second."""

    test_share: TestShare = 0.2
    time_ties: TimeTies = "item"


@split("user-last", source="Campos et al. (2014)")
def user_last(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    """Hold out the latest ratings of each user, as many as `user_random` holds out.

    The seed decides between ratings of one second, where ties are random.

    Examples
    --------
    A share of 0.4; bob rated three items in one second::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 . 3     5 . . 4 .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    position = order_in_time(ratings, settings.time_ties, seed)
    return hold_out_last(ratings, position, n_test_by_share(ratings, settings.test_share))
