"""TREC qrels files: ``user 0 item grade``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qrels.qrels import Qrels, qrels_from_columns
from runs import InputError, Numbering
from runs.shared.arrays import Ints
from runs.shared.errors import warn
from runs.shared.fields import (
    ITEM_FIELD,
    USER_FIELD,
    Columns,
    Layout,
    NumberedLines,
    Pairs,
    join_rows,
    read_columns,
)
from runs.shared.files import read_bytes

N_FIELDS, GRADE_FIELD = 4, 3
LAYOUT = Layout(N_FIELDS, texts=(USER_FIELD, ITEM_FIELD, GRADE_FIELD))
GRADE = re.compile("([+-]?)0*([0-9]+)")
HIGHEST_GRADE, MOST_DIGITS = 2**31 - 1, 10


@dataclass(frozen=True, eq=False)
class QrelsFile:
    """What a qrels file says, line by line, over a numbering of its own.

    ``users``, ``items``: the ids in the file; ``user``, ``item``, ``grade``: columns, int32 of
    shape (n_lines,).
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    grade: Ints

    def to_qrels(self, items: Numbering, *, relevance_level: int) -> Qrels:
        """Number the items as the study does; every user in the file is a topic."""
        item, n_users = items.numbers(self.items.ids)[self.item], len(self.users)
        return qrels_from_columns(
            self.user, item, self.grade, n_users=n_users, relevance_level=relevance_level
        )


def read_qrels(path: Path) -> QrelsFile:
    """Read a qrels file (plain or gzipped) as trec_eval does, and refuse what it would misread.

    Lines that begin with ``#`` are skipped, as trec_eval 10 does. A negative grade, of any size,
    means "in the pool, but not judged".

    Warns
    -----
    InputWarning
        If users have negative grades only: they score 0, and can stop or crash trec_eval.
    """
    path = Path(path)
    return parse_qrels(path, read_bytes(path))


def parse_qrels(path: Path, content: bytes) -> QrelsFile:
    """Read the content of a qrels file, unpacked; the path is for messages."""
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    grades = _grades(columns)
    file = QrelsFile(*Pairs.of_columns(columns), grades)
    judged = np.bincount(file.user[file.grade >= 0], minlength=len(file.users)) > 0
    if not judged.all():
        warn(
            f"{path}: {np.count_nonzero(~judged)} users (the first is "
            f"{file.users.ids[judged.argmin()]}) have negative grades only; they score 0, and "
            "trec_eval may stop at them."
        )
    return file


def _checked_lines(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Check lines, and give their fields."""
    has_lines = False
    for number, fields in lines:
        if len(fields) != N_FIELDS:
            finding = f"a qrels line has four fields (user 0 item grade), found {len(fields)}."
            raise InputError.at_line(path, number, finding)
        has_lines = True
        yield fields
    if not has_lines:
        raise InputError(f"{path}: the file has no judgement.")


def format_qrels(qrels: Qrels, topics: Numbering, items: Numbering) -> bytes:
    r"""Write qrels as the lines of a TREC qrels file, low grades included."""
    grades, grade = np.unique(qrels.grades, return_inverse=True)
    return join_rows(
        ([f"{topic} 0 " for topic in topics.ids.tolist()], qrels.users),
        (items.ids.tolist(), qrels.items),
        ([f" {value}\n" for value in grades.tolist()], grade),
    )


def _grades(columns: Columns) -> Ints:
    """Read each distinct grade once."""
    texts, codes = columns.texts(GRADE_FIELD)
    for code, text in enumerate(texts):
        digits = GRADE.fullmatch(text)
        if digits is None or len(digits[2]) > MOST_DIGITS or int(digits[2]) > HIGHEST_GRADE:
            rule = f"a grade must be a whole number, at most {HIGHEST_GRADE}, found {text!r}."
            raise columns.error_at(int((codes == code).argmax()), rule)
    return np.array([int(GRADE.sub(r"\1\2", text)) for text in texts], dtype=np.int32)[codes]
