"""Tables in lines of text, fields between commas or tabs: read, and checked line by line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from runs.shared.errors import InputError
from runs.shared.ids import escaped

ID_HEADERS = ("", "topic", "user", "query", "qid")


def read_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give number and fields of every line that is not blank."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: the folder of a study is not read with tables.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the file is not UTF-8 text ({error}).") from None
    lines = text.splitlines()
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            fields = [field.strip() for field in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError.at(path, reader.line_num, f"not valid CSV ({error}).") from None
        if fields not in ([], [""]):
            yield reader.line_num, fields


def check_width(path: Path, line: int, row: list[str], heading: list[str]) -> list[str]:
    """Give the row back if it has as many fields as the heading."""
    if len(row) != len(heading):
        finding = f"{len(heading)} fields expected, as in the heading, found {len(row)}."
        raise InputError.at(path, line, finding)
    return row


def distinct(path: Path, names: Sequence[tuple[int, str]], kind: str) -> tuple[str, ...]:
    """Give names that are shown as they are; refuse those that are empty or duplicated."""
    seen: set[str] = set()
    for line, name in names:
        if not name:
            article = "an" if kind[0] in "aeiou" else "a"
            raise InputError.at(path, line, f"{article} {kind} has no name.")
        if name in seen:
            raise InputError.at(path, line, f"{kind} {name!r} is duplicated.")
        seen.add(name)
    return tuple(escaped(name) for _, name in names)


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number, be it infinite."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_number(path: Path, line: int, system: str, text: str, *, kind: str = "score") -> float:
    """Read a finite number."""
    if not text:
        raise InputError.at(path, line, f"column {system!r}: a {kind} is missing.")
    if not is_number(text) or not math.isfinite(float(text)):
        raise InputError.at(path, line, f"column {system!r}: a number expected, found {text!r}.")
    return float(text)


def read_cutoff(path: Path, line: int, text: str) -> int | None:
    """Read a cut-off; none for whole lists."""
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        finding = f"the cut-off must be a whole number from 1 on, or empty, got {text!r}."
        raise InputError.at(path, line, finding)
    return int(text)
