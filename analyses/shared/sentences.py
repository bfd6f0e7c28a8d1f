"""Sentences about estimates, the forms of numbers and lists in sentences, and letters of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import numpy as np

from analyses.shared.estimate import Estimate
from analyses.shared.measure import Measure, sorted_cutoffs
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import MISSING, percent, rounded, rounded_ratio
from analyses.shared.scores import TOPIC as TOPIC
from analyses.shared.scores import USER as USER
from runs.shared.arrays import Masks, Numbers

MAX_VALUES_LISTED = 3
"""Of more numbers, a sentence has only the range."""

MOST_NAMED = 5
"""Largest number of pairs that a sentence names."""

SMALLEST_P = 0.001
"""Smaller p-values are printed as "p < .001"."""

MOST_LETTERS = 12
"""More letters are not printed."""

MOST_GROUPS = 5 * MOST_LETTERS
"""Groups of systems, some of them redundant, up to which it is tried to leave some out."""


def best_measures_sentence(estimates: Estimates, units: str = "users") -> str:
    """Write which report measures may be the best, or that none passes the threshold.

    A measure may be the best if no other is significantly better. The sentence names a leader
    without reserve only if it leads over users, systems and, where the study was repeated with
    other settings, settings. Without replicates, all are listed from the best. ``units`` is the
    plural of what a score belongs to. The result is empty if no report measure has a value.
    """
    ordered = estimates.in_order()
    n_measures = len(ordered.measures)
    if n_measures == 0:
        return ""
    if not ordered.acceptable().any():
        nearest = ordered.measures[:1]
        return (
            f"No estimate reaches the threshold, {threshold_in_words(estimates)}: "
            f"{nearest[0]} comes closest with {compared_with_threshold(ordered, nearest)}."
        )
    leaders = _possible_best(ordered, all_sources=False)
    names = listed([str(measure) for measure in leaders])
    values = values_in_words(ordered, leaders)
    if n_measures == 1:
        return f"{names} is {ordered.best}, with {values}."
    if not ordered.has_replicates:
        return f"{names} in this order are {ordered.best} ({values}); the significance is unknown."
    if len(leaders) == n_measures:
        return f"No measure is significantly more {ordered.best} than another ({values})."
    return _leaders_sentence(ordered, leaders, units)


def _possible_best(estimates: Estimates, *, all_sources: bool) -> list[Measure]:
    """List the measures that may be the best, over users or over all sources of chance."""
    may_be_best = estimates.may_be_best(all_sources=all_sources)
    return [estimates.measures[index] for index in np.flatnonzero(may_be_best)]


def _leaders_sentence(ordered: Estimates, leaders: Sequence[Measure], units: str) -> str:
    """Write that some measures, but not all, may be the best over users, and what may change it.

    ``ordered`` has the report measures from the best, ``leaders`` are those that may be the best
    over users, and ``units`` is the plural of what a score belongs to. If others may be the best
    with other systems or settings, or if intervals over these are unknown, a second sentence says
    so.
    """
    # Sources of chance beside users, if known: "systems", "settings".
    leaders_over_all = _possible_best(ordered, all_sources=ordered.has_further_sources)
    further_sources = ordered.further_sources
    is_certain = leaders == leaders_over_all and bool(further_sources)
    sources = listed([units, *further_sources]) if is_certain else units
    verb = "is" if len(leaders) == 1 else "are"
    conclusion = "no other measure is better"
    if len(leaders) > 1:
        conclusion = "the best is among them; no two of them differ significantly"
    names = listed([str(measure) for measure in leaders])
    values = values_in_words(ordered, leaders)
    sentence = (
        f"Over {sources}, {names} {verb} most {ordered.best} ({values}): with 95 % confidence, "
        f"{conclusion}."
    )
    if is_certain:
        return sentence
    condition = f"With other {listed(further_sources or ['systems'], 'or')}"
    if len(leaders_over_all) == len(ordered.measures):
        return f"{sentence} {condition}, any measure may be the best."
    contenders = [str(measure) for measure in leaders_over_all if measure not in leaders]
    also = listed(contenders, "or") if contenders else "another"
    return f"{sentence} {condition}, {also} may be the best, too."


def not_compared_sentence(names: Sequence[str]) -> str:
    """Write that measures do not use the judgements, and are not compared; "" without a name."""
    if not names:
        return ""
    verb = "does" if len(names) == 1 else "do"
    passive = "is" if len(names) == 1 else "are"
    return (
        f"{listed(names)} {verb} not reward relevant items, and {passive} not compared: to be "
        "robust or discriminative shows nothing of such a measure."
    )


def depth_sentence(estimates: Estimates, units: str = "users") -> str:
    """Write for which metrics the deepest cut-off differs significantly from the shallowest.

    These are the deepest and the shallowest of all in the grid; metrics that have both there are
    compared. Differences are significant if their limits over users, which hold for all metrics at
    once, exclude 0; a second sentence says which are so over users and systems, where that is
    known. ``units`` is the plural of what a score belongs to. The result is empty if no metric has
    several cut-offs, or none differs.
    """
    curves = estimates.measures.curves
    cutoffs = sorted_cutoffs(measure for curve in curves.values() for measure in curve)
    if not cutoffs:
        return ""
    shallow = cutoffs[0]
    deep = cutoffs[-1]
    metrics = [
        metric
        for metric, curve in curves.items()
        if curve[0].cutoff == shallow and curve[-1].cutoff == deep
    ]
    pairs = [(Measure(metric, deep), Measure(metric, shallow)) for metric in metrics]
    differences = dict(zip(metrics, estimates.simultaneous_differences(pairs), strict=True))
    different = [metric for metric in metrics if differences[metric].is_beyond_noise]
    if not different:
        return ""
    comparison = _depth_comparison(estimates, differences)
    sentence = f"at cut-off {deep}, {comparison} than at cut-off {shallow}"
    if len(different) < len(metrics):
        sentence += ", and the others do not differ significantly"
    if not estimates.has_system_intervals:
        return f"Over {units}, {sentence}."
    over_both = estimates.simultaneous_differences(pairs, all_sources=True)
    different_over_both = [
        metric
        for metric, difference in zip(metrics, over_both, strict=True)
        if metric in different and difference.is_beyond_noise
    ]
    if different_over_both == different:
        return f"Over {units} and systems, {sentence}."
    holds_for = f"of {listed(different_over_both)} alone" if different_over_both else "of none"
    return f"Over {units}, {sentence}. Over {units} and systems, that is true {holds_for}."


def _depth_comparison(estimates: Estimates, differences: Mapping[str, Estimate]) -> str:
    """Write which metrics are better, and which worse, at the deeper cut-off.

    ``differences`` has the value at the deeper less that at the shallower cut-off, by metric; those
    whose interval has 0 in it are not named, which must not be all. ``estimates`` says whether
    lower values are better, and what the better measure is more: "robust".
    """
    better = []
    worse = []
    for metric, difference in differences.items():
        if difference.is_beyond_noise:
            is_better = (difference.value > 0) != estimates.lower_is_better
            if is_better:
                better.append(metric)
            else:
                worse.append(metric)
    clauses = []
    if better:
        clauses.append(_depth_clause(better, len(differences), f"more {estimates.best}"))
    if worse:
        clauses.append(_depth_clause(worse, len(differences), f"less {estimates.best}"))
    return listed(clauses)


def _depth_clause(metrics: Sequence[str], n_compared: int, difference: str) -> str:
    """Write that metrics are significantly different: "P and AP are significantly more robust".

    ``n_compared`` is the number of all metrics: if these are all, and several, they are not named.
    """
    if len(metrics) == 1:
        return f"{metrics[0]} is significantly {difference}"
    names = listed(metrics)
    if len(metrics) == n_compared:
        names = f"all {n_compared} metrics"
    return f"{names} are significantly {difference}"


def threshold_in_words(estimates: Estimates) -> str:
    """Print the threshold of estimates: a number, or a share with what it is of."""
    threshold = estimates.threshold or 0.0
    if estimates.shares is None:
        return rounded(threshold, 1)
    return f"{percent(threshold)} {estimates.requirement}"


def compared_with_threshold(estimates: Estimates, measures: Sequence[Measure]) -> str:
    """Print the numbers of measures, and their shares where the threshold is of shares.

    For instance "mid-p DP = 5 [4, 6]; 40 % of the pairs with mid-p < .05". Of more than 3 measures
    (`MAX_VALUES_LISTED`), the range is printed.
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

    ", joint intervals" follows where there are several measures.

    Of more than 3 measures (`MAX_VALUES_LISTED`), the range is printed, without intervals.
    Sentences name measures for being the best, the nearest or the worst. Their 95 % intervals over
    users are therefore simultaneous for all report measures: see `Estimates.joint_limits`.
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
    n_compared = len(estimates.measures.reported)
    note = ", joint intervals" if n_compared > 1 and estimates.has_replicates else ""
    return f"{estimates.quantity} {equals_sign}{printed}{note}"


