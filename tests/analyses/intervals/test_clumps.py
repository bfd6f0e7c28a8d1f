import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.populations import groupings

Floats = NDArray[np.float64]
FIRST = set(range(10))


@pytest.fixture
def clumped(rng: np.random.Generator) -> Floats:
    """Means by two measures: of systems 0 to 9 next to each other, of 10 to 19 far apart."""
    places = np.concatenate([rng.normal(0.3, 0.01, 10), np.linspace(-2, 2, 10)])
    return np.stack([places, places + rng.normal(0, 0.01, 20)])


def parts_of(means: Floats, *, noise: float, n_groupings: int = 8) -> list[list[set[int]]]:
    """Groups of each grouping; noise is as large for every system."""
    replicates = np.full((*means.shape, 1), noise)
    return [
        [set(group.tolist()) for group in groups]
        for groups, numbers in groupings(means, replicates, n_groupings=n_groupings)
        for _ in numbers
    ]


def test_systems_that_lie_close_to_each_other_are_a_clump(clumped: Floats) -> None:
    for clump, others in parts_of(clumped, noise=0.01):
        assert len(clump & FIRST) >= 8
        assert len(others - FIRST) >= 8


def test_what_noise_hides_is_no_clump(clumped: Floats) -> None:
    assert parts_of(clumped, noise=2.0) == [[set(range(20))]] * 8


def test_a_measure_that_falls_has_clumps_too(clumped: Floats) -> None:
    for clump, _ in parts_of(clumped * [[1.0], [-1.0]], noise=0.01):
        assert len(clump & FIRST) >= 8


def test_five_systems_are_the_fewest_with_a_clump() -> None:
    means = np.array([[0.0, 0.001, 0.002, 5.0, -7.0]] * 2)
    assert parts_of(means[:, :4], noise=1e-4, n_groupings=1) == [[{0, 1, 2, 3}]]
    assert parts_of(means, noise=1e-4, n_groupings=1) == [[{0, 1, 2}, {3, 4}]]
