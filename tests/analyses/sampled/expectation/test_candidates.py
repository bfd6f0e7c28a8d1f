"""Rounded numbers of candidates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyses.sampled.estimators import tally
from analyses.sampled.expectation.candidates import in_steps, nearest_size
from analyses.sampled.samples.sampled_ranks import SampledRanks

CANDIDATES = st.lists(st.integers(3, 5000), min_size=1, max_size=30)


@given(CANDIDATES)
def test_rounding_moves_a_number_by_a_hundredth_at_most(candidates: list[int]) -> None:
    numbers = np.array(candidates)
    np.testing.assert_allclose(in_steps(numbers), numbers, rtol=0.01)


@given(CANDIDATES)
def test_users_find_the_group_that_they_were_counted_in(candidates: list[int]) -> None:
    sample = SampledRanks.of([1] * len(candidates), n_negatives=2, n_candidates=candidates)
    counted = tally([sample], n="users", path="grid")
    sizes = np.array([group.n_irrelevant for group in counted.groups])
    found = np.bincount(nearest_size(sizes, sample.n_irrelevant), minlength=len(sizes))
    # All users have rank 1 in the sample, so that each group is one cell.
    np.testing.assert_array_equal(found, counted.counts[:, 0])


def test_other_users_take_the_nearest_group() -> None:
    assert nearest_size(np.array([100, 200]), np.array([138, 145, 9, 900])).tolist() == [0, 1, 0, 1]
