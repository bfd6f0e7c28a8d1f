"""Ratings that come in two parts: read over one numbering, with no pair in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qrels.ratings.datasets.ratings_file import place_of, read_ratings
from qrels.ratings.datasets.source import Source
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering


def read_two_parts(
    train: str | Path | Source, test: str | Path | Source, **options: Any
) -> Ratings:
    """Read training and test ratings as one set, which knows what is held out.

    Times are kept if both parts have them.

    Parameters
    ----------
    train, test
        Files or sources, as `read_ratings` takes them.
    options
        See `read_ratings`; they hold for both.

    Raises
    ------
    InputError
        If one cannot be read, or a pair of user and item is in both: what a user has rated in
        training is no candidate, so that no system could find it in the test part.
    """
    parts = [read_ratings(path, **options) for path in (train, test)]
    users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
    items = Numbering.of(np.concatenate([part.items.ids for part in parts]))
    user = np.concatenate([users.numbers(part.users.ids)[part.user] for part in parts])
    item = np.concatenate([items.numbers(part.items.ids)[part.item] for part in parts])
    pairs = user * np.int64(len(items)) + item
    order = np.argsort(pairs, kind="stable")
    repeated = order[1:][pairs[order][1:] == pairs[order][:-1]]
    if len(repeated):
        first = repeated.min()
        ids = str(users.ids[user[first]]), str(items.ids[item[first]])
        known, found = (place_of(path, *ids, **options) for path in (train, test))
        raise InputError(
            f"{found}: user {ids[0]!r} and item {ids[1]!r} are in {known}, too. A pair either "
            "trains or tests: what a user rated in training is no candidate, so that no system "
            f"could find it. Test ratings of this kind: {len(repeated):,}."
        )
    times = _times(parts)
    return Ratings(
        users,
        items,
        user[order],
        item[order],
        np.concatenate([part.rating for part in parts])[order],
        None if times is None else times[order],
        np.repeat([False, True], [len(part) for part in parts])[order],
    )


def _times(parts: Sequence[Ratings]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    times = [part.time for part in parts if part.time is not None]
    return np.concatenate(times) if len(times) == len(parts) else None
