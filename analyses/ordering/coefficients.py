"""The coefficients by name, with what a reader of their values must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyses.ordering.agreement import mean_of_defined
from analyses.ordering.correlations import PERSISTENCE, rbo, rbo_floor, tau_ap, tau_b
from runs.shared.arrays import Floats
from runs.shared.errors import require_known


@dataclass(frozen=True)
class Coefficient:
    """A measure of how alike two orderings of systems are; 1 if they are the same, without ties.

    Parameters
    ----------
    name
        What it is called in a study file: ``tau-b``.
    label
        What it is called in a sentence: Kendall's tau-b.
    ties
        What it makes of tied systems, in one sentence.
    symmetric
        Whether estimate and reference may change places.
    compare
        Estimates and reference, scores of the systems along the last axis, to values.
    lowest
        Value of an ordering of so many systems, without ties, and its reverse.
    """

    name: str
    label: str
    ties: str
    symmetric: bool
    compare: Callable[[Floats, Floats], Floats]
    lowest: Callable[[int], float] = lambda n_systems: -1.0


_ALL = (
    Coefficient(
        "tau-b",
        "Kendall's tau-b",
        "Tied pairs are corrected for; undefined if all systems tie.",
        symmetric=True,
        compare=tau_b,
    ),
    Coefficient(
        "tau-ap", "tau_AP", "Undefined if an ordering has ties.", symmetric=False, compare=tau_ap
    ),
    Coefficient(
        "rbo",
        f"rank-biased overlap (p = {PERSISTENCE})",
        "Tied systems share a rank (variant b); a tied ordering agrees fully with itself.",
        symmetric=True,
        compare=rbo,
        lowest=rbo_floor,
    ),
)

COEFFICIENTS: Mapping[str, Coefficient] = {one.name: one for one in _ALL}
"""The coefficients of tables by name; the default first."""


def find_coefficient(name: str) -> Coefficient:
    """Give a coefficient by its name."""
    require_known("no coefficient is called", [name], [*COEFFICIENTS])
    return COEFFICIENTS[name]


CURVE_COEFFICIENT = "tau-b"
"""The coefficient of the curves, which alone has bands."""


def further_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Compare orderings by every coefficient but `tau_b`, which says what they are given as."""
    return {
        name: one.compare(estimates, reference)
        for name, one in COEFFICIENTS.items()
        if name != CURVE_COEFFICIENT
    }


def mean_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Average `further_coefficients` over samples where they are defined, of shape (...).

    Estimates are of shape (..., n_samples, n_systems), the reference of (..., 1, n_systems).
    """
    found = further_coefficients(estimates, reference)
    return {name: mean_of_defined(values) for name, values in found.items()}


def stack_levels(parts: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Join what was found at each level: the second axis of every array is that of the levels."""
    return {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
