"""Interactions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels.interactions.interactions import TYPE_VALUES, Interactions
from runs import InputError, Numbering

USERS = Numbering.of(["ann", "bob"])
ITEMS = Numbering.of(["x", "y", "z"])

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0])
    ),
    max_size=12,
)


def _of(events: list[tuple[int, int, int, float]]) -> Interactions:
    columns = [list(column) for column in zip(*events, strict=True)] or [[], [], [], []]
    return Interactions.of(
        USERS, ITEMS, user=columns[0], item=columns[1], time=columns[2], value=columns[3]
    )


def _rows(events: Interactions) -> list[tuple[int, int, int, float]]:
    return list(
        zip(
            events.user.tolist(),
            events.item.tolist(),
            events.time.tolist(),
            events.value.tolist(),
            strict=True,
        )
    )


@given(EVENTS)
def test_events_are_sorted_by_user_time_and_item(events: list[tuple[int, int, int, float]]) -> None:
    keys = [(user, time, item) for user, item, time, _ in _rows(_of(events))]
    assert keys == sorted((user, time, item) for user, item, time, _ in events)


@given(EVENTS)
def test_totals_are_sums_above_0(events: list[tuple[int, int, int, float]]) -> None:
    sums: dict[tuple[int, int], float] = {}
    for user, item, _, value in events:
        sums[user, item] = sums.get((user, item), 0.0) + value
    totals = _of(events).totals()
    found = dict(
        zip(
            zip(totals.user.tolist(), totals.item.tolist(), strict=True),
            totals.rating.tolist(),
            strict=True,
        )
    )
    assert found == {pair: total for pair, total in sums.items() if total > 0}


@given(EVENTS)
def test_the_first_event_of_a_pair_is_the_earliest(
    events: list[tuple[int, int, int, float]],
) -> None:
    sorted_events = _of(events)
    seen: set[tuple[int, int]] = set()
    for (user, item, _, _), first in zip(
        _rows(sorted_events), sorted_events.is_first.tolist(), strict=True
    ):
        assert first == ((user, item) not in seen)
        seen.add((user, item))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("value", [1.0, -0.5], "finite and not negative, got -0.5 in row 1"),
        ("value", [np.nan, 1.0], "finite and not negative, got nan in row 0"),
        ("time", [1], "must have one length"),
    ],
)
def test_columns_that_break_a_rule_are_refused(
    column: str, values: list[Any], message: str
) -> None:
    columns: dict[str, list[Any]] = {"user": [0, 1], "item": [0, 0], "time": [1, 1]}
    with pytest.raises(InputError, match=message):
        Interactions.of(USERS, ITEMS, **{**columns, column: values})


def test_types_have_the_usual_values_of_kasalicky() -> None:
    """Kasalický (2021): a view a quarter, a cart addition and a bookmark a half, a purchase 1."""
    assert TYPE_VALUES == {"view": 0.25, "cart": 0.5, "bookmark": 0.5, "purchase": 1.0}


def test_events_count_1_if_nothing_is_said() -> None:
    assert Interactions.of(USERS, ITEMS, user=[0, 1], item=[0, 0], time=[1, 1]).value.tolist() == [
        1,
        1,
    ]


def test_events_are_counted_by_user_and_item() -> None:
    """Ann had x twice and y, bob z; nobody else is there."""
    events = _of([(0, 0, 1, 1.0), (0, 0, 1, 1.0), (0, 1, 0, 0.0), (1, 2, 3, 1.0)])
    assert len(events) == 4
    assert events.starts.tolist() == [0, 3, 4]
    assert events.distinct_item_counts().tolist() == [2, 1]
    assert events.event_counts().tolist() == [2, 1, 1]
    assert events.is_first.tolist() == [True, True, False, True]
    late = events.select(events.time > 0)
    assert late.starts.tolist() == [0, 2, 3]
    assert late.event_counts().tolist() == [2, 0, 1]


def test_nothing_has_no_totals() -> None:
    nothing = Interactions.of(USERS, Numbering.of([]), user=[], item=[], time=[])
    assert len(nothing.totals()) == 0


@pytest.mark.parametrize(
    "rows", [[(1, 0, 0), (0, 0, 0)], [(0, 0, 1), (0, 0, 0)], [(0, 1, 0), (0, 0, 0)]]
)
def test_events_that_are_not_sorted_are_refused(rows: list[tuple[int, int, int]]) -> None:
    user, item, time = np.array(rows).T
    with pytest.raises(InputError, match=r"must be sorted by \(user, time, item\)"):
        Interactions(USERS, ITEMS, user.astype(np.int32), item.astype(np.int32), time, np.ones(2))


def test_equal_events_are_sorted() -> None:
    same = np.zeros(2, dtype=np.int32)
    assert len(Interactions(USERS, ITEMS, same, same, np.zeros(2, dtype=np.int64), np.ones(2))) == 2
