"""The register of splits: the folder is the list, and a user's file is a member."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from qrels.ratings.splits.shared.split import Splitter
from qrels.ratings.splits.shared.user_split import is_user_split, user_split
from runs import InputError
from runs.shared.errors import nearest


@cache
def splits() -> Mapping[str, Splitter[Any]]:
    """List every split that a module of the folder ``qrels/ratings/splits`` declares, by name.

    Examples
    --------
    >>> splits()["global-time"].summary
    'Train on what came before a moment, test on what came at it or after.'
    """
    return Splitter.declared_below("qrels.ratings.splits")


def find_split(name: str) -> Splitter[Any]:
    """Look a split up, in the folder or, as ``my_split.py``, in a file of a user.

    Raises
    ------
    InputError
        If there is none of this name (the sentence names the nearest one), or the file
        declares none; see `user_split`.

    Examples
    --------
    >>> find_split("k-fld")
    Traceback (most recent call last):
    runs.InputError: no split is called 'k-fld'; did you mean 'k-fold'?
    """
    if is_user_split(name):
        return user_split(Path(name))
    if name not in splits():
        raise InputError(f"no split is called {name!r}; {nearest(name, [*splits()])}")
    return splits()[name]
