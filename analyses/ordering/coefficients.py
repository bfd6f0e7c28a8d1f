"""The coefficients by name, with what a reader of their values must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyses.ordering.kendall import tau_a, tau_b
from analyses.ordering.rbo import PERSISTENCE, rbo, rbo_floor
from analyses.ordering.spearman import spearman
from analyses.ordering.tau_ap import tau_ap, tau_ap_a, tau_ap_b
from analyses.ordering.weighted import weighted_tau
from runs import InputError

Floats = NDArray[np.float64]


def minus_one(n_systems: int) -> float:
    """Give the lowest value of a correlation, whatever the number of systems."""
    return -1.0


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
    lowest: Callable[[int], float] = minus_one


_ALL = (
    Coefficient(
        "tau-b",
        "Kendall's tau-b",
        "Pairs tied in an ordering do not count against it; undefined where all systems tie.",
        symmetric=True,
        compare=tau_b,
    ),
    Coefficient(
        "tau-a",
        "Kendall's tau-a",
        "A pair tied in either ordering counts as half in agreement.",
        symmetric=True,
        compare=tau_a,
    ),
    Coefficient(
        "tau-ap",
        "tau_AP",
        "Undefined where an ordering has ties.",
        symmetric=False,
        compare=tau_ap,
    ),
    Coefficient(
        "tau-ap-a",
        "tau_AP,a",
        "The mean over all ways to break the ties of the estimate; undefined where the reference "
        "has ties.",
        symmetric=False,
        compare=tau_ap_a,
    ),
    Coefficient(
        "tau-ap-b",
        "tau_AP,b",
        "A pair tied in one ordering and not in the other is wrong; undefined where all systems "
        "tie.",
        symmetric=True,
        compare=tau_ap_b,
    ),
    Coefficient(
        "weighted-tau",
        "Vigna's weighted tau",
        "Pairs tied in an ordering do not count against it; undefined where all systems tie.",
        symmetric=True,
        compare=weighted_tau,
    ),
    # Variant b, as the other coefficients for two equal partners: 1 for a tied ordering and itself.
    Coefficient(
        "rbo",
        f"rank-biased overlap (p = {PERSISTENCE})",
        "Tied systems share their places (variant b), so that a tied ordering agrees fully with "
        "itself.",
        symmetric=True,
        compare=rbo,
        lowest=rbo_floor,
    ),
    Coefficient(
        "spearman",
        "Spearman's rho",
        "Tied systems share their mean rank; undefined where all systems tie.",
        symmetric=True,
        compare=spearman,
    ),
)

COEFFICIENTS: Mapping[str, Coefficient] = {one.name: one for one in _ALL}
"""All coefficients by name; the default first."""


def find_coefficient(name: str) -> Coefficient:
    """Give a coefficient by its name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in COEFFICIENTS:
        raise InputError(f"no coefficient is called {name!r}; there are {', '.join(COEFFICIENTS)}.")
    return COEFFICIENTS[name]
