"""Small scores with ties and noise, and slow and obvious ways to p-values."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from scipy.stats import permutation_test

Floats = NDArray[np.float64]

TIE = 1e-9

# Differences of tenths carry rounding noise, and many of them tie.
tenths = (
    st.integers(2, 12)
    .flatmap(lambda n_users: arrays(np.int64, (2, 3, n_users), elements=st.integers(0, 10)))
    .map(lambda whole: whole / 10)
)
families = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=2, max_side=8),
    elements=st.floats(1e-300, 1.0) | st.sampled_from([0.01, 0.02, 0.05, 1.0]),
)


def some_scores(rng: np.random.Generator, *, n_users: int) -> Floats:
    """A continuous measure and one of tenths: 4 systems, the later ones better."""
    continuous = rng.beta(0.5, 2.0, size=(4, n_users)) + 0.05 * np.arange(4)[:, np.newaxis]
    return np.stack([continuous, np.round(continuous, 1)])


def one_pair(differences: Floats) -> Floats:
    """Scores of two systems with these differences, of shape (2, n_users)."""
    return np.stack([differences, np.zeros_like(differences)])


def pair_scores(differences: list[float]) -> Floats:
    """Scores of two systems with these differences, of shape (1, 2, n_users)."""
    return one_pair(np.array(differences))[np.newaxis]


def p_by_all_signs(differences: Floats) -> float:
    """Write down all 2^n sign assignments."""
    signs = np.array(list(product([-1.0, 1.0], repeat=len(differences))))
    sums = np.abs((signs * differences).sum(axis=1))
    return float((sums >= abs(differences.sum()) - TIE).mean())


def mid_p_by_all_signs(differences: Floats) -> float:
    """Count half of the sign assignments, of all 2^n, that tie with the observed one."""
    sums = sums_of(differences)
    total = abs(differences.sum())
    return float(((sums > total + TIE).mean() + (sums >= total - TIE).mean()) / 2)


def smallest_sum(differences: Floats, alpha: float) -> float:
    """The smallest absolute sum that so small a share of all sums reaches, or nearly."""
    sums, tolerance = sums_of(differences), TIE * np.abs(differences).max()
    significant = sums[1 - np.searchsorted(sums, sums - tolerance) / len(sums) <= alpha]
    return float(significant.min()) if len(significant) else np.nan


def sums_of(differences: Floats) -> Floats:
    """All 2^n absolute sums, rising."""
    signs = np.array([*product([-1.0, 1.0], repeat=len(differences))])
    return np.sort(np.abs(signs @ differences))


def distribution(differences: Floats) -> tuple[Floats, Floats]:
    """The signed sums of whole-numbered differences and their chances, one difference at a time."""
    sizes = np.abs(differences).astype(int)
    chances = np.ones(1)
    for size in sizes:
        up, down = np.pad(chances, (2 * size, 0)), np.pad(chances, (0, 2 * size))
        chances = (up + down) / 2
    return np.arange(float(len(chances))) - float(sizes.sum()), chances


def p_by_dynamic_programming(differences: Floats) -> float:
    sums, chances = distribution(differences)
    return float(chances[np.abs(sums) >= abs(differences.sum())].sum())


def mid_p_by_dynamic_programming(differences: Floats) -> float:
    sums, chances = distribution(differences)
    total = abs(differences.sum())
    farther = chances[np.abs(sums) > total].sum()
    return float(farther + chances[np.abs(sums) == total].sum() / 2)


def smallest_sum_by_dynamic_programming(differences: Floats, alpha: float) -> float:
    """The smallest sum of whole-numbered differences whose two-sided p-value is at most alpha."""
    sums, chances = distribution(differences)
    p = 2 * np.cumsum(chances[::-1])[::-1]
    return float(sums[(chances > 0) & (sums > 0) & (p <= alpha)].min())


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


def p_by_scipy(differences: Floats) -> float:
    """All sign assignments, by `scipy.stats.permutation_test`."""
    n_signs = 2 ** len(differences)
    result = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=n_signs, vectorized=True
    )
    return float(result.pvalue)
