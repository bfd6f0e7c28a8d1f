"""Distribution of the rank in the sample."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from analyses.sampled.expectation.rank_pmf import sampled_rank_pmf

EVERY = np.arange(1, 201)


def test_with_replacement_it_is_binomial() -> None:
    pmf = sampled_rank_pmf(EVERY, n=200, m=30, replace=True)
    expected = binom.pmf(np.arange(31), 30, ((EVERY - 1) / 199)[:, np.newaxis])
    np.testing.assert_allclose(pmf, expected, atol=1e-12)


def test_without_replacement_it_is_hypergeometric() -> None:
    pmf = sampled_rank_pmf(EVERY, n=200, m=30, replace=False)
    expected = hypergeom.pmf(np.arange(31), 199, (EVERY - 1)[:, np.newaxis], 30)
    np.testing.assert_allclose(pmf, expected, atol=1e-11)


def test_a_sample_of_all_negatives_has_the_rank_itself() -> None:
    pmf = sampled_rank_pmf(EVERY, n=200, m=199, replace=False)
    np.testing.assert_allclose(pmf, np.eye(200), atol=1e-11)


@given(
    n=st.integers(2, 5000),
    share=st.floats(0, 1),
    size=st.floats(0, 1),
    replace=st.booleans(),
)
def test_probabilities_sum_to_one(n: int, share: float, size: float, replace: bool) -> None:
    rank, m = 1 + round(share * (n - 1)), 1 + round(size * (n - 2))
    pmf = sampled_rank_pmf([rank], n=n, m=m, replace=replace)
    np.testing.assert_allclose(pmf.sum(), 1.0, atol=1e-9)


def test_each_rank_may_have_its_own_number_of_candidates() -> None:
    both = sampled_rank_pmf([3, 3], n=[5, 9], m=2, replace=False)
    alone = [sampled_rank_pmf([3], n=n, m=2, replace=False)[0] for n in (5, 9)]
    np.testing.assert_array_equal(both, alone)
