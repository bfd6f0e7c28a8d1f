"""Lists with items of equal score: how far means depend on the order of these items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from analyses.shared.number_format import rounded
from qrels import Qrels, judge
from runs import Run
from runs.run_file import RankedLists
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted, warn

MIN_TIED_SHARE: Final = 0.05
"""Share of the lists with items of equal score from which a run is looked at."""

MIN_RANGE_OF_MEANS: Final = 0.001
"""Smallest range of a mean over the orders of tied items that is worth a warning."""

MOST_NAMED: Final = 4
"""Measures that a warning names, those with the widest ranges."""

MeansOfRuns: TypeAlias = Callable[[Sequence[Run]], Floats]
"""Computes the means of runs, of shape (n_measures, n_runs)."""


def warn_of_ties(
    run: Run, qrels: Qrels, *, depth: int | None, measures: Sequence[str], means_of: MeansOfRuns
) -> None:
    """Warn if many lists have items of equal score whose order matters.

    That is, if at least 5 % of the lists have such items, and a mean differs by .001 or more
    between the order as read, the worst order and the best one of these items.

    Parameters
    ----------
    run
        The run; if its ties are not known, nothing happens.
    qrels
        The judgements, of the same users.
    depth
        Where the deepest measure ends; None for the end of the lists.
    measures
        Names of the measures, (n_measures,).
    means_of
        Computes the means of runs by these measures.
    """
    if run.tied is None:
        return
    has_ties = run.tied[:, :depth].any(axis=1)
    share = float(has_ties.mean())
    if share < MIN_TIED_SHARE:
        return
    worst, best = orders_of_ties(run, qrels)
    as_read = replace(run, system="as read")
    worst = replace(worst, system="worst")
    best = replace(best, system="best")
    means = means_of([as_read, worst, best])
    warn_of_ranges(run.system, share, measures, means)


def orders_of_ties(run: Run, qrels: Qrels) -> tuple[Run, Run]:
    """Order items of equal score so that relevant ones stand last, and so that they stand first.

    An unjudged item is worth less than a relevant one, and more than a non-relevant one.

    Returns
    -------
    The run in its worst and in its best order.
    """
    grades = judge(run, qrels).grades
    worth_of_unjudged = qrels.relevance_level - 0.5
    worth = np.where(np.isnan(grades), worth_of_unjudged, grades)
    worst = run.with_ties_by(-worth)
    best = run.with_ties_by(worth)
    return worst, best


def orders_of_tied_lines(lists: RankedLists, qrels: Qrels) -> tuple[RankedLists, RankedLists]:
    """Order items of equal score so that relevant ones stand last, and so that they stand first.

    An unjudged item is worth less than a relevant one, and more than a non-relevant one. Lists of
    all users stand one after the other: ``item`` has the items of all lines, (n_lines,), and
    ``tied`` whether a line has the same score as the next one of its list. There is at least one
    judgement.

    Returns
    -------
    The lists in their worst and in their best order.
    """
    # ``lists.tied`` marks lines that tie with the next: others end a group, and the next begins.
    begins_a_group = np.roll(~lists.tied, 1)
    group_numbers = np.cumsum(begins_a_group)
    # Lines that tie with the next or with the one before; the others keep their ranks.
    rows = np.flatnonzero(lists.tied | ~begins_a_group)
    worth = _worth_of_lines(lists, rows, qrels)
    worst = np.lexsort((worth, group_numbers[rows]))
    best = np.lexsort((-worth, group_numbers[rows]))
    worst_items = lists.item.copy()
    worst_items[rows] = lists.item[rows[worst]]
    best_items = lists.item.copy()
    best_items[rows] = lists.item[rows[best]]
    worst_lists = replace(lists, item=worst_items)
    best_lists = replace(lists, item=best_items)
    return worst_lists, best_lists


def _worth_of_lines(lists: RankedLists, rows: Numbers, qrels: Qrels) -> Floats:
    """Look up the grade of each line; unjudged items are between non-relevant and relevant ones.

    ``rows`` are places in ``lists.item``, of shape (n_rows,), as is the result. There is at least
    one judgement.
    """
    highest_item = max(lists.item.max(initial=0), qrels.items.max(initial=0))
    n_items = int(highest_item) + 1
    topic_of_line = np.repeat(np.arange(qrels.n_users), lists.lengths)
    # One number for each topic and item, rising in the judgements.
    listed_pairs = topic_of_line[rows] * n_items + lists.item[rows]
    judged_pairs = qrels.users.astype(np.int64) * n_items + qrels.items
    places = np.searchsorted(judged_pairs, listed_pairs)
    # A pair beyond the last judgement has a place after it.
    places = np.minimum(places, len(judged_pairs) - 1)
    is_judged = judged_pairs[places] == listed_pairs
    worth_of_unjudged = qrels.relevance_level - 0.5
    return np.where(is_judged, qrels.grades[places], worth_of_unjudged)


def warn_of_ranges(system: str, share: float, measures: Sequence[str], means: Floats) -> None:
    """Warn of the ranges of means over the orders of tied items, unless all are below .001.

    The four largest are named.

    Parameters
    ----------
    system
        Name of the run.
    share
        Share of its lists with items of equal score, in [0, 1].
    measures
        Names of the measures, (n_measures,).
    means
        Means as read, in the worst and in the best order, of shape (n_measures, 3).
    """
    from analyses.shared.sentences import listed

    lowest = means.min(axis=1)
    highest = means.max(axis=1)
    ranges = highest - lowest
    n_affected = int(np.count_nonzero(ranges >= MIN_RANGE_OF_MEANS))
    if not n_affected:
        return
    sentences = []
    by_falling_range = np.argsort(-ranges, kind="stable")
    n_named = min(n_affected, MOST_NAMED)
    for number in by_falling_range[:n_named]:
        mean = rounded(means[number, 0])
        low = rounded(lowest[number])
        high = rounded(highest[number])
        sentences.append(f"{measures[number]} {mean} ({low} to {high})")
    if n_affected > MOST_NAMED:
        others = counted(n_affected - MOST_NAMED, "measure")
        sentences.append(f"those of {others} more")
    percentage = f"{share:.0%}".replace("%", " %")
    warn(
        f"{percentage} of the lists of {system} have items with equal scores, "
        "which are ordered by item id. With other orders of these items, its means "
        f"could be: {listed(sentences)}."
    )
