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

N_FIELDS = 4
GRADE_FIELD = 3
LAYOUT = Layout(N_FIELDS, texts=(USER_FIELD, ITEM_FIELD, GRADE_FIELD))
SUBTOPIC_FIELD = 1
LAYOUT_OF_SUBTOPICS = Layout(N_FIELDS, texts=(SUBTOPIC_FIELD,))
GRADE = re.compile("([+-]?)0*([0-9]+)")
HIGHEST_GRADE = 2**31 - 1
MOST_DIGITS = 10
"""Number of digits of the highest grade."""


@dataclass(frozen=True, eq=False)
class QrelsFile:
    """The lines of a qrels file, over a numbering of their own.

    ``users``, ``items``: the ids in the file; ``user``, ``item``, ``grade``: columns, int32 of
    shape (n_lines,).
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    grade: Ints

    def to_qrels(self, items: Numbering, *, relevance_level: int) -> Qrels:
        """Sort the judgements into qrels; every user in the file is a topic.

        ``items`` gives the items their numbers; it holds all items of the file.
        """
        item = items.numbers(self.items.ids)[self.item]
        return qrels_from_columns(
            self.user,
            item,
            self.grade,
            n_users=len(self.users),
            relevance_level=relevance_level,
        )


def read_qrels(path: Path) -> QrelsFile:
    """Read a qrels file (plain or gzipped) as trec_eval does, and refuse lines it would misread.

    Lines that begin with ``#`` are skipped, as trec_eval 10 does. A negative grade
    means "in the pool, but not judged".

    Raises
    ------
    InputError
        If the file cannot be read, has a line that is no judgement, or judges a pair of user and
        item twice.

    Warns
    -----
    InputWarning
        If users have negative grades only: they score 0, and can stop or crash trec_eval.
    """
    path = Path(path)
    return parse_qrels(path, read_bytes(path))


def parse_qrels(path: Path, content: bytes) -> QrelsFile:
    """Read the content of a qrels file, unpacked; the path is only named in messages.

    Raises InputError if the file has no lines, a line has not four fields, an id is too long, a
    grade is no whole number up to 2^31 - 1, or a pair of user and item is judged twice (unless the
    file has subtopics). Warns of subtopics, and of users who have negative grades only.
    """
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    file = _with_subtopics_together(path, content, columns)
    if file is None:
        pairs = Pairs.of_columns(columns)
        grade = _grades(columns)
        file = QrelsFile(pairs.users, pairs.items, pairs.user, pairs.item, grade)
    users_with_judgements = file.user[file.grade >= 0]
    has_judgement = np.bincount(users_with_judgements, minlength=len(file.users)) > 0
    if not has_judgement.all():
        n_users = np.count_nonzero(~has_judgement)
        first_user = file.users.ids[has_judgement.argmin()]
        warn(
            f"{path}: {n_users} users (the first is {first_user}) have negative grades only; they "
            "score 0, and trec_eval may stop at them."
        )
    return file


def _with_subtopics_together(path: Path, content: bytes, columns: Columns) -> QrelsFile | None:
    """Read qrels of subtopics (user subtopic item grade) as qrels of their users; None for others.

    A file has subtopics if a pair of user and item occurs twice, but no triple of user, item and
    subtopic does. The grade of an item is its highest over the subtopics, of which a warning tells.

    ``content``: the bytes of the file; ``columns``: its fields as read from them, except the
    subtopics. Raises InputError if an id is too long or a grade is invalid.
    """
    users, user = columns.numbered_texts(USER_FIELD)
    items, item = columns.numbered_texts(ITEM_FIELD)
    pairs = Pairs(users, items, user, item)
    if not len(pairs.duplicate_rows()):
        return None
    subtopic_columns = read_columns(path, content, LAYOUT_OF_SUBTOPICS, _checked_lines)
    subtopics, subtopic = subtopic_columns.numbered_texts(SUBTOPIC_FIELD)
    # One number for each triple of user, item and subtopic.
    triples = (user.astype(np.int64) * len(items) + item) * len(subtopics) + subtopic
    if len(np.unique(triples)) < len(triples):
        return None
    grade = _grades(columns)
    # By user and item, grades rising: the last row of each pair has its highest grade.
    order = np.lexsort((grade, item, user))
    differs_in_user = np.diff(user[order]) != 0
    differs_in_item = np.diff(item[order]) != 0
    is_last = np.append(differs_in_user | differs_in_item, True)
    highest = order[is_last]
    first_subtopic = str(subtopics.ids[0])
    warn(
        f"{path}: the second field holds {len(subtopics)} subtopics, such as {first_subtopic!r}. "
        "An item counts with its highest grade over them. Measures of subtopics (alpha-nDCG, "
        "ERR-IA, S-Recall) need categories of items: a table in [items]."
    )
    return QrelsFile(users, items, user[highest], item[highest], grade[highest])


def _checked_lines(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Yield the fields of each line; raise InputError for a line that has not four, or no lines.

    ``lines``: pairs of the number of a line in the file, from 1, and its fields.
    """
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
    r"""Write a line ``topic 0 item grade`` for each judgement, of any grade, also negative ones.

    The lines are in the order of the judgements. ``topics`` and ``items`` have the ids of the users
    and items, in the order of their numbers in the qrels.
    """
    distinct_grades, grade_numbers = np.unique(qrels.grades, return_inverse=True)
    # Each column is a list of distinct texts, and the position in it for each judgement.
    topic_texts = [f"{topic} 0 " for topic in topics.ids.tolist()]
    grade_texts = [f" {grade}\n" for grade in distinct_grades.tolist()]
    item_texts = items.ids.tolist()
    return join_rows(
        (topic_texts, qrels.users), (item_texts, qrels.items), (grade_texts, grade_numbers)
    )


def _grades(columns: Columns) -> Ints:
    """Read the grade of each line, int32 of shape (n_lines,).

    Raises InputError at the first line whose grade is no whole number up to 2^31 - 1; a negative
    number of as many digits is accepted.
    """
    # The distinct texts, and for each line the position of its text among them.
    texts, codes = columns.texts(GRADE_FIELD)
    for code, text in enumerate(texts):
        sign_and_digits = GRADE.fullmatch(text)
        if (
            sign_and_digits is None
            or len(sign_and_digits[2]) > MOST_DIGITS
            or int(sign_and_digits[2]) > HIGHEST_GRADE
        ):
            rule = f"a grade must be a whole number, at most {HIGHEST_GRADE}, found {text!r}."
            raise columns.error_at(int((codes == code).argmax()), rule)
    # Without leading zeros: Python refuses to convert texts of thousands of digits.
    distinct_grades = [int(GRADE.sub(r"\1\2", text)) for text in texts]
    return np.array(distinct_grades, dtype=np.int32)[codes]
