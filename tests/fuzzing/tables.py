"""Random tables of ratings, runs and qrels, written in a random layout, read back, and compared.

A table may be refused: only a person can tell what some columns hold, or in which encoding a text
is. What is read must be what was written: the same users, items, numbers and times; or topics,
items and scores of each system; or topics, items and grades.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

from harness.readers.judgements import judgements_of
from harness.readers.rankings import read_run_files
from qrels.ratings.datasets.rating_file import read_ratings
from runs import InputError, InputWarning
from runs.tables.options import TextOptions
from runs.tables.source import open_source

Row = tuple[str, str, float, int]
"""User, item, number and time."""

NAMES: Mapping[str, Sequence[str]] = {
    "user": ("user", "userId", "customer_no", "Kunde", "visitorid", "User-ID", "member", "uid"),
    "item": ("item", "movieId", "sku", "Artikel-Nr", "ISBN", "product_id", "track_id", "iid"),
    "rating": ("rating", "stars", "Book-Rating", "Bewertung", "overall"),
    "count": ("plays", "qty", "Menge", "hours"),
    "time": ("timestamp", "date", "order_dt", "Bestelldatum", "purchased_at"),
    "topic": ("topic", "qid", "query", "user_id", "query_id"),
    "document": ("docno", "doc_id", "item", "movieId", "docid"),
    "score": ("score", "prediction", "sim"),
    "grade": ("grade", "relevance", "rel", "label", "rating"),
    "rank": ("rank", "position"),
    "system": ("system", "run", "Algorithm", "model"),
    "other": ("price", "category", "is_read", "comment", "country"),
    "": ("a", "b", "w", "x1", "foo"),
}
"""Names of columns by what they hold; under the last, names that say nothing."""

AnyRow = TypeVar("AnyRow", bound=tuple[object, ...])

SEPARATORS = (",", ";", "\t", "|", "::", " ")

MARKED = ("utf-8", "utf-8-sig", "utf-16")
"""Encodings that nobody has to name."""

ENCODINGS = (*MARKED, "latin-1", "cp1252", "utf-16-le", "utf-16-be")


@dataclass(frozen=True)
class SpelledTable:
    """A table as the bytes of a file, and what a person says of it.

    Parameters
    ----------
    content
        The bytes.
    options
        What is said of the file; None for nothing.
    """

    content: bytes
    options: TextOptions | None


@dataclass
class TableTally:
    """How many tables were written, and how many of them were read."""

    files: int = 0
    read: int = 0
    refusals: list[str] = field(default_factory=list)


class ChangedMeaningError(AssertionError):
    """A table was read as something that was not written."""


def compare_table(random: Random, tally: TableTally, path: Path) -> None:
    """Write one table of ratings to a file, read it, and compare.

    Raises
    ------
    ChangedMeaningError
        If something else was read, or the reader crashed.
    """
    rows = draw_rows(random)
    table, expected = write_table(rows, random)
    path.write_bytes(table.content)
    said = {} if table.options is None else table.options.model_dump(exclude_unset=True)
    tally.files += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            source = open_source(path, encoding=said.get("encoding", "utf-8"))
            ratings = read_ratings(source, **said)
        except InputError as error:
            tally.refusals.append(str(error))
            return
        except Exception as error:
            raise ChangedMeaningError(f"{table} crashes the reader: {error!r}") from error
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
            f"of {table}\n{rows_written[:3]} was written, {rows_read[:3]} read"
        )


def draw_rows(random: Random) -> list[Row]:
    """Draw distinct pairs of users and items, with ratings from 1 to 5 and Unix times."""
    spell_user = random.choice(["{}", "u{}", "{:05d}", "{}.0"])
    spell_item = random.choice(["{}", "b{}", "{:03d}", "X-{}", "caf\u00e9{}"])
    pairs = {(random.randrange(12), random.randrange(9)) for _ in range(random.randint(15, 40))}
    rows = []
    for user, item in random.sample(sorted(pairs), len(pairs)):
        rating = float(random.randint(1, 5))
        time = random.randrange(10**9, 17 * 10**8)
        rows.append((spell_user.format(user), spell_item.format(item), rating, time))
    return rows


def write_table(
    rows: Sequence[Row], random: Random
) -> tuple[SpelledTable, list[tuple[str, str, float, int | None]]]:
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
    expected = [
        (user, item, rating if number else 1.0, time if has_time else None)
        for user, item, rating, time in rows
    ]
    return spell_table(rows, columns, random), expected


def compare_run_table(random: Random, tally: TableTally, path: Path) -> None:
    """Write one table of runs to a file, read it, and compare.

    Raises
    ------
    ChangedMeaningError
        If something else was read, or the reader crashed.
    """
    rows = draw_run_rows(random)
    table, expected = write_run_table(rows, random)
    path.write_bytes(table.content)
    tally.files += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            run_files = read_run_files([path], table.options)
        except InputError as error:
            tally.refusals.append(str(error))
            return
        except Exception as error:
            raise ChangedMeaningError(f"{table} crashes the reader: {error!r}") from error
    tally.read += 1
    rows_read = [
        (run.system, str(run.users.ids[user]), str(run.items.ids[item]), score)
        for run in run_files
        for user, item, score in zip(
            run.user.tolist(), run.item.tolist(), run.score.tolist(), strict=True
        )
    ]
    if sorted(map(str, rows_read)) != sorted(map(str, expected)):
        raise ChangedMeaningError(f"of {table}\n{rows_read[:3]} read, not {expected[:3]}")


def compare_qrels_table(random: Random, tally: TableTally, path: Path) -> None:
    """Write one table of judgements to a file, read it, and compare.

    Raises
    ------
    ChangedMeaningError
        If something else was read, or the reader crashed.
    """
    rows = draw_rows(random)
    columns: list[tuple[str, Callable[[Row], str]]] = [
        (random.choice(NAMES["topic"]), lambda row: row[0]),
        (random.choice(NAMES["document"]), lambda row: row[1]),
        (random.choice(NAMES["grade"]), lambda row: f"{row[2]:.0f}"),
    ]
    expected = sorted((topic, item, int(grade)) for topic, item, grade, _ in rows)
    table = spell_table(rows, columns, random)
    path.write_bytes(table.content)
    tally.files += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            judgements = judgements_of(path, table.options)
        except InputError as error:
            tally.refusals.append(str(error))
            return
        except Exception as error:
            raise ChangedMeaningError(f"{table} crashes the reader: {error!r}") from error
    tally.read += 1
    rows_read = sorted(
        zip(
            judgements.users.ids[judgements.user].tolist(),
            judgements.items.ids[judgements.item].tolist(),
            judgements.grade.tolist(),
            strict=True,
        )
    )
    if rows_read != expected:
        raise ChangedMeaningError(f"of {table}\n{rows_read[:3]} read, not {expected[:3]}")


RunRow = tuple[str, str, str, float, int]
"""System, topic, item, score and rank."""


def draw_run_rows(random: Random) -> list[RunRow]:
    """Draw ranked lists of up to three systems."""
    spell_topic = random.choice(["{}", "q{}", "{:05d}"])
    spell_item = random.choice(["{}", "d{}", "GX-{:03d}", "a\u00f1o{}"])
    rows: list[RunRow] = []
    for system in random.sample(["bm25", "ease", "3"], random.randint(1, 3)):
        for topic in range(random.randint(3, 8)):
            items = random.sample(range(30), random.randint(2, 6))
            scores = sorted((round(random.gauss(0, 3), 4) for _ in items), reverse=True)
            rows += [
                (system, spell_topic.format(topic), spell_item.format(item), score, rank)
                for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
            ]
    return rows


def write_run_table(
    rows: Sequence[RunRow], random: Random
) -> tuple[SpelledTable, list[tuple[str, str, str, float]]]:
    """Write rows under a heading, columns in any order, and say what must be read."""
    systems = {row[0] for row in rows}
    columns: list[tuple[str, Callable[[RunRow], str]]] = [
        (random.choice(NAMES["topic"]), lambda row: row[1]),
        (random.choice(NAMES["document"]), lambda row: row[2]),
        (random.choice(NAMES["score"]), lambda row: str(row[3])),
    ]
    has_rank = random.random() < 0.5
    if has_rank:
        columns.append((random.choice(NAMES["rank"]), lambda row: str(row[4])))
    names_systems = len(systems) > 1
    if names_systems:
        columns.append((random.choice(NAMES["system"]), lambda row: row[0]))
    expected = [
        (system if names_systems else "fuzzed", topic, item, score)
        for system, topic, item, score, _ in rows
    ]
    # Of a run with ranks but without a known score, the ranks are read: another score, one order.
    hides_names = not has_rank and not names_systems
    return spell_table(rows, columns, random, hides_names=hides_names), expected


def spell_table(
    rows: Sequence[AnyRow],
    columns: list[tuple[str, Callable[[AnyRow], str]]],
    random: Random,
    *,
    hides_names: bool = True,
) -> SpelledTable:
    """Spell rows under a heading, in any order of columns, separated, padded, encoded at random.

    Some tables have an index under an empty name, some, if wanted, a name that says nothing. Some
    are told their separator, and most their encoding where no mark says it.
    """
    random.shuffle(columns)
    separator = random.choice(SEPARATORS)
    pad = random.choice(["", "", " "]) if separator in (",", ";", "\t", "|") else ""
    end = random.choice(["\n", "\n", "\r\n"])
    if random.random() < 0.2:
        columns.insert(0, ("", lambda row: str(rows.index(row))))
    if hides_names and random.random() < 0.1:
        place = random.randrange(len(columns))
        columns[place] = (random.choice(NAMES[""]), columns[place][1])
    lines = [[name for name, _ in columns]]
    lines += [[spell(row) for _, spell in columns] for row in rows]
    text = end.join(f"{separator}{pad}".join(line) for line in lines) + end
    encoding = random.choice(ENCODINGS)
    said: dict[str, str] = {}
    if encoding not in MARKED and random.random() < 0.8:
        said["encoding"] = encoding
    if random.random() < 0.3:
        said["separator"] = separator
    return SpelledTable(text.encode(encoding), TextOptions(**said) if said else None)
