"""Ratings from files, gzip files, folders and archives: choose the format, read, check."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from qrels.ratings.datasets.fields import NUMBER, Rows, read_table
from qrels.ratings.datasets.layouts import FORMATS, FileOptions, adapted_layout
from qrels.ratings.datasets.rating_tables import DelimitedRows, MatrixRows, ParquetRows
from qrels.ratings.datasets.source import Source, open_source
from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.errors import require_choice, warn
from runs.shared.settings import check_settings


def read_ratings(path: str | Path | Source, **options: Any) -> Ratings:
    r"""Read ratings from a file, or from the ratings file inside a folder or a zip archive.

    Ids stay text as in the file: "007" and "7" are two. Text is UTF-8; ``.gz`` is decompressed.
    Options are those that [ratings] of a study has: format, columns, separator, header, decimal,
    implicit, missing and duplicates.
    """
    chosen = check_settings("read_ratings", FileOptions, options)
    source = path if isinstance(path, Source) else open_source(path)
    rows, format = rows_of(source, chosen)
    whole, unique = chosen.missing == "error", chosen.duplicates == "error"
    try:
        table = read_table(rows, unique=unique, whole=whole)
    except InputError as error:
        if chosen.format is not None:
            raise
        raise InputError(f"{error} (The format {format!r} was recognised.)") from error
    if table.n_dropped:
        warn(
            f"{source.label}: {table.n_dropped:,} of {table.n_dropped + len(table.user):,} ratings "
            "are left out because a value is missing."
        )
    return table.ratings()


def place_of(path: str | Path | Source, user: str, item: str, **options: Any) -> str:
    """Name the file and the line (in Parquet the row) where a user first rates an item."""
    source = path if isinstance(path, Source) else open_source(path)
    rows, _ = rows_of(source, FileOptions(**options))
    return next(
        f"{source.label}, {rows.unit} {place}"
        for place, texts in rows.records()
        if (texts["user"], texts["item"]) == (user, item)
    )


def rows_of(source: Source, options: FileOptions) -> tuple[Rows, str]:
    """Give what reads a source, and the name of its format, which is guessed if absent."""
    if options.format is not None:
        require_choice("format", options.format, FORMATS)
    chosen = options.format or (guess(source) if options.separator is None else "csv")
    layout = adapted_layout(chosen, options)
    if layout.is_matrix:
        return MatrixRows(source, layout), chosen
    return (DelimitedRows if layout.separator else ParquetRows)(source, layout), chosen


def guess(source: Source) -> str:
    """Guess the format of a file that has been read."""
    if source.is_parquet:
        return "parquet"
    line = source.first_line()
    if source.name.endswith(".inter") or "user_id:token" in line.split("\t"):
        return "inter"
    if source.name.endswith(".csv"):
        return _kind_of_csv(line)
    if source.name.endswith(".tsv") or "\t" in line:
        fields = line.split("\t")
        is_data = len(fields) == 4 and all(re.fullmatch(NUMBER, field) for field in fields[2:])
        return "movielens-u.data" if is_data else "tsv"
    if "::" in line:
        return "movielens-dat"
    if "," in line:
        return _kind_of_csv(line)
    raise InputError(
        f"{source.label}, line 1: the format cannot be recognised from {line[:80]!r}; "
        f"name one of {', '.join(FORMATS)}."
    )


def _kind_of_csv(line: str) -> str:
    return "movielens-csv" if {"userId", "movieId"} <= set(line.split(",")) else "csv"
