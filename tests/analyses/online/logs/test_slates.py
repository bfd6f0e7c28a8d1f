import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from analyses.online.logs.slates import Slates, busy_users


def slates() -> Slates:
    return Slates.of(
        [["a", "b"], ["c"], ["b", "c", "a"]],
        user=["u", "v", "u"],
        arm=["A", "B", "A"],
        time=[0, 10, 20],
    )


def test_positions_begin_at_1_in_every_list() -> None:
    assert slates().position.tolist() == [1, 2, 1, 1, 2, 3]


def test_a_list_is_marked_by_any_of_its_places() -> None:
    marked = np.array([0, 1, 0, 0, 0, 1], dtype=bool)
    assert slates().any_place(marked).tolist() == [True, False, True]


@example(rows=[(0, 2), (1, 1), (1, 0)], per_day=1)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=30), st.integers(1, 5))
def test_busy_users_are_those_with_a_day_above_the_limit(
    rows: list[tuple[int, int]], per_day: int
) -> None:
    user, day = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    found = busy_users(user.astype(np.int32), day * 86_400_000, per_day=per_day, n_users=4)
    expected = [any(rows.count((u, d)) > per_day for d in range(-3, 4)) for u in range(4)]
    assert found.tolist() == expected
