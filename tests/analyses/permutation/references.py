"""Slow and obvious ways to the same p-values."""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

Floats = NDArray[np.float64]

TIE = 1e-9


def p_by_all_signs(differences: Floats) -> float:
    """Write down all 2^n sign assignments."""
    signs = np.array(list(product([-1.0, 1.0], repeat=len(differences))))
    sums = np.abs((signs * differences).sum(axis=1))
    return float((sums >= abs(differences.sum()) - TIE).mean())


def p_by_dynamic_programming(differences: Floats) -> float:
    """Add one whole-numbered difference at a time to the distribution of the signed sum."""
    sizes = np.abs(differences).astype(int)
    chances = np.ones(1)
    for size in sizes:
        up, down = np.pad(chances, (2 * size, 0)), np.pad(chances, (0, 2 * size))
        chances = (up + down) / 2
    sums = np.arange(len(chances)) - sizes.sum()
    return float(chances[np.abs(sums) >= abs(differences.sum())].sum())


def p_by_long_series(differences: Floats, *, reach: float = 12.0, n_terms: int = 20_000) -> float:
    """Sum a longer Fourier series on a wider circle, with plain cosines."""
    total, deviation = abs(differences.sum()), np.sqrt((differences**2).sum())
    turn = 2 * np.pi / (total + reach * deviation)
    numbers = np.arange(1, n_terms + 1)
    characteristic = np.ones(n_terms)
    for difference in differences:
        characteristic *= np.cos(turn * numbers * difference)
    terms = np.sin(numbers * turn * total) * characteristic / numbers
    return float(1 - turn * total / np.pi - 2 / np.pi * terms.sum())


def one_pair(differences: Floats) -> Floats:
    """Scores of two systems with these differences, of shape (2, n_users)."""
    return np.stack([differences, np.zeros_like(differences)])


def p_by_scipy(differences: Floats) -> float:
    """All sign assignments, by `scipy.stats.permutation_test`."""
    result = permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        n_resamples=2 ** len(differences),
        vectorized=True,
    )
    return float(result.pvalue)
