"""Splits of users: a file elsewhere that declares one, and what is checked of its parts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splits.shared.split import HoldsOut, Splitter
from runs import InputError
from runs.shared.members import failure_of, load_module


def is_user_split(name: str) -> bool:
    """Tell whether a name means a file: ``my_split.py``."""
    return name.endswith(".py")


@cache
def user_split(path: Path) -> Splitter[Any]:
    """Give the split that a user's Python file declares.

    Raises
    ------
    InputError
        If the file is missing, fails when run, or does not declare one split; when it divides
        ratings, also if it fails or its parts are no split of them.
    """
    module = load_module(path, what="file of the split")
    declared: list[Splitter[Any]] = Splitter.declared_in(module)
    if len(declared) != 1 or "settings" not in declared[0].make.__annotations__:
        raise InputError(
            f"{path}: one function must be declared with @split(...), and its argument `settings` "
            "annotated with a class of settings."
        )
    (found,) = declared
    return replace(found, make=_checked(found.name, found.make))


def _checked(name: str, make: HoldsOut[Any]) -> HoldsOut[Any]:
    """Say where a user's function fails, and refuse parts that are no split."""

    @wraps(make)
    def checked(ratings: Ratings, settings: Any, *, seed: int) -> Split:
        try:
            parts = make(ratings, settings, seed=seed)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"the split {name!r} fails {failure_of(error)}") from error
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
    n_both = np.intersect1d(_cells(parts.train), _cells(parts.test)).size
    if n_both:
        raise InputError(f"the split {name!r} tests {n_both:,} of the ratings that it trains on.")


def _cells(ratings: Ratings) -> NDArray[np.int64]:
    """Number the pairs of user and item."""
    return ratings.user * np.int64(len(ratings.items)) + ratings.item
