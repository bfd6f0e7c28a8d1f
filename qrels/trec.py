"""TREC qrels files: ``user 0 item grade``, and ``user subtopic item grade``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qrels.qrels import Qrels, qrels_from_columns
from qrels.subtopics import Subtopics
from runs import InputError, Numbering
from runs.shared.arrays import Ints, Longs
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
from runs.shared.ids import trec_ids

N_FIELDS = 4
GRADE_FIELD = 3
SUBTOPIC_FIELD = 1
LAYOUT = Layout(N_FIELDS, texts=(USER_FIELD, SUBTOPIC_FIELD, ITEM_FIELD, GRADE_FIELD))
GRADE = re.compile("([+-]?)0*([0-9]+)")
HIGHEST_GRADE = 2**31 - 1
MOST_DIGITS = 10
"""Number of digits of the highest grade."""


@dataclass(frozen=True, eq=False)
class QrelsFile:
    """The lines of a qrels file, over a numbering of their own.

    ``users``, ``items``: the ids in the file; ``user``, ``item``, ``grade``: columns, int32 of
    shape (n_lines,). Where items are judged for ``subtopics``, the lines of a user and an item are
    put together to one, of the highest grade; otherwise they are None.
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    grade: Ints
    subtopics: Subtopics | None = None

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
            subtopics=self.subtopics,
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

    The second fields are subtopics if they differ; otherwise they say nothing. Returns the ids, and
    the number of the user, that of the item and the grade of each judgement, (n_judgements,); with
    subtopics a judgement has the highest grade of its pair.

    Raises InputError if the file has no lines, a line has not four fields, an id is too long, a
    grade is no whole number up to 2^31 - 1, or a pair of user and item is judged twice (for a
    subtopic). Warns of subtopics, and of users who have negative grades only.
    """
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    file = _judgements_of_subtopics(path, columns)
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


def _judgements_of_subtopics(path: Path, columns: Columns) -> QrelsFile | None:
    """Read judgements of subtopics, the second fields; None if all second fields are the same.

    ``columns`` are the fields of the file. Raises InputError if an id is too long, a grade is
    invalid, or an item is judged twice for a subtopic.
    """
    # The distinct texts of the field, and for each line the position of its text.
    second_fields, _ = columns.texts(SUBTOPIC_FIELD)
    if len(second_fields) < 2:
        return None
    users, user = columns.numbered_texts(USER_FIELD)
    items, item = columns.numbered_texts(ITEM_FIELD)
    pairs = Pairs(users, items, user, item)
    subtopic_ids, subtopic = columns.numbered_texts(SUBTOPIC_FIELD)
    duplicates = pairs.duplicate_rows(subtopic)
    if len(duplicates) > 0:
        second = int(duplicates[0])
        item_id = items.ids[item[second]]
        user_id = users.ids[user[second]]
        subtopic_id = subtopic_ids.ids[subtopic[second]]
        finding = f"item {item_id} is duplicated for user {user_id}, subtopic {subtopic_id}."
        raise columns.error_at(second, finding)
    return with_subtopics(pairs, _grades(columns), subtopic_ids, subtopic, label=str(path))


def with_subtopics(
    pairs: Pairs, grade: Ints, subtopic_ids: Numbering, subtopic: Ints, *, label: str
) -> QrelsFile:
    """Put the lines of each user and item together; the highest grade is that of the pair.

    Warns if a pair has several lines, as measures of whole topics then see the highest grade alone.

    Parameters
    ----------
    pairs
        User and item of each line; no two lines have the same user, item and subtopic.
    grade
        Grade of each line, of shape (n_lines,).
    subtopic_ids
        Ids of the subtopics.
    subtopic
        Number of the subtopic of each line, of shape (n_lines,).
    label
        The file or the object, for the warning.
    """
    n_lines = len(grade)
    order = np.lexsort((subtopic, pairs.item, pairs.user))
    differs_in_user = np.diff(pairs.user[order]) != 0
    differs_in_item = np.diff(pairs.item[order]) != 0
    starts = np.append(0, np.flatnonzero(differs_in_user | differs_in_item) + 1)
    sorted_grades = grade[order]
    first_lines = order[starts]
    if len(first_lines) < n_lines:
        first_subtopic = str(subtopic_ids.ids[0])
        warn(
            f"{label}: items are judged for {len(subtopic_ids)} subtopics, such as "
            f"{first_subtopic!r}. alpha-nDCG, ERR-IA and S-Recall count subtopics; for other "
            "measures, an item has its highest grade."
        )
    return QrelsFile(
        users=pairs.users,
        items=pairs.items,
        user=pairs.user[first_lines],
        item=pairs.item[first_lines],
        grade=np.maximum.reduceat(sorted_grades, starts),
        subtopics=Subtopics(
            ids=subtopic_ids,
            offsets=np.append(starts, n_lines),
            numbers=subtopic[order],
            grades=sorted_grades,
        ),
    )


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
    # Each column is a list of distinct texts, and the position in it for each judgement.
    topic_texts = [f"{topic} 0 " for topic in topics.ids.tolist()]
    grade_texts, grade_numbers = _grade_texts(qrels.grades)
    item_texts = items.ids.tolist()
    return join_rows(
        (topic_texts, qrels.users), (item_texts, qrels.items), (grade_texts, grade_numbers)
    )


def format_subtopics(
    qrels: Qrels, subtopics: Subtopics, topics: Numbering, items: Numbering
) -> bytes:
    r"""Write a line ``topic subtopic item grade`` for each grade of each judgement for a subtopic.

    ``subtopics`` are those of the qrels; if an id of them does not fit TREC files, they are written
    as numbers. Otherwise as `format_qrels`.
    """
    n_subtopics = np.diff(subtopics.offsets)
    topic_texts = [f"{topic} " for topic in topics.ids.tolist()]
    subtopic_texts = [f"{subtopic} " for subtopic in trec_ids(subtopics.ids).ids.tolist()]
    item_texts = items.ids.tolist()
    grade_texts, grade_numbers = _grade_texts(subtopics.grades)
    return join_rows(
        (topic_texts, np.repeat(qrels.users, n_subtopics)),
        (subtopic_texts, subtopics.numbers),
        (item_texts, np.repeat(qrels.items, n_subtopics)),
        (grade_texts, grade_numbers),
    )


def _grade_texts(grades: Ints) -> tuple[list[str], Longs]:
    """List how the distinct grades end a line, and the position of each grade, (n,), among them."""
    distinct_grades, grade_numbers = np.unique(grades, return_inverse=True)
    return [f" {grade}\n" for grade in distinct_grades.tolist()], grade_numbers


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
