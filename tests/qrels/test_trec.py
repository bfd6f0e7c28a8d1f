"""TREC qrels files."""

from pathlib import Path

import numpy as np
import pytest

from qrels import qrels_from_columns
from qrels.trec import format_qrels, read_qrels
from runs import InputError, InputWarning, Numbering


def written(folder: Path, text: str) -> Path:
    path = folder / "test.qrels"
    path.write_text(text)
    return path


def test_qrels_that_are_written_read_back_the_same(tmp_path: Path) -> None:
    topics, items = Numbering.of(["u1", "u2"]), Numbering.of(["a", "b", "c"])
    qrels = qrels_from_columns(
        np.array([1, 0, 0]), np.array([2, 1, 0]), np.array([8, 3, -1]), n_users=2, relevance_level=8
    )
    path = tmp_path / "test.qrels"
    path.write_bytes(format_qrels(qrels, topics, items))
    again = read_qrels(path).to_qrels(items, relevance_level=8)
    np.testing.assert_array_equal(again.offsets, qrels.offsets)
    np.testing.assert_array_equal(again.items, qrels.items)
    np.testing.assert_array_equal(again.grades, qrels.grades)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("u 0 1 1\n\nu 0 2 1\n", "test.qrels, line 2: a qrels line has four fields .* found 0"),
        ("u 0 1 3.5\n", "line 1: a grade must be a whole number, at most 2147483647, found '3.5'"),
        ("u 0 1 2147483648\n", "at most 2147483647, found '2147483648'"),
        ("# x\nu 0 1 1\nu 0 1 2\n", "line 3: item 1 is duplicated for user u, first in line 2"),
        ("\n", "test.qrels: the file is empty"),
        ("\ufeffu 0 1 1\n", "line 1: a byte order mark"),
        ("# only\n", "test.qrels: the file has no judgement"),
    ],
)
def test_what_trec_eval_would_misread_is_refused(tmp_path: Path, text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        read_qrels(written(tmp_path, text))


def test_a_user_with_negative_grades_only_is_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path, "u 0 1 -1\nv 0 1 -2\nv 0 2 1\n")
    with pytest.warns(InputWarning, match=r"test.qrels: 1 users \(the first is u\) have negative"):
        read_qrels(path)


def test_a_grade_may_have_a_sign_and_leading_zeros(tmp_path: Path) -> None:
    file = read_qrels(written(tmp_path, "u 0 1 +1\nu 0 2 000000000012\n"))
    assert file.grade.tolist() == [1, 12]


def test_lines_are_written_by_user_and_item() -> None:
    qrels = qrels_from_columns(
        np.array([1, 0, 0]), np.array([2, 1, 0]), np.array([8, 3, -1]), n_users=2, relevance_level=8
    )
    lines = format_qrels(qrels, Numbering.of(["u1", "u2"]), Numbering.of(["a", "b", "c"]))
    assert lines == b"u1 0 a -1\nu1 0 b 3\nu2 0 c 8\n"


def test_grades_may_have_ten_digits_up_to_the_largest_of_four_bytes(tmp_path: Path) -> None:
    file = read_qrels(written(tmp_path, "u 0 1 2147483647\nu 0 2 -2147483647\n"))
    assert file.grade.tolist() == [2147483647, -2147483647]
    for grade in ("12345678901", "9999999999"):
        with pytest.raises(InputError, match=f"line 2: a grade must be .* found '{grade}'"):
            read_qrels(written(tmp_path, f"u 0 1 1\nu 0 2 {grade}\n"))


def test_items_are_numbered_as_the_study_does(tmp_path: Path) -> None:
    file = read_qrels(written(tmp_path, "v 0 b 2\nu 0 a 1\nv 0 a 0\n"))
    qrels = file.to_qrels(Numbering.of(["0", "a", "b"]), relevance_level=2)
    assert qrels.offsets.tolist() == [0, 1, 3]
    assert qrels.items.tolist() == [1, 1, 2]
    assert qrels.grades.tolist() == [1, 0, 2]
    assert qrels.relevance_level == 2
