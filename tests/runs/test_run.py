import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runs import InputError, Run, top_items


def test_a_list_may_not_have_holes() -> None:
    with pytest.raises(InputError, match="user number 1 of 's' has a hole"):
        Run("s", np.array([[1, 2], [-1, 2]], dtype=np.int32))


def test_a_list_may_not_name_an_item_twice() -> None:
    with pytest.raises(InputError, match="names item number 2 twice"):
        Run("s", np.array([[1, 2, 2]], dtype=np.int32))


def test_items_must_be_int32() -> None:
    with pytest.raises(InputError, match="int64"):
        Run("s", np.array([[1, 2]], dtype=np.int64))


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 12)),
        elements=st.sampled_from([0.0, 0.5, 1.0, -3.0, np.nan, -np.inf, np.inf]),
    ),
    st.integers(1, 14),
)
def test_top_items_is_a_stable_sort_by_falling_score(
    scores: np.ndarray[tuple[int, int], np.dtype[np.float64]], depth: int
) -> None:
    expected = np.full((len(scores), depth), -1, dtype=np.int32)
    for row, values in enumerate(scores):
        candidates = [item for item in range(len(values)) if values[item] > -np.inf]
        ranked = sorted(candidates, key=lambda item: (-values[item], item))[:depth]
        expected[row, : len(ranked)] = ranked
    np.testing.assert_array_equal(top_items(scores, depth=depth), expected)


def test_scores_that_coincide_in_float32_tie() -> None:
    np.testing.assert_array_equal(top_items(np.array([[1.0, 1.0 + 1e-12]]), depth=2), [[0, 1]])
