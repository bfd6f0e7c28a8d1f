"""Sums in a stated order."""

import numpy as np
import pytest

from runs.shared.arrays import DEEPEST_RANK, mean_in_order


@pytest.mark.parametrize("n_users", [1, 255, 256, 257, 600])
def test_scores_are_added_one_after_the_other(n_users: int) -> None:
    """Powers from 1e-8 to 1e8: sums in another order differ in their last bits."""
    rng = np.random.default_rng(1)
    scores = 10 ** rng.uniform(-8, 8, (2, n_users))
    expected = []
    for row in scores.tolist():
        total = 0.0
        for score in row:
            total += score
        expected.append(total / n_users)
    assert mean_in_order(scores).tolist() == expected


def test_weights_of_the_deepest_rank_take_80_megabytes() -> None:
    assert 8 * DEEPEST_RANK == 80_000_000
