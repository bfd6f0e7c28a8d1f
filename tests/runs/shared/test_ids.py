"""Ids: which a TREC file can carry, and how they are numbered."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import InputError, Numbering
from runs.shared.ids import (
    LONGEST_ID,
    WHITESPACE,
    escaped,
    first_unfit_id,
    id_fault,
    id_table,
    padded_ids,
    require_fit_name,
    trec_ids,
)


@pytest.mark.parametrize("fit", ["tt0111161", "a#b", "日本", "a\u200bb"])
def test_ordinary_ids_are_fit(fit: str) -> None:
    assert id_fault(fit) is None


@pytest.mark.parametrize(
    ("unfit", "fault"),
    [
        ("", "is empty"),
        ("a b", "has a space"),
        ("a\u2028b", "has whitespace (U+2028)"),
        ("a\x1cb", "has whitespace (U+001C)"),
        ("a\0b", "has a NUL"),
        ("#a", "starts with '#'"),
    ],
)
def test_a_fault_is_named(unfit: str, fault: str) -> None:
    assert id_fault(unfit) == fault
    with pytest.raises(InputError, match="no run can have the system"):
        require_fit_name(unfit)


def test_a_name_that_fits_is_not_refused() -> None:
    require_fit_name("als-knn")


def test_whitespace_is_what_python_splits_at() -> None:
    characters = map(chr, range(1, sys.maxunicode + 1))
    splitting = {character for character in characters if not character.split()}
    assert splitting == set(WHITESPACE)


letters = st.text(st.sampled_from("a#\0 \u3000é"), max_size=4)


@given(st.lists(letters.filter(lambda id: not id.endswith("\0")), max_size=5))
def test_the_first_unfit_id_is_the_first_with_a_fault(ids: list[str]) -> None:
    expected = next((place for place, id in enumerate(ids) if id_fault(id)), None)
    assert first_unfit_id(np.array(ids, dtype=np.str_)) == expected
    assert first_unfit_id(ids) == expected


def test_the_longest_id_has_a_thousand_characters() -> None:
    assert LONGEST_ID == 1000


def test_ids_are_numbered_by_code_point_each_once() -> None:
    numbering = Numbering.of(["b", "10", "9", "b", "Z", "é"])
    assert numbering.ids.tolist() == ["10", "9", "Z", "b", "é"]
    assert len(numbering) == 5


@pytest.mark.parametrize("ids", [["b", "a"], ["a", "a"], ["a", "c", "b"]])
def test_a_numbering_rises(ids: list[str]) -> None:
    with pytest.raises(InputError, match="unique and sorted by code point"):
        Numbering(np.array(ids))


def test_unknown_ids_have_no_number() -> None:
    """Ids below, between and above the known ones."""
    numbers = Numbering.of(["b", "d"]).numbers(["a", "b", "c", "d", "e"])
    assert numbers.tolist() == [-1, 0, -1, 1, -1]
    assert numbers.dtype == np.int32
    assert Numbering.of([]).numbers(["a", "b"]).tolist() == [-1, -1]


def test_distinct_ids_are_numbered_where_they_stand() -> None:
    numbering, numbers = Numbering.of_distinct(["b", "é", "a", "a1"])
    assert numbering.ids.tolist() == ["a", "a1", "b", "é"]
    assert numbers.tolist() == [2, 3, 0, 1]
    with pytest.raises(InputError):
        Numbering.of_distinct(["a", "b", "a"])


def test_numbers_are_kept_by_selection() -> None:
    assert Numbering.of("abc").select(np.array([0, 2])).ids.tolist() == ["a", "c"]


def test_padded_numbers_sort_as_they_count() -> None:
    assert padded_ids("u", 3).ids.tolist() == ["u1", "u2", "u3"]
    assert padded_ids("u", 10).ids.tolist()[::9] == ["u01", "u10"]
    assert padded_ids("", 100).ids.tolist()[::99] == ["001", "100"]


def test_numbers_stand_for_all_ids_where_one_does_not_fit() -> None:
    fit = Numbering.of(["a", "b"])
    assert trec_ids(fit) is fit
    assert trec_ids(Numbering.of(["a", "b c", "d"])).ids.tolist() == ["1", "2", "3"]


def test_a_table_says_which_number_stands_for_which_id() -> None:
    ids = Numbering.of(["a", 'b "c"'])
    assert id_table({"user": (padded_ids("", 2), ids)}).decode() == (
        'kind,number,id\nuser,1,a\nuser,2,"b ""c"""\n'
    )


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert escaped("a\x1b[2J\u202e é") == "a\\x1b[2J\\u202e é"
