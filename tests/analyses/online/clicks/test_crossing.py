import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.checks import stickiness

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=25
)


@given(ROWS)
def test_users_have_their_first_arm_and_all_others_are_found(
    rows: list[tuple[int, int, int]],
) -> None:
    user, arm, time = np.array(rows).T
    found = stickiness(user, arm, time)
    assert found.users.tolist() == sorted({row[0] for row in rows})
    for number, crossed, first in zip(found.users, found.crossed, found.first_arm, strict=True):
        own = [row for row in rows if row[0] == number]
        assert first == min(own, key=lambda row: row[2])[1]
        assert crossed == (len({row[1] for row in own}) > 1)


USER, ARM, TIME = np.array([5, 8, 8]), np.array([0, 0, 1]), np.array([5, 9, 7])


def test_lists_of_users_who_crossed_can_be_excluded() -> None:
    counts, _ = stickiness(USER, ARM, TIME).settle(USER, crossing="exclude")
    assert counts.tolist() == [True, False, False]


def test_users_who_crossed_can_count_for_their_first_arm() -> None:
    counts, arm = stickiness(USER, ARM, TIME).settle(USER, crossing="first")
    assert counts.all()
    assert arm.tolist() == [0, 1, 1]
