from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analyses.online.agreement.model_ranks import distinct_orderings, rank_correlations, whole_ranks
from analyses.ordering import spearman

TIED = arrays(np.float64, (6, 7), elements=st.integers(0, 4).map(float))


@given(TIED)
def test_correlations_are_those_of_spearman(values: np.ndarray) -> None:
    ranks = whole_ranks(values)
    expected = spearman(values[1:], values[0])
    np.testing.assert_allclose(rank_correlations(ranks[1:], ranks[0]), expected, atol=1e-12)


@given(TIED)
def test_correlations_compare_as_fractions_do(values: np.ndarray) -> None:
    ranks = whole_ranks(values)
    rhos = rank_correlations(ranks[1:], ranks[0])
    exact = [_signed_square(row, ranks[0]) for row in ranks[1:]]
    for rho, fraction in zip(rhos, exact, strict=True):
        for other, other_fraction in zip(rhos, exact, strict=True):
            if fraction is not None and other_fraction is not None:
                assert (rho < other) == (fraction < other_fraction)


def _signed_square(ranks: np.ndarray, reference: np.ndarray) -> Fraction | None:
    """Sign times square of rho, without rounding."""
    product, square = int(ranks @ reference), int(ranks @ ranks) * int(reference @ reference)
    return Fraction(product * abs(product), square) if square else None


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, np.nan, 2.0]])
def test_what_is_constant_or_undefined_has_no_correlation(values: list[float]) -> None:
    ranks = whole_ranks(np.array(values))
    rising = whole_ranks(np.array([1.0, 2.0, 3.0]))
    assert np.isnan(rank_correlations(ranks, rising))
    assert np.isnan(rank_correlations(rising, ranks))


def test_values_that_differ_by_rounding_tie() -> None:
    assert whole_ranks(np.array([0.1 + 0.2, 0.3, 0.5])).tolist() == [-1, -1, 2]


def test_orderings_differ_if_their_ties_do() -> None:
    values = np.array([[1, 2, 3], [10, 20, 30], [1, 1, 3], [3, 2, 1.0]])
    orderings, which, counts = distinct_orderings(whole_ranks(values))
    assert len(orderings) == 3
    assert which[0] == which[1]
    assert sorted(counts) == [1, 1, 2]
