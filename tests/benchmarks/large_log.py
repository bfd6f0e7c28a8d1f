"""A log too large for memory, written day after day: ``python -m tests.benchmarks.large_log``.

``large_log FOLDER ROWS`` writes ``FOLDER/interactions`` and ``FOLDER/recommendations``, a Parquet
file for each day in the order of time, as sites keep them: a user for every 20 interactions, 20,000
items in 50 tastes, a list of 10 for every 20 interactions, of which every 20th leads to a view.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BEGIN = 1_767_225_600_000
DAY = 86_400_000
ROWS_PER_DAY = 1_000_000
ROWS_PER_USER = ROWS_PER_LIST = 20
ITEMS, TASTES, LENGTH = 20_000, 50, 10
SHARE_CLICKED = 0.05
MINUTE = 60_000

Numbers = NDArray[np.int64]


def main(folder: str, rows: str) -> None:
    """Write a log of so many interactions."""
    n_rows = int(rows)
    n_days = max(n_rows // ROWS_PER_DAY, 1)
    for day in range(n_days):
        rng = np.random.default_rng([n_rows, day])
        for name, columns in day_of(rng, day, n_rows // n_days, n_rows // ROWS_PER_USER).items():
            write(Path(folder, name, f"day={day:03}", "part.parquet"), columns)


def day_of(
    rng: np.random.Generator, day: int, n_rows: int, n_users: int
) -> dict[str, dict[str, Any]]:
    """Give the columns of both tables of one day."""
    n_lists = n_rows // ROWS_PER_LIST
    shown_to, shown_at = users(rng, n_lists, n_users), times(rng, n_lists, day)
    owners = np.repeat(shown_to, LENGTH).reshape(n_lists, LENGTH)
    # The items of a list differ, as each stands for its place.
    lists = items(rng, owners) // LENGTH * LENGTH + np.arange(LENGTH)
    clicked = np.flatnonzero(rng.random(n_lists) < SHARE_CLICKED)
    n_other = n_rows - len(clicked)
    user = np.append(users(rng, n_other, n_users), shown_to[clicked])
    time = np.append(
        times(rng, n_other, day), shown_at[clicked] + rng.integers(1, 10 * MINUTE, len(clicked))
    )
    chosen = lists[clicked, rng.integers(0, LENGTH, len(clicked))]
    item = np.append(items(rng, user[:n_other]), chosen)
    order = np.argsort(time, kind="stable")
    return {
        "interactions": {
            "time": time[order],
            "user": text(user[order]),
            "item": text(item[order]),
            "type": np.where(rng.random(n_rows) < 0.05, "purchase", "view"),
        },
        "recommendations": {
            "rec_id": text(np.arange(n_lists) + day * n_lists),
            "time": shown_at,
            "user": text(shown_to),
            "arm": np.array(["A", "B", "C"])[shown_to % 3],
            "items": of_lists(text(lists.ravel())),
        },
    }


def users(rng: np.random.Generator, n: int, n_users: int) -> Numbers:
    """Draw users, of whom some come far more often."""
    return (n_users * rng.random(n) ** 1.5).astype(np.int64)


def times(rng: np.random.Generator, n: int, day: int) -> Numbers:
    """Draw times of a day, rising."""
    return np.sort(rng.integers(0, DAY, n)) + BEGIN + day * DAY


def items(rng: np.random.Generator, user: Numbers) -> Numbers:
    """Draw an item for each user: by popularity, and mostly of the user's own taste."""
    own, per_taste = rng.random(user.shape) < 0.7, ITEMS // TASTES
    common = (ITEMS * rng.random(user.shape) ** 3).astype(np.int64)
    of_taste = (per_taste * rng.random(user.shape) ** 2).astype(np.int64)
    return np.where(own, user % TASTES * per_taste + of_taste, common)


def text(numbers: Numbers) -> Any:
    """Write ids as text."""
    import pyarrow as pa

    return pa.array(numbers).cast(pa.string())


def of_lists(values: Any) -> Any:
    """Cut values into lists."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, LENGTH, dtype=np.int32), values)


def write(path: Path, columns: dict[str, Any]) -> None:
    """Write one file."""
    import pyarrow as pa
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path, compression="zstd")


if __name__ == "__main__":
    main(*sys.argv[1:])
