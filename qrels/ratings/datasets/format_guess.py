"""Guessing the format of a ratings file from its name and its first line."""

from __future__ import annotations

import re
from pathlib import Path

from qrels.ratings.datasets.fields import NUMBER
from qrels.ratings.datasets.layouts import FORMATS
from qrels.ratings.datasets.source import Source, open_source
from runs import InputError


def guess_format(path: str | Path) -> str:
    """Guess the format, one of `FORMATS`, of a ratings file from its name and its first line."""
    return guess(open_source(path))


def guess(source: Source) -> str:
    """Guess the format of a file that has been read; see `guess_format`."""
    if source.is_parquet:
        return "parquet"
    line = source.first_line()
    if source.name.endswith(".inter") or "user_id:token" in line.split("\t"):
        return "inter"
    if source.name.endswith(".csv"):
        return _kind_of_csv(line)
    if source.name.endswith(".tsv") or "\t" in line:
        return _kind_of_tsv(line)
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


def _kind_of_tsv(line: str) -> str:
    fields = line.split("\t")
    is_data = len(fields) == 4 and all(re.fullmatch(NUMBER, field) for field in fields[2:])
    return "movielens-u.data" if is_data else "tsv"
