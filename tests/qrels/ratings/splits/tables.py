"""Small tables of ratings: a row is a user, a column an item, a number the time of a rating."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from qrels import Ratings, Split, Splitter
from runs import Numbering

Cell = tuple[str, str]
Table = dict[Cell, int]


def ratings_of(table: Table) -> Ratings:
    users = Numbering.of([user for user, _ in table])
    items = Numbering.of([item for _, item in table])
    cells = sorted(table)
    times = np.array([table[cell] for cell in cells], dtype=np.int64)
    return Ratings(
        users,
        items,
        users.numbers([user for user, _ in cells]),
        items.numbers([item for _, item in cells]),
        rating=np.ones(len(cells)),
        time=times,
    )


def table_of(ratings: Ratings) -> Table:
    assert ratings.time is not None
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    return dict(
        zip(zip(users.tolist(), items.tolist(), strict=True), ratings.time.tolist(), strict=True)
    )


def without_times(ratings: Ratings) -> Ratings:
    return Ratings(ratings.users, ratings.items, ratings.user, ratings.item, ratings.rating)


tables = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "bob", "cid", "dan"]), st.sampled_from("abcdefghijkl")),
    st.integers(0, 5),
    min_size=1,
)
seeds = st.integers(0, 2**32)


def divide(splitter: Splitter[Any], ratings: Ratings, *, seed: int, **options: Any) -> Split:
    """Divide ratings with these settings."""
    return splitter(ratings, splitter.settings(**options), seed=seed)
