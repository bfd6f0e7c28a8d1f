import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.tallies import tally

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
