"""Overlap of lists, by sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.planning.list_overlap import jaccard, overlap_matrix

LIST = st.lists(st.integers(0, 6), unique=True, max_size=4)


def _padded(items: list[int]) -> list[int]:
    return items + [-1] * (4 - len(items))


@given(one=LIST, other=LIST)
def test_overlap_is_that_of_sets(one: list[int], other: list[int]) -> None:
    either = set(one) | set(other)
    expected = len(set(one) & set(other)) / len(either) if either else 1.0
    found = jaccard(np.array([_padded(one)]), np.array([_padded(other)]))
    assert found.tolist() == [expected]


def test_users_count_alike() -> None:
    """One user's lists are the same, the other's have nothing in common."""
    lists = np.array([[[1, 2], [3, -1]], [[2, 1], [4, 5]]])
    assert overlap_matrix(lists).tolist() == [[1.0, 0.5], [0.5, 1.0]]
