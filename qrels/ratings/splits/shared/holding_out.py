"""Holding out the last of each user's ratings, in random order or in time."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splits.shared.split import TimeTies
from runs import InputError
from runs.shared.streams import id_hashes, mixed


def hold_out_last(ratings: Ratings, position: NDArray[np.intp], n_test: NDArray[np.intp]) -> Split:
    """Test the last ``n_test`` of each user, of shape (n_users,), in this order.

    The position is that of every rating among its user's, from 0, of shape (n_ratings,).
    """
    n_train = ratings.user_counts() - n_test
    tested = position >= n_train[ratings.user]
    return Split(ratings.select(~tested), ratings.select(tested))


def rounded_share(share: float, n: int) -> int:
    """Round a share of n, as it is written, to the nearest whole number, halves up.

    Examples
    --------
    0.29 * 50 + 0.5 is 14.999999999999998 in floating point:

    >>> rounded_share(0.29, 50)
    15
    """
    return floor(Fraction(str(share)) * n + Fraction(1, 2))


def share_of_each(ratings: Ratings, share: float) -> NDArray[np.intp]:
    """Count the ratings to test of each user, all but one at most, of shape (n_users,)."""
    sizes, size_of_user = np.unique(ratings.user_counts(), return_inverse=True)
    wanted = [min(rounded_share(share, n), max(n - 1, 0)) for n in sizes.tolist()]
    return np.array(wanted, dtype=np.intp)[size_of_user]


def one_of_two(ratings: Ratings) -> NDArray[np.intp]:
    """Count one rating to test of each user who has two, of shape (n_users,)."""
    return (ratings.user_counts() >= 2).astype(np.intp)


def random_order(ratings: Ratings, seed: int) -> NDArray[np.intp]:
    """Order each user's ratings as seed, user id and item id alone decide."""
    return _order(ratings.user, _keys(ratings, seed))


def random_order_by_item(ratings: Ratings, seed: int) -> NDArray[np.intp]:
    """Order each item's ratings as seed, user id and item id alone decide."""
    return _order(ratings.item, _keys(ratings, seed))


def order_in_time(ratings: Ratings, time_ties: TimeTies, seed: int) -> NDArray[np.intp]:
    """Order each user's ratings from the first to the latest.

    Raises
    ------
    InputError
        If there are no times.
    """
    times = times_of(ratings)
    if time_ties == "item":
        return _order(ratings.user, times)
    return _order(ratings.user, times, _keys(ratings, seed))


def times_of(ratings: Ratings) -> NDArray[np.int64]:
    """Insist on times.

    Raises
    ------
    InputError
        If there are none.
    """
    if ratings.time is None:
        raise InputError("a split by time needs ratings with times, these have none.")
    return ratings.time


def user_hashes(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Give each user a random number that only seed and user id decide."""
    return id_hashes(ratings.users.ids, f"user {seed}")


def _order(groups: NDArray[np.int32], *keys: NDArray[np.integer]) -> NDArray[np.intp]:
    """Give each rating its position, from 0, in its group by rising keys, the first leading.

    Ratings whose keys are equal keep their order.
    """
    counts = np.bincount(groups)
    starts = np.cumsum(counts) - counts
    position = np.empty(len(groups), dtype=np.intp)
    position[np.lexsort((*reversed(keys), groups))] = np.arange(len(groups))
    return position - starts[groups]


def _keys(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Give each rating a random number that only seed, user id and item id decide."""
    items = id_hashes(ratings.items.ids, "item")
    return mixed(user_hashes(ratings, seed)[ratings.user] + items[ratings.item])
