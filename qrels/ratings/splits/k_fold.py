"""One of k parts of each user's ratings."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, random_order, split, user_hashes
from runs.shared.settings import Whole, not_above


class Settings(SplitSettings):
    """Number of folds, and the fold to test."""

    folds: Whole = Field(5, ge=2, description="Number of folds.")
    fold: Annotated[Whole, Field(ge=1), not_above("folds")] = Field(
        1, description="Number of the fold to test, from 1."
    )


@split("k-fold", source="Stone (1974)")
def k_fold(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    """Cross-validation: test one fold; each fold has an equal share of each user's ratings.

    A user's ratings are dealt out in random order, beginning with a random fold. A user with one
    rating only trains, in all folds.

    Examples
    --------
    The first of two folds, seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     . . . 4 5     1 2 3 . .
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    n_folds = settings.folds
    hash_of_fold = user_hashes(ratings, seed) % np.uint64(n_folds)
    first_fold = hash_of_fold.astype(np.intp)
    # Position of each rating, from 0, among its user's in random order.
    position = random_order(ratings, seed)
    fold = (first_fold[ratings.user] + position) % n_folds
    is_in_fold = fold == settings.fold - 1
    has_several = ratings.user_counts() > 1
    tested = is_in_fold & has_several[ratings.user]
    return Split(ratings.select(~tested), ratings.select(tested))
