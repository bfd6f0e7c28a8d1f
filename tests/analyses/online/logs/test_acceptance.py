from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.logs.acceptance import (
    Credit,
    explicit_clicks,
    implicit_clicks,
)
from analyses.online.logs.slates import Slates
from runs import InputError
from tests.analyses.online.logs.clicking import clicks_by_loops

ITEMS = ["a", "b", "c", "d"]


def events(*rows: tuple[int, int, int]) -> dict[str, Any]:
    """Interactions (user, item, time)."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return {
        "user": columns[0].astype(np.int32),
        "item": columns[1].astype(np.int32),
        "time": columns[2],
    }


def one_slate() -> Slates:
    return Slates.of([["a", "b"]], user=["u"], arm=["A"], time=[100])


@st.composite
def logs(draw: st.DrawFn) -> tuple[Slates, dict[str, Any]]:
    """Few users, items and times, so that much coincides."""
    lists = draw(
        st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, unique=True), min_size=1, max_size=6)
    )
    users = st.sampled_from(["u", "v"])
    n = len(lists)
    slates = Slates.of(
        [*lists, ITEMS],
        user=[*draw(st.lists(users, min_size=n, max_size=n)), "u"],
        arm=["A"] * (n + 1),
        time=draw(st.lists(st.integers(-5, 15), min_size=n + 1, max_size=n + 1)),
    )
    # Numbers of -1 are users and items that the slates do not know.
    rows = st.tuples(
        st.integers(-1, len(slates.users) - 1), st.integers(-1, 3), st.integers(-9, 30)
    )
    return slates, events(*draw(st.lists(rows, max_size=20)))


@pytest.mark.parametrize("credit", ["all", "last"])
@given(logs(), st.integers(0, 12))
def test_clicks_are_those_of_the_definition(
    credit: Credit, log: tuple[Slates, dict[str, Any]], window: int
) -> None:
    slates, some = log
    found = implicit_clicks(slates, **some, window=window, credit=credit)
    assert found.tolist() == clicks_by_loops(slates, **some, window=window, credit=credit)


@pytest.mark.parametrize(("time", "counts"), [(99, 0), (100, 1), (105, 1), (110, 1), (111, 0)])
def test_both_ends_of_the_window_count(time: int, counts: bool) -> None:
    clicked = implicit_clicks(one_slate(), **events((0, 0, time)), window=10)
    assert clicked.tolist() == [counts, False]


@pytest.mark.parametrize(("time", "counts"), [(99, False), (100, True), (101, False)])
def test_without_a_window_the_same_instant_counts(time: int, counts: bool) -> None:
    assert implicit_clicks(one_slate(), **events((0, 0, time)), window=0)[0] == counts


@given(logs(), st.integers(0, 12), st.integers(0, 12))
def test_a_longer_window_loses_no_click(
    log: tuple[Slates, dict[str, Any]], window: int, more: int
) -> None:
    slates, some = log
    short = implicit_clicks(slates, **some, window=window)
    assert (implicit_clicks(slates, **some, window=window + more) >= short).all()


@given(logs(), st.integers(0, 12))
def test_the_last_list_has_no_click_that_all_lists_have_not(
    log: tuple[Slates, dict[str, Any]], window: int
) -> None:
    slates, some = log
    last = implicit_clicks(slates, **some, window=window, credit="last")
    assert (last <= implicit_clicks(slates, **some, window=window)).all()


@given(logs(), st.integers(0, 12), st.integers(-(2**40), 2**40))
def test_the_origin_of_time_does_not_matter(
    log: tuple[Slates, dict[str, Any]], window: int, shift: int
) -> None:
    slates, some = log
    moved = Slates.of(
        [slates.items.ids[slates.item[slates.slate == s]].tolist() for s in range(len(slates))],
        user=slates.users.ids[slates.user].tolist(),
        arm=["A"] * len(slates),
        time=(slates.time + shift).tolist(),
    )
    later = some | {"time": some["time"] + shift}
    found = implicit_clicks(moved, **later, window=window)
    assert found.tolist() == implicit_clicks(slates, **some, window=window).tolist()


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(InputError, match="`window` must not be negative, got -1 milliseconds"):
        implicit_clicks(one_slate(), **events(), window=-1)


def test_a_click_that_names_a_list_counts_there_alone() -> None:
    slates = Slates.of([["a", "b"], ["a"]], user=["u", "u"], arm=["A", "A"], time=[0, 0])
    clicked = explicit_clicks(slates, slate=np.array([1]), item=np.array([0], dtype=np.int32))
    assert clicked.tolist() == [False, False, True]


def test_a_click_that_names_no_list_counts_for_nothing() -> None:
    slates = Slates.of([["a", "b"]], user=["u"], arm=["A"], time=[0])
    for slate, item, expected in (
        (0, 1, [False, True]),
        (-1, 1, [False, False]),
        (0, -1, [False, False]),
    ):
        clicked = explicit_clicks(
            slates, slate=np.array([slate]), item=np.array([item], dtype=np.int32)
        )
        assert clicked.tolist() == expected
