"""A random share of each user's ratings, tested on items of one percentile of popularity."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splits.user_random import Settings as RandomShare
from qrels.ratings.splits.user_random import user_random
from qrels.ratings.splitter import SplitSettings, TestShare, split
from runs import InputError
from runs.shared.arrays import Numbers
from runs.shared.settings import Whole, not_above


class Settings(SplitSettings):
    """Share of test ratings, and the popularity percentile of the tested items."""

    test_share: TestShare = 0.2
    percentiles: Whole = Field(
        10, ge=2, description="Number of percentiles, each with about the same number of ratings."
    )
    percentile: Annotated[Whole, Field(ge=1), not_above("percentiles")] = Field(
        1, description="Percentile to test; 1 has the most popular items."
    )


@split("popularity-percentile", source="Bellogín, Castells & Cantador (2017), P1R")
def popularity_percentile(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    r"""Split like `user_random`, and test only items of one popularity percentile.

    Items are sorted by falling numbers of ratings (of equal ones the lower item number is first)
    and cut into m percentiles with about equally many of all N ratings: an item with n ratings,
    after items with a ratings in all, is of percentile
    :math:`\lfloor m (a + n / 2) / N \rfloor + 1`. What is held out of other percentiles neither
    trains nor tests, so all percentiles have one training part, and their test parts make up that
    of `user_random`.

    Raises
    ------
    InputError
        If no rating of the percentile is held out.

    Notes
    -----
    With ``candidates = "test"`` in [systems] the tested items of the percentile are ranked among
    themselves; without it they compete with items of all percentiles. One study tests one
    percentile, as one study of `k_fold` tests one fold: its topics are users, and what the paper
    averages is averaged over studies, by ``harness discriminate`` of all their folders. In a study
    of users x percentiles the topics would depend on one another, and no paired test would hold.
    The paper's P1R ranks one relevant item at a time among others (1R); here all relevant items of
    a user are in one ranking.

    Examples
    --------
    The second of two percentiles, a share of 0.4, seed 1. Items a and b have six of the ten
    ratings::

                   ratings       train         test
        ann      1 2 3 4 .     1 . . 4 .     . . 3 . .
        bob      1 2 . . 5     . 2 . . 5     . . . . .
        cid      1 2 3 . .     . 2 3 . .     . . . . .
    """
    held_out = user_random(ratings, RandomShare(test_share=settings.test_share), seed=seed)
    percentiles = percentile_of_items(ratings, settings.percentiles)
    is_in_percentile = percentiles == settings.percentile - 1
    test = held_out.test.select(is_in_percentile[held_out.test.item])
    if len(test) == 0:
        raise InputError(
            f"percentile {settings.percentile} of {settings.percentiles} has "
            f"{np.count_nonzero(is_in_percentile):,} items, and none of their ratings is held out."
        )
    return Split(held_out.train, test)


def percentile_of_items(ratings: Ratings, n: int) -> Numbers:
    r"""Compute the percentile of popularity of every item, from 0 to n - 1, of shape (n_items,).

    Items are sorted by falling numbers of ratings, equal ones by item number. An item with c of all
    N ratings, after items with a ratings in all, is of percentile
    :math:`\lfloor n (a + c / 2) / N \rfloor`, at most n - 1; percentile 0 is the most popular.
    """
    item_counts = ratings.item_counts()
    order = np.argsort(-item_counts, kind="stable")
    sorted_counts = item_counts[order]
    # Twice the number of ratings up to the middle of each item, so that it is whole.
    twice_middle = 2 * np.cumsum(sorted_counts) - sorted_counts
    percentiles = np.empty(len(item_counts), dtype=np.intp)
    twice_total = 2 * max(len(ratings), 1)
    percentiles[order] = n * twice_middle // twice_total
    return np.minimum(percentiles, n - 1)
