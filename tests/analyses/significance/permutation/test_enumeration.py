from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from analyses.significance.exact import (
    critical_by_enumeration,
    p_by_enumeration,
)
from analyses.significance.loops import count_upper, merged_sums
from analyses.significance.permutation import enumeration
from tests.analyses.permutation.references import Floats, p_by_all_signs

differences_that_tie = arrays(
    np.float64, st.integers(1, 12), elements=st.sampled_from([-2.0, -0.1, 0.0, 0.1, 0.3, 1 / 3])
).filter(np.any)


@given(differences_that_tie)
def test_it_counts_all_sign_assignments(differences: Floats) -> None:
    assert p_by_enumeration(differences) == p_by_all_signs(differences)


def test_it_agrees_with_scipy(rng: np.random.Generator) -> None:
    differences = rng.normal(0.5, 1.0, size=13)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=2**13, vectorized=False
    )
    assert p_by_enumeration(differences) == pytest.approx(expected.pvalue, abs=1e-15)


@pytest.mark.slow
def test_forty_users_are_not_too_many() -> None:
    assert p_by_enumeration(np.ones(40)) == 2.0**-39


def test_sums_that_differ_by_rounding_tie() -> None:
    assert p_by_enumeration(np.array([0.1, 0.2, -0.3, 0.1 + 0.2 - 0.3])) == 1.0


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3, 1 / 3, 2.0, 2.0]])
def test_compiled_loops_count_the_same(values: list[float], rng: np.random.Generator) -> None:
    sizes = np.array([*values, *rng.random(8)])
    sums = merged_sums(sizes)
    signs = np.array([*product([-1.0, 1.0], repeat=len(sizes))])
    np.testing.assert_allclose(sums, np.sort((signs * sizes).sum(axis=1)), atol=1e-12)
    others = merged_sums(np.append(sizes[::-1], 0.5))
    for threshold in (*rng.normal(size=5), 0.0, 100.0, -100.0):
        found = np.searchsorted(others, sums - threshold, side="right").sum()
        assert count_upper(sums, others, threshold) == found


def test_compiled_loops_change_no_p(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(5).normal(0.2, 1.0, size=20)
    found = p_by_enumeration(differences), critical_by_enumeration(differences, alpha=0.05)
    monkeypatch.setattr(enumeration, "LONG", 1)
    again = p_by_enumeration(differences), critical_by_enumeration(differences, alpha=0.05)
    assert again == found
