"""Two halves of the users: their orderings by plain loops, and by what theory expects."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from analyses.intervals.resampling import resampled_users
from analyses.intervals.split_halves import (
    N_REPLICATES,
    N_RESAMPLED_SPLITS,
    resampled_split_half_taus,
    split_half_taus,
)
from analyses.shared.limits import arcsine_limits
from runs.shared.arrays import Floats
from runs.shared.streams import random_words


def tau_of(one: Floats, other: Floats) -> float:
    return float(kendalltau(one, other).statistic)


@pytest.mark.parametrize("n_users", [6, 7])
def test_over_all_orders_it_is_the_mean_over_all_pairs_of_halves(
    n_users: int, rng: np.random.Generator
) -> None:
    """Of tenths, which tie; of seven users, one is left out of each split."""
    values = rng.integers(0, 4, (2, 5, n_users)) / 10
    orders = np.array([*permutations(range(n_users))])
    found = np.nanmean(split_half_taus(values, orders), axis=1)
    users = set(range(n_users))
    for measure in range(2):
        taus = []
        for first in combinations(users, 3):
            for second in combinations(users - {*first}, 3):
                of_first = values[measure][:, first].sum(axis=1).round(9)
                of_second = values[measure][:, second].sum(axis=1).round(9)
                taus.append(tau_of(of_first, of_second))
        assert found[measure] == pytest.approx(np.nanmean(taus))


@pytest.mark.parametrize("n_users", [12, 13])
def test_resampled_users_stay_in_their_half(n_users: int, rng: np.random.Generator) -> None:
    """However often a user is drawn, his scores count in one half alone."""
    values = rng.normal(size=(1, 4, n_users))
    (found,) = resampled_split_half_taus(values, seed=3)
    weights = resampled_users(0, N_REPLICATES, n_users=n_users, seed=3)
    # Each user is a block, in a random order.
    blocks = np.empty(n_users, dtype=int)
    blocks[np.argsort(random_words(n_users, 3, "blocks", n_users), kind="stable")] = np.arange(
        n_users
    )
    by_block = values[0][:, np.argsort(blocks)]
    for replicate in (0, 7, N_REPLICATES - 1):
        taus = []
        for split in range(N_RESAMPLED_SPLITS):
            order = np.argsort(random_words(n_users, 3, "halves", n_users, split), kind="stable")
            first, second = order[:6], order[6:12]
            of_first = (weights[replicate, first] * by_block[:, first]).sum(axis=1)
            of_second = (weights[replicate, second] * by_block[:, second]).sum(axis=1)
            taus.append(tau_of(of_first, of_second))
        assert found[replicate] == pytest.approx(np.mean(taus))


@pytest.mark.parametrize("reliability", [0.3, 0.8])
def test_of_normal_systems_it_follows_from_the_reliability_of_a_half(
    reliability: float, rng: np.random.Generator
) -> None:
    """Kendall: E tau = (2 / pi) arcsin r, with r the share of quality in the means of a half."""
    n_sets, n_users = 400, 40
    error = np.sqrt((1 - reliability) / reliability * n_users / 2)
    qualities = rng.normal(size=(n_sets, 10, 1))
    users = 3 * rng.normal(size=(n_sets, 1, n_users))
    values = qualities + users + error * rng.normal(size=(n_sets, 10, n_users))
    orders = np.array([rng.permutation(n_users) for _ in range(5)])
    by_set = split_half_taus(values, orders).mean(axis=1)
    expected = 2 / np.pi * np.arcsin(reliability)
    assert abs(by_set.mean() - expected) < 4 * by_set.std() / np.sqrt(n_sets)


def test_without_two_users_there_are_no_halves() -> None:
    values = np.arange(3.0)[np.newaxis, :, np.newaxis]
    assert np.isnan(split_half_taus(values, np.zeros((4, 1), dtype=int))).all()
    assert np.isnan(resampled_split_half_taus(values, seed=1)).all()


@pytest.mark.validity
@pytest.mark.parametrize(("n_systems", "n_users"), [(8, 50), (20, 200)])
def test_intervals_hold_the_expected_agreement_of_halves(
    n_systems: int, n_users: int, rng: np.random.Generator
) -> None:
    """Of 120 intervals of 95 %, fewer than 106 hold with a chance below 1 in 500."""
    n_sets = 120
    qualities = 0.2 * rng.normal(size=(n_systems, 1))
    values = qualities + rng.normal(size=(n_sets, n_systems, n_users))
    orders = np.array([rng.permutation(n_users) for _ in range(50)])
    taus = split_half_taus(values, orders).mean(axis=1)
    replicates = np.array(
        [resampled_split_half_taus(values[[draw]], seed=draw)[0] for draw in range(n_sets)]
    )
    low, high = arcsine_limits(taus, replicates)
    n_held = np.count_nonzero((low <= taus.mean()) & (taus.mean() <= high))
    assert n_held >= 106
