"""Sentences about measures and the truth, as careful as the numbers allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.systems import too_few
from analyses.ordering import tau_b
from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from analyses.shared.table import shown
from analyses.verdicts.choice import as_share, put_first
from analyses.verdicts.comparison import Comparison

Floats = NDArray[np.float64]

FEW_PAIRS = 10
"""With fewer pairs whose true difference is beyond noise, shares of them say little."""


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


def distance_in_words(found: Comparison) -> str:
    """Say which report measures are further from right than noise explains."""
    numbers, _, high = found.numbers(found.measures.reported), *found.tau.users
    taus, highest, ideal = (each[0, numbers] for each in (found.tau.values, high, found.attainable))
    return beyond_chance(found.measures.reported, taus, highest, ideal)


def choices_in_words(found: Comparison) -> str:
    """Say what the choices of the report measures lose."""
    place, numbers = found.place(), found.numbers(found.measures.reported)
    best = np.array(found.systems)[put_first(found.true[place, numbers[0]])]
    by_system: dict[str, list[str]] = {}
    lost: dict[str, str] = {}
    regrets, shares = found.regret.values[place], as_share(found.regret.values, found.true)[place]
    for n in numbers:
        by_system.setdefault(found.chosen(n), []).append(str(found.measures[n]))
        if regrets[n] > 0:
            share = f"{100 * shares[n]:.0f} % of the range"
            lost[found.chosen(n)] = f"{shown(float(regrets[n]))} ({share})"
    return of_choices(listed(best.tolist()), found.main, by_system, lost)


def errors_in_words(found: Comparison) -> str:
    """Say what the significance of the report measures is worth."""
    place, numbers = found.place(), found.numbers(found.measures.reported)
    marks = found.verdicts.wrong, found.verdicts.significant, found.verdicts.sure
    wrong, significant, sure = (each[place, numbers].sum(axis=-1) for each in marks)
    return of_errors(
        found.measures.reported,
        found.main,
        n_pairs=found.p.shape[1],
        n_sure=int(sure[0]),
        wrong=wrong,
        significant=significant,
    )


def robust_or_right(found: Comparison) -> str:
    """Set the most robust report measures beside the most valid, where both are known."""
    if found.robustness is None:
        return ""
    numbers = found.numbers(found.measures.reported)
    valid = found.tau.values[found.place(), numbers]
    return most_robust_and_most_valid(found.measures.reported, found.robustness[numbers], valid)


def most_robust_and_most_valid(measures: Measures, robust: Floats, valid: Floats) -> str:
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


def about_truth(found: Comparison) -> list[str]:
    """Say what the truth can and cannot tell."""
    told = []
    if found.untold:
        told.append(
            f"Validity leaves out {listed(found.untold)}: what is not measured on the truth has no "
            "validity."
        )
    if found.condensed:
        told.append(
            "The truth is of lists that hold each user's truly judged items alone (condensed "
            "lists): bpref and other measures of condensed lists resemble it by construction."
        )
    told += too_few(len(found.systems))
    n_sure = int(found.verdicts.sure[found.place(), 0].sum())
    if n_sure < FEW_PAIRS:
        told.append(
            f"{n_sure} of {found.p.shape[1]:,} pairs of systems truly differ beyond noise "
            f"by {found.main}: inversions and power are shares of few."
        )
    return told
