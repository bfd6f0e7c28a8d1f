import numpy as np
import pytest

from analyses.significance.paired_tests import (
    for_all_pairs,
    in_steps,
    means_and_deviations,
    normalised,
)
from analyses.significance.permutation import pair_indices
from tests.analyses.paired.references import some_scores


@pytest.mark.parametrize("block", [1, 50, 120, 10_000])
def test_blocks_hold_all_pairs_of_all_measures_in_order(
    block: int, rng: np.random.Generator
) -> None:
    scores = some_scores(rng, n_users=30)
    first, second = pair_indices(4)
    found = for_all_pairs(scores, lambda differences: differences, block=block)
    np.testing.assert_array_equal(found, scores[:, first] - scores[:, second])


@pytest.mark.parametrize("factor", [1e-9, 0.1, 3.0, 1e9])
def test_largest_normalised_scores_lie_just_below_one(factor: float) -> None:
    largest = np.abs(normalised(factor * np.array([[[0.2, -1.0]], [[0.5, 0.1]]]))).max(axis=(1, 2))
    assert ((largest >= 0.5) & (largest < 1)).all()


@pytest.mark.parametrize("thirds", [(1, 2, 1), (2, 3, 1), (0, 1, 1)])
def test_equal_differences_of_thirds_are_equal_in_steps(thirds: tuple[int, int, int]) -> None:
    low, high, size = (whole / 3 for whole in thirds)
    assert in_steps(np.array(high - low)) == in_steps(np.array(size))


def test_rounding_noise_has_neither_mean_nor_deviation() -> None:
    means, deviations = means_and_deviations(np.array([[0.1 + 0.2 - 0.3, 0.0, 0.0]]))
    assert (means.item(), deviations.item()) == (0.0, 0.0)


def test_no_scores_are_changed(rng: np.random.Generator) -> None:
    scores = some_scores(rng, n_users=10)
    before = scores.copy()
    for_all_pairs(normalised(scores), lambda differences: differences.sum(axis=1))
    np.testing.assert_array_equal(scores, before)
