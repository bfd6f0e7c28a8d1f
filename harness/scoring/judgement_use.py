"""Whether measures use the judgements: a relevant item in place of another one raises the score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric
from harness.scoring.blocks import TOLERANCE, with_tried_users
from qrels import Catalogue, Judged, Qrels, judge
from qrels.catalogue import NO_JUDGEMENT
from qrels.matches import match
from runs import NO_ITEM, Run
from runs.shared.arrays import Floats, Ints, Longs, Numbers

TRIED_RANKS = (1, 2, 3, 5, 10)
"""Ranks at which a relevant item is put."""

TRIED_RUNS = 3
"""Runs whose lists are tried."""


def measures_that_use_judgements(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
) -> list[Measure]:
    """Select the measures whose scores rise if a relevant item takes the place of another one.

    In the lists of some users, the item at a rank changes places with a relevant item that is not
    in the list, or else far below: the one becomes relevant, the other is no longer. A measure uses
    the judgements if its mean score gets better. Measures of popularity, diversity, the length of
    lists or the share of judged items do not. Where no item can change places within the cut-off of
    a measure, as in empty lists, it is taken to use them.

    Parameters
    ----------
    runs, qrels
        Lists and judgements of the same users.
    measures
        The measures.
    metrics
        Metrics by name.
    catalogue
        What metrics may know of the items.
    """
    tried_runs, qrels, catalogue = with_tried_users(runs[:TRIED_RUNS], qrels, catalogue)
    undecided = list(measures)
    using = []
    # Judged items change places as long as some are judged non-relevant, and listed.
    for judged_alone in (True, False):
        gains = np.zeros(len(undecided))
        first_rank = np.inf
        for run in tried_runs:
            before = judge(run, qrels, catalogue)
            for rank, exchanged in _exchanges(run, qrels, judged_alone=judged_alone):
                after = judge(run, exchanged, catalogue)
                gains += _mean_gains(before, after, undecided, metrics)
                first_rank = min(first_rank, rank)
        using += [m for m, gain in zip(undecided, gains, strict=True) if gain > TOLERANCE]
        # An exchange below the cut-off of a measure decides nothing about it.
        undecided = [m for m in undecided if m.cutoff is not None and m.cutoff < first_rank]
    return [measure for measure in measures if measure in using or measure in undecided]


def _mean_gains(
    before: Judged, after: Judged, measures: Sequence[Measure], metrics: Mapping[str, Metric]
) -> Floats:
    """Compute by how much the mean score of each measure gets better: (n_measures,).

    ``before`` and ``after`` are the same lists with other judgements, ``metrics`` by name.
    """
    gains = np.empty(len(measures))
    for position, measure in enumerate(measures):
        metric = metrics[measure.metric]
        scores_before = metric(before, cutoff=measure.cutoff)
        scores_after = metric(after, cutoff=measure.cutoff)
        gain = scores_after.mean() - scores_before.mean()
        gains[position] = gain if metric.higher_is_better else -gain
    return gains


def _exchanges(run: Run, qrels: Qrels, *, judged_alone: bool) -> Iterator[tuple[int, Qrels]]:
    """Yield a rank, and qrels in which its item is relevant in place of one that is not above it.

    There is one for each of `TRIED_RANKS` at which some user's item can change places: with the
    user's first relevant item that is not listed, or else the last relevant one of the list. With
    ``judged_alone``, items that change places are judged. Users whose item at the rank is relevant,
    or who have no relevant item below, stay as they are.
    """
    judgement_at_rank = match(run, qrels)
    users, lowest_relevant, lowest_columns = _lowest_relevant(run, qrels, judgement_at_rank)
    for rank in TRIED_RANKS:
        if rank <= run.depth:
            column = rank - 1
            items = run.items[users, column]
            judgements = judgement_at_rank[users, column]
            is_judged = judgements != NO_JUDGEMENT
            is_relevant = is_judged & qrels.relevant[judgements]
            can_change = (items != NO_ITEM) & ~is_relevant & (column < lowest_columns)
            if judged_alone:
                can_change &= is_judged
            if can_change.any():
                exchanged = _exchange(
                    qrels, lowest_relevant[can_change], items[can_change], judgements[can_change]
                )
                yield rank, exchanged


def _lowest_relevant(
    run: Run, qrels: Qrels, judgement_at_rank: Longs
) -> tuple[Ints, Numbers, Longs]:
    """Find for each user a relevant item that is not listed, or else the last one in the list.

    ``judgement_at_rank`` has the position of the judgement at each rank, -1 for none, of shape
    (n_users, depth). The results are the numbers of the users with a relevant item, the positions
    of the judgements of these items, and their columns in the list, the depth for an item that is
    not listed: each of shape (n_users_with_relevant,).
    """
    columns = np.full(len(qrels.items), run.depth)
    listed_users, listed_columns = np.nonzero(judgement_at_rank != NO_JUDGEMENT)
    columns[judgement_at_rank[listed_users, listed_columns]] = listed_columns
    relevant = np.flatnonzero(qrels.relevant)
    from_the_lowest = np.lexsort((-columns[relevant], qrels.users[relevant]))
    ordered = relevant[from_the_lowest]
    users, first_positions = np.unique(qrels.users[ordered], return_index=True)
    lowest = ordered[first_positions]
    return users, lowest, columns[lowest]


def _exchange(qrels: Qrels, relevant: Numbers, items: Numbers, judgements: Numbers) -> Qrels:
    """Make the items of some users relevant in place of relevant items that are not above them.

    The judgement of the relevant item becomes one of the other item; if that is judged, its
    judgement becomes one of the relevant item.

    Parameters
    ----------
    qrels
        The judgements.
    relevant
        For each of these users, the position of the judgement of the relevant item.
    items
        The item that becomes relevant, of the same shape.
    judgements
        The position of its judgement, -1 where it has none, of the same shape.
    """
    judged_items = qrels.items.copy()
    judged_items[relevant] = items
    is_judged = judgements != NO_JUDGEMENT
    judged_items[judgements[is_judged]] = qrels.items[relevant[is_judged]]
    # Items of a user must rise.
    order = np.lexsort((judged_items, qrels.users))
    subtopics = None if qrels.subtopics is None else qrels.subtopics.select(order)
    return replace(
        qrels, items=judged_items[order], grades=qrels.grades[order], subtopics=subtopics
    )
