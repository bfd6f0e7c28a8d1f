import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.tallies import tally
from runs import InputError

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 2), st.booleans()), max_size=40
)


@given(ROWS)
def test_sums_over_users_are_sums_over_lists(rows: list[tuple[int, int, int, bool]]) -> None:
    user, arm, period, accepted = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    counts = tally(
        accepted, user=user, arm=arm, period=period, arms=["A", "B"], periods=["1", "2", "3"]
    )
    users, shown, taken = counts.sums()
    for a in range(2):
        for p in range(3):
            here = [row for row in rows if row[1:3] == (a, p)]
            assert users[a, p] == len({row[0] for row in here})
            assert shown[a, p] == len(here)
            assert taken[a, p] == sum(row[3] for row in here)


def test_an_arm_without_a_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"there are 1 arms, .* but a list has number 1"):
        tally(np.array([1]), user=np.array([0]), arm=np.array([1]), arms=["A"])


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="must be given for every list"):
        tally(np.array([1, 0]), user=np.array([0]), arm=np.array([0]), arms=["A"])
