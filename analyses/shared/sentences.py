"""Sentences about estimates: which measure is best, and whether that may be noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan

import numpy as np

from analyses.shared.estimate import Estimate, Estimates
from analyses.shared.measure import Measure, rising_cutoffs
from analyses.shared.table import MISSING, shown

MOST_NAMED = 5
"""So many pairs are named in a sentence."""


def best_of(estimates: Estimates) -> str:
    """Say which report measure has the best number; empty if none is defined."""
    compared = estimates.measures.reported
    by_label = estimates.of(compared)
    if not by_label:
        return ""
    told = comparison(
        by_label,
        estimates.best,
        lower_is_better=estimates.lower_is_better,
        difference_of=lambda a, b: estimates.difference(
            compared.called(a), compared.called(b), among=estimates.every_two
        ),
        first_in=lambda best: estimates.first_in(compared.called(best)),
    )
    how = ", lower is better" if estimates.lower_is_better else ""
    return f"{estimates.subject} ({estimates.quantity}{compared.where}{how}): {told}"


def said_by(estimates: Estimates) -> tuple[str, ...]:
    """Say what estimates say: which measure is best, and whether depth helps."""
    return tuple(filter(None, (best_of(estimates), deeper_or_shallower(estimates))))


def comparison(
    estimates: Mapping[str, Estimate],
    quality: str,
    *,
    lower_is_better: bool = False,
    difference_of: Callable[[str, str], Estimate] = lambda first, second: Estimate(0.0),
    first_in: Callable[[str], Mapping[str, float]] = lambda best: {},
) -> str:
    """Say which metric is best, which comes next, and whether the two can be told apart.

    The best has most of the quality. The difference of two metrics, with an interval of its own
    where that is known, says more than two intervals that overlap; the shares of resamples, and of
    subsets of the systems, in which the best is first say how sure its place is.
    """
    if len(estimates) < 2:
        return "".join(f"The only metric, {name}, has {e}." for name, e in estimates.items())
    sign = 1 if lower_is_better else -1
    ordered = sorted(estimates.items(), key=lambda item: sign * item[1].value)
    (best, first), (second_best, second) = ordered[:2]
    level = [name for name, e in ordered if shown(e.value) == shown(first.value)]
    if len(level) > 1:
        return f"{listed(level)} were level as the most {quality}: {shown(first.value)}."
    return (
        f"{best} was the most {quality}: {first}. Next came {second_best}: {second}. "
        f"{_told_apart(first, second, difference_of(best, second_best))}"
        f"{_how_sure(best, first_in(best))}"
    )


def _how_sure(best: str, first_in: Mapping[str, float]) -> str:
    """Say how often the winner, which was selected for being so, is one in what is drawn anew."""
    shares = [f"in {100 * share:.0f} % of {drawn}" for drawn, share in first_in.items()]
    return f" {best} is first {' and '.join(shares)}." if shares else ""


def _told_apart(first: Estimate, second: Estimate, difference: Estimate) -> str:
    if difference.has_interval:
        place = "beyond" if difference.is_beyond_noise else "within"
        return f"Their difference, {difference}, is {place} noise."
    if not (first.has_interval and second.has_interval):
        return "Without intervals it is not known whether that difference is noise."
    if first.low <= second.high and second.low <= first.high:
        return "The intervals overlap, so the order of these two may be noise."
    return "The intervals do not overlap."


def deeper_or_shallower(estimates: Estimates) -> str:
    """Compare the deepest cut-off of the grid with the shallowest, metric by metric, if any."""
    curves = estimates.measures.curves
    cutoffs = rising_cutoffs(measure for curve in curves.values() for measure in curve)
    if not cutoffs:
        return ""
    shallow, deep = cutoffs[0], cutoffs[-1]
    every = {
        metric: (Measure(metric, deep), Measure(metric, shallow))
        for metric, curve in curves.items()
        if (curve[0].cutoff, curve[-1].cutoff) == (shallow, deep)
    }
    differences = {
        metric: estimates.difference(*pair, among=every.values()) for metric, pair in every.items()
    }
    sign = -1 if estimates.lower_is_better else 1
    gains = {name: sign * d.value for name, d in differences.items() if not isnan(d.value)}
    if not gains:
        return ""
    sure = {
        name: differences[name].is_beyond_noise for name in gains if differences[name].has_interval
    }
    answers = {
        "more": [metric for metric, gain in gains.items() if gain > 0],
        "less": [metric for metric, gain in gains.items() if gain < 0],
        "as much": [metric for metric, gain in gains.items() if gain == 0],
    }
    parts = [
        f"{answer} by {listed([metric + '*' * sure.get(metric, False) for metric in metrics])}"
        for answer, metrics in answers.items()
        if metrics
    ]
    return (
        f"Is cut-off {deep} more {estimates.more} than {shallow}? "
        f"{capitalised('; '.join(parts))}{_of_noise(sure)}."
    )


def _of_noise(sure: Mapping[str, bool]) -> str:
    if not sure:
        return ""
    return " (* beyond noise)" if any(sure.values()) else ", all within noise"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def paired(pairs: Sequence[tuple[str, str]]) -> str:
    """Name pairs, the first few of many."""
    named = "; ".join(f"{a} and {b}" for a, b in pairs[:MOST_NAMED])
    n_others = len(pairs) - MOST_NAMED
    return f"{named}; and {n_others:,} other pairs" if n_others > 0 else named


def capitalised(text: str) -> str:
    """Begin a sentence."""
    return text[0].upper() + text[1:]


def count(users: float) -> str:
    """Say a number of users."""
    if np.isnan(users):
        return MISSING
    return "never" if np.isinf(users) else f"{users:,.0f}"


def between(low: float, high: float) -> str:
    """Say the limits of an interval of such numbers."""
    return MISSING if np.isnan(low + high) else f"{count(low)} to {count(high)}"


def times(ratio: float) -> str:
    """Say a ratio, to two digits."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def percent(part: float) -> str:
    """Say a share, to two digits."""
    if not np.isfinite(part):
        return MISSING
    return f"{100 * part:.3g} %" if part >= 1 else f"{100 * part:.2g} %"
