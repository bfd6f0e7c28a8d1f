"""A random share of each user's ratings."""

from __future__ import annotations

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import (
    SplitSettings,
    TestShare,
    hold_out_last,
    n_test_by_share,
    random_order,
    split,
)


class Settings(SplitSettings):
    """Share of test ratings."""

    test_share: TestShare = 0.2


@split("user-random", source="Valcarce et al. (2018)")
def user_random(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    r"""Hold out a random share of each user's ratings.

    Of n ratings, :math:`\lfloor \mathrm{share} \cdot n + 1/2 \rfloor` are tested, at most n - 1;
    the share is exact, 0.2 being one fifth. A user with one rating only trains.

    Examples
    --------
    A share of 0.4, seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     1 . 3 4 .     . 2 . . 5
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    n_test = n_test_by_share(ratings, settings.test_share)
    return hold_out_last(ratings, random_order(ratings, seed), n_test)
