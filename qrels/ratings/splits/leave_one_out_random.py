"""One rating of each user, at random."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, hold_out_last, n_test_of_one, random_order, split


@split("leave-one-out-random", source="Deshpande & Karypis (2004)")
def leave_one_out_random(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    """Hold out one rating, at random, of each user who has two or more.

    Examples
    --------
    Seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     1 . 3 4 5     . 2 . . .
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    position = random_order(ratings, seed)
    return hold_out_last(ratings, position, n_test_of_one(ratings))
