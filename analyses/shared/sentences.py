"""Sentences about estimates, the forms of numbers and lists in sentences, and letters of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from string import ascii_letters

import numpy as np

from analyses.shared.estimate import Estimate
from analyses.shared.estimates import Estimates
from analyses.shared.measure import Measure, sorted_cutoffs
from analyses.shared.scores import TOPIC as TOPIC
from analyses.shared.scores import USER as USER
from analyses.shared.table import MISSING, percent, rounded, rounded_ratio
from runs.shared.arrays import Masks, Numbers

MAX_VALUES_LISTED = 3
"""Of more numbers, a sentence has only the range."""

MOST_NAMED, SMALLEST_P = 5, 0.001
"""Pairs that a sentence names at most; p-values below this are printed as such."""

MOST_GROUPS = 500
"""Groups of systems up to which all largest ones are given."""


def best_measures_sentence(estimates: Estimates, units: str = "users") -> str:
    """Say which report measures no other beats significantly, or that none passes the threshold.

    A leader is named without reserve only where it leads over users, systems and, where the study
    was repeated with other settings, settings.
    """
    ordered, best = estimates.in_order(), estimates.best
    if not ordered.measures:
        return ""
    if not ordered.acceptable().any():
        first = compared_with_threshold(ordered, ordered.measures[:1])
        return (
            f"No estimate reaches the threshold, {threshold_in_words(estimates)}: "
            f"{ordered.measures[0]} comes closest with {first}."
        )
    top, of_both = (
        [*compress(ordered.measures, ordered.may_be_best(all_sources=systems))]
        for systems in (False, ordered.has_further_sources)
    )
    names, found = listed([*map(str, top)]), values_in_words(ordered, top)
    if len(ordered.measures) == 1:
        return f"{names} is {best}, with {found}."
    if not ordered.has_replicates:
        return f"{names} in this order are {best} ({found}); the significance is unknown."
    if len(top) == len(ordered.measures):
        return f"No measure is significantly more {best} than another ({found})."
    more = ordered.further_sources
    over = listed([units, *more]) if top == of_both else units
    other = f"With other {listed(more or ['systems'], 'or')}"
    verb, sure = "is", "no other measure is better"
    if len(top) > 1:
        verb, sure = "are", "the best is among them; no two of them differ significantly"
    sentence = f"Over {over}, {names} {verb} most {best} ({found}): with 95 % confidence, {sure}."
    if over != units:
        return sentence
    if len(of_both) == len(ordered.measures):
        return f"{sentence} {other}, any measure may be the best."
    others = [str(measure) for measure in of_both if measure not in top]
    also = listed(others, "or") if others else "another"
    return f"{sentence} {other}, {also} may be the best, too."


def depth_sentence(estimates: Estimates, units: str = "users") -> str:
    """Say for which metrics the deepest cut-off differs significantly from the shallowest.

    That is over users; which of it holds over users and systems is said beside.
    """
    curves = estimates.measures.curves
    cutoffs = sorted_cutoffs(measure for curve in curves.values() for measure in curve)
    if not cutoffs:
        return ""
    shallow, deep = cutoffs[0], cutoffs[-1]
    pairs = {
        metric: (Measure(metric, deep), Measure(metric, shallow))
        for metric, curve in curves.items()
        if (curve[0].cutoff, curve[-1].cutoff) == (shallow, deep)
    }
    metrics: dict[str, list[str]] = {"more": [], "less": []}
    of_both = []
    users, both = (
        estimates.simultaneous_differences(pairs.values(), all_sources=systems)
        for systems in (False, estimates.has_system_intervals)
    )
    for metric, over_users, over_both in zip(pairs, users, both, strict=True):
        if over_users.is_beyond_noise:
            is_more = (over_users.value > 0) != estimates.lower_is_better
            metrics["more" if is_more else "less"].append(metric)
            of_both += [metric] * over_both.is_beyond_noise
    parts = [
        f"{f'all {len(pairs)} metrics' if 1 < len(names) == len(pairs) else listed(names)} "
        f"{'is' if len(names) == 1 else 'are'} significantly {how} {estimates.best}"
        for how, names in metrics.items()
        if names
    ]
    if not parts:
        return ""
    n_named = sum(map(len, metrics.values()))
    which = ", and the others do not differ significantly" * (n_named < len(pairs))
    sentence = f"at cut-off {deep}, {listed(parts)} than at cut-off {shallow}{which}."
    if not estimates.has_system_intervals or len(of_both) == n_named:
        return f"Over {units}{' and systems' * estimates.has_system_intervals}, {sentence}"
    left = f"of {listed(of_both)} alone" if of_both else "of none"
    return f"Over {units}, {sentence} Over {units} and systems, that is true {left}."


def threshold_in_words(estimates: Estimates) -> str:
    """Print the threshold of estimates: a number, or a share with what it is of."""
    threshold = estimates.threshold or 0.0
    if estimates.shares is None:
        return rounded(threshold, 1)
    return f"{percent(threshold)} {estimates.requirement}"


def compared_with_threshold(estimates: Estimates, measures: Sequence[Measure]) -> str:
    """Print the numbers of measures, and their shares where the threshold is of shares.

    Of more than `MAX_VALUES_LISTED` measures, the range is printed.
    """
    numbers = values_in_words(estimates, measures)
    if estimates.shares is None:
        return numbers
    shares = [float(estimates.shares[index]) for index in estimates.measures.indices(measures)]
    if len(shares) > MAX_VALUES_LISTED:
        printed = f"{percent(min(shares))} to {percent(max(shares))}"
    else:
        printed = listed([percent(share) for share in shares])
    return f"{numbers}; {printed} {estimates.requirement}"


def values_in_words(estimates: Estimates, measures: Sequence[Measure]) -> str:
    """Print the quantity with the numbers of measures: "tau = .69 [.64, .73] and .58 [.5, .66]".

    Of more than `MAX_VALUES_LISTED` measures, the range is printed. Sentences name measures for
    being the best, the nearest or the worst. Their intervals are therefore simultaneous for all
    report measures: see `Estimates.joint_limits`.
    """
    low, high = estimates.joint_limits
    chosen = [
        Estimate(float(estimates.values[index]), float(low[index]), float(high[index]))
        for index in estimates.measures.indices(measures)
    ]
    if len(chosen) > MAX_VALUES_LISTED:
        return _range_in_words(estimates, chosen)
    texts = []
    for estimate in chosen:
        decimals = estimate.decimals if estimates.decimals is None else estimates.decimals
        texts.append(estimate.printed(decimals, by_ratio=estimates.by_ratio))
    printed = listed(texts)
    equals_sign = "" if printed.startswith("<") else "= "
    return f"{estimates.quantity} {equals_sign}{printed}"


def _range_in_words(estimates: Estimates, chosen: Sequence[Estimate]) -> str:
    """Print the quantity of estimates with the least and the largest of the chosen values.

    Both have the decimals of ``estimates``, or else those that all intervals support, but two at
    least.
    """
    decimals = estimates.decimals
    if decimals is None:
        decimals = max(2, min(estimate.decimals for estimate in chosen))
    values = [estimate.value for estimate in chosen]
    print_number = rounded_ratio if estimates.by_ratio else rounded
    least = print_number(min(values), decimals)
    largest = print_number(max(values), decimals)
    return f"{estimates.quantity} from {least} to {largest}"


def plural(noun: str) -> str:
    """Give the plural of a unit."""
    return f"{noun}s"


def listed(names: Sequence[str], conjunction: str = "and") -> str:
    """Join names as a sentence does."""
    *others, last = names or [""]
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def applicable(sentences: Mapping[str, bool | np.bool_]) -> list[str]:
    """Give the sentences of which the condition holds.

    Examples
    --------
    >>> applicable({"Two systems tie.": True, "All systems tie.": False})
    ['Two systems tie.']
    """
    return [sentence for sentence, holds in sentences.items() if holds]


def join_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Name pairs, the first few of many."""
    named = "; ".join(f"{a} and {b}" for a, b in pairs[:MOST_NAMED])
    n_others = len(pairs) - MOST_NAMED
    if n_others <= 0:
        return named
    return f"{named}; and {n_others:,} other {'pair' if n_others == 1 else 'pairs'}"


