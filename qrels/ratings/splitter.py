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
        """Where the parts are, if they are given and not drawn; by default None."""
        return None

    def within_training(self) -> Self:
        """Give the settings that split the training part again; by default the same."""
        return self


SettingsT = TypeVar("SettingsT", bound=SplitSettings)


HoldsOut: TypeAlias = Callable[..., Split]
"""Divides ratings, by settings and a seed; equal arguments give equal parts."""


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
        return self.make(ratings, self.settings() if settings is None else settings, seed=seed)


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
    """Count what became of the ratings in a split, and those who are hard to serve.

    Train-only users are not evaluated, dropped users lost all their ratings, and of cold users and
    items, which are tested and not trained, nothing can be learnt.
    """
    known, trained, tested = (part.user_counts() > 0 for part in (ratings, split.train, split.test))
    trained_items, tested_items = (part.item_counts() > 0 for part in (split.train, split.test))
    return {
        "train_ratings": len(split.train),
        "test_ratings": len(split.test),
        "dropped_ratings": len(ratings) - len(split.train) - len(split.test),
        "test_users": int(tested.sum()),
        "train_only_users": int((trained & ~tested).sum()),
        "dropped_users": int((known & ~trained & ~tested).sum()),
        "cold_users": int((tested & ~trained).sum()),
        "cold_items": int((tested_items & ~trained_items).sum()),
    }


OLDER_TESTS = "test_ratings_older_than_training"
NEWER_TRAINING = "training_ratings_newer_than_test"


def leakage(split: Split) -> dict[str, float]:
    """Give the shares of ratings by which a split tells the future; empty without times.

    Of the test ratings, the share that is older than the user's newest training rating; and the
    share of all training ratings that is newer than a test rating, in the mean over test ratings.
    Both are 0 where the split is by a point in time.

    Examples
    --------
    One user; the test rating is older than one of the two training ratings:

    >>> from runs import Numbering
    >>> one, items = Numbering.of(["u"]), Numbering.of(["a", "b", "c"])
    >>> item, time = np.arange(3, dtype=np.int32), np.array([1, 2, 3])
    >>> ratings = Ratings(one, items, np.zeros(3, dtype=np.int32), item, np.ones(3), time)
    >>> leakage(Split(ratings.select(item != 1), ratings.select(item == 1)))
    {'test_ratings_older_than_training': 1.0, 'training_ratings_newer_than_test': 0.5}
    """
    train, test = split.train, split.test
    if train.time is None or test.time is None or not len(train) or not len(test):
        return {}
    newest = np.full(len(train.users), np.iinfo(np.int64).min)
    np.maximum.at(newest, train.user, train.time)
    n_older = np.searchsorted(np.sort(train.time), test.time, side="right")
    return {
        OLDER_TESTS: float((test.time < newest[test.user]).mean()),
        NEWER_TRAINING: float(1 - n_older.mean() / len(train)),
    }


def hold_out_last(ratings: Ratings, position: Numbers, n_test: Numbers) -> Split:
    """Test the last ``n_test`` of each user, of shape (n_users,), in this order.

    The position is that of every rating among its user's, from 0, of shape (n_ratings,).
    """
    n_train = ratings.user_counts() - n_test
    tested = position >= n_train[ratings.user]
    return Split(ratings.select(~tested), ratings.select(tested))


def rounded_share(share: float, n: int) -> int:
    """Round a share of n, as it is written, to the nearest whole number, halves up."""
    return floor(Fraction(str(share)) * n + Fraction(1, 2))


def n_test_by_share(ratings: Ratings, share: float) -> Numbers:
    """Count the ratings to test of each user, all but one at most, of shape (n_users,)."""
    sizes, size_of_user = np.unique(ratings.user_counts(), return_inverse=True)
    wanted = [min(rounded_share(share, n), max(n - 1, 0)) for n in sizes.tolist()]
    return np.array(wanted, dtype=np.intp)[size_of_user]


def n_test_of_one(ratings: Ratings) -> Numbers:
    """Count one rating to test of each user who has two, of shape (n_users,)."""
    return (ratings.user_counts() >= 2).astype(np.intp)


