"""Captions, findings and cautions of validity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.discrimination import CORRECTIONS_IN_WORDS, TESTS_IN_WORDS
from analyses.intervals.systems import LEAST_SYSTEMS, too_few
from analyses.ordering import tau_b
from analyses.shared.measure import Measures
from analyses.shared.sentences import best_of, listed
from analyses.shared.table import shown
from analyses.validity.comparison import put_first, regret_share
from analyses.validity.loss_curves import TruthCurves
from analyses.validity.truth_agreement import TruthAgreement

Floats = NDArray[np.float64]

FEW_PAIRS = 10
"""With fewer pairs whose true difference is beyond noise, shares of them say little."""

TESTED_ANEW = "the paired permutation test of the difference in means"

VERDICTS = (
    "Right: significant, and truly so. Wrong: significant, and truly the other way round (an error "
    "of type III). Unsure: significant, and the truth is not sure. Unfound: a true difference that "
    "is not significant. Power: right, as a share of the true differences. Type III: wrong, as a "
    "share of the significant ones. Inverted: true differences whose measured one has the other "
    "sign."
)

REGRET = (
    "Regret: the true score lost by choosing the system that the measure puts first, and its share "
    "of the range of the true scores. Again: share of resamples of the users in which the measure "
    "puts the same system first."
)


def taus_caption(found: TruthAgreement) -> str:
    """Say what is compared with what."""
    n_replicates = found.tau_replicates.shape[-1]
    same = found.n_shared == found.n_users == found.n_true_users
    together = f", {found.n_shared:,} of them the study's" if found.n_shared else ""
    truly = "the same users" if same else f"{found.n_true_users:,} users{together}"
    intervals = (
        f" Intervals (95 %) over users: {n_replicates:,} resamples (seed {found.seed}), "
        "measured and true scores together where users are the same; behind first: of the paired "
        "difference to the first. Over systems: delete-d jackknife, with at least "
        f"{LEAST_SYSTEMS} systems."
        if n_replicates
        else ""
    )
    return (
        f"Kendall's tau-b between the ordering of {len(found.systems)} systems by each measure"
        f"{found.measures.reported.where}, over {found.n_users:,} users, and their true ordering, "
        f"{found.origin}, over {truly}: by {listed(found.truths[1:])} on the truth, or "
        "by the same measure on the truth (itself). tau_AP: errors at the top count more. "
        "Ideal: tau that is expected of a measure which is right, but for chance over users "
        f"(from the reliabilities of both).{intervals}"
    )


def pairs_caption(found: TruthAgreement) -> str:
    """Say how pairs are judged."""
    test = TESTS_IN_WORDS.get(found.test, TESTED_ANEW)
    adjusted = CORRECTIONS_IN_WORDS.get(found.correction)
    also = "not corrected" if adjusted is None else f"with {adjusted}"
    intervals = ""
    if not np.isnan(found.rates.users[0]).all():
        beside = "" if np.isnan(found.rates.both[0]).all() else " and systems"
        how = "" if found.test == "t" else "; pairs of resampled users are tested by Student's t"
        intervals = f" Intervals (95 %) over users{beside}, none where a share never varied{how}."
    return (
        f"Pairs of {len(found.systems)} systems. Significant, and true beyond noise: {test}, "
        f"{also}, at {found.alpha:g}, of measured and of true scores. {VERDICTS}{intervals}"
    )


def robustness_caption(kept: TruthCurves) -> str:
    """Say what robustness and validity are."""
    return (
        "Robustness: mean tau-b of a measure with itself on all judgements, over the "
        f"shares of them that are kept ({_range_of(kept)}). Validity: tau-b "
        "with the truth, 95 % over users. On the line a measure is as valid as robust."
    )


def curves_caption(found: TruthAgreement, curves: TruthCurves, *, is_random: bool) -> str:
    """Say what becomes of validity when judgements are lost."""
    how = "at random" if is_random else "of the most popular items first"
    return (
        f"Kendall's tau-b between the true ordering of {len(found.systems)} systems and that on "
        f"what is left when judgements are lost {how} ({_range_of(curves)} kept). "
        "Bands, of two measures at most: 95 % over users, in random blocks, centred on the curve."
    )


def _range_of(curves: TruthCurves) -> str:
    return f"{100 * max(curves.levels):.0f} to {100 * min(curves.levels):.0f} %"


def findings(found: TruthAgreement) -> list[str]:
    """Say what is most valid, what choices cost, and what significance is worth."""
    reported = found.measures.reported
    numbers, place = found.numbers(reported), found.place()
    _, high = found.tau.users
    taus, highest, ideal = (x[0, numbers] for x in (found.tau.values, high, found.attainable))
    every = [
        best_of(found.estimates()),
        beyond_chance(reported, taus, highest, ideal),
        _choices(found),
        _errors(found),
    ]
    if found.robustness is not None:
        valid = found.tau.values[place, numbers]
        every.append(most_robust_and_most_valid(reported, found.robustness[numbers], valid))
    return [each for each in every if each]


def beyond_chance(measures: Measures, taus: Floats, high: Floats, ideal: Floats) -> str:
    """Name the measures that are further from themselves on the truth than noise explains."""
    below = [n for n in range(len(measures)) if high[n] < ideal[n]]
    if not below:
        return ""
    ends = sorted(below, key=lambda n: -float(taus[n]))
    examples = [
        f"{measures[n]} ({shown(float(taus[n]), decimals=2)}, ideal "
        f"{shown(float(ideal[n]), decimals=2)})"
        for n in dict.fromkeys((ends[0], ends[-1]))
    ]
    return (
        f"Beside the same measure on the truth, {len(below)} of {len(measures)} measures order the "
        f"systems further from right than chance over users explains: {' to '.join(examples)}."
    )


def _choices(found: TruthAgreement) -> str:
    """Say which system is truly best, and what the choices of the report measures lose."""
    place, numbers = found.place(), found.numbers(found.measures.reported)
    best = np.array(found.systems)[put_first(found.true[place, numbers[0]])]
    regrets = found.regret.values[place]
    shares = regret_share(found.regret.values, found.true)[place]
    by_system: dict[str, list[str]] = {}
    lost: dict[str, str] = {}
    for n in numbers:
        by_system.setdefault(found.chosen(n), []).append(str(found.measures[n]))
        if regrets[n] > 0:
            share = f"{100 * shares[n]:.0f} % of the range"
            lost[found.chosen(n)] = f"{shown(float(regrets[n]))} ({share})"
    others = [
        f"{listed(measures)} {'puts' if len(measures) == 1 else 'put'} {system} first, which loses "
        f"{lost[system]}"
        for system, measures in by_system.items()
        if system in lost
    ]
    ends = f"{'; '.join(others)}." if others else "Every measure puts it first."
    return f"By true {found.main}, {listed(best.tolist())} is best. {ends}"


def _errors(found: TruthAgreement) -> str:
    """Say how many significant differences of each report measure are errors of type III."""
    place, numbers = found.place(), found.numbers(found.measures.reported)
    marks = found.verdicts.wrong, found.verdicts.significant, found.verdicts.sure
    wrong, significant, sure = (each[place, numbers].sum(axis=-1) for each in marks)
    counts = zip(found.measures.reported, wrong, significant, strict=True)
    return (
        f"Of {found.p.shape[1]:,} pairs of systems, {int(sure[0]):,} truly differ beyond noise by "
        f"{found.main}. Significant differences that truly are the other way round: "
        f"{listed([f'{measure} {n} of {among}' for measure, n, among in counts])}."
    )


def most_robust_and_most_valid(measures: Measures, robust: Floats, valid: Floats) -> str:
    """Set the most robust beside the most valid; empty where that is not known of all."""
    if len(measures) < 2 or np.isnan(robust + valid).any():
        return ""
    agreement = float(tau_b(robust, valid))
    coefficient = (
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
        f"intervals say whether that may be chance.{coefficient}"
    )


def cautions(found: TruthAgreement) -> list[str]:
    """Say what the truth can and cannot tell."""
    every = []
    if found.unmeasured:
        every.append(
            f"Validity leaves out {listed(found.unmeasured)}: what is not measured on the truth "
            "has no validity."
        )
    if found.condensed:
        every.append(
            "The truth is of lists that hold each user's truly judged items alone (condensed "
            "lists): bpref and other measures of condensed lists resemble it by construction."
        )
    every += too_few(len(found.systems))
    n_sure = int(found.verdicts.sure[found.place(), 0].sum())
    if n_sure < FEW_PAIRS:
        every.append(
            f"{n_sure} of {found.p.shape[1]:,} pairs of systems truly differ beyond noise "
            f"by {found.main}: inversions and power are shares of few."
        )
    return every
