"""What a split is (name, publication, settings), the register of splits, and held-out ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial, wraps
from math import floor
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.ratings import Ratings, Split
from runs import InputError
from runs.shared.arrays import Integers, Ints, Longs, Numbers
from runs.shared.fields import place_in_group
from runs.shared.members import Member, find_member, load_module, user_code
from runs.shared.settings import Section
from runs.shared.streams import id_hashes, splitmix64

TestShare = Annotated[float, Field(gt=0, lt=1, description="Share of ratings in the test set.")]
TimeTies: TypeAlias = Annotated[
    Literal["item", "random"],
    Field(
        description="Order of ratings of a user in the same second: by item number, or at random."
    ),
]


class SplitSettings(Section):
    """Settings of a split: described fields with ranges; unknown names are refused."""

    def find_parts(self) -> SplitFiles | None:
        """Find the files of the parts, if they are given and not drawn; by default None."""
        return None

    def within_training(self) -> Self:
        """Derive the settings that split the training part again; by default the same."""
        return self


SettingsT = TypeVar("SettingsT", bound=SplitSettings)


HoldsOut: TypeAlias = Callable[..., Split]
"""Divides ratings by settings and a seed; equal arguments give equal parts."""


@dataclass(frozen=True)
class Splitter(Member[SettingsT]):
    """A split, as its file declares it.

    Parameters
    ----------
    name, source
        See `Member`.
    make
        Divides ratings; its annotations name the class of its settings.
    """

    make: HoldsOut

    def __call__(self, ratings: Ratings, settings: SettingsT | None = None, *, seed: int) -> Split:
        """Divide ratings; with the defaults if no settings are given."""
        chosen_settings = self.settings() if settings is None else settings
        return self.make(ratings, chosen_settings, seed=seed)


def split(name: str, *, source: str) -> Callable[[HoldsOut], Splitter[Any]]:
    """Declare a function of ratings, settings and a seed as a split.

    Parameters
    ----------
    name, source
        See `Member`.

    Examples
    --------
    >>> @split("by-item", source="-")
    ... def by_item(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    ...     '''Hold out every second item.'''
    ...     tested = ratings.item % 2 == 1
    ...     return Split(ratings.select(~tested), ratings.select(tested))
    >>> by_item.name, by_item.summary
    ('by-item', 'Hold out every second item.')
    """
    return partial(Splitter, name, source)


def split_counts(ratings: Ratings, split: Split) -> dict[str, int]:
    """Count the ratings in each part of a split, and users and items that are hard to serve.

    ``ratings`` are those that were split. Train-only users have training ratings only, dropped
    users have ratings in neither part, and cold users and items have test ratings only. The counts
    are by their names.
    """
    has_ratings = ratings.user_counts() > 0
    is_trained = split.train.user_counts() > 0
    is_tested = split.test.user_counts() > 0
    is_train_only = is_trained & ~is_tested
    is_dropped = has_ratings & ~is_trained & ~is_tested
    is_cold = is_tested & ~is_trained
    item_is_trained = split.train.item_counts() > 0
    item_is_tested = split.test.item_counts() > 0
    item_is_cold = item_is_tested & ~item_is_trained
    n_kept = len(split.train) + len(split.test)
    counts: dict[str, int] = {}
    counts["train_ratings"] = len(split.train)
    counts["test_ratings"] = len(split.test)
    counts["dropped_ratings"] = len(ratings) - n_kept
    counts["test_users"] = int(is_tested.sum())
    counts["train_only_users"] = int(is_train_only.sum())
    counts["dropped_users"] = int(is_dropped.sum())
    counts["cold_users"] = int(is_cold.sum())
    counts["cold_items"] = int(item_is_cold.sum())
    return counts


OLDER_TESTS = "test_ratings_older_than_training"
NEWER_TRAINING = "training_ratings_newer_than_test"


def leakage(split: Split) -> dict[str, float]:
    """Compute the shares of ratings by which training data contain the future.

    Of the test ratings, the share that is older than the user's newest training rating; and the
    share of all training ratings that is newer than a test rating, in the mean over test ratings.
    Both are 0 where the split is by a point in time. Empty without times, or if a part is empty.

    Examples
    --------
    One user; the test rating is older than one of the two training ratings:

    >>> from runs import Numbering
    >>> users = Numbering.of(["u"])
    >>> items = Numbering.of(["a", "b", "c"])
    >>> user = np.zeros(3, dtype=np.int32)
    >>> item = np.arange(3, dtype=np.int32)
    >>> time = np.array([1, 2, 3])
    >>> ratings = Ratings(users, items, user, item, np.ones(3), time)
    >>> leakage(Split(ratings.select(item != 1), ratings.select(item == 1)))
    {'test_ratings_older_than_training': 1.0, 'training_ratings_newer_than_test': 0.5}
    """
    train = split.train
    test = split.test
    if train.time is None or test.time is None:
        return {}
    if len(train) == 0 or len(test) == 0:
        return {}
    if train.time.max() <= test.time.min():
        return {OLDER_TESTS: 0.0, NEWER_TRAINING: 0.0}
    earliest = np.iinfo(np.int64).min
    newest = np.full(len(train.users), earliest)
    np.maximum.at(newest, train.user, train.time)
    is_older = test.time < newest[test.user]
    n_not_newer = np.searchsorted(np.sort(train.time), test.time, side="right")
    share_not_newer = n_not_newer.mean() / len(train)
    return {OLDER_TESTS: float(is_older.mean()), NEWER_TRAINING: float(1 - share_not_newer)}


def hold_out_last(ratings: Ratings, position: Numbers, n_test: Numbers) -> Split:
    """Hold out the last ratings of each user, in an order of the ratings of each user.

    Parameters
    ----------
    ratings
        Ratings of all users.
    position
        Position of every rating among its user's, from 0, of shape (n_ratings,).
    n_test
        Number of test ratings of each user, of shape (n_users,).

    Raises
    ------
    ValueError
        If there are not as many positions as ratings, or not as many numbers as users.
    """
    n_users = len(ratings.users)
    if position.shape != ratings.user.shape or n_test.shape != (n_users,):
        raise ValueError(
            f"`position` must be of {len(ratings)} ratings and `n_test` of {n_users} users, got "
            f"shapes {position.shape} and {n_test.shape}."
        )
    n_train = ratings.user_counts() - n_test
    tested = position >= n_train[ratings.user]
    return Split(ratings.select(~tested), ratings.select(tested))


def rounded_share(share: float, n: int) -> int:
    """Round a share of n to the nearest whole number, halves up.

    The share is the decimal as it is written, not its binary approximation: .15 is 3/20.
    """
    exact_share = Fraction(str(share))
    return floor(exact_share * n + Fraction(1, 2))


def n_test_by_share(ratings: Ratings, share: float) -> Numbers:
    """Count the test ratings of each user, of shape (n_users,).

    A user has the rounded share of the user's ratings, but at least one rating stays for training.
    """
    # The share is computed once for each distinct number of ratings.
    sizes, size_of_user = np.unique(ratings.user_counts(), return_inverse=True)
    n_test_of_size = []
    for n_ratings in sizes.tolist():
        n_most = max(n_ratings - 1, 0)
        n_test_of_size.append(min(rounded_share(share, n_ratings), n_most))
    return np.array(n_test_of_size, dtype=np.intp)[size_of_user]


def n_test_of_one(ratings: Ratings) -> Numbers:
    """Count one test rating of each user who has two ratings or more, of shape (n_users,)."""
    return (ratings.user_counts() >= 2).astype(np.intp)


def random_order(ratings: Ratings, seed: int) -> Numbers:
    """Draw the position of each rating, from 0, among its user's, of shape (n_ratings,).

    Seed, user id and item id alone decide on the order.
    """
    return _positions(ratings.user, _rating_hashes(ratings, seed))


def random_order_by_item(ratings: Ratings, seed: int) -> Numbers:
    """Draw the position of each rating, from 0, among its item's, of shape (n_ratings,).

    Seed, user id and item id alone decide on the order.
    """
    return _positions(ratings.item, _rating_hashes(ratings, seed))


def order_in_time(ratings: Ratings, time_ties: TimeTies, seed: int) -> Numbers:
    """Find the position of each rating, from 0, among its user's from the first to the latest.

    The result is of shape (n_ratings,). ``time_ties``: order of ratings in the same second, "item"
    by item number, "random" by the seed. Raises InputError without times.
    """
    times = require_times(ratings)
    if time_ties == "item":
        return _positions(ratings.user, times)
    return _positions(ratings.user, times, _rating_hashes(ratings, seed))


def require_times(ratings: Ratings) -> Longs:
    """Return the times of ratings, or raise an InputError if they have none."""
    if ratings.time is None:
        raise InputError("a split by time needs ratings with times, these have none.")
    return ratings.time


def user_hashes(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Hash each user, of shape (n_users,); only seed and user id decide on it."""
    return id_hashes(ratings.users.ids, f"user {seed}")


def _positions(groups: Ints, *keys: Integers) -> Numbers:
    """Find the position of each rating, from 0, in its group by rising keys, the first leading.

    Groups, keys and the result are of shape (n_ratings,). Ratings whose keys are equal keep their
    order.
    """
    order = np.lexsort((*reversed(keys), groups))
    position = np.empty(len(groups), dtype=np.intp)
    position[order] = place_in_group(groups[order]) - 1
    return position


def _rating_hashes(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Hash each rating, uint64 of shape (n_ratings,); seed, user id and item id alone decide it."""
    hash_of_user = user_hashes(ratings, seed)
    hash_of_item = id_hashes(ratings.items.ids, "item")
    sums = hash_of_user[ratings.user] + hash_of_item[ratings.item]
    return splitmix64(sums)


def is_user_split(name: str) -> bool:
    """Test whether a name means a user's file, such as ``my_split.py``."""
    return name.endswith(".py")


def _user_split(path: Path) -> Splitter[Any]:
    """Load the split that a user's Python file declares now."""
    return _split_in(load_module(path, description="file of the split"), path)


@cache
def _split_in(module: ModuleType, path: Path) -> Splitter[Any]:
    """Look up the split that a user's module declares by ``@split``.

    ``path`` is the file of the module. At each call of the split, what it returns is checked.
    Raises InputError unless exactly one function is declared, with annotated settings.
    """
    declared: list[Splitter[Any]] = Splitter.declared_in(module)
    if len(declared) != 1 or "settings" not in declared[0].make.__annotations__:
        raise InputError(
            f"{path}: one function must be declared with @split(...), and its argument `settings` "
            "annotated with a class of settings."
        )
    (splitter,) = declared
    return replace(splitter, make=_checked(splitter.name, splitter.make))


def _checked(name: str, make: HoldsOut) -> HoldsOut:
    """Wrap a user's function that splits ratings, so that it raises InputErrors only.

    It does so if the function fails, or returns no Split of the ratings into disjoint parts over
    the same numbering. ``name``: name of the split, for messages; ``make``: the function.
    """

    @wraps(make)
    def checked(ratings: Ratings, settings: Any, *, seed: int) -> Split:
        """Divide ratings by the user's function, and check the parts."""
        with user_code(f"the split {name!r}"):
            parts = make(ratings, settings, seed=seed)
        _check_parts(name, ratings, parts)
        return parts

    return checked


def _check_parts(name: str, ratings: Ratings, parts: Any) -> None:
    """Refuse what a user's split returns if it is no Split of the ratings.

    Raises InputError if it is of another class, numbers users or items anew, or has ratings in both
    parts.
    """
    if not isinstance(parts, Split):
        raise InputError(f"the split {name!r} must return a Split, got {type(parts).__name__}.")
    has_same_users = parts.train.users is ratings.users
    has_same_items = parts.train.items is ratings.items
    if not (has_same_users and has_same_items):
        raise InputError(
            f"the split {name!r} must keep the numbers of users and items: choose ratings by "
            "`ratings.select`."
        )
    # One number for each pair of user and item.
    n_items = np.int64(len(ratings.items))
    train = parts.train
    test = parts.test
    train_pairs = train.user * n_items + train.item
    test_pairs = test.user * n_items + test.item
    n_both = np.intersect1d(train_pairs, test_pairs).size
    if n_both:
        raise InputError(f"the split {name!r} tests {n_both:,} of the ratings that it trains on.")


@cache
def splits() -> Mapping[str, Splitter[Any]]:
    """List the splits that the modules of ``qrels/ratings/splits`` declare, by name.

    Examples
    --------
    >>> splits()["global-time"].summary
    'Train on the ratings before a point in time, and test on the later ones.'
    """
    return Splitter.declared_below("qrels.ratings.splits")


def find_split(name: str) -> Splitter[Any]:
    """Look up a split of this program, of an installed distribution, or of a user's file.

    A split in a user's file has the name of the file, such as ``my_split.py``. What splits outside
    this program return is checked at each call. Raises InputError if there is no split of this
    name, or the file does not declare exactly one.

    Examples
    --------
    >>> find_split("k-fld")
    Traceback (most recent call last):
    runs.InputError: no split is called 'k-fld'; did you mean 'k-fold'?
    >>> find_split("my_split.py:mine")
    Traceback (most recent call last):
    runs.InputError: the split 'my_split.py:mine' must be named by its file alone: my_split.py.
    """
    if is_user_split(name):
        return _user_split(Path(name))
    if ".py:" in name:
        file = name.partition(":")[0]
        raise InputError(f"the split {name!r} must be named by its file alone: {file}.")
    splitter: Splitter[Any] = find_member("splits", name, splits(), Splitter)
    if name in splits():
        return splitter
    return replace(splitter, make=_checked(name, splitter.make))
