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
from runs.tables.values import NO_NUMBER, Sample, is_date, is_number

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
    lines: Sequence[str], *, label: str, separator: str | None = None, header: bool | None = None
) -> Sniffed:
    """Judge the first lines of a file.

    Parameters
    ----------
    lines
        Lines that are not blank, without line ends; the first of the file and some below it.
    label
        The file, for errors.
    separator, header
        What a person says; None to look.

    Raises
    ------
    InputError
        If no separator fits, two do in a way that gives other columns, or it cannot be told
        whether the first line is a heading.
    """
    chosen = separator if separator is not None else _separator_of(lines, label=label)
    rows = [split_line(line, chosen) for line in lines]
    if separator is None and chosen == WHITE_SPACE and _are_items(rows):
        return Sniffed(chosen, Shape.ITEMS, header=False)
    names = rows[0]
    is_numbered = names[0] == "" and names[1:] == [str(n) for n in range(len(names) - 1)]
    if header is None:
        header = is_numbered or _is_heading(names, rows[1:], label=label)
    return Sniffed(chosen, Shape.ROWS, header, is_numbered and header)


def split_line(line: str, separator: str) -> list[str]:
    """Split a line into fields, without blanks around them."""
    if separator == WHITE_SPACE:
        return line.split()
    if len(separator) == 1 and '"' in line:
        try:
            return [field.strip(BLANKS) for field in next(csv.reader([line], delimiter=separator))]
        except csv.Error:
            return [line]
    return [field.strip(BLANKS) for field in line.split(separator)]


def names_pairs(names: Sequence[str]) -> bool:
    """Tell a heading that names a column of users and one of items, and holds no number."""
    hints = [hint for hint in map(hint_of, names) if hint is not None]
    meanings = {hint.meaning for hint in hints}
    return _are_user_and_item(meanings) and not any(map(is_number, names))


def _are_user_and_item(meanings: set[Meaning]) -> bool:
    """Tell whether there is a user, or a topic, and an item."""
    return Meaning.ITEM in meanings and bool(meanings & {Meaning.USER, Meaning.TOPIC})


def _separator_of(lines: Sequence[str], *, label: str) -> str:
    """Choose the separator that parts all lines into equally many fields."""
    widths = {
        separator: [len(split_line(line, separator)) for line in lines] for separator in SEPARATORS
    }
    for separator in SEPARATORS:
        # A heading with usual names decides, even where lines below are damaged.
        if names_pairs(split_line(lines[0], separator)):
            return separator
    fitting = [
        separator
        for separator, numbers in widths.items()
        if len(set(numbers)) == 1 and numbers[0] > 1
    ]
    if fitting:
        _refuse_mixture(lines, fitting, label=label)
        return fitting[0]
    if WHITE_SPACE not in fitting and _are_items([line.split() for line in lines]):
        return WHITE_SPACE
    for separator, numbers in widths.items():
        width, n_lines = Counter(numbers).most_common(1)[0]
        if width > 1 and n_lines >= MOST * len(lines):
            return separator
    for separator, numbers in widths.items():
        # Lines of another width than the first are refused where they are read.
        if separator != WHITE_SPACE and numbers[0] > 1:
            return separator
    raise InputError.at_line(
        label,
        1,
        f"the separator cannot be recognised from {lines[0][:80]!r}; give it: "
        "`--separator`, or `separator` in [ratings].",
    )


def _refuse_mixture(lines: Sequence[str], fitting: Sequence[str], *, label: str) -> None:
    """Refuse lines that one separator parts into few fields, and white space into more."""
    chosen = fitting[0]
    if chosen == WHITE_SPACE or WHITE_SPACE not in fitting:
        return
    fields = split_line(lines[-1], chosen)
    words = lines[-1].split()
    # A field such as "3 4.0" holds two values; a title such as "Big Fish" is one.
    is_mixed = len(words) > len(fields) and any(
        " " in field and is_number(field.split()[-1]) for field in fields
    )
    if is_mixed:
        raise InputError.at_line(
            label,
            1,
            f"two separators part the lines, {chosen!r} into {len(fields)} fields and blanks into "
            f"{len(words)}; give one: `--separator ' '` for all white space, or "
            f"`--separator {chosen!r}`.",
        )


def _are_items(rows: Sequence[Sequence[str]]) -> bool:
    """Tell lines of a user and then its items from rows: widths differ, users do not repeat."""
    widths = {len(row) for row in rows}
    users = [row[0] for row in rows if row]
    are_ids = all(_is_id(field) for row in rows for field in row)
    return len(widths) > 1 and max(widths) > 2 and are_ids and len(set(users)) == len(users)


def _is_id(field: str) -> bool:
    """Tell what may be an id in a list of ids: it has a digit, and no decimal part."""
    has_digit = any(sign.isdigit() for sign in field)
    return has_digit and not any(sign in field for sign in '.,:;"')


def _is_value(text: str) -> bool:
    """Tell what may stand in a column of numbers or dates: such a value, or what marks a gap."""
    return is_number(text) or is_date(text) or text in NO_NUMBER


def _is_heading(names: Sequence[str], rows: Sequence[Sequence[str]], *, label: str) -> bool:
    """Tell a heading from a line of data by what stands below it."""
    hints = [hint for hint in map(hint_of, names) if hint is not None and hint.weakness == 0]
    if _are_user_and_item({hint.meaning for hint in hints}):
        return True
    columns = [Sample([row[at] for row in rows if at < len(row)]) for at in range(len(names))]
    typed = [at for at, sample in enumerate(columns) if sample.is_numeric or sample.is_date]
    if typed:
        return any(not _is_value(names[at]) for at in typed)
    is_hinted = any(hint.meaning in THINGS for hint in hints)
    if is_hinted:
        return True
    repeats = [name in sample.values for name, sample in zip(names, columns, strict=True)]
    if any(repeats) or not rows:
        return False
    raise InputError.at_line(
        label,
        1,
        f"it cannot be told whether {', '.join(names)} name columns or are values; give "
        "`--header` or `--no-header`, or `header` in [ratings].",
    )


def trec_kind(content: bytes) -> str:
    """Tell "a TREC run" and "a qrels file" by their first lines; "" for other files."""
    rows = [line.split() for line in content[:BEGINNING].splitlines()[:20]]
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
    return is_rank and SCORE.fullmatch(fields[4]) is not None


def _has_grade(fields: Sequence[bytes]) -> bool:
    """Tell whether four fields are those of a line of TREC qrels."""
    return fields[1] in (b"0", b"Q0") and GRADE.fullmatch(fields[3]) is not None
