"""The characteristic function of a sum with random signs: a product of cosines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A product of cosines below e^-50 never grows again, and no sum of ours would notice it.
NEGLIGIBLE = -50.0
# Turns (of pi) between neighbouring angles up to which one of them is screened for both.
COARSE_TURNS = 0.1
CHUNK = 1 << 15
# Whole numbers below this are counted without being sorted.
FEW_SIZES = 1 << 12


def distinct_sizes(differences: NDArray[np.number]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Give the distinct absolute differences except 0 and how often each occurs, frequent first."""
    sizes = np.abs(differences)
    if sizes.max(initial=0) < FEW_SIZES and np.array_equal(whole := sizes.astype(np.intp), sizes):
        counts = np.bincount(whole)
        sizes = np.arange(len(counts))
    else:
        sizes, counts = np.unique(sizes, return_counts=True)
    some = np.flatnonzero((sizes > 0) & (counts > 0))
    order = some[np.lexsort((-sizes[some], -counts[some]))]
    return sizes[order].astype(np.float64), counts[order]


def characteristic_function(
    sizes: NDArray[np.float64], counts: NDArray[np.intp], *, step: float, n_angles: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    r"""Multiply cosines, :math:`\varphi(\theta) = \prod_v \cos(\theta v)^{n_v}`, at even steps.

    Few angles need their cosines. With x the distance of an angle from the nearest multiple of
    pi, :math:`|\cos x| \le e^{-x^2/2}`: this bound, which needs additions only, shows first for
    groups of neighbours, then for single angles, where the product is negligible.

    Sizes and counts are the distinct absolute differences v and their numbers of users n_v, of
    shape (n_sizes,); the angles are step, 2 step, ..., n_angles step.
    """
    turns = sizes * (step / np.pi)
    reach = int(min(COARSE_TURNS / turns.max(), n_angles // 2))
    numbers = np.arange(1 + reach, n_angles + 1 + reach, 2 * reach + 1)
    if reach > 0:
        numbers = _screen(numbers, turns, counts, slack=reach * turns)
        numbers = np.add.outer(numbers, np.arange(-reach, reach + 1)).ravel()
        numbers = numbers[numbers <= n_angles]
    numbers = _screen(numbers, turns, counts, slack=np.zeros_like(turns))
    return numbers, _multiply_cosines(numbers, turns, counts)


def _screen(
    numbers: NDArray[np.intp],
    turns: NDArray[np.float64],
    counts: NDArray[np.intp],
    *,
    slack: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Keep the multiples of the step where the bound, less the slack, is not negligible."""
    bounds = np.zeros(len(numbers))
    start = 0
    while start < len(turns) and len(numbers) > 0:
        some = slice(start, start + max(1, CHUNK // len(numbers)))
        start = some.stop
        distances = np.multiply.outer(numbers, turns[some])
        distances -= np.rint(distances)
        distances = np.maximum(np.abs(distances) - slack[some], 0.0)
        bounds -= (counts[some] * distances * distances).sum(axis=1)
        kept = bounds * (np.pi**2 / 2) > NEGLIGIBLE
        numbers, bounds = numbers[kept], bounds[kept]
    return numbers


def _multiply_cosines(
    numbers: NDArray[np.intp], turns: NDArray[np.float64], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Products over all sizes; the cosine of a whole number of half turns is exactly +-1."""
    logarithms = np.zeros(len(numbers))
    n_half_turns = np.zeros(len(numbers))
    width = max(1, CHUNK // max(1, len(numbers)))
    for start in range(0, len(turns), width):
        some = slice(start, start + width)
        distances = np.multiply.outer(numbers, turns[some])
        nearest = np.rint(distances)
        cosines = np.cos(np.pi * (distances - nearest))
        logarithms += (counts[some] * np.log(cosines)).sum(axis=1)
        n_half_turns += (counts[some] * nearest).sum(axis=1)
    return np.where(n_half_turns % 2 == 0, 1.0, -1.0) * np.exp(logarithms)