def format_p_value(p: float) -> str:
    """Print a p-value as papers do: p = .03, or p < .001."""
    if np.isnan(p):
        return "p unknown"
    return "p < .001" if p < SMALLEST_P else f"p = {rounded(p, 2 if p >= SMALLEST_P * 10 else 3)}"


def user_count(users: float) -> str:
    """Print a number of users."""
    if np.isnan(users):
        return MISSING
    return "never" if np.isinf(users) else f"{users:,.0f}"


def letters_by_system(differs: Masks, order: Numbers) -> tuple[str, ...]:
    """Give letters to what is compared, in an order; two that share one do not differ.

    The mask is symmetric, of shape (n_systems, n_systems).
    """
    groups, found = letter_groups(differs[np.ix_(order, order)]), [""] * len(order)
    # a to z, A to Z, a1 and so on.
    names = [f"{ascii_letters[n % 52]}{n // 52 or ''}" for n in range(len(groups))]
    for place, system in enumerate(order):
        shared = (name for name, group in zip(names, groups, strict=True) if place in group)
        found[system] = "".join(shared)
    return tuple(found)


def letter_groups(differs: Masks) -> list[frozenset[int]]:
    """Give the largest groups of which no two members differ, by their first members.

    The mask is symmetric, of shape (n_systems, n_systems). There may be 3^(n/3) such groups. If
    more than `MOST_GROUPS` are found, groups are chosen of which every two systems that do not
    differ share one: fewer than n^2 / 2, and with n systems in n^2 / 2 steps.

    Examples
    --------
    The first differs from the last alone:

    >>> apart = np.zeros((3, 3), dtype=bool)
    >>> apart[0, 2] = apart[2, 0] = True
    >>> [sorted(group) for group in letter_groups(apart)]
    [[0, 1], [1, 2]]
    """
    groups = {frozenset(range(len(differs)))}
    for pair in np.argwhere(np.triu(differs)).tolist():
        split = {group for group in groups if group.issuperset(pair)}
        groups -= split
        for part in sorted((g - {end} for g in split for end in pair), key=len, reverse=True):
            if not any(part <= group for group in groups):
                groups.add(part)
        if len(groups) > MOST_GROUPS:
            return _covering_groups(differs)
    return sorted(groups, key=sorted)


def _covering_groups(differs: Masks) -> list[frozenset[int]]:
    """Choose largest groups until every two that do not differ share one.

    The mask is symmetric, of shape (n_systems, n_systems).
    """
    groups = []
    alike = ~differs
    shares = differs.copy()
    for first in range(len(differs)):
        for second in range(first, len(differs)):
            if shares[first, second]:
                continue
            members = [first, second]
            candidates = alike[first] & alike[second]
            candidates[members] = False
            while candidates.any():
                member = int(candidates.argmax())
                members.append(member)
                candidates &= alike[member]
                candidates[member] = False
            shares[np.ix_(members, members)] = True
            groups.append(frozenset(members))
    return sorted({*groups}, key=sorted)
