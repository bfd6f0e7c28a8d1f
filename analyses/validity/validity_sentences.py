"""Sentences of the results of validity: findings, and what captions explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.discrimination import TESTS_IN_WORDS
from analyses.shared.measure import Measures
from analyses.shared.number_format import rounded
from analyses.shared.sentences import listed, plural
from analyses.significance.question import Test
from analyses.validity.prediction_powered import PredictionPowered
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted

PAIR = "pair of systems"

FEW_PAIRS = 10
"""With fewer pairs that truly differ, shares of them are not reliable."""

VERDICTS_IN_WORDS = (
    "Right: significant with the true sign. Wrong: significant with the other sign (type III "
    "error). False positive: significant, but the true difference is not. Missed: not "
    "significant, but the true difference is."
)
RATES_IN_WORDS = (
    "Power: of the pairs whose true scores differ significantly, the share that the measure finds "
    "significant with the same sign. Type III: of the pairs that the measure finds significant, "
    "the share with the wrong sign. Inverted: of the pairs whose true scores differ significantly, "
    "the share that the measure orders the other way, significantly or not."
)
REGRET_IN_WORDS = (
    "Regret: true score of the best system less that of the system that the measure ranks first; "
    "also as a share of the range of the true scores."
)


def attainable_in_words(units: str) -> str:
    """Explain the tau-b that is attainable, in words that end a sentence.

    ``units`` is what scores belong to: "users" or "topics".
    """
    return (
        "the expected tau-b of a measure that orders the systems as the truth does but for "
        f"chance over {units}."
    )


def disagreement_sentence(
    measures: Measures, taus: Floats, high: Floats, attainable: Floats, *, units: str
) -> str:
    """State how many measures disagree with their own true ordering beyond chance over users.

    These are measures whose upper limit of tau-b is below what is attainable.

    Parameters
    ----------
    measures
        The measures.
    taus, high
        tau-b with the ordering by the same measure on the truth, and its upper limits over users,
        of shape (n_measures,).
    attainable
        The expected tau-b of a measure that is right but for chance, of the same shape.
    units
        What scores belong to: "users" or "topics".
    """
    n_measures = len(measures)
    numbers_below = np.flatnonzero(high < attainable)
    below = [str(measures[number]) for number in numbers_below]
    all_measures = counted(n_measures, "measure")
    number = f"{len(below)} of {all_measures}"
    if len(below) == n_measures > 1:
        number = f"All {all_measures}"
    names = f" ({listed(below)})" if 0 < len(below) < n_measures else ""
    verb = "disagrees" if len(below) == 1 else "disagree"
    range_of_taus = spread_of(taus)
    range_attainable = spread_of(attainable)
    return (
        f"{number}{names} {verb} with the ordering by the same measure with the true preferences "
        f"({range_of_taus}) by more than chance over {units} explains (attainable: "
        f"{range_attainable})."
    )


def choices_sentence(regrets: Floats, best_systems: Sequence[str], *, reference: str) -> str:
    """State how many measures rank the truly best system first, and the largest regret.

    ``regrets`` has the shape (n_measures,); ``best_systems`` are truly best by the reference of the
    truth, several if they tie.
    """
    n_right = int(np.count_nonzero(regrets == 0))
    n_measures = len(regrets)
    systems = listed([*best_systems], "or")
    verb = "ranks" if n_right == 1 else "rank"
    sentence = f"{n_right} of {counted(n_measures, 'measure')} {verb} {systems} first"
    if n_right == 0:
        sentence = f"No measure ranks {systems} first"
    elif n_right == n_measures:
        sentence = f"All measures rank {systems} first"
    sentence += f", which is truly best by {reference}"
    if n_right == n_measures:
        return f"{sentence}."
    largest_regret = rounded(float(np.max(regrets)))
    return f"{sentence}; what others rank first is truly worse by at most {largest_regret}."


def sign_sentence(
    measures: Measures, n_wrong: Numbers, n_significant: Numbers, *, test: Test, reference: str
) -> str:
    """State how many of the significant pairs of systems have the wrong sign, by each measure.

    Numbers of pairs have the shape (n_measures,). The sign is wrong by the reference of the truth.
    """
    by_measure = zip(measures, n_wrong, n_significant, strict=True)
    counts = [f"{k} of {n} ({measure})" for measure, k, n in by_measure]
    listed_counts = listed(counts)
    test_name = TESTS_IN_WORDS[test].removeprefix("the ")
    return (
        f"Of the pairs of systems that differ significantly by a measure ({test_name}), the "
        f"order is wrong by true {reference} in {listed_counts}."
    )


def powered_sentence(powered: PredictionPowered, *, unit: str) -> str:
    """State how much narrower prediction-powered intervals of differences are, and their signs.

    By the first of its measures; ``unit`` is "user" or "topic".
    """
    differences = powered.differences
    widths = differences.relative_widths(0)
    has_sign, has_powered_sign = differences.has_sign(0)
    n_gained = np.count_nonzero(has_powered_sign & ~has_sign)
    n_lost = np.count_nonzero(has_sign & ~has_powered_sign)
    users = _further(powered.n_unjudged, unit)
    pairs = counted(len(widths), PAIR)
    # NaN where no user tells a pair apart.
    is_known = ~np.isnan(widths)
    percentage = round(100 * (1 - float(np.median(widths[is_known])))) if is_known.any() else 0
    change = f"{percentage} % narrower" if percentage > 0 else "not narrower"
    return (
        f"With the measured scores of {users}, the 95 % intervals of true differences in "
        f"{powered.measures[0]} are {change} (median of {pairs}; prediction-powered "
        f"inference). Pairs whose sign is decided only with them: {n_gained:,}; only without them: "
        f"{n_lost:,}."
    )


def powered_in_words(
    measure: str, *, n_true_users: int, n_shared: int, n_unjudged: int, unit: str
) -> str:
    """Explain the table of true means by a measure.

    Parameters
    ----------
    measure
        Label of the measure of true and of measured scores.
    n_true_users, n_shared, n_unjudged
        Users with true scores, with true and measured ones, and with measured ones alone.
    unit
        What scores belong to: "user" or "topic".
    """
    truth = counted(n_true_users, unit)
    shared = f"{n_shared:,}" if n_shared < n_true_users else "these"
    further = _further(n_unjudged, unit)
    units = plural(unit)
    return (
        f"Mean true {measure} of {truth} with its 95 % interval; and the same by prediction-"
        f"powered inference, with the measured {measure} of {shared} and of {further}: the mean by "
        "the truth alone, plus lambda times the difference in mean measured scores between the "
        f"further {units} and the others. The {units} of the truth must be a random sample of all "
        f"{units}; measured scores may be biased."
    )


def _further(n_users: int, unit: str) -> str:
    """Count further users: "1 further user", "4,000 further users"."""
    return f"{n_users:,} further {unit if n_users == 1 else plural(unit)}"


def spread_of(taus: Floats) -> str:
    """Print the range of taus, (n_measures,), as "tau-b from .6 to .8"; NaN is left out."""
    lowest = float(np.fmin.reduce(taus))
    highest = float(np.fmax.reduce(taus))
    low = rounded(lowest, 2)
    high = rounded(highest, 2)
    return f"tau-b = {low}" if low == high else f"tau-b from {low} to {high}"
