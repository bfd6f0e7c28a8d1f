"""Sentences about measures and the truth, as careful as the numbers allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from analyses.shared.table import shown

Floats = NDArray[np.float64]

VERDICTS_SAID = (
    "Right: significant, and truly so. Wrong: significant, and truly the other way round (an error "
    "of type III). Unsure: significant, and the truth is not sure. Unfound: a true difference that "
    "is not significant. Power: right, as a share of the true differences. Type III: wrong, as a "
    "share of the significant ones. Inverted: true differences whose measured one has the other "
    "sign."
)
"""What verdicts on pairs are, for captions."""

REGRET_SAID = (
    "Regret: the true score lost by choosing the system that the measure puts first, and its share "
    "of the range of the true scores. Again: share of resamples of the users in which the measure "
    "puts the same system first."
)
"""What regret is, for captions."""


def beyond_chance(measures: Measures, taus: Floats, high: Floats, ideal: Floats) -> str:
    """Name the measures that are further from themselves on the truth than noise explains."""
    below = [n for n in range(len(measures)) if high[n] < ideal[n]]
    if not below:
        return ""
    ends = sorted(below, key=lambda n: -float(taus[n]))
    told = [
        f"{measures[n]} ({shown(float(taus[n]), decimals=2)}, ideal "
        f"{shown(float(ideal[n]), decimals=2)})"
        for n in dict.fromkeys((ends[0], ends[-1]))
    ]
    return (
        f"Beside the same measure on the truth, {len(below)} of {len(measures)} measures order the "
        f"systems further from right than chance over users explains: {' to '.join(told)}."
    )


def of_choices(
    best: str, reference: str, by_system: Mapping[str, Sequence[str]], lost: Mapping[str, str]
) -> str:
    """Say which system is truly best, and what choosing others loses.

    Examples
    --------
    >>> of_choices("a", "P@10", {"a": ["RR"], "b": ["P", "AP"]}, {"b": "0.2 (5 % of the range)"})
    'By true P@10, a is best. P and AP put b first, which loses 0.2 (5 % of the range).'
    """
    told = [
        f"{listed(measures)} {'puts' if len(measures) == 1 else 'put'} {system} first, which loses "
        f"{lost[system]}"
        for system, measures in by_system.items()
        if system in lost
    ]
    ends = f"{'; '.join(told)}." if told else "Every measure puts it first."
    return f"By true {reference}, {best} is best. {ends}"


def of_errors(
    measures: Measures,
    reference: str,
    *,
    n_pairs: int,
    n_sure: int,
    wrong: NDArray[np.intp],
    significant: NDArray[np.intp],
) -> str:
    """Say how many significant differences of each measure are errors of type III."""
    told = [f"{m} {n} of {of}" for m, n, of in zip(measures, wrong, significant, strict=True)]
    return (
        f"Of {n_pairs:,} pairs of systems, {n_sure:,} truly differ beyond noise by {reference}. "
        f"Significant differences that truly are the other way round: {listed(told)}."
    )


def robust_or_right(measures: Measures, robust: Floats, valid: Floats) -> str:
    """Set the most robust beside the most valid; empty where that is not known of all."""
    if len(measures) < 2 or np.isnan(robust + valid).any():
        return ""
    agreement = float(tau_b(robust, valid))
    told = (
        ""
        if np.isnan(agreement)
        else f" Over {len(measures)} measures, which are alike and not a sample, tau-b between "
        f"robustness and validity is {shown(agreement, decimals=2)}."
    )
    most_robust, most_valid = (
        listed([str(m) for m, n in zip(measures, values, strict=True) if n == values.max()])
        for values in (robust, valid)
    )
    return (
        f"Most robust to random loss of judgements: {most_robust}; most valid: {most_valid}; the "
        f"intervals say whether that may be chance.{told}"
    )
