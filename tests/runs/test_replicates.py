import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import Run
from runs.replicates import Replicates


def ranking_for(*users: int) -> Run:
    """A run that ranks an item for some of four users."""
    items = np.full((4, 1), -1, dtype=np.int32)
    items[list(users)] = 0
    return Run("r", items)


def test_folds_join_bit_for_bit() -> None:
    values = np.array([[0.1, 0.7, 0.0, 0.0], [0.0, 0.0, 0.3, 0.2]])
    folds = Replicates.group_by_system(["a", "a"], [ranking_for(0, 1), ranking_for(2, 3)])
    assert folds.mean(values).tolist() == [[0.1, 0.7, 0.3, 0.2]]
    assert folds.common_denominator() == 1


@given(st.permutations([0.1, 0.2, 0.3, 0.7, 1 / 3]))
def test_the_mean_does_not_depend_on_the_order_of_the_runs(values: list[float]) -> None:
    runs = Replicates.group_by_system(["a"] * 5, [ranking_for(0, 1, 2, 3)] * 5)
    found, known = (
        runs.mean(np.array(some)[:, None] * np.ones(4)) for some in (values, sorted(values))
    )
    assert found.tolist() == known.tolist()


def test_a_user_without_any_list_has_the_mean_over_all_runs() -> None:
    runs = Replicates.group_by_system(["a", "a"], [ranking_for(0), ranking_for(0, 1)])
    assert runs.mean(np.array([[1.0, 0, 0.5, 0], [0.5, 1.0, 0, 0]])).tolist() == [
        [0.75, 1, 0.25, 0]
    ]


@pytest.mark.parametrize(("names", "divisor"), [("aa", 2), ("aaabb", 6), ("ab", 1)])
def test_means_of_whole_numbers_are_whole_times_the_divisor(names: str, divisor: int) -> None:
    runs = Replicates.group_by_system([*names], [ranking_for(0, 1, 2, 3)] * len(names))
    assert runs.common_denominator() == divisor
    scaled = divisor * runs.mean(np.arange(4.0 * len(names)).reshape(-1, 4) % 5)
    np.testing.assert_allclose(scaled, scaled.round(), atol=1e-10)


def test_runs_are_counted_by_system_and_user() -> None:
    """Users 0 and 1 have a list of one run of a, user 2 of both, user 3 of none: hence of all."""
    runs = [ranking_for(0, 2), ranking_for(0, 1, 2, 3), ranking_for(1, 2)]
    replicates = Replicates.group_by_system(["a", "b", "a"], runs)
    assert replicates.systems == ("a", "b")
    assert replicates.runs_per_system().tolist() == [2, 1]
    assert replicates.runs_per_user().tolist() == [[1, 1, 2, 2], [1, 1, 1, 1]]
    assert replicates.weights().tolist() == [[1, 0, 0.5, 0.5], [1, 1, 1, 1], [0, 1, 0.5, 0.5]]
    assert replicates.users_of_all_runs(0).tolist() == [False, False, True, True]
    assert replicates.users_of_all_runs(1).tolist() == [True, True, True, True]


def test_means_are_rounded_to_fourteen_decimals_and_single_scores_are_not() -> None:
    runs = Replicates.group_by_system(
        ["a", "a", "b"], [ranking_for(0), ranking_for(0), ranking_for(0)]
    )
    scores = np.zeros((3, 4))
    scores[:, 0] = [1.234567890123456, 0, 1.234567890123456]
    means = runs.mean(scores)
    assert means[:, 0].tolist() == [0.61728394506173, 1.234567890123456]


def test_any_axes_before_runs_and_users_are_kept() -> None:
    runs = Replicates.group_by_system(["a", "b", "b"], [ranking_for(0, 1, 2, 3)] * 3)
    scores = np.arange(24.0).reshape(2, 3, 4)
    assert runs.mean(scores).tolist() == [
        [[0, 1, 2, 3], [6, 7, 8, 9]],
        [[12, 13, 14, 15], [18, 19, 20, 21]],
    ]
