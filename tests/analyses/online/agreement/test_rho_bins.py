import numpy as np
import pytest

from analyses.online.agreement.model_ranks import rank_correlations, whole_ranks
from analyses.online.agreement.rho_bins import bin_random_rates, count_bins
from tests.analyses.online.examples import experiment


def test_bins_are_open_below_and_closed_above() -> None:
    assert count_bins(np.array([-1, -0.5, 0, 0.5, 1])).tolist() == [2, 1, 1, 1]


def test_a_rho_of_a_half_is_not_above_a_half() -> None:
    """Of three models, two neighbours are swapped."""
    ranks = whole_ranks(np.array([[2.0, 1, 3], [1, 2, 3]]))
    assert count_bins(rank_correlations(ranks[:1], ranks[1])).tolist() == [0, 0, 1, 0]


@pytest.mark.slow
def test_random_rates_fall_into_the_bins_as_often_as_orders_do() -> None:
    """Of the 24 orders of four models, 5 have a rho up to -.5, 8 up to 0, 6 up to .5, 5 above."""
    one = experiment([[1, 2, 3, 4]], [0.1, 0.2, 0.3, 0.4])
    shares = bin_random_rates(one, 4000, 1).mean(axis=0)
    np.testing.assert_allclose(shares, np.array([5, 8, 6, 5]) / 24, atol=0.03)


def test_measures_of_one_ordering_are_in_one_bin() -> None:
    one = experiment([[1, 2, 3, 4], [2, 3, 5, 8], [1, 1, 1, 1]], [0.1, 0.2, 0.3, 0.4])
    counts = bin_random_rates(one, 50, 1)
    assert (np.sort(counts, axis=1) == [0, 0, 0, 2]).all()
