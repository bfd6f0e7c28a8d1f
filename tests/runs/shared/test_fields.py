"""Fields of lines and rows: how they are read, numbered, joined, and refused by their place."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import InputError
from runs.shared import fields
from runs.shared.fields import (
    Columns,
    Layout,
    NumberedLines,
    Pairs,
    as_integers,
    distinct_names,
    integers_by_row,
    is_number,
    join_rows,
    place_in_group,
    read_columns,
    read_cutoff,
    read_lines,
    read_number,
    require_width,
)

PATH = Path("a.txt")
LAYOUT = Layout(4, texts=(0, 2), numbers=(3,))


def only_fields(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Let every line count that has fields, the first four of them."""
    return (parts[:4] for _, parts in lines if parts)


def columns_of(content: str | bytes, layout: Layout = LAYOUT) -> Columns:
    text = content if isinstance(content, bytes) else content.encode()
    return read_columns(PATH, text, layout, only_fields)


def rows_of(columns: Columns) -> list[tuple[str, str, float]]:
    users, user = columns.texts(0)
    items, item = columns.texts(2)
    numbers = columns.numbers(3)
    return [
        (users[u], items[i], number)
        for u, i, number in zip(user, item, numbers.tolist(), strict=True)
    ]


TWO = [("u", "a", 1.0), ("v", "b", -2.5)]


@pytest.mark.parametrize(
    "content",
    [
        "u x a 1\nv x b -2.5\n",
        "u x a 1\nv x b -2.5",
        "u  x a 1\nv x b -2.5\n",
        " u x a 1\nv x b -2.5\n",
        "u x a 1 \nv x b -2.5\n",
        "u x a 1\n v x b -2.5\n",
        "u x a 1\nv x b -2.5 ",
        "u x a 1\r\nv x b -2.5\r\n",
        "u\tx a\v1\nv x\fb -2.5\n",
        "# note\nu x a 1\n#v x c 3\nv x b -2.5\n",
    ],
)
def test_fields_stand_between_any_ascii_blanks_and_no_line_is_read_singly(
    content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "_lines", None)
    assert rows_of(columns_of(content)) == TWO


@pytest.mark.parametrize(
    "content", ["\nu x a 1\n\nv x b -2.5\n", "u x a 1 more\nv x b -2.5\n", "u x a 1\n\n v x b -2.5"]
)
def test_a_file_with_an_odd_line_is_read_line_by_line(content: str) -> None:
    assert rows_of(columns_of(content)) == TWO


@pytest.mark.parametrize("looked_at", [1, 2, 3, 8])
@pytest.mark.parametrize("content", ["u x a 1\nv x b  -2.5\n", "u x a 1\nv x  b -2.5\n"])
def test_blanks_side_by_side_are_seen_wherever_a_part_ends(
    content: str, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "BLOCK_SIZE", looked_at)
    monkeypatch.setattr(fields, "_lines", None)
    assert rows_of(columns_of(content)) == TWO