def _range_in_words(estimates: Estimates, chosen: Sequence[Estimate]) -> str:
    """Print the quantity of estimates with the least and the largest of the chosen values.

    For instance "tau from .58 to .69". Both have the decimals of ``estimates``, or else those that
    all intervals support, but two at least.
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
    """Form the plural of a regular noun."""
    return f"{noun}s"


def listed(names: Sequence[str], conjunction: str = "and") -> str:
    """Join names as a sentence does: "a, b and c"; empty without names."""
    if not names:
        return ""
    *leading, last = names
    return f"{', '.join(leading)} {conjunction} {last}" if leading else last


def applicable(sentences: Mapping[str, bool | np.bool_]) -> list[str]:
    """Select the sentences of which the condition holds.

    Examples
    --------
    >>> applicable({"Two systems tie.": True, "All systems tie.": False})
    ['Two systems tie.']
    """
    return [sentence for sentence, holds in sentences.items() if holds]


def join_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Join pairs of names: "a and b; c and d".

    Of more than 5 pairs (`MOST_NAMED`), the first ones are named and the others counted.
    """
    text = "; ".join(f"{first} and {second}" for first, second in pairs[:MOST_NAMED])
    n_others = len(pairs) - MOST_NAMED
    if n_others <= 0:
        return text
    noun = "pair" if n_others == 1 else "pairs"
    return f"{text}; and {n_others:,} other {noun}"


