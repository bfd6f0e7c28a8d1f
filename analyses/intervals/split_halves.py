"""Split halves: how far two disjoint random halves of the users order the systems alike."""

from __future__ import annotations

import numpy as np

from analyses.intervals.resampling import random_blocks, resampled_users
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.exact_sums import grid_exponents, to_grid
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import single_threaded
from runs.shared.streams import random_words

N_REPLICATES = 200
"""Resamples of the users: a standard deviation is good to 5 %."""

N_BLOCKS = 200
"""Random blocks of users that are resampled as wholes; of fewer users, each is a block."""

N_SPLITS = 50
"""Splits of all users whose mean is taken, where nobody says how many."""

N_RESAMPLED_SPLITS = 20
"""Splits whose mean is taken for each resample: of more, it hardly varies less."""


def random_order(n_users: int, seed: int, repeat: int) -> Numbers:
    """Draw a random order of users, (n_users,), whose first ones are a subset of any size."""
    words = random_words(n_users, seed, "users", n_users, repeat)
    return np.argsort(words, kind="stable")


def split_half_taus(values: Floats, orders: Numbers) -> Floats:
    """Compare the orderings of the systems by two disjoint halves of the users, by tau-b.

    Parameters
    ----------
    values
        Scores, of shape (n_measures, n_systems, n_users).
    orders
        Random orders of the users, of shape (n_splits, n_users): the first half of an order is one
        half of the users, the next as many the other. One of an odd number of users is left out.

    Returns
    -------
    Taus of shape (n_measures, n_splits); NaN where all systems tie in a half, as for one user.
    """
    n_half = orders.shape[1] // 2
    first_weights = _weights_of_halves(orders[:, :n_half], n_users=values.shape[2])
    second_weights = _weights_of_halves(orders[:, n_half : 2 * n_half], n_users=values.shape[2])
    grid = to_grid(values)
    unit = _unit_of_means(values, n_half=n_half)
    with single_threaded("blas"):
        return _taus_of_halves(grid, first_weights, second_weights, unit=unit)


def resampled_split_half_taus(values: Floats, *, seed: int) -> Floats:
    """Compare two halves of the users for resampled users, in the mean over splits.

    Users are put into 200 random blocks (`N_BLOCKS`), or one each if there are fewer. The blocks,
    not what is drawn of them, are split, in 20 ways (`N_RESAMPLED_SPLITS`): no user is in both
    halves of a resample, however often drawn.

    Parameters
    ----------
    values
        Scores, of shape (n_measures, n_systems, n_users).
    seed
        Random seed of blocks, resamples and splits.

    Returns
    -------
    Mean taus of shape (n_measures, 200), a column for each of `N_REPLICATES` resamples, over the
    splits where they are defined; NaN where none is.
    """
    n_users = values.shape[2]
    n_blocks = min(N_BLOCKS, n_users)
    blocks = random_blocks(n_users, n_blocks=n_blocks, seed=seed)
    is_in_block = np.zeros((n_users, n_blocks))
    is_in_block[np.arange(n_users), blocks] = 1.0
    # How often each block is drawn: of shape (n_blocks, n_replicates).
    weights = resampled_users(0, N_REPLICATES, n_users=n_blocks, seed=seed).T
    n_half = n_blocks // 2
    unit = _unit_of_means(values, n_half=n_users // 2)
    taus = []
    with single_threaded("blas"):
        # Of shape (n_measures, n_systems, n_blocks): whole numbers, whose sums are exact.
        block_sums = to_grid(values) @ is_in_block
        for split in range(N_RESAMPLED_SPLITS):
            words = random_words(n_blocks, seed, "halves", n_blocks, split)
            order = np.argsort(words, kind="stable")
            first_weights = np.zeros_like(weights)
            second_weights = np.zeros_like(weights)
            first = order[:n_half]
            second = order[n_half : 2 * n_half]
            first_weights[first] = weights[first]
            second_weights[second] = weights[second]
            taus.append(_taus_of_halves(block_sums, first_weights, second_weights, unit=unit))
    return mean_of_defined(np.stack(taus, axis=-1))


def _weights_of_halves(halves: Numbers, *, n_users: int) -> Floats:
    """Mark the users of each half, given by their numbers (n_halves, n_half): (n_users, n_halves).

    1 for a user of the half, else 0.
    """
    weights = np.zeros((n_users, len(halves)))
    for number, users in enumerate(halves):
        weights[users, number] = 1.0
    return weights


def _unit_of_means(values: Floats, *, n_half: int) -> Floats:
    """Compute the mean score of a half whose sum on the grid is 1: of shape (n_measures, 1, 1).

    ``values`` are scores of shape (n_measures, n_systems, n_users), ``n_half`` the users of a half.
    """
    return np.ldexp(1.0 / max(n_half, 1), grid_exponents(values))


def _taus_of_halves(
    grid: Floats, first_weights: Floats, second_weights: Floats, *, unit: Floats
) -> Floats:
    """Compare the orderings by mean scores of two halves: taus of shape (n_measures, n_halves).

    Scores on a grid, which are whole numbers of units, (n_measures, 1, 1), are of shape
    (n_measures, n_systems, n_terms), the weights of terms in both halves of (n_terms, n_halves).
    """
    first_means = grid @ first_weights * unit
    second_means = grid @ second_weights * unit
    return tau_b(first_means.swapaxes(1, 2), second_means.swapaxes(1, 2))
