"""Splitters: which ratings train and which test.

LensKit's splitters are not used: its `LastFrac` can put a whole profile in the test set, `SampleN`
and `LastN` leave short profiles untrained, `sample_users` can ignore its seed, and
`crossfold_users` folds users, not ratings. Here every test user keeps a training rating, unless
time itself forbids it, and a seed means the same split everywhere: each user's random order comes
from a hash of seed, user id and item id, so neither the order of rows nor the presence of other
users matters.

In the tables below a row is a user, a column an item, a number the time of a rating.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from math import floor
from types import MappingProxyType
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings, Split
from runs import InputError
from runs.shared.streams import mixed

Share: TypeAlias = float | Fraction
TimeTies: TypeAlias = Literal["item", "random"]


def user_random(ratings: Ratings, *, test_share: Share, seed: int) -> Split:
    r"""Hold out a random share of each user's ratings.

    Of n ratings, :math:`\lfloor \mathrm{share} \cdot n + 1/2 \rfloor` are tested, at most n - 1;
    the share is exact, 0.2 being one fifth. A user with one rating only trains.

    Parameters
    ----------
    ratings
        The ratings to split.
    test_share
        Share of ratings to test, above 0 and below 1.
    seed
        Seed of the draw.

    Raises
    ------
    InputError
        If the share is out of range.

    Examples
    --------
    A share of 0.4, seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     1 . 3 4 .     . 2 . . 5
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    n_test = _n_test(ratings, test_share)
    return _hold_out_last(ratings, _order(ratings, _keys(ratings, seed)), n_test)


def user_last(
    ratings: Ratings,
    *,
    test_share: Share,
    time_ties: TimeTies = "item",
    seed: int | None = None,
) -> Split:
    """Hold out the latest share of each user's ratings, as many as `user_random` does.

    Parameters
    ----------
    ratings, test_share
        As in `user_random`; the ratings need times.
    time_ties
        Which of a user's ratings of one second counts as later: the higher item number
        (``"item"``), or one at random.
    seed
        Seed of the draw, where ``time_ties`` is ``"random"``.

    Raises
    ------
    InputError
        If there are no times, the share is out of range, or random ties have no seed.

    Examples
    --------
    A share of 0.4; bob rated three items in one second::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 . 3     5 . . 4 .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    n_test = _n_test(ratings, test_share)
    return _hold_out_last(ratings, _order_in_time(ratings, time_ties, seed), n_test)


def leave_one_out_random(ratings: Ratings, *, seed: int) -> Split:
    """Hold out one rating, at random, of each user who has two or more.

    Parameters
    ----------
    ratings, seed
        As in `user_random`.

    Examples
    --------
    Seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     1 . 3 4 5     . 2 . . .
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    return _hold_out_last(ratings, _order(ratings, _keys(ratings, seed)), _one_of_two(ratings))