def format_p_value(p: float) -> str:
    """Print a p-value as papers do: p = .03, or p < .001; "p unknown" for NaN.

    Values below .01 have three decimals, others two.
    """
    if np.isnan(p):
        return "p unknown"
    if p < SMALLEST_P:
        return "p < .001"
    decimals = 2 if p >= SMALLEST_P * 10 else 3
    return f"p = {rounded(p, decimals)}"


def user_count(n_users: float) -> str:
    """Print a number of users, which may be infinite ("never") or NaN (a dash)."""
    if np.isnan(n_users):
        return MISSING
    return "never" if np.isinf(n_users) else f"{n_users:,.0f}"


def letters_by_system(differs: Masks, order: Numbers) -> tuple[str, ...]:
    """Assign letters to systems: two share a letter if, and only if, they do not differ.

    Parameters
    ----------
    differs
        Whether two systems differ: symmetric, of shape (n_systems, n_systems).
    order
        Numbers of the systems in the order of their letters, such as from the best: (n_systems,).

    Returns
    -------
    The letters of each system, such as "ab", by its number. All are empty if there would be more
    than 12 letters: nobody can read these.
    """
    letters = [""] * len(order)
    groups = letter_groups(differs[np.ix_(order, order)])
    for letter, group in zip(ascii_lowercase, groups, strict=False):
        # Members of groups are positions in the order.
        for position in group:
            letters[order[position]] += letter
    return tuple(letters)


def letter_groups(differs: Masks) -> list[list[int]]:
    """Choose groups of systems: two are in a common group if, and only if, they do not differ.

    Groups are added until all pairs that do not differ are covered; then those are left out whose
    pairs the others cover. Every system has a group, if need be of its own.

    ``differs`` says which two systems differ: symmetric, of shape (n_systems, n_systems). The
    result has the numbers of the systems in each group, and is sorted. It is empty if more than 12
    groups are left, or more than 60 (`MOST_GROUPS`) cover all pairs. The work grows as the square
    of the number of systems.

    Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, whose
    sweep leaves redundant letters out.

    Examples
    --------
    The first differs from the last alone:

    >>> apart = np.zeros((3, 3), dtype=bool)
    >>> apart[0, 2] = apart[2, 0] = True
    >>> letter_groups(apart)
    [[0, 1], [1, 2]]
    """
    groups = _covering_groups(differs)
    if len(groups) > MOST_GROUPS:
        return []
    necessary_groups = _necessary_groups(groups, n_systems=len(differs))
    return necessary_groups if len(necessary_groups) <= MOST_LETTERS else []


def _covering_groups(differs: Masks) -> list[list[int]]:
    """Choose groups of systems of which no two differ, until every two such systems share one.

    Each group is as large as it can be: every other system differs from a member. It begins with
    the first pair that shares no group, and goes on with the system that shares none with most
    members. ``differs`` says which two systems differ: symmetric, of shape (n_systems, n_systems).
    The result has the rising numbers of the systems in each group; it stops once there are more
    than 60 groups (`MOST_GROUPS`).
    """
    groups: list[list[int]] = []
    is_done = differs.copy()
    n_systems = len(differs)
    for first in range(n_systems):
        for second in range(first, n_systems):
            if is_done[first, second]:
                continue
            group = _group_with(first, second, differs, is_done)
            is_done[np.ix_(group, group)] = True
            groups.append(group)
            if len(groups) > MOST_GROUPS:
                return groups
    return groups


def _group_with(first: int, second: int, differs: Masks, is_done: Masks) -> list[int]:
    """Choose a group of systems, with the two given, of which no two differ; in rising order.

    ``differs`` says which two systems differ, ``is_done`` which differ or share a group already,
    both symmetric, of shape (n_systems, n_systems). The two systems may be the same: such a system
    may differ from all others.
    """
    members = sorted({first, second})
    is_candidate: Masks = np.asarray(~differs[members].any(axis=0))
    is_candidate[members] = False
    # How many members share no group with each system.
    n_gained = np.count_nonzero(~is_done[members], axis=0)
    while is_candidate.any():
        member = int(np.where(is_candidate, n_gained, -1).argmax())
        members.append(member)
        is_candidate &= ~differs[member]
        is_candidate[member] = False
        n_gained += ~is_done[member]
    return sorted(members)


def _necessary_groups(groups: list[list[int]], *, n_systems: int) -> list[list[int]]:
    """Leave out groups of which all pairs of systems are in other groups, the smallest first.

    Groups are of numbers of systems, and so is the result, which is sorted.
    """
    n_common = np.zeros((n_systems, n_systems), dtype=np.intp)
    for group in groups:
        n_common[np.ix_(group, group)] += 1
    necessary_groups = []
    for group in sorted(groups, key=len):
        pairs = np.ix_(group, group)
        if (n_common[pairs] > 1).all():
            n_common[pairs] -= 1
        else:
            necessary_groups.append(group)
    return sorted(necessary_groups)
