"""Sentences about estimates: which measure is best, and whether that may be noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.shared.estimate import Estimate, Estimates
from analyses.shared.measure import Measure, rising_cutoffs
from analyses.shared.table import MISSING, shown

MOST_NAMED = 5
USER, TOPIC = "user", "topic"
"""What scores are of: topics where runs are given, else users."""
"""So many pairs are named in a sentence."""


def findings_of(estimates: Estimates) -> tuple[str, ...]:
    """Say what estimates say: which measure is best, and whether depth helps."""
    return tuple(filter(None, (best_of(estimates), deeper_or_shallower(estimates))))


def best_of(estimates: Estimates) -> str:
    """Say which report measure has the best number, and whether the next differs significantly."""
    compared = estimates.measures.reported
    found, sign = estimates.of(compared), 1 if estimates.lower_is_better else -1
    ordered = sorted(found.items(), key=lambda item: sign * item[1].value)
    if not ordered:
        return ""
    how = ", lower is better" if estimates.lower_is_better else ""
    start = f"{estimates.subject} ({estimates.quantity}{compared.where}{how}):"
    (best, first), *others = ordered
    if not others:
        return f"{start} the only metric, {best}, has {first}."
    level = [name for name, each in ordered if shown(each.value) == shown(first.value)]
    if len(level) > 1:
        return f"{start} {listed(level)} tie as the most {estimates.best}: {shown(first.value)}."
    second, next_best = others[0]
    pair = compared.called(best), compared.called(second)
    difference = estimates.difference(*pair, among=estimates.every_two)
    return (
        f"{start} {best} was the most {estimates.best}: {first}. Next came {second}: {next_best}. "
        f"{_significance_of(difference)}"
    )


def _significance_of(difference: Estimate) -> str:
    if not difference.has_interval:
        return "Without intervals it is not known whether that difference is noise."
    place = "beyond" if difference.is_beyond_noise else "within"
    return f"Their difference, {difference}, is {place} noise."


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
    more: dict[str, list[str]] = {"more": [], "less": [], "equally": []}
    for metric, pair in every.items():
        found = estimates.difference(*pair, among=every.values())
        gain = -found.value if estimates.lower_is_better else found.value
        if not np.isnan(gain):
            answer = "more" if gain > 0 else "less" if gain < 0 else "equally"
            more[answer].append(f"{metric}{'*' * found.is_beyond_noise}")
    parts = [f"{answer} by {listed(metrics)}" for answer, metrics in more.items() if metrics]
    if not parts:
        return ""
    answers = "; ".join(parts)
    return f"Cut-off {deep} against {shallow} ({estimates.more}): {answers} (*: beyond noise)."


def plural(noun: str) -> str:
    """Give the plural of a unit."""
    return f"{noun}s"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def paired(pairs: Sequence[tuple[str, str]]) -> str:
    """Name pairs, the first few of many."""
    named = "; ".join(f"{a} and {b}" for a, b in pairs[:MOST_NAMED])
    n_others = len(pairs) - MOST_NAMED
    return f"{named}; and {n_others:,} other pairs" if n_others > 0 else named


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