def leave_one_out_last(
    ratings: Ratings, *, time_ties: TimeTies = "item", seed: int | None = None
) -> Split:
    """Hold out the latest rating of each user who has two or more.

    Parameters
    ----------
    ratings, time_ties, seed
        As in `user_last`.

    Raises
    ------
    InputError
        If there are no times, or random ties have no seed.

    Examples
    --------
    ::

                   ratings       train         test
        ann      5 1 2 4 3     . 1 2 4 3     5 . . . .
        bob      7 . 7 7 .     7 . 7 . .     . . . 7 .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    return _hold_out_last(ratings, _order_in_time(ratings, time_ties, seed), _one_of_two(ratings))


def global_time(
    ratings: Ratings,
    *,
    test_share: Share | None = None,
    cut: int | None = None,
    cold_users: Literal["drop", "keep"] = "drop",
) -> Split:
    r"""Train on what came before a moment, test on what came at it or after.

    Parameters
    ----------
    ratings
        The ratings to split; they need times.
    test_share
        Share of all N ratings to test, above 0 and below 1: the cut is the time of the
        :math:`\lfloor \mathrm{share} \cdot N + 1/2 \rfloor`-th latest, at least the first. Ratings
        of that second are all tested, so there may be more.
    cut
        Seconds since 1970 in UTC, in place of a share.
    cold_users
        Whether users without a rating before the cut are dropped from the test ratings, or kept.
        `SplitCounts` tells how many there are.

    Raises
    ------
    InputError
        If there are no times, not exactly one of share and cut is given, or all ratings lie on
        one side of the cut.

    Examples
    --------
    The cut is 5; dan is cold and dropped::

                   ratings       train         test
        ann      1 2 5 . 6     1 2 . . .     . . 5 . 6
        bob      . 3 4 . .     . 3 4 . .     . . . . .
        cid      4 . . 7 .     4 . . . .     . . . 7 .
        dan      . . 8 9 .     . . . . .     . . . . .
    """
    later = _times(ratings) >= _cut(ratings, test_share, cut)
    if later.all() or not later.any():
        raise InputError(
            f"a global-time split needs ratings before and after its cut, got {(~later).sum()} "
            f"before and {later.sum()} after."
        )
    train = ratings.select(~later)
    tested = later & (train.user_counts() > 0)[ratings.user] if cold_users == "drop" else later
    return Split(train, ratings.select(tested))


def k_fold(ratings: Ratings, *, folds: int, seed: int) -> Sequence[Split]:
    """Test each rating once, in folds that are balanced within each user.

    A user's ratings are dealt out in random order, beginning with a random fold. A user with one
    rating only trains, in all folds.

    Parameters
    ----------
    ratings, seed
        As in `user_random`.
    folds
        Number of folds, at least 2.

    Returns
    -------
    One split per fold.

    Raises
    ------
    InputError
        If there are fewer than two folds.

    Examples
    --------
    The first of two folds, seed 1::

                   ratings       train         test
        ann      1 2 3 4 5     . . . 4 5     1 2 3 . .
        bob      . 1 2 . .     . 1 . . .     . . 2 . .
        cid      . . 3 . .     . . 3 . .     . . . . .
    """
    if folds < 2:
        raise InputError(f"`folds` must be at least 2, got {folds}.")
    fold = _folds(ratings, folds=folds, seed=seed)
    return [Split(ratings.select(fold != k), ratings.select(fold == k)) for k in range(folds)]


Splitter: TypeAlias = Callable[..., Split | Sequence[Split]]

SPLITS: Mapping[str, Splitter] = MappingProxyType(
    {
        "user-random": user_random,
        "user-last": user_last,
        "leave-one-out-random": leave_one_out_random,
        "leave-one-out-last": leave_one_out_last,
        "global-time": global_time,
        "k-fold": k_fold,
    }
)


@dataclass(frozen=True)
class SplitCounts:
    """What became of the ratings in a split, and of those who are hard to serve.

    Parameters
    ----------
    train_ratings, test_ratings, dropped_ratings
        Their sum is the number of ratings that were split.
    test_users
        Users with test ratings.
    train_only_users
        Users with training ratings alone: they are not evaluated.
    dropped_users
        Users who lost all their ratings.
    cold_users
        Test users without training ratings.
    cold_items
        Items with test ratings and without training ratings: nothing can be learnt of them.
    """

    train_ratings: int
    test_ratings: int
    dropped_ratings: int
    test_users: int
    train_only_users: int
    dropped_users: int
    cold_users: int
    cold_items: int

    @classmethod
    def of(cls, ratings: Ratings, split: Split) -> Self:
        """Count, given what was split and the result."""
        known, trained, tested = (
            part.user_counts() > 0 for part in (ratings, split.train, split.test)
        )
        trained_items, tested_items = (part.item_counts() > 0 for part in (split.train, split.test))
        return cls(
            train_ratings=len(split.train),
            test_ratings=len(split.test),
            dropped_ratings=len(ratings) - len(split.train) - len(split.test),
            test_users=_count(tested),
            train_only_users=_count(trained & ~tested),
            dropped_users=_count(known & ~trained & ~tested),
            cold_users=_count(tested & ~trained),
            cold_items=_count(tested_items & ~trained_items),
        )


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))


def _exact(share: Share) -> Fraction:
    """Read a share as it is written: 0.2 is one fifth.

    Examples
    --------
    >>> _exact(0.2)
    Fraction(1, 5)
    """
    if not 0 < share < 1:
        raise InputError(f"`test_share` must be above 0 and below 1, got {share}.")
    return share if isinstance(share, Fraction) else Fraction(str(float(share)))


def _rounded(share: Fraction, n: int) -> int:
    """Round a share of n to the nearest whole number, halves up."""
    return floor(share * n + Fraction(1, 2))


def _n_test(ratings: Ratings, share: Share) -> NDArray[np.intp]:
    """Count the ratings to test of each user, of shape (n_users,)."""
    exact = _exact(share)
    sizes, size_of_user = np.unique(ratings.user_counts(), return_inverse=True)
    wanted = [min(_rounded(exact, n), max(n - 1, 0)) for n in sizes.tolist()]
    return np.array(wanted, dtype=np.intp)[size_of_user]


def _one_of_two(ratings: Ratings) -> NDArray[np.intp]:
    """Count one rating to test of each user who has two, of shape (n_users,)."""
    return (ratings.user_counts() >= 2).astype(np.intp)


def _hold_out_last(ratings: Ratings, position: NDArray[np.intp], n_test: NDArray[np.intp]) -> Split:
    """Test the last ``n_test`` of each user in this order."""
    n_train = ratings.user_counts() - n_test
    tested = position >= n_train[ratings.user]
    return Split(ratings.select(~tested), ratings.select(tested))


def _order(ratings: Ratings, *keys: NDArray[np.integer]) -> NDArray[np.intp]:
    """Give each rating its position, from 0, among its user's by rising keys, the first leading.

    Ratings whose keys are equal keep the order of their item numbers.
    """
    counts = ratings.user_counts()
    starts = np.cumsum(counts) - counts
    position = np.empty(len(ratings), dtype=np.intp)
    position[np.lexsort((*reversed(keys), ratings.user))] = np.arange(len(ratings))
    return position - starts[ratings.user]


def _order_in_time(ratings: Ratings, time_ties: TimeTies, seed: int | None) -> NDArray[np.intp]:
    """Order each user's ratings from the first to the latest."""
    times = _times(ratings)
    if time_ties == "item":
        return _order(ratings, times)
    if seed is None:
        raise InputError('`time_ties = "random"` needs a seed.')
    return _order(ratings, times, _keys(ratings, seed))


