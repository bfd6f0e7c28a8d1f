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
        Computes it from estimates and reference, scores of the systems along the last axis.
    lowest
        Value of an ordering of so many systems, without ties, and its reverse.
    """

    name: str
    label: str
    ties: str
    symmetric: bool
    compare: Callable[[Floats, Floats], Floats]
    lowest: Callable[[int], float] = lambda n_systems: -1.0


_COEFFICIENTS = (
    Coefficient(
        "tau-b",
        "Kendall's tau-b",
        "Tied pairs are corrected for; undefined if all systems tie.",
        symmetric=True,
        compare=tau_b,
    ),
    Coefficient(
        "tau-ap",
        "tau_AP",
        "Undefined if an ordering has ties.",
        symmetric=False,
        compare=tau_ap,
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

COEFFICIENTS: Mapping[str, Coefficient] = {
    coefficient.name: coefficient for coefficient in _COEFFICIENTS
}
"""The coefficients of tables by name; the default first."""

CURVE_COEFFICIENT = "tau-b"
"""The coefficient of the curves, which alone has bands."""


def find_coefficient(name: str) -> Coefficient:
    """Look up a coefficient by its name; InputError if there is none."""
    require_known("no coefficient is called", [name], list(COEFFICIENTS))
    return COEFFICIENTS[name]


def further_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Compare orderings by every coefficient but `tau_b`: values of shape (...), by its name.

    Scores of the systems are along the last axis, the other axes broadcast: (..., n_systems).
    """
    return {
        name: coefficient.compare(estimates, reference)
        for name, coefficient in COEFFICIENTS.items()
        if name != CURVE_COEFFICIENT
    }


def mean_coefficients(estimates: Floats, reference: Floats) -> dict[str, Floats]:
    """Average `further_coefficients` over samples where they are defined, of shape (...).

    Estimates are of shape (..., n_samples, n_systems), the reference of (..., 1, n_systems).
    """
    by_coefficient = further_coefficients(estimates, reference)
    return {name: mean_of_defined(values) for name, values in by_coefficient.items()}


def stack_levels(levels: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Stack the values of each coefficient at all levels: the second axis is that of the levels.

    Each level has values of shape (n_measures, ...) by the name of the coefficient; there must be
    at least one. The result has (n_measures, n_levels, ...).
    """
    names = levels[0].keys()
    return {name: np.stack([level[name] for level in levels], axis=1) for name in names}