def test_lines_are_read_singly_only_where_one_is_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no line may be blank, a blank one is odd, be it the first; an end of line is not."""
    read_singly = []

    def noted(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
        read_singly.append(path)
        return only_fields(path, lines)

    blank_lines = Layout(4, texts=(0, 2), numbers=(3,), skips_blank_lines=True)
    for content, layout, n_readings in (
        (b"u x a 1\nv x b 2\n", LAYOUT, 0),
        (b"u x a 1\n\nv x b 2\n", LAYOUT, 1),
        (b"\nu x a 1\nv x b 2\n", LAYOUT, 1),
        (b"u x a 1\n\nv x b 2\n", blank_lines, 0),
        (b"u x a 1\nv x b 2 3\n", blank_lines, 1),
    ):
        read_singly.clear()
        read_columns(PATH, content, layout, noted)
        assert len(read_singly) == n_readings


def test_an_element_stands_for_its_physical_line() -> None:
    columns = columns_of("# note\nu x a 1\n\nv x b 2\n")
    assert columns.line(0) == (2, [b"u", b"x", b"a", b"1"])
    assert columns.place(1) == "line 4"
    assert str(columns.error_at(1, "odd.")) == "a.txt, line 4: odd."


def test_an_element_of_rows_stands_for_the_row_of_its_number_from_1() -> None:
    rows = Columns(PATH, b"", {}, unit="row")
    assert str(rows.error_at(2, "odd.")) == "a.txt, row 3: odd."


def test_texts_are_numbered_in_order() -> None:
    columns = columns_of("w x a 1\nu x b 1\nw x c 1\nv x a 1\n")
    numbering, numbers = columns.numbered_texts(0)
    assert numbering.ids.tolist() == ["u", "v", "w"]
    assert numbers.tolist() == [2, 0, 2, 1]


def test_a_long_id_is_refused_at_its_line_by_how_it_begins() -> None:
    columns = columns_of(f"u x a 1\nu x {'b' * 25}{'c' * 1000} 1\n")
    with pytest.raises(InputError) as refused:
        columns.bounded_texts(2)
    assert str(refused.value) == (
        "a.txt, line 2: an id or a name has at most 1,000 characters, found one of 1,025 that "
        f"begins with {'b' * 20!r}."
    )
    assert columns_of(f"u x {'b' * 1000} 1\n").bounded_texts(2)[0] == ["b" * 1000]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"\xef\xbb\xbfu x a 1\n", "line 1: a byte order mark"),
        (b"u x a 1\nu x b 1\nu x \0 1\n", "line 3: a NUL byte"),
        (b"u x a 1\nu x \xc3\xa9 1\nu x \xe9 1\n", r"line 3: not UTF-8 \(byte 0xe9\)"),
    ],
)
def test_what_is_no_plain_text_is_refused_at_its_line(content: bytes, finding: str) -> None:
    with pytest.raises(InputError, match=rf"a\.txt, {finding}"):
        columns_of(content)


def test_a_pair_that_is_duplicated_is_named_with_both_lines() -> None:
    columns = columns_of("v x a 1\nu x b 1\nu x a 1\nv x b 1\nu x b 1\nv x a 1\n")
    with pytest.raises(InputError) as refused:
        Pairs.of_columns(columns)
    assert str(refused.value) == (
        "a.txt, line 5: item b is duplicated for user u, first in line 2."
    )


def test_every_pair_that_occurs_before_is_listed() -> None:
    columns = columns_of("v x a 1\nu x b 1\nu x c 1\n")
    pairs = Pairs.of_columns(columns)
    assert pairs.duplicate_rows().tolist() == []
    user, item = (
        np.array(numbers, dtype=np.int32) for numbers in ([1, 0, 1, 0, 1], [0, 2, 0, 2, 0])
    )
    assert pairs._replace(user=user, item=item).duplicate_rows().tolist() == [2, 3, 4]


def test_members_of_groups_are_numbered_from_1() -> None:
    assert place_in_group(np.array([3, 3, 3, 0, 0, 3])).tolist() == [1, 2, 3, 1, 2, 1]
    assert place_in_group(np.array([], dtype=np.int64)).tolist() == []


def test_whole_numbers_may_come_as_floats() -> None:
    for numbers in ([1, 2], [1.0, 2.0], np.array([1, 2], dtype=np.uint8)):
        found = as_integers(numbers, name="rank")
        assert found.tolist() == [1, 2]
        assert found.dtype == np.int64


@pytest.mark.parametrize(("numbers", "odd"), [([1.0, 2.5], "2.5"), ([np.inf, 1.0], "inf")])
def test_what_is_not_whole_is_refused(numbers: list[float], odd: str) -> None:
    with pytest.raises(InputError, match=rf"^a rank must be a whole number, got {odd}: ranks that"):
        as_integers(numbers, name="rank")


def test_one_number_is_spread_over_all_rows() -> None:
    assert integers_by_row(7, 3, name="size").tolist() == [7, 7, 7]
    assert integers_by_row([1, 2, 3], 3, name="size").tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="one size for all 3 rows"):
        integers_by_row([1, 2], 3, name="size")


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_rows_are_joined_in_blocks(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "ROWS_AT_ONCE", at_once)
    joined = join_rows((["u ", "v "], np.array([0, 1, 1])), (["a\n", "é\n"], np.array([1, 0, 1])))
    assert joined.decode() == "u é\nv a\nv é\n"


@given(st.lists(st.sampled_from(["a", "b b", "", "1"]), min_size=1, max_size=4))
def test_fields_of_a_table_come_back_with_their_line(row: list[str]) -> None:
    """Fields that are all empty make a line if they are two."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_text(f"x\n\n{','.join(row)}\n", encoding="utf-8")
        found = list(read_lines(path))
    assert found == [(1, ["x"]), *([] if row == [""] else [(3, row)])]


def test_the_first_line_says_whether_tabs_or_commas_stand_between_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffa\tb,c\n 1 \t2\n", encoding="utf-8")
    assert list(read_lines(path)) == [(1, ["a", "b,c"]), (2, ["1", "2"])]
    path.write_text('a,b\n"x\ty",2\n', encoding="utf-8")
    assert list(read_lines(path)) == [(1, ["a", "b"]), (2, ["x\ty", "2"])]
    path.write_text("", encoding="utf-8")
    assert list(read_lines(path)) == []


def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        list(read_lines(tmp_path / "none.csv"))
    with pytest.raises(InputError, match="the folder of a study"):
        list(read_lines(tmp_path))
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not UTF-8"):
        list(read_lines(path))
    path.write_text('a,b\n1,2\n"1,2\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv, line 3: not valid CSV"):
        list(read_lines(path))


def test_a_row_has_as_many_fields_as_the_heading() -> None:
    assert require_width(PATH, 2, ["1", "2"], ["a", "b"]) == ["1", "2"]
    with pytest.raises(InputError, match=r"line 2: 2 fields expected, as in the heading, found 3"):
        require_width(PATH, 2, ["1", "2", "3"], ["a", "b"])


def test_names_are_distinct_and_shown_without_controls() -> None:
    assert distinct_names(PATH, [(1, "a\x1b"), (2, "b")], "system") == ("a\\x1b", "b")
    with pytest.raises(InputError, match="line 2: a system has no name"):
        distinct_names(PATH, [(1, "a"), (2, "")], "system")
    with pytest.raises(InputError, match="line 3: system 'a' is duplicated"):
        distinct_names(PATH, [(1, "a"), (2, "b"), (3, "a")], "system")


def test_numbers_are_told_from_other_texts() -> None:
    assert [is_number(text) for text in ("1.5", "inf", "", "x")] == [True, True, False, False]


def test_a_number_is_there_and_finite() -> None:
    assert read_number(PATH, 1, "s", "-1.5") == -1.5
    with pytest.raises(InputError, match="line 1: column 's': a score is missing"):
        read_number(PATH, 1, "s", "")
    for text in ("x", "inf", "nan"):
        with pytest.raises(InputError, match=f"a number expected, found '{text}'"):
            read_number(PATH, 1, "s", text)


def test_a_cutoff_is_a_whole_number_from_1_on_or_none() -> None:
    assert [read_cutoff(PATH, 1, text) for text in ("", "1", "10")] == [None, 1, 10]
    for text in ("0", "-1", "1.0", "x"):
        with pytest.raises(InputError, match=f"from 1 on, or empty, got '{text}'"):
            read_cutoff(PATH, 1, text)
