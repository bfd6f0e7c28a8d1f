import numpy as np
import pyarrow as pa
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


def test_a_repetition_is_found_anywhere_and_that_of_the_first_list_is_named() -> None:
    lists = np.array([[2, 0, 1], [0, 2, 0], [3, 1, 3]], dtype=np.int32)
    with pytest.raises(InputError, match="user number 1 of 's' names item number 0 twice"):
        Run("s", lists)


def test_items_must_be_int32() -> None:
    with pytest.raises(InputError, match="int64"):
        Run("s", np.array([[1, 2]], dtype=np.int64))


def test_items_must_be_a_table() -> None:
    with pytest.raises(InputError, match=r"int32 of shape \(2,\)"):
        Run("s", np.array([1, 2], dtype=np.int32))


def test_lists_are_handed_out_as_arrow_with_ranks_from_1() -> None:
    run = Run("s", np.array([[7, 3], [4, -1]], dtype=np.int32))
    assert pa.table(run).to_pydict() == {"user": [0, 0, 1], "item": [7, 3, 4], "rank": [1, 2, 1]}


def test_lists_may_be_short_and_item_0_is_an_item() -> None:
    run = Run("s", np.array([[0, 3, -1, -1], [5, 0, 2, -1], [-1, -1, -1, -1]], dtype=np.int32))
    assert run.lengths.tolist() == [2, 3, 0]
    assert (run.n_users, run.depth) == (3, 4)


def test_the_first_ten_items_of_the_first_five_users_are_shown() -> None:
    """Item 11 u + r is at column r of user u."""
    heading, *lists = repr(Run("s", np.arange(66, dtype=np.int32).reshape(6, 11))).splitlines()
    assert "'s': 6 users, depth 11" in heading
    assert len(lists) == 5
    assert lists[-1].strip(" []").split() == [str(44 + column) for column in range(10)]


def test_without_known_scores_no_items_are_tied() -> None:
    run = Run("s", np.array([[7, 3, 5]], dtype=np.int32))
    assert run.with_ties_by(np.array([[0.0, 1.0, 2.0]])).items.tolist() == [[7, 3, 5]]


def test_the_highest_of_many_scores_are_found_among_ties() -> None:
    """Forty items have scores from 0 to 11, so that many are equal."""
    scores = np.random.default_rng(1).integers(0, 12, (60, 40)).astype(np.float64)
    ranked = np.lexsort((np.broadcast_to(np.arange(40), scores.shape), -scores))
    for depth in (1, 2, 3, 7, 17, 40):
        np.testing.assert_array_equal(top_items(scores, depth=depth), ranked[:, :depth])


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