def _times(ratings: Ratings) -> NDArray[np.int64]:
    """Insist on times."""
    if ratings.time is None:
        raise InputError("a split by time needs ratings with times, these have none.")
    return ratings.time


def _cut(ratings: Ratings, test_share: Share | None, cut: int | None) -> int:
    """Give the cut as it is, or where the share puts it."""
    if cut is None and test_share is not None:
        n_test = max(_rounded(_exact(test_share), len(ratings)), 1)
        return int(np.sort(_times(ratings))[-n_test])
    if cut is not None and test_share is None:
        return cut
    raise InputError("a global-time split needs `test_share` or `cut`, and not both.")


def _folds(ratings: Ratings, *, folds: int, seed: int) -> NDArray[np.intp]:
    """Deal the ratings of each user out; -1 where a user has only one."""
    first = (_user_hashes(ratings, seed) % np.uint64(folds)).astype(np.intp)
    fold = (first[ratings.user] + _order(ratings, _keys(ratings, seed))) % folds
    return np.where(ratings.user_counts()[ratings.user] > 1, fold, -1)


def _keys(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Give each rating a random number that only seed, user id and item id decide."""
    items = id_hashes(ratings.items.ids, "item")
    return mixed(_user_hashes(ratings, seed)[ratings.user] + items[ratings.item])


def _user_hashes(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    return id_hashes(ratings.users.ids, f"user {seed}")


def id_hashes(ids: NDArray[np.str_], name: str) -> NDArray[np.uint64]:
    """Hash each id once, into 64 bits that are the same on every machine."""
    start = blake2b(name.encode(), digest_size=8)
    digests = bytearray()
    for text in ids.tolist():
        state = start.copy()
        state.update(b"\n" + text.encode())
        digests += state.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
