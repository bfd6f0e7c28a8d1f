from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from harness.online.simulation import LoggingPolicy
from harness.online.simulation.arms.logging_policy import Lottery
from runs import InputError

SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def test_a_uniform_lottery_has_one_chance_for_all() -> None:
    assert np.allclose(Lottery(np.full(7, 1 / 7)).propensities(3), 1 / 7)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_propensities_are_those_of_all_lists_written_out(depth: int) -> None:
    lists = np.array([*permutations(range(4), depth)])
    chances = SHARES[lists].prod(axis=1)
    expected = np.bincount(lists[:, -1], chances) / chances.sum()
    assert np.allclose(Lottery(SHARES).propensities(depth), expected)


def test_items_are_drawn_with_their_propensities_at_every_place() -> None:
    lists = Lottery(SHARES).draw(np.arange(20_000), depth=3, key=("test",))
    expected = 20_000 * Lottery(SHARES).propensities(3)
    for place in range(3):
        assert chisquare(np.bincount(lists[:, place], minlength=4), expected).pvalue > 0.001


def test_lists_are_of_distinct_items() -> None:
    lists = np.sort(Lottery(SHARES).draw(np.arange(500), depth=3, key=(1,)), axis=1)
    assert (lists[:, 1:] > lists[:, :-1]).all()


def test_a_users_list_does_not_depend_on_the_others() -> None:
    lottery = Lottery(SHARES)
    everybody = lottery.draw(np.arange(100), depth=3, key=(1,))
    assert np.array_equal(lottery.draw(np.arange(40, 60), depth=3, key=(1,)), everybody[40:60])


def test_hopeless_lists_are_refused() -> None:
    with pytest.raises(InputError, match="1,000 draws gave no list of 5 distinct items"):
        Lottery(SHARES).draw(np.arange(2), depth=5, key=(1,))


def test_powers_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="from 0 to 2, got -1"):
        LoggingPolicy(power=-1)
