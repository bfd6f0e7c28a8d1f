"""What a file of ratings seems to be: its format, and how to use all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from qrels.ratings.datasets.fields import ISO, NO_NUMBER, NUMBER, Table, read_table
from qrels.ratings.datasets.layouts import (
    COUNT_NAMES,
    LAYOUTS,
    ROLES,
    USUAL_NAMES,
    FileOptions,
    positions_of,
)
from qrels.ratings.datasets.ratings_file import guess, rows_of
from qrels.ratings.datasets.source import Source
from qrels.ratings.ratings import Ratings
from runs import InputError

SEPARATORS: Final = ("::", "\t", ";", "|", ",", " ")
LOOKED_AT: Final = 200
"""Ratings that are looked at to tell what a column holds."""

EITHER_DECIMAL: Final = NUMBER.replace(r"\.", "[.,]")
WITH_COMMA: Final = r"[+-]?[0-9]*,[0-9]+"
KNOWN: Final = frozenset(
    name.lower() for names in USUAL_NAMES.values() if not isinstance(names, int) for name in names
)


@dataclass(frozen=True, eq=False)
class Recognised:
    """How a file is to be read, and its ratings, read so.

    ``options``: what the user says, and where that is silent, what was recognised; ``format``: the
    name of the format; ``ratings``: the ratings; ``notes``: sentences on what was found.
    """

    options: FileOptions
    format: str
    ratings: Ratings
    notes: tuple[str, ...]


def recognise(source: Source, given: FileOptions) -> Recognised:
    """Find out how to read a file that its ratings can be used, and read it.

    Where the user is silent, columns are taken by their usual names, then by what they hold if that
    leaves no choice; without a header they are user, item, rating and time in this order. Ratings
    that miss a value are left out, and of repeated ones the last is kept.
    """
    options, notes = _with_columns(source, _with_separator(source, given))
    rows, format = rows_of(source, options)
    table = read_table(rows, unique=False, whole=False)
    options, found = _with_gaps(options, table)
    return Recognised(options, format, table.ratings(), (*notes, *found))


def _with_separator(source: Source, given: FileOptions) -> FileOptions:
    """Fill in the separator of a file that the guess of its format would read in vain."""
    if given.format is not None or given.separator is not None or source.is_parquet:
        return given
    separator = _separator_of(source.first_line())
    try:
        guessed = guess(source)
    except InputError:
        guessed = "csv"
    fits = guessed not in ("csv", "tsv") or LAYOUTS[guessed].separator == separator
    return given if fits or separator is None else given.model_copy(update={"separator": separator})


def _separator_of(line: str) -> str | None:
    """Find the separator of a header that names columns as usual, or of three fields or more."""
    fields = {separator: _unquoted(line.split(separator)) for separator in SEPARATORS}
    named = [separator for separator, names in fields.items() if KNOWN & set(names)]
    many = [separator for separator, names in fields.items() if len(names) > 2]
    return next(iter(named + many), None)


def _unquoted(fields: Sequence[str]) -> list[str]:
    return [field.strip('"').lower() for field in fields]


def _with_columns(source: Source, given: FileOptions) -> tuple[FileOptions, list[str]]:
    """Fill in where user, item, rating and time stand, and the decimal sign; say what is odd."""
    rows, _ = rows_of(source, given)
    names = rows.names()
    # Lines of other lengths than the first are refused when all are read.
    every = [*zip_longest(names, *rows.beginning(LOOKED_AT), fillvalue="")][: len(names)]
    columns = [texts for _, *texts in every]
    # A first line may hold a rating rather than names.
    is_data = not KNOWN & set(_unquoted(names)) and any(map(_is_time, names))
    if given.columns is None and rows.layout.header and is_data:
        given = given.model_copy(update={"header": False, "columns": _in_order(every)})
        rows, _ = rows_of(source, given)
    roles = {
        role: at
        for role, column in rows.layout.columns.items()
        for at in positions_of(column, names)[:1]
    }
    notes: list[str] = []
    if given.columns is None and (rows.layout.header or not rows.layout.separator):
        roles, notes = _completed(roles, names, columns)
        found = {role: names[roles[role]] for role in ROLES if role in roles}
        is_clear = {"user", "item"} <= roles.keys()
        if is_clear and ("rating" in roles or given.implicit or not _numeric(roles, columns)):
            given = given.model_copy(update={"columns": found})
        if is_clear and names[roles.get("rating", roles["user"])].lower() in COUNT_NAMES:
            given = given.model_copy(update={"implicit": True})
    texts = [text for role in ("rating", "time") if role in roles for text in columns[roles[role]]]
    if any(re.fullmatch(WITH_COMMA, text) for text in texts):
        given = given.model_copy(update={"decimal": ","})
    return given, notes


def _completed(
    roles: Mapping[str, int], names: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[dict[str, int], list[str]]:
    """Give roles to columns by what they hold, and leave out times that cannot be read."""
    found, notes = dict(roles), []
    known = {at: [*filter(None, columns[at])] for at in _free(found, columns)}
    dates = [at for at, texts in known.items() if texts and all(map(_is_date, texts))]
    numeric = _numeric(found, columns)
    if "time" not in found and len(dates) == 1:
        found["time"] = dates[0]
    if "rating" not in found and len(numeric) == 1:
        found["rating"] = numeric[0]
    missing = [role for role in ("user", "item") if role not in found]
    left = _free(found, columns)
    if len(missing) == len(left):
        found |= dict(zip(missing, left, strict=True))
    for role in [role for role in ROLES if role in found and role not in roles]:
        notes.append(f"No column is called {role}; by its values, {names[found[role]]!r} is used.")
    if "time" in found:
        odd = [text for text in columns[found["time"]] if text and not _is_time(text)]
        if odd:
            notes.append(
                f"The column {names[found.pop('time')]!r} is left out: {odd[0]!r} is no time in "
                "seconds or milliseconds since 1970, and no ISO date."
            )
    return found, notes


def _free(roles: Mapping[str, int], columns: Sequence[Sequence[str]]) -> list[int]:
    return [at for at in range(len(columns)) if at not in roles.values()]


def _numeric(roles: Mapping[str, int], columns: Sequence[Sequence[str]]) -> list[int]:
    """Give the places of the columns without a role that hold numbers."""
    return [at for at in _free(roles, columns) if _holds_numbers(columns[at])]


def _holds_numbers(texts: Sequence[str]) -> bool:
    """Tell a column of numbers, of which one or a tenth may be no number: these are told later."""
    there = [text for text in texts if text not in NO_NUMBER]
    odd = [text for text in there if not _is_number(text)]
    return len(there) > 2 * len(odd) and len(odd) <= max(1, len(there) // 10)


def _in_order(columns: Sequence[Sequence[str]]) -> dict[str, str | int]:
    """Place user and item, then a rating and a time as far as there are such."""
    places: dict[str, str | int] = {"user": 0, "item": 1}
    if len(columns) > 2 and _holds_numbers(columns[2]):
        places["rating"] = 2
    at = len(places)
    if len(columns) > at and all(map(_is_time, columns[at])):
        places["time"] = at
    return places


def _is_number(text: str) -> bool:
    return re.fullmatch(EITHER_DECIMAL, text) is not None


def _is_time(text: str) -> bool:
    return _is_number(text) or _is_date(text)


def _is_date(text: str) -> bool:
    return re.fullmatch(ISO, text) is not None


def _with_gaps(options: FileOptions, table: Table) -> tuple[FileOptions, list[str]]:
    """Say that ratings miss a value or are repeated, where it is so, and what is done with them."""
    notes = []
    if table.n_dropped:
        options = options.model_copy(update={"missing": "drop"})
        n_all = table.n_dropped + len(table.user)
        notes.append(f"{table.n_dropped:,} of {n_all:,} ratings miss a value and are left out.")
    if table.n_repeated:
        options = options.model_copy(update={"duplicates": "last"})
        notes.append(
            f"{table.n_repeated:,} of {len(table.user):,} ratings are of pairs that are rated "
            "again: the last is kept."
        )
    return options, notes
