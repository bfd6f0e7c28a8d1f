"""Random tables of ratings, written in a random layout, read back, and compared.

A table may be refused: only a person can tell what some columns hold. What is read must be what was
written: the same users, items, numbers and times.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from qrels.ratings.datasets.rating_file import read_ratings
from runs import InputError, InputWarning
from runs.tables.source import Source

Row = tuple[str, str, float, int]
"""User, item, number and time."""

NAMES: Mapping[str, Sequence[str]] = {
    "user": ("user", "userId", "customer_no", "Kunde", "visitorid", "User-ID", "member", "uid"),
    "item": ("item", "movieId", "sku", "Artikel-Nr", "ISBN", "product_id", "track_id", "iid"),
    "rating": ("rating", "stars", "Book-Rating", "Bewertung", "overall"),
    "count": ("plays", "qty", "Menge", "hours"),
    "time": ("timestamp", "date", "order_dt", "Bestelldatum", "purchased_at"),
    "other": ("price", "category", "is_read", "comment", "country"),
    "": ("a", "b", "w", "x1", "foo"),
}
"""Names of columns by what they hold; under the last, names that say nothing."""

SEPARATORS = (",", ";", "\t", "|", "::", " ")


@dataclass
class TableTally:
    """How many tables were written, and how many of them were read."""

    files: int = 0
    read: int = 0
    refusals: list[str] = field(default_factory=list)


class ChangedMeaningError(AssertionError):
    """A table was read as something that was not written."""


def compare_table(random: Random, tally: TableTally) -> None:
    """Write one table, read it, and compare.

    Raises
    ------
    ChangedMeaningError
        If something else was read, or the reader crashed.
    """
    rows = draw_rows(random)
    text, expected = write_table(rows, random)
    tally.files += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            ratings = read_ratings(Source("fuzzed.txt", text.encode()))
        except InputError as error:
            tally.refusals.append(str(error))
            return
        except Exception as error:
            raise ChangedMeaningError(f"{text[:400]!r} crashes the reader: {error!r}") from error
    tally.read += 1
    times = [None] * len(ratings) if ratings.time is None else ratings.time.tolist()
    read = zip(
        ratings.users.ids[ratings.user].tolist(),
        ratings.items.ids[ratings.item].tolist(),
        ratings.rating.tolist(),
        times,
        strict=True,
    )
    rows_read = sorted(map(str, read))
    rows_written = sorted(map(str, expected))
    if rows_read != rows_written:
        raise ChangedMeaningError(
            f"of\n{text[:600]}\n{rows_written[:3]} was written, {rows_read[:3]} read"
        )


def draw_rows(random: Random) -> list[Row]:
    """Draw distinct pairs of users and items, with ratings from 1 to 5 and Unix times."""
    spell_user = random.choice([str, "u{}".format, "{:05d}".format, "{}.0".format])
    spell_item = random.choice([str, "b{}".format, "{:03d}".format, "X-{}".format])
    pairs = {(random.randrange(12), random.randrange(9)) for _ in range(random.randint(15, 40))}
    rows = []
    for user, item in random.sample(sorted(pairs), len(pairs)):
        rating = float(random.randint(1, 5))
        time = random.randrange(10**9, 17 * 10**8)
        rows.append((spell_user(user), spell_item(item), rating, time))
    return rows


def write_table(
    rows: Sequence[Row], random: Random
) -> tuple[str, list[tuple[str, str, float, int | None]]]:
    """Write rows under a heading, columns in any order, and say what must be read."""
    number = random.choice(["rating", "rating", "count", ""])
    has_time = random.random() < 0.6
    columns: list[tuple[str, Callable[[Row], str]]] = [
        (random.choice(NAMES["user"]), lambda row: row[0]),
        (random.choice(NAMES["item"]), lambda row: row[1]),
    ]
    if number:
        is_whole = random.random() < 0.5
        spelled = (lambda row: f"{row[2]:.0f}") if is_whole else (lambda row: f"{row[2]:.1f}")
        columns.append((random.choice(NAMES[number]), spelled))
    if has_time:
        columns.append((random.choice(NAMES["time"]), lambda row: str(row[3])))
    for name in random.sample(NAMES["other"], random.randint(0, 2)):
        columns.append((name, lambda row: f"{row[3] % 97 / 7:.2f}"))
    random.shuffle(columns)
    separator = random.choice(SEPARATORS)
    pad = random.choice(["", "", " "]) if separator in (",", ";", "\t", "|") else ""
    end = random.choice(["\n", "\n", "\r\n"])
    if random.random() < 0.2:
        columns.insert(0, ("", lambda row: str(rows.index(row))))
    if random.random() < 0.1:
        place = random.randrange(len(columns))
        columns[place] = (random.choice(NAMES[""]), columns[place][1])
    lines = [[name for name, _ in columns]]
    lines += [[spell(row) for _, spell in columns] for row in rows]
    text = end.join(f"{separator}{pad}".join(line) for line in lines) + end
    expected = [
        (user, item, rating if number else 1.0, time if has_time else None)
        for user, item, rating, time in rows
    ]
    return text, expected
