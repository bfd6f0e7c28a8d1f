"""What a file of ratings seems to be, and how to use all of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from qrels.ratings.datasets.doubts import named_otherwise, unlikely_ids
from qrels.ratings.datasets.rating_file import recognise_ratings, returned_sentence
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.rating_table import RatingTable, added_up, read_rating_table
from qrels.ratings.ratings import Ratings
from qrels.ratings.statistics import are_amounts
from runs.tables.layouts import LAYOUTS, Shape
from runs.tables.recognition import RecognisedTable
from runs.tables.roles import PROPOSALS, Column, Columns, Reason, Role, require_settled
from runs.tables.screen import columns_as_text
from runs.tables.source import Source
from runs.tables.values import THOUSANDS, WITH_COMMA

MOST_EVENTS_SHOWN = 5


@dataclass(frozen=True, eq=False)
class RecognisedRatings:
    """How a file is to be read, and its ratings, read so.

    Parameters
    ----------
    options
        What a person says, and where that is silent, what was recognised.
    format
        Name of the format.
    columns
        All columns with their roles.
    ratings
        The ratings.
    notes
        Sentences on what was found.
    """

    options: RatingOptions
    format: str
    columns: Columns
    ratings: Ratings
    notes: tuple[str, ...]


def read_recognised(source: Source, options: RatingOptions) -> RecognisedRatings:
    """Read a file so that its ratings can be used, and say what was assumed.

    Ratings that miss a value are left out; of repeated ones the last is kept, or they are added up
    if they are amounts, unless a person says what is done with them. Roles that are
    proposed by values are taken: who writes something from them asks first
    (`runs.tables.roles.Columns.proposals`).

    Returns
    -------
    The options, completed by what was recognised; the format and the columns with their roles; the
    ratings; and sentences on what was taken, left out or doubted.

    Raises
    ------
    InputError
        If only a person can tell what a column holds, or there is no rating.
    """
    recognised = recognise_ratings(source, options)
    columns = recognised.columns
    require_settled(
        replace(columns, columns=tuple(map(_confirmed, columns.columns))),
        label=source.label,
        table=columns_as_text,
    )
    options = _completed(options, recognised)
    table = read_rating_table(
        recognised.rows, recognised.places, options, unique=False, complete=False
    )
    has_counts = columns.column(Role.COUNT) is not None
    options, notes = _with_gaps(options, table, is_amount=has_counts or are_amounts(table.rating))
    if options.duplicates == "sum":
        ratings, n_returned = added_up(table, label=source.label)
        if n_returned:
            sentence = returned_sentence(n_returned)
            notes.append(sentence[0].upper() + sentence[1:])
    else:
        ratings = table.ratings()
    notes = [
        *_remarks(columns),
        *named_otherwise(columns),
        *unlikely_ids(ratings),
        *_mixed_events(recognised, options),
        *notes,
    ]
    return RecognisedRatings(options, recognised.format, columns, ratings, tuple(notes))


def _confirmed(column: Column) -> Column:
    """Take a proposal for good."""
    return replace(column, reason=Reason.VALUES) if column.reason in PROPOSALS else column


def _completed(options: RatingOptions, recognised: RecognisedTable) -> RatingOptions:
    """Write down how the file is read, as far as that is not the default.

    Returns the options with the recognised columns, separator, header and decimal sign; and with
    ``implicit`` true if there is a column of counts, unless a person has set it.
    """
    changes: dict[str, Any] = {}
    columns = recognised.columns
    layout = LAYOUTS[recognised.format]
    if layout.shape == Shape.ROWS and not layout.columns:
        changes["columns"] = _columns_by_name(columns)
    if recognised.separator is not None:
        changes["separator"] = recognised.separator
    rows_layout = recognised.rows.layout
    if rows_layout.header != layout.header:
        changes["header"] = rows_layout.header
    if columns.column(Role.COUNT) is not None and options.implicit is None:
        changes["implicit"] = True
    numbers = [columns.column(role) for role in (Role.RATING, Role.COUNT, Role.TIME)]
    samples = recognised.rows.samples()
    texts = [text for column in numbers if column for text in samples[column.place].values]
    numbers_with_comma = [text for text in texts if _has_comma(text)]
    if not all(re.fullmatch(THOUSANDS, text) for text in numbers_with_comma):
        changes["decimal"] = ","
    return options.model_copy(update=changes)


def _columns_by_name(columns: Columns) -> dict[str, str | int]:
    """List the columns that are read: names, or places where there is no heading, by role."""
    return {
        name: column.name if columns.has_heading else column.place
        for name, role in columns.kind.roles.items()
        if (column := columns.column(role)) is not None
    }


def _has_comma(text: str) -> bool:
    """Tell a number with a decimal comma, and one without a sign for it, apart."""
    return "," in text and re.fullmatch(WITH_COMMA, text) is not None


def _remarks(columns: Columns) -> list[str]:
    """Say which columns were taken by their values, and which were left out by them.

    The remark of a column says why it is left out or, if it is read, what it holds.
    """
    sentences = []
    for column in columns.columns:
        if column.remark and column.role == Role.UNREAD:
            sentences.append(f"The column {column.name!r} is left out: {column.remark}.")
        elif column.remark:
            sentences.append(f"The column {column.name!r} holds {column.remark}.")
        elif column.role != Role.EVENT and column.reason in (
            Reason.VALUES,
            Reason.LEFT,
            Reason.PROPOSED,
        ):
            sentences.append(
                f"No column is called {column.role}; by its values, {column.name!r} is used."
            )
    return sentences


def _mixed_events(recognised: RecognisedTable, options: RatingOptions) -> list[str]:
    """Say that all lines count alike, whatever their event, where nobody chose some.

    Returns
    -------
    One sentence with the most frequent events among the first lines; none if there is no column of
    events, a person chose some, or the first lines have fewer than two.
    """
    column = recognised.columns.column(Role.EVENT)
    if column is None or options.events:
        return []
    events = recognised.rows.samples()[column.place].values
    most_common = Counter(events).most_common(MOST_EVENTS_SHOWN)
    if len(most_common) < 2:
        return []
    shares = [f"{event} ({count / len(events):.0%})" for event, count in most_common]
    # What is bought is seldom, what is viewed frequent: the rarest is the best example.
    rarest_event, _ = most_common[-1]
    return [
        f"All lines count, whatever their {column.name}: {', '.join(shares)} of the first "
        f"{len(events)} events. To read some only: `--event {rarest_event}`, or "
        f"`events = [{json.dumps(rarest_event)}]` in [ratings]."
    ]


def _with_gaps(
    options: RatingOptions, table: RatingTable, *, is_amount: bool
) -> tuple[RatingOptions, list[str]]:
    """Say that ratings miss a value or are repeated, where it is so, and what is done with them.

    ``is_amount`` says whether the numbers are amounts, which add up. Returns the options, completed
    by what is done, and the sentences.
    """
    notes = []
    if table.n_without_value:
        options = options.model_copy(update={"missing": "drop"})
        notes.append(
            f"{table.n_without_value:,} of {table.n_read:,} ratings miss a value and are left out."
        )
    if table.n_unrated:
        values = " or ".join(f"{value:g}" for value in options.unrated)
        notes.append(
            f"{table.n_unrated:,} of {table.n_read:,} lines are left out: {values} means "
            '"not rated".'
        )
    if table.n_repeated:
        if options.duplicates == "error":
            remedy = "sum" if is_amount else "last"
            options = options.model_copy(update={"duplicates": remedy})
        repeats = f"{table.n_repeated:,} of {len(table.user):,} lines are of pairs that"
        if options.duplicates == "sum":
            notes.append(f"{repeats} occur again: their amounts are added up.")
        else:
            notes.append(f"{repeats} come again: the last is kept, with its date.")
    return options, notes
