"""Qrels of subtopics, as the diversity tracks have them."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from qrels import Qrels
from qrels.subtopics import Subtopics
from qrels.trec import QrelsFile, format_qrels, format_subtopics, parse_qrels
from runs import InputError, InputWarning, Numbering

LINES = b"t1 1 a 1\nt1 2 a 2\nt1 1 b 0\nt2 1 a 0\n"


def parse(content: bytes) -> QrelsFile:
    with pytest.warns(InputWarning, match=r"alpha-nDCG, ERR-IA and S-Recall count subtopics"):
        return parse_qrels(Path("q"), content)


def grades_of(file: QrelsFile) -> dict[tuple[str, str], int]:
    pairs = zip(file.users.ids[file.user], file.items.ids[file.item], file.grade, strict=True)
    return {(str(user), str(item)): int(grade) for user, item, grade in pairs}


def grades_of_subtopics(
    qrels: Qrels, users: Numbering, items: Numbering
) -> dict[tuple[str, str, str], int]:
    """Grades by topic, item and subtopic."""
    subtopics = qrels.subtopics
    assert subtopics is not None
    grades = {}
    for judgement, (user, item) in enumerate(zip(qrels.users, qrels.items, strict=True)):
        for row in range(subtopics.offsets[judgement], subtopics.offsets[judgement + 1]):
            subtopic = subtopics.ids.ids[subtopics.numbers[row]]
            triple = (str(users.ids[user]), str(items.ids[item]), str(subtopic))
            grades[triple] = int(subtopics.grades[row])
    return grades


def test_an_item_has_its_highest_grade_over_the_subtopics() -> None:
    assert grades_of(parse(LINES)) == {("t1", "a"): 2, ("t1", "b"): 0, ("t2", "a"): 0}


def test_every_grade_of_a_subtopic_is_kept() -> None:
    file = parse(LINES)
    qrels = file.to_qrels(file.items, relevance_level=1)
    assert grades_of_subtopics(qrels, file.users, file.items) == {
        ("t1", "a", "1"): 1,
        ("t1", "a", "2"): 2,
        ("t1", "b", "1"): 0,
        ("t2", "a", "1"): 0,
    }


def test_qrels_follow_the_numbering_of_the_items_with_their_subtopics() -> None:
    file = parse(LINES)
    more_items = Numbering.of(["0", "a", "aa", "b"])
    qrels = file.to_qrels(more_items, relevance_level=1)
    assert grades_of_subtopics(qrels, file.users, more_items)["t1", "a", "2"] == 2


def test_an_item_that_is_judged_twice_for_a_subtopic_is_refused() -> None:
    with pytest.raises(InputError, match="line 2: item a is duplicated for user t1"):
        parse_qrels(Path("q"), b"t1 0 a 1\nt1 0 a 2\n")
    with pytest.raises(InputError, match="line 3: item a is duplicated for user t1"):
        parse_qrels(Path("q"), b"t1 1 a 1\nt1 2 b 2\nt1 1 a 0\n")


def test_one_second_field_for_all_is_no_subtopic() -> None:
    assert parse_qrels(Path("q"), b"t1 Q0 a 1\nt1 Q0 b 2\n").subtopics is None


def test_items_that_have_one_subtopic_each_have_it_without_a_warning() -> None:
    file = parse_qrels(Path("q"), b"t1 1 b 0\nt1 2 a 1\n")
    qrels = file.to_qrels(file.items, relevance_level=1)
    expected = {("t1", "a", "2"): 1, ("t1", "b", "1"): 0}
    assert grades_of_subtopics(qrels, file.users, file.items) == expected


def test_subtopics_that_are_written_read_back_the_same() -> None:
    file = parse(LINES)
    qrels = file.to_qrels(file.items, relevance_level=1)
    assert qrels.subtopics is not None
    written = format_subtopics(qrels, qrels.subtopics, file.users, file.items)
    again = parse(written)
    assert sorted(written.splitlines()) == sorted(LINES.splitlines())
    assert grades_of(again) == grades_of(file)
    assert format_qrels(qrels, file.users, file.items) == b"t1 0 a 2\nt1 0 b 0\nt2 0 a 0\n"


def test_subtopics_whose_ids_have_blanks_are_written_as_numbers() -> None:
    subtopics = Subtopics(
        ids=Numbering.of(["a bank", "a river"]),
        offsets=np.array([0, 2]),
        numbers=np.array([0, 1], dtype=np.int32),
        grades=np.array([1, 0], dtype=np.int32),
    )
    items = np.array([0], dtype=np.int32)
    qrels = Qrels(np.array([0, 1]), items, np.array([1], dtype=np.int32), 1, subtopics)
    topics = Numbering.of(["t"])
    lines = format_subtopics(qrels, subtopics, topics, topics).decode().splitlines()
    fields = [line.split() for line in lines]
    assert [len(line) for line in fields] == [4, 4]
    assert fields[0][1] != fields[1][1]


# Three judgements: two of user 0, one of user 1.


@pytest.fixture
def three() -> Qrels:
    subtopics = Subtopics(
        ids=Numbering.of(["a", "b", "c"]),
        offsets=np.array([0, 2, 3, 6]),
        numbers=np.array([0, 2, 1, 0, 1, 2], dtype=np.int32),
        grades=np.array([1, 2, 0, 3, -1, 1], dtype=np.int32),
    )
    items = np.array([4, 7, 4], dtype=np.int32)
    return Qrels(np.array([0, 2, 3]), items, np.array([2, 0, 3], dtype=np.int32), 1, subtopics)


def covered(qrels: Qrels, level: float) -> list[list[int]]:
    """Numbers of the subtopics that each judgement covers."""
    assert qrels.subtopics is not None
    starts, numbers = qrels.subtopics.covered(level)
    return [numbers[start:stop].tolist() for start, stop in pairwise(starts)]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (1, [[0, 2], [], [0, 2]]),
        (2, [[2], [], [0]]),
        (0, [[0, 2], [1], [0, 2]]),
        (4, [[], [], []]),
    ],
)
def test_a_subtopic_is_covered_where_its_grade_reaches_the_level(
    three: Qrels, level: int, expected: list[list[int]]
) -> None:
    assert covered(three, level) == expected


def test_a_judgement_that_is_lost_takes_its_subtopics_with_it(three: Qrels) -> None:
    assert covered(three.keep(np.array([False, True, True])), 1) == [[], [0, 2]]
    assert covered(three.keep(np.zeros(3, dtype=np.bool_)), 1) == []


def test_users_that_are_selected_keep_their_subtopics(three: Qrels) -> None:
    assert covered(three.select_users(np.array([1, 0])), 2) == [[0], [2], []]
    assert covered(three.select_users(np.array([1])), 2) == [[0]]


def test_subtopics_of_other_judgements_are_refused(three: Qrels) -> None:
    with pytest.raises(ValueError, match="subtopics of 3 judgements do not fit 2 judgements"):
        Qrels(np.array([0, 2]), three.items[:2], three.grades[:2], 1, three.subtopics)
