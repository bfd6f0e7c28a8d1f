"""Equally many ratings of each item that is tested."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from pydantic import Field

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, random_order, random_order_by_item, split
from runs import InputError
from runs.shared.arrays import Numbers
from runs.shared.settings import Whole


class Settings(SplitSettings):
    """Number of test ratings per item, and their maximum share."""

    item_ratings: Whole | None = Field(
        None,
        ge=1,
        description="Number of test ratings of each tested item; default: the number that gives "
        "the most test ratings.",
    )
    item_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="Maximum share of an item's ratings in the test set. Items where this is less "
        "than `item_ratings` are in the training set only.",
    )


@split("uniform-items", source="Bellogín, Castells & Cantador (2017), UAR")
def uniform_items(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    r"""Test the same number of ratings of every item; items with few ratings only train.

    Of an item with n ratings at most :math:`\lfloor \mathrm{item\_share} \cdot n \rfloor` may be
    tested. Where these are `item_ratings` or more, exactly so many are, at random: items that were
    popular in training are not relevant more often in the test. One rating of each user, at random,
    only trains, so that every test user keeps one; an item with too few beside those is not tested.

    Raises
    ------
    InputError
        If no item has enough ratings.

    Notes
    -----
    These are the uniform test item profiles of the paper, which ranks all relevant items of a user
    together. With ``candidates = "test"`` in [systems] tested items are ranked among themselves;
    otherwise items with too few ratings compete, none of which can be relevant. All test ratings
    are counted, whether they reach the threshold or not.

    Examples
    --------
    One rating of each item that has two, a share of 0.5, seed 1::

                   ratings       train         test
        ann      1 2 3 4 .     1 . 3 4 .     . 2 . . .
        bob      1 . 3 . 5     . . . . 5     1 . 3 . .
        cid      1 2 3 . .     1 2 3 . .     . . . . .
    """
    # Of each user the first rating in random order only trains.
    may_test = random_order(ratings, seed) > 0
    candidates = ratings.select(may_test)
    n_candidates = candidates.item_counts()
    n_allowed = _shares_of_items(ratings, settings.item_share)
    # By default the number per item that gives the most test ratings in all.
    n_test = settings.item_ratings or _largest_test(n_allowed)
    is_tested_item = (n_allowed >= n_test) & (n_candidates >= n_test)
    if not is_tested_item.any():
        raise InputError(
            f"no item has enough ratings to test {n_test:,} of them, at most {settings.item_share} "
            "of its ratings (`item_share`) and not the last of a user: the most rated item has "
            f"{ratings.item_counts().max(initial=0):,}."
        )
    n_train = n_candidates - n_test
    # Positions from 0 among the candidate ratings of the item, in random order.
    is_last = random_order_by_item(candidates, seed) >= n_train[candidates.item]
    tested = np.zeros(len(ratings), dtype=np.bool_)
    tested[may_test] = is_last & is_tested_item[candidates.item]
    return Split(ratings.select(~tested), ratings.select(tested))


def _shares_of_items(ratings: Ratings, share: float) -> Numbers:
    """Compute a share of the ratings of each item, rounded down, of shape (n_items,).

    The share is exact, as it is written.
    """
    exact_share = Fraction(str(share))
    sizes, size_of_item = np.unique(ratings.item_counts(), return_inverse=True)
    shares = [floor(exact_share * n_ratings) for n_ratings in sizes.tolist()]
    return np.array(shares, dtype=np.intp)[size_of_item]


def _largest_test(n_allowed: Numbers) -> int:
    """Choose the number of test ratings per item that gives the most test ratings; at least 1.

    ``n_allowed``: how many ratings of each item may be tested, of shape (n_items,). A number n
    gives n times the items of which n may be tested; of two such numbers the smaller is chosen.
    """
    sorted_numbers = np.sort(n_allowed)[::-1]
    totals = sorted_numbers * np.arange(1, len(sorted_numbers) + 1)
    n_after_best = int(totals[::-1].argmax())
    last_best = len(totals) - 1 - n_after_best
    return max(int(sorted_numbers[last_best]), 1)
