import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.significance.exact import SubsetSums, p_by_convolution, p_by_lattice
from tests.analyses.permutation.references import Floats, p_by_all_signs


@given(arrays(np.float64, st.integers(1, 12), elements=st.integers(-9, 9)).filter(np.sum))
def test_it_counts_all_sign_assignments(differences: Floats) -> None:
    assert p_by_convolution(differences) == p_by_all_signs(differences)


def test_two_hundred_users_agree_with_the_lattice(rng: np.random.Generator) -> None:
    differences = np.rint(rng.normal(200, 2000, size=200))
    expected = p_by_lattice(differences)
    assert p_by_convolution(differences) == pytest.approx(expected, abs=1e-13)


def test_the_smallest_value_of_two_hundred_users_is_precise() -> None:
    assert p_by_convolution(np.full(200, 7.0)) == 2.0**-199


@given(st.lists(st.integers(1, 40), min_size=1, max_size=10), st.integers(1, 10_000))
def test_every_split_into_small_and_large_counts_the_same(sizes: list[int], n_limits: int) -> None:
    """The more often it is asked, the fewer numbers are listed."""
    subsets = np.zeros(1)
    for size in sizes:
        subsets = np.concatenate([subsets, subsets + size])
    sums = SubsetSums.of(np.sort(sizes), highest=sum(sizes), n_limits=n_limits)
    for limit in (0, sum(sizes) // 3, sum(sizes) // 2, sum(sizes)):
        assert sums.count_up_to(limit) == (subsets <= limit).sum()


@pytest.mark.parametrize("n_users", [31, 32, 60])
def test_counts_of_many_subsets_do_not_overflow(n_users: int) -> None:
    """From 32 small numbers on there are more subsets than 32 bits can count."""
    sums = SubsetSums.of(np.ones(n_users, dtype=np.int64), highest=n_users, n_limits=10_000)
    assert sums.count_up_to(n_users) == 2.0**n_users
