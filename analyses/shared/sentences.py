"""Sentences about estimates, and the forms of numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measure, rising_cutoffs
from analyses.shared.table import MISSING, rounded

MOST_NAMED, SMALLEST_P = 5, 0.001
"""Pairs that a sentence names at most; p-values below this are printed as such."""

USER, TOPIC = "user", "topic"
"""What scores are of: topics where runs are given, else users."""


def best_of(estimates: Estimates) -> str:
    """Say which report measure has the best number, or that none passes the threshold."""
    ordered, best = estimates.in_order(), estimates.best
    numbers = dict(zip(ordered.measures, ordered.of(ordered.measures).values(), strict=True))
    if not numbers:
        return ""
    leaders = ordered.leaders()
    top = leaders or replace(ordered, threshold=None).leaders()
    names, found = listed([*map(str, top)]), f"{estimates.quantity} = {numbers[top[0]]}"
    if not leaders:
        threshold = estimates.required
        return (
            f"No measure is {best}: {names} comes first with {found}; the threshold is {threshold}."
        )
    if len(leaders) > 1:
        return f"{names} tie as the most {best}, with {found}."
    if len(numbers) == 1:
        return f"{names} is {best}, with {found}."
    second = next(measure for measure in numbers if measure not in leaders)
    difference = estimates.difference(leaders[0], second, among=estimates.every_two)
    significance = "not " * (not difference.is_beyond_noise) + "significant"
    if not difference.has_interval:
        significance = "of unknown significance"
    return (
        f"{names} is the most {best}, with {found}, followed by {second} ({numbers[second]}); "
        f"their difference is {significance}."
    )


def deeper_or_shallower(estimates: Estimates) -> str:
    """Compare the deepest cut-off of the grid with the shallowest, metric by metric, if any."""
    curves = estimates.measures.curves
    cutoffs = rising_cutoffs(measure for curve in curves.values() for measure in curve)
    if not cutoffs:
        return ""
    shallow, deep = cutoffs[0], cutoffs[-1]
    pairs = {
        metric: (Measure(metric, deep), Measure(metric, shallow))
        for metric, curve in curves.items()
        if (curve[0].cutoff, curve[-1].cutoff) == (shallow, deep)
    }
    metrics: dict[str, list[str]] = {"more": [], "less": [], "equally": []}
    for metric, pair in pairs.items():
        found = estimates.difference(*pair, among=pairs.values())
        gain = -found.value if estimates.lower_is_better else found.value
        if not np.isnan(gain):
            how = "more" if gain > 0 else "less" if gain < 0 else "equally"
            metrics[how].append(f"{metric}{'*' * found.is_beyond_noise}")
    parts = listed([f"{listed(names)} {how}" for how, names in metrics.items() if names] or [""])
    mark = " (*: significant difference)" * ("*" in parts)
    opening = f"Compared with cut-off {shallow}, cut-off {deep} makes"
    return f"{opening} {parts} {estimates.best}{mark}." if parts else ""


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


def p_value(p: float) -> str:
    """Print a p-value as papers do: p = .03, or p < .001."""
    if np.isnan(p):
        return "p unknown"
    return "p < .001" if p < SMALLEST_P else f"p = {rounded(p, 2 if p >= SMALLEST_P * 10 else 3)}"


def count(users: float) -> str:
    """Print a number of users."""
    if np.isnan(users):
        return MISSING
    return "never" if np.isinf(users) else f"{users:,.0f}"


def percent(part: float) -> str:
    """Print a share in per cent, with two digits."""
    if not np.isfinite(part):
        return MISSING
    return f"{100 * part:.3g} %" if part >= 1 else f"{100 * part:.2g} %"
