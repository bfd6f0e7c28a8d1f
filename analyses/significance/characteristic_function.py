"""Characteristic functions of sums with random signs: products of cosines at many angles."""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats, Numbers

NEGLIGIBLE = -50.0
"""A product of cosines below e^-50 never grows again, and no sum of ours would notice it."""

COARSE_TURNS = 0.1
"""Turns (of pi) between neighbouring angles up to which one of them is screened for both."""

CHUNK = 1 << 15
"""Distances of angles from multiples of pi that are held at a time."""


def characteristic_function(
    sizes: Floats, counts: Numbers, *, step: float, n_angles: int
) -> tuple[Numbers, Floats]:
    r"""Multiply cosines, :math:`\varphi(\theta) = \prod_v \cos(\theta v)^{n_v}`, at even steps.

    Few angles need their cosines. With x the distance of an angle from the nearest multiple of
    pi, :math:`|\cos x| \le e^{-x^2/2}`: this bound, which needs additions only, shows first for
    groups of neighbours, then for single angles, where the product is negligible.

    Sizes and counts are the distinct absolute differences v and their numbers of users n_v, of
    shape (n_sizes,); the angles are step, 2 step, ..., n_angles step. Returned are the rising
    numbers k of the angles where the product may exceed e^-50 in size, and the products there.
    """
    turns = sizes * (step / np.pi)
    radius = int(min(COARSE_TURNS / turns.max(), n_angles // 2))
    numbers = np.arange(1 + radius, n_angles + 1 + radius, 2 * radius + 1)
    if radius > 0:
        numbers = _screen(numbers, turns, counts, slack=radius * turns)
        neighbours = np.arange(-radius, radius + 1)
        numbers = np.add.outer(numbers, neighbours).ravel()
        numbers = numbers[numbers <= n_angles]
    no_slack = np.zeros_like(turns)
    numbers = _screen(numbers, turns, counts, slack=no_slack)
    return numbers, _multiply_cosines(numbers, turns, counts)


def _screen(numbers: Numbers, turns: Floats, counts: Numbers, *, slack: Floats) -> Numbers:
    """Select the multiples of a step where the bound of the product of cosines is not negligible.

    Numbers of the multiples are of shape (n_angles,). ``turns``: the step times each distinct
    absolute difference, over pi; with its number of users and its slack, in turns, of shape
    (n_sizes,). The slack is taken off the distances from multiples of pi, for the neighbours of an
    angle.
    """
    bounds = np.zeros(len(numbers))
    start = 0
    while start < len(turns) and len(numbers) > 0:
        chunk = slice(start, start + max(1, CHUNK // len(numbers)))
        start = chunk.stop
        distances = np.multiply.outer(numbers, turns[chunk])
        distances -= np.rint(distances)
        distances = np.maximum(np.abs(distances) - slack[chunk], 0.0)
        bounds -= (counts[chunk] * distances * distances).sum(axis=1)
        may_matter = bounds * (np.pi**2 / 2) > NEGLIGIBLE
        numbers = numbers[may_matter]
        bounds = bounds[may_matter]
    return numbers


def _multiply_cosines(numbers: Numbers, turns: Floats, counts: Numbers) -> Floats:
    """Multiply the cosines of all users at multiples of a step: products of shape (n_angles,).

    ``numbers``: those of the multiples. ``turns``: the step times each distinct absolute
    difference, over pi; with its number of users of shape (n_sizes,). The cosine of a whole number
    of half turns is exactly +-1.
    """
    logarithms = np.zeros(len(numbers))
    n_half_turns = np.zeros(len(numbers))
    width = max(1, CHUNK // max(1, len(numbers)))
    for start in range(0, len(turns), width):
        chunk = slice(start, start + width)
        distances = np.multiply.outer(numbers, turns[chunk])
        nearest = np.rint(distances)
        cosines = np.cos(np.pi * (distances - nearest))
        logarithms += (counts[chunk] * np.log(cosines)).sum(axis=1)
        n_half_turns += (counts[chunk] * nearest).sum(axis=1)
    signs = np.where(n_half_turns % 2 == 0, 1.0, -1.0)
    return signs * np.exp(logarithms)
