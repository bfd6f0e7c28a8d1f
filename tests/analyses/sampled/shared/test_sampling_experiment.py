"""What studies say of an experiment."""

import numpy as np
import pytest

from analyses.sampled.shared.sampling_experiment import nearest, shares_in_order


def test_pairs_that_truly_tie_do_not_count() -> None:
    right, true = np.array([0.9, 0.5, 0.6]), np.array([1.0, 0.0, -1.0])
    assert shares_in_order(right, true) == pytest.approx(0.75)


@pytest.mark.parametrize(("covered", "chosen"), [((50, 95), 1), ((95, 95), 0), ((50, 80), 0)])
def test_levels_are_reported_by_an_estimator_that_covers_if_one_does(
    covered: tuple[float, float], chosen: int
) -> None:
    numbers = np.zeros((6, 2, 1))
    numbers[0, :, 0], numbers[4, :, 0] = (0.1, 0.2), covered
    assert nearest(numbers).tolist() == [chosen]