def random_order(ratings: Ratings, seed: int) -> Numbers:
    """Order each user's ratings as seed, user id and item id alone decide."""
    return _order(ratings.user, _keys(ratings, seed))


def random_order_by_item(ratings: Ratings, seed: int) -> Numbers:
    """Order each item's ratings as seed, user id and item id alone decide."""
    return _order(ratings.item, _keys(ratings, seed))


def order_in_time(ratings: Ratings, time_ties: TimeTies, seed: int) -> Numbers:
    """Order each user's ratings from the first to the latest."""
    ties = () if time_ties == "item" else (_keys(ratings, seed),)
    return _order(ratings.user, require_times(ratings), *ties)


def require_times(ratings: Ratings) -> Longs:
    """Insist on times."""
    if ratings.time is None:
        raise InputError("a split by time needs ratings with times, these have none.")
    return ratings.time


def user_hashes(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Give each user a random number that only seed and user id decide."""
    return id_hashes(ratings.users.ids, f"user {seed}")


def _order(groups: Ints, *keys: Integers) -> Numbers:
    """Give each rating its position, from 0, in its group by rising keys, the first leading.

    Ratings whose keys are equal keep their order.
    """
    order, position = np.lexsort((*reversed(keys), groups)), np.empty(len(groups), dtype=np.intp)
    position[order] = place_in_group(groups[order]) - 1
    return position


def _keys(ratings: Ratings, seed: int) -> NDArray[np.uint64]:
    """Give each rating a random number that only seed, user id and item id decide."""
    items = id_hashes(ratings.items.ids, "item")
    return splitmix64(user_hashes(ratings, seed)[ratings.user] + items[ratings.item])


def is_user_split(name: str) -> bool:
    """Tell whether a name means a file: ``my_split.py``."""
    return name.endswith(".py")


def _user_split(path: Path) -> Splitter[Any]:
    """Give the split that a user's Python file declares now."""
    return _split_in(load_module(path, description="file of the split"), path)


@cache
def _split_in(module: ModuleType, path: Path) -> Splitter[Any]:
    declared: list[Splitter[Any]] = Splitter.declared_in(module)
    if len(declared) != 1 or "settings" not in declared[0].make.__annotations__:
        raise InputError(
            f"{path}: one function must be declared with @split(...), and its argument `settings` "
            "annotated with a class of settings."
        )
    (found,) = declared
    return replace(found, make=_checked(found.name, found.make))


def _checked(name: str, make: HoldsOut) -> HoldsOut:
    """Say where a user's function fails, and refuse parts that are no split."""

    @wraps(make)
    def checked(ratings: Ratings, settings: Any, *, seed: int) -> Split:
        with user_code(f"the split {name!r}"):
            parts = make(ratings, settings, seed=seed)
        _check_parts(name, ratings, parts)
        return parts

    return checked


def _check_parts(name: str, ratings: Ratings, parts: Any) -> None:
    """Refuse what is no split, has other numbers, or tests what it trains."""
    if not isinstance(parts, Split):
        raise InputError(f"the split {name!r} must return a Split, got {type(parts).__name__}.")
    if parts.train.users is not ratings.users or parts.train.items is not ratings.items:
        raise InputError(
            f"the split {name!r} must keep the numbers of users and items: choose ratings by "
            "`ratings.select`."
        )
    n_items = np.int64(len(ratings.items))
    trained, tested = (part.user * n_items + part.item for part in (parts.train, parts.test))
    n_both = np.intersect1d(trained, tested).size
    if n_both:
        raise InputError(f"the split {name!r} tests {n_both:,} of the ratings that it trains on.")


@cache
def splits() -> Mapping[str, Splitter[Any]]:
    """List every split that a module of the folder ``qrels/ratings/splits`` declares, by name.

    Examples
    --------
    >>> splits()["global-time"].summary
    'Train on the ratings before a point in time, and test on the later ones.'
    """
    return Splitter.declared_below("qrels.ratings.splits")


def find_split(name: str) -> Splitter[Any]:
    """Look a split up: in the folder, in installed distributions, or in a file of a user.

    That of a file is called ``my_split.py``.

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
    found: Splitter[Any] = find_member("splits", name, splits(), Splitter)
    return found if name in splits() else replace(found, make=_checked(name, found.make))
