"""Ratings from files: choose the format, read, check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from qrels.ratings.datasets.delimited import DelimitedRows
from qrels.ratings.datasets.fields import Rows, read_table
from qrels.ratings.datasets.format_guess import guess
from qrels.ratings.datasets.layouts import FORMATS, Layout
from qrels.ratings.datasets.options import adapted_layout, require_choice
from qrels.ratings.datasets.parquet import ParquetRows
from qrels.ratings.datasets.source import Source, open_source
from qrels.ratings.ratings import Ratings
from runs import InputError


def read_ratings(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    separator: str | None = None,
    header: bool | None = None,
    duplicates: Literal["error", "last"] = "error",
) -> Ratings:
    r"""Read ratings from a file, or from the ratings file inside a folder or a zip archive.

    Ids stay text as in the file: "007" and "7" are two. Text is UTF-8; ``.gz`` is decompressed.

    Parameters
    ----------
    path
        The file, or a MovieLens folder or archive as downloaded.
    format
        One of `FORMATS`; by default "csv" if there is a ``separator``, else guessed from name and
        content.
    columns
        Where "user", "item", "rating" and, if wanted, "time" are: names in the header, or
        positions from 0. By default as the format says.
    separator
        What separates two fields of a line. By default as the format says.
    header
        Whether the first line names the columns. By default as the format says, but not where
        ``columns`` are positions.
    duplicates
        What if a user rates an item twice: ``"error"``, or ``"last"`` to keep the last in time,
        and of those at one time (or without times) the last in the file.

    Returns
    -------
    Ratings; times are whole seconds since 1970 in UTC, rounded down.

    Raises
    ------
    InputError
        If the file is missing, empty, or does not fit the format; a rating or time is not a finite
        number; an id does not fit a TREC file; or a pair repeats. It names the file, the physical
        line (in Parquet the row, from 1), the rule and the value.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("reader,book,stars\nann,007,4.5\nbob,7,3\n")
    ...     columns = {"user": "reader", "item": "book", "rating": "stars"}
    ...     ratings = read_ratings(path, columns=columns)
    >>> ratings.items.ids.tolist(), ratings.rating.tolist()
    (['007', '7'], [4.5, 3.0])
    """
    require_choice("duplicates", duplicates, ("error", "last"))
    chosen, rows = _opened(path, format=format, columns=columns, separator=separator, header=header)
    try:
        return read_table(rows, unique=duplicates == "error").ratings()
    except InputError as error:
        if format is not None:
            raise
        raise InputError(f"{error} (The format {chosen!r} was guessed.)") from error


def place_of(
    path: str | Path,
    user: str,
    item: str,
    *,
    duplicates: Literal["error", "last"] = "error",
    **options: Any,
) -> str:
    """Name the file and the line (in Parquet the row) where a user first rates an item.

    Parameters
    ----------
    path, options
        A file that was read; see `read_ratings`.
    user, item
        Ids of a rating in it.
    """
    _, rows = _opened(path, **options)
    return next(
        f"{rows.source.label}, {rows.unit} {place}"
        for place, texts in rows.records()
        if (texts["user"], texts["item"]) == (user, item)
    )


def _opened(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> tuple[str, Rows]:
    """Open a file by the format that is named, or guessed, and give the format's name."""
    if format is not None:
        require_choice("format", format, FORMATS)
    source = open_source(path)
    chosen = format or (guess(source) if separator is None else "csv")
    layout = adapted_layout(chosen, columns=columns, separator=separator, header=header)
    return chosen, _rows(source, layout)


def _rows(source: Source, layout: Layout) -> Rows:
    return DelimitedRows(source, layout) if layout.separator else ParquetRows(source, layout)
