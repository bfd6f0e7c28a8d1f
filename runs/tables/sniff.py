"""How a text file seems to be laid out: its separator, its heading, what a line holds."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runs.shared.errors import InputError
from runs.tables.hints import THINGS, Meaning, hint_of
from runs.tables.layouts import WHITE_SPACE, Shape
from runs.tables.roles import Kind
from runs.tables.values import NO_NUMBER, Sample, is_date, is_list, is_number

BLANKS: Final = " \t"
"""What may stand around a field without being part of it."""

SEPARATORS: Final = ("::", "\t", ";", "|", ",", WHITE_SPACE)
"""Separators that are tried, in this order."""

BEGINNING: Final = 4096
"""Bytes of a file that are looked at to tell what it holds."""

SCORE: Final = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
RANK: Final = re.compile(rb"[+-]?\d+(\.\d*)?")
GRADE: Final = re.compile(rb"-?[0-9]{1,3}")

MOST: Final = 0.6
"""Share of the lines that must be equally wide where some are damaged."""


@dataclass(frozen=True)
class Sniffed:
    """What the first lines of a file show.

    Parameters
    ----------
    separator
        What stands between two fields.
    shape
        What a line holds.
    header
        Whether the first line is a heading.
    is_numbered
        Whether the heading holds only the numbers 0, 1, 2, ... of the columns.
    """

    separator: str
    shape: Shape
    header: bool
    is_numbered: bool = False


def sniff(
    lines: Sequence[str],
    kind: Kind,
    *,
    label: str,
    separator: str | None = None,
    header: bool | None = None,
    are_places_named: bool = False,
) -> Sniffed:
    """Judge the first lines of a file.

    Parameters
    ----------
    lines
        Lines that are not blank, without line ends; the first of the file and some below it.
    kind
        What the file should hold.
    label
        The file, for errors.
    separator, header
        What a person says; None to look.
    are_places_named
        Whether a person names columns by their places: then a first line that cannot be told from
        a heading is none.

    Raises
    ------
    InputError
        If no separator fits, two do in a way that gives other columns, or it cannot be told
        whether the first line is a heading.
    """
    chosen = separator if separator is not None else _separator_of(lines, kind, label=label)
    rows = [split_line(line, chosen) for line in lines]
    if separator is None and chosen == WHITE_SPACE and _are_items(rows):
        return Sniffed(chosen, Shape.ITEMS, header=False)
    names, *rows_below = rows
    first_name, *further_names = names
    column_numbers = [str(number) for number in range(len(further_names))]
    is_numbered = first_name == "" and further_names == column_numbers
    if header is None:
        header = is_numbered or _is_heading(
            names, rows_below, kind, label=label, usual=False if are_places_named else None
        )
    return Sniffed(chosen, Shape.ROWS, header, is_numbered=is_numbered and header)


def split_line(line: str, separator: str) -> list[str]:
    """Split a line into fields, without blanks around them.

    At a separator of one character, fields may be in double quotes; a line whose quotes do not fit
    is one field.
    """
    if separator == WHITE_SPACE:
        return line.split()
    fields = line.split(separator)
    if len(separator) == 1 and '"' in line:
        reader = csv.reader([line], delimiter=separator)
        try:
            fields = next(reader)
        except csv.Error:
            return [line]
    return [field.strip(BLANKS) for field in fields]


def names_pairs(names: Sequence[str]) -> bool:
    """Tell a heading that names a column of users and one of items, and holds no number."""
    hints = [hint_of(name) for name in names]
    meanings = {hint.meaning for hint in hints if hint is not None}
    has_number = any(is_number(name) for name in names)
    return _are_user_and_item(meanings) and not has_number


def _are_user_and_item(meanings: set[Meaning]) -> bool:
    """Tell whether there is a user, or a topic, and an item."""
    return Meaning.ITEM in meanings and bool(meanings & {Meaning.USER, Meaning.TOPIC})


def _separator_of(lines: Sequence[str], kind: Kind, *, label: str) -> str:
    """Choose the separator that parts all lines into equally many fields, several of them.

    Before, one by which the first line names users and items; if none fits all lines, one that
    parts `MOST` (.6) of them equally, or just the first line. Raises InputError for lines that none
    parts into several fields, and for lines of two separators.
    """
    first_line = lines[0]
    for separator in SEPARATORS:
        # A heading with usual names decides, even where lines below are damaged.
        if names_pairs(split_line(first_line, separator)):
            return separator
    widths_by_separator = {
        separator: [len(split_line(line, separator)) for line in lines] for separator in SEPARATORS
    }
    fitting_separators = []
    for separator, widths in widths_by_separator.items():
        is_even = len(set(widths)) == 1
        if is_even and widths[0] > 1:
            fitting_separators.append(separator)
    if fitting_separators:
        _refuse_mixture(lines, fitting_separators, kind, label=label)
        return fitting_separators[0]
    if _are_items([line.split() for line in lines]):
        return WHITE_SPACE
    least_lines = MOST * len(lines)
    for separator, widths in widths_by_separator.items():
        [(usual_width, n_lines)] = Counter(widths).most_common(1)
        if usual_width > 1 and n_lines >= least_lines:
            return separator
    for separator, widths in widths_by_separator.items():
        # Lines of another width than the first are refused where they are read.
        if separator != WHITE_SPACE and widths[0] > 1:
            return separator
    beginning = first_line[:80]
    finding = (
        f"the separator cannot be recognised from {beginning!r}; give it: "
        f"{kind.setting('separator')}."
    )
    raise InputError.at_line(label, 1, finding)


def _refuse_mixture(
    lines: Sequence[str], fitting_separators: Sequence[str], kind: Kind, *, label: str
) -> None:
    """Refuse lines that one separator parts into few fields, and white space into more.

    Only the last line is looked at. ``fitting_separators`` part all lines equally; the first is the
    one to be chosen. Raises InputError if a field of several words ends with a number, or every
    first field holds a further mark.
    """
    chosen = fitting_separators[0]
    _refuse_mark_in_first_field(lines, chosen, kind, label=label)
    if chosen == WHITE_SPACE or WHITE_SPACE not in fitting_separators:
        return
    last_line = lines[-1]
    fields = split_line(last_line, chosen)
    words = last_line.split()
    if len(words) <= len(fields):
        return
    # A field such as "3 4.0" holds two values; a title such as "Big Fish" is one.
    is_mixed = any(is_number(field.split()[-1]) for field in fields if " " in field)
    if is_mixed:
        finding = (
            f"two separators part the lines, {chosen!r} into {len(fields)} fields and blanks into "
            f"{len(words)}; give one: `{kind.prefix}separator ' '` for all white space, or "
            f"`{kind.prefix}separator {chosen!r}`."
        )
        raise InputError.at_line(label, 1, finding)


def _refuse_mark_in_first_field(
    lines: Sequence[str], chosen: str, kind: Kind, *, label: str
) -> None:
    """Refuse lines whose first field, between separators, holds one further mark in every line.

    A mark (comma, semicolon, bar) with a blank beside it may be a part of a name, such as
    "Doe, Jane". ``chosen`` is the separator. Raises InputError; a single line is not refused.
    """
    first_fields = [split_line(line, chosen)[0] for line in lines]
    for mark in (",", ";", "|"):
        parts_of_fields = [field.split(mark) for field in first_fields]
        has_one_mark = all(len(parts) == 2 for parts in parts_of_fields)
        is_tight = all(part == part.strip() for parts in parts_of_fields for part in parts)
        if mark != chosen and has_one_mark and is_tight and len(lines) > 1:
            finding = (
                f"two separators part the lines, {chosen!r}, and {mark!r} in the first field, "
                f"{first_fields[0]!r}; write one alone, or give the one that counts: "
                f"`{kind.prefix}separator {chosen!r}`."
            )
            raise InputError.at_line(label, 1, finding)


def _are_items(rows: Sequence[Sequence[str]]) -> bool:
    """Tell lines of a user and then its items from rows: widths differ, users do not repeat.

    All fields must look like ids, which have a digit.
    """
    widths = {len(row) for row in rows}
    if len(widths) < 2 or max(widths) < 3:
        return False
    users = [row[0] for row in rows if row]
    if len(set(users)) < len(users):
        return False
    return all(_is_id(field) for row in rows for field in row)


def _is_id(field: str) -> bool:
    """Tell what may be an id in a list of ids: it has a digit, and no decimal part."""
    has_digit = any(sign.isdigit() for sign in field)
    has_mark = any(mark in field for mark in '.,:;"')
    return has_digit and not has_mark


def _is_value(text: str) -> bool:
    """Tell what stands in a column of numbers, dates or lists, or marks a gap, from a name."""
    return is_number(text) or is_date(text) or is_list(text) or text in NO_NUMBER


def _is_heading(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    kind: Kind,
    *,
    label: str,
    usual: bool | None,
) -> bool:
    """Tell a heading from a line of data by what stands below it.

    Parameters
    ----------
    names
        Fields of the first line.
    rows
        Fields of lines below it; they may be of other widths.
    kind
        What the file should hold.
    label
        The file, for errors.
    usual
        What is returned if it cannot be told; None to refuse the file.

    Raises
    ------
    InputError
        If it cannot be told.
    """
    hints = [hint_of(name) for name in names]
    clear_hints = [hint for hint in hints if hint is not None and hint.weakness == 0]
    meanings = {hint.meaning for hint in clear_hints}
    if _are_user_and_item(meanings):
        return True
    samples = []
    for place in range(len(names)):
        values = [row[place] for row in rows if place < len(row)]
        samples.append(Sample(values))
    names_of_typed_columns = [
        name
        for name, sample in zip(names, samples, strict=True)
        if sample.is_numeric or sample.is_date
    ]
    if names_of_typed_columns:
        return not all(_is_value(name) for name in names_of_typed_columns)
    if meanings.intersection(THINGS):
        return True
    is_repeated = any(name in sample.values for name, sample in zip(names, samples, strict=True))
    if is_repeated or not rows:
        return False
    if usual is not None:
        return usual
    listed = ", ".join(names)
    remedy = "give `--header` or `--no-header`, or `header` in [ratings]"
    if kind.name != "ratings":
        remedy = (
            f"name the columns, `{kind.option} user=NAME`, or where there is no heading give their "
            f"places from 0, `{kind.option} user=0`"
        )
    finding = f"it cannot be told whether {listed} name columns or are values; {remedy}."
    raise InputError.at_line(label, 1, finding)


def trec_kind(content: bytes) -> str:
    """Tell "a TREC run" and "a qrels file" by their first lines; "" for other files.

    At most 20 lines of the first `BEGINNING` (4096) bytes are looked at, but not the last one of
    several, which may be cut off. Lines that begin with ``#`` do not count.
    """
    first_lines = content[:BEGINNING].splitlines()[:20]
    rows = [line.split() for line in first_lines]
    rows = [fields for fields in rows if fields and not fields[0].startswith(b"#")]
    # The last line may be cut off.
    rows = rows[:-1] or rows
    widths = {len(fields) for fields in rows}
    if widths == {6} and all(_has_rank_and_score(fields) for fields in rows):
        return "a TREC run"
    if widths == {4} and all(_has_grade(fields) for fields in rows):
        return "a qrels file"
    return ""


def _has_rank_and_score(fields: Sequence[bytes]) -> bool:
    """Tell whether six fields are those of a line of a TREC run."""
    is_rank = RANK.fullmatch(fields[3]) is not None
    is_score = SCORE.fullmatch(fields[4]) is not None
    return is_rank and is_score


def _has_grade(fields: Sequence[bytes]) -> bool:
    """Tell whether four fields are those of a line of TREC qrels."""
    has_iteration = fields[1] in (b"0", b"Q0")
    is_grade = GRADE.fullmatch(fields[3]) is not None
    return has_iteration and is_grade
