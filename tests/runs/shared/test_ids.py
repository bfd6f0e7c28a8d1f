import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import first_unfit_id, id_fault
from runs.shared.ids import WHITESPACE


@pytest.mark.parametrize("fit", ["007", "tt0111161", "a#b", "naïve", "日本", "a\u200bb"])
def test_ordinary_ids_are_fit(fit: str) -> None:
    assert id_fault(fit) is None


@pytest.mark.parametrize(
    ("unfit", "fault"),
    [
        ("", "is empty"),
        ("a b", "has a space"),
        ("a\tb", "has a tab"),
        ("a\nb", "has a line break"),
        ("a\xa0b", "has a no-break space"),
        ("a\u2028b", "has whitespace (U+2028)"),
        ("a\0b", "has a NUL"),
        ("#a", "starts with '#'"),
    ],
)
def test_a_fault_is_named(unfit: str, fault: str) -> None:
    assert id_fault(unfit) == fault


def test_whitespace_is_what_python_splits_at() -> None:
    characters = map(chr, range(1, sys.maxunicode + 1))
    splitting = {character for character in characters if not character.split()}
    assert splitting == WHITESPACE


letters = st.text(st.sampled_from("a#\0 \u3000é"), max_size=4)


@given(st.lists(letters.filter(lambda id: not id.endswith("\0")), max_size=5))
def test_the_first_unfit_id_is_the_first_with_a_fault(ids: list[str]) -> None:
    expected = next((place for place, id in enumerate(ids) if id_fault(id)), None)
    assert first_unfit_id(np.array(ids, dtype=np.str_)) == expected


def test_a_slice_of_ids_is_checked_in_its_own_order() -> None:
    assert first_unfit_id(np.array(["a", "b c", "d", "e"])[::-1]) == 2
