import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.permutation.convolution import p_by_convolution
from analyses.permutation.lattice import p_by_lattice
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
