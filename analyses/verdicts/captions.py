"""Captions of tables and figures of validity."""

from __future__ import annotations

import numpy as np

from analyses.discrimination import CORRECTIONS_IN_WORDS, TESTS_IN_WORDS
from analyses.intervals.systems import LEAST_SYSTEMS
from analyses.shared.sentences import listed
from analyses.verdicts.comparison import Comparison
from analyses.verdicts.truth_curves import TruthCurves

TESTED_ANEW = "the paired permutation test of the difference in means"

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


def caption_of_taus(found: Comparison) -> str:
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
    where = found.measures.reported.where
    return (
        f"Kendall's tau-b between the ordering of {len(found.systems)} systems by each measure"
        f"{where}, over {found.n_users:,} users, and their true ordering, {found.origin}, over "
        f"{truly}: by {listed(found.truths[1:])} on the truth, or "
        "by the same measure on the truth (itself). tau_AP: errors at the top count more. "
        "Ideal: tau that is expected of a measure which is right, but for chance over users "
        f"(from the reliabilities of both).{intervals}"
    )


def caption_of_pairs(found: Comparison) -> str:
    """Say how pairs are judged."""
    test = TESTS_IN_WORDS.get(found.test, TESTED_ANEW)
    adjusted = CORRECTIONS_IN_WORDS.get(found.correction)
    also = "not corrected" if adjusted is None else f"with {adjusted}"
    return (
        f"Pairs of {len(found.systems)} systems. Significant, and true beyond noise: {test}, "
        f"{also}, at {found.alpha:g}, of measured and of true scores. {VERDICTS_SAID}"
        f"{_intervals_of_rates(found)}"
    )


def _intervals_of_rates(found: Comparison) -> str:
    if np.isnan(found.rates.users[0]).all():
        return ""
    beside = "" if np.isnan(found.rates.both[0]).all() else " and systems"
    how = "" if found.test == "t" else "; pairs of resampled users are tested by Student's t"
    return f" Intervals (95 %) over users{beside}, none where a share never varied{how}."


def caption_of_robustness(kept: TruthCurves) -> str:
    """Say what robustness and validity are."""
    return (
        "Robustness: mean tau-b of a measure with itself on all judgements, over the "
        f"shares of them that are kept ({_range_of(kept)}). Validity: tau-b "
        "with the truth, 95 % over users. On the line a measure is as valid as robust."
    )


def caption_of_curves(found: Comparison, curves: TruthCurves, *, is_random: bool) -> str:
    """Say what becomes of validity when judgements are lost."""
    how = "at random" if is_random else "of the most popular items first"
    return (
        f"Kendall's tau-b between the true ordering of {len(found.systems)} systems and that on "
        f"what is left when judgements are lost {how} ({_range_of(curves)} kept). "
        "Bands, of two measures at most: 95 % over users, in random blocks, centred on the curve."
    )


def _range_of(curves: TruthCurves) -> str:
    return f"{100 * max(curves.levels):.0f} to {100 * min(curves.levels):.0f} %"
