"""Ratings from files, packed files, folders and archives: recognise, read, check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qrels.ratings.datasets.doubts import named_otherwise, unlikely_ids
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.rating_table import added_up, read_rating_table
from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.errors import counted, warn
from runs.shared.settings import check_settings
from runs.tables.recognition import RecognisedTable, recognise_table
from runs.tables.roles import RATINGS, Role, require_settled
from runs.tables.screen import columns_as_text
from runs.tables.source import Source, open_source


def read_ratings(path: str | Path | Source, **options: Any) -> Ratings:
    r"""Read ratings from a file, or from the ratings file inside a folder or a zip archive.

    Ids stay text as in the file: "007" and "7" are two. Text is UTF-8 unless `encoding` says
    otherwise; ``.gz``, ``.bz2`` and ``.xz`` are unpacked. Columns that are not named are recognised
    by their names; without a heading they are user, item, rating and time in this order.

    Parameters
    ----------
    path
        The file.
    **options
        Those that [ratings] of a study has: format, columns, separator, header, decimal, dates,
        encoding, implicit, missing, duplicates and unrated.

    Returns
    -------
    Ratings sorted by user and item, each pair once. Columns that are not read, ratings that are
    left out, and columns or values of doubtful meaning are warned of.

    Raises
    ------
    InputError
        If it cannot be told what a column holds, or a line breaks a rule.
    """
    ratings, label = read_without_doubts(path, **options)
    for doubt in unlikely_ids(ratings):
        warn(f"{label}: {doubt}")
    return ratings


def read_without_doubts(path: str | Path | Source, **options: Any) -> tuple[Ratings, str]:
    """Read ratings as `read_ratings` does, without doubts about users who never come again.

    Each user of a test part may have one rating. Returns the ratings, and what to call the file.
    """
    chosen = check_settings("read_ratings", RatingOptions, options)
    source = path if isinstance(path, Source) else open_source(path, encoding=chosen.encoding)
    recognised = recognise_ratings(source, chosen)
    require_settled(recognised.columns, label=source.label, table=columns_as_text)
    for column in recognised.columns.columns:
        if column.remark and column.role == Role.UNREAD:
            warn(f"{source.label}: the column {column.name!r} is not read: {column.remark}.")
    for doubt in named_otherwise(recognised.columns):
        warn(f"{source.label}: {doubt}")
    try:
        table = read_rating_table(
            recognised.rows,
            recognised.places,
            chosen,
            unique=chosen.duplicates == "error",
            complete=chosen.missing == "error",
        )
    except InputError as error:
        if chosen.format is not None:
            raise
        raise InputError(f"{error} (The format {recognised.format!r} was recognised.)") from error
    if table.n_without_value:
        warn(
            f"{source.label}: {table.n_without_value:,} of {table.n_read:,} ratings "
            "are left out because a value is missing."
        )
    if chosen.duplicates == "sum":
        ratings, n_returned = added_up(table, label=source.label)
        if n_returned:
            warn(f"{source.label}: {returned_sentence(n_returned)}")
    else:
        ratings = table.ratings()
    n_dropped = len(table.user) - len(ratings)
    if n_dropped and chosen.duplicates == "last":
        warn(
            f"{source.label}: {n_dropped:,} of {table.n_read:,} lines are of pairs that "
            "come again: the last of each is kept, with its date."
        )
    return ratings, source.label


def returned_sentence(n_returned: int) -> str:
    """Write that ``n_returned`` pairs are left out, whose amounts come to 0 or less."""
    return (
        f"the amounts of {counted(n_returned, 'pair')} of user and item come to 0 or less, as of "
        "goods that were returned: these are left out."
    )


def place_of(path: str | Path | Source, user: str, item: str, **options: Any) -> str:
    """Name the file and the line (in Parquet the row) where a user first rates an item.

    ``user`` and ``item`` are ids, a pair that is in the file; ``options`` are those of
    `read_ratings`.
    """
    chosen = RatingOptions(**options)
    source = path if isinstance(path, Source) else open_source(path, encoding=chosen.encoding)
    recognised = recognise_ratings(source, chosen)
    rows = recognised.rows
    return next(
        f"{source.label}, {rows.unit} {line}"
        for line, texts in rows.records(recognised.places)
        if (texts[Role.USER], texts[Role.ITEM]) == (user, item)
    )


def recognise_ratings(source: Source, options: RatingOptions) -> RecognisedTable:
    """Find out how a file of ratings is laid out, and what its columns hold."""
    return recognise_table(
        source,
        RATINGS,
        options,
        format=options.format,
        is_without_numbers=bool(options.implicit),
    )
