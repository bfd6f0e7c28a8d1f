"""Ratings from files, gzip files, folders and archives: choose the format, read, check."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from qrels.ratings.datasets.fields import NUMBER, Rows, read_table
from qrels.ratings.datasets.layouts import FORMATS, adapted_layout, require_choice
from qrels.ratings.datasets.rating_tables import DelimitedRows, MatrixRows, ParquetRows
from qrels.ratings.datasets.source import Source, open_source
from qrels.ratings.ratings import Ratings
from runs import InputError, InputWarning


def read_ratings(
    path: str | Path | Source,
    *,
    format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    separator: str | None = None,
    header: bool | None = None,
    decimal: Literal[".", ","] = ".",
    implicit: bool | None = None,
    missing: Literal["error", "drop"] = "error",
    duplicates: Literal["error", "last"] = "error",
) -> Ratings:
    r"""Read ratings from a file, or from the ratings file inside a folder or a zip archive.

    Ids stay text as in the file: "007" and "7" are two. Text is UTF-8; ``.gz`` is decompressed.
    """
    require_choice("duplicates", duplicates, ("error", "last"))
    source = path if isinstance(path, Source) else open_source(path)
    rows, chosen = rows_of(
        source,
        format=format,
        columns=columns,
        separator=separator,
        header=header,
        decimal=decimal,
        implicit=implicit,
    )
    try:
        table = read_table(rows, unique=duplicates == "error", whole=missing == "error")
    except InputError as error:
        if format is not None:
            raise
        raise InputError(f"{error} (The format {chosen!r} was guessed.)") from error
    if table.n_dropped:
        finding = (
            f"{source.label}: {table.n_dropped:,} of {table.n_dropped + len(table.user):,} ratings "
            "are left out, since a value is missing."
        )
        warnings.warn(finding, InputWarning, stacklevel=2)
    return table.ratings()


def place_of(
    path: str | Path | Source,
    user: str,
    item: str,
    *,
    duplicates: Literal["error", "last"] = "error",
    missing: Literal["error", "drop"] = "error",
    format: str | None = None,
    separator: str | None = None,
    **options: Any,
) -> str:
    """Name the file and the line (in Parquet the row) where a user first rates an item."""
    source = path if isinstance(path, Source) else open_source(path)
    rows, _ = rows_of(source, format=format, separator=separator, **options)
    return next(
        f"{source.label}, {rows.unit} {place}"
        for place, texts in rows.records()
        if (texts["user"], texts["item"]) == (user, item)
    )


def rows_of(
    source: Source, *, format: str | None, separator: str | None, **options: Any
) -> tuple[Rows, str]:
    """Give what reads a source, and the name of its format, which is guessed if absent."""
    if format is not None:
        require_choice("format", format, FORMATS)
    chosen = format or (guess(source) if separator is None else "csv")
    layout = adapted_layout(chosen, separator=separator, **options)
    if layout.is_matrix:
        return MatrixRows(source, layout), chosen
    kind = DelimitedRows if layout.separator else ParquetRows
    return kind(source, layout), chosen


def guess_format(path: str | Path) -> str:
    """Guess the format, one of `FORMATS`, of a ratings file from its name and its first line."""
    return guess(open_source(path))


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
        f"{source.label}, line 1: the format cannot be guessed from {line[:80]!r}; "
        f"name one of {', '.join(FORMATS)}."
    )


def _kind_of_csv(line: str) -> str:
    return "movielens-csv" if {"userId", "movieId"} <= set(line.split(",")) else "csv"
