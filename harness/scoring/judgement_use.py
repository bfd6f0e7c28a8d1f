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
from runs.shared.arrays import Floats, Numbers

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
    in the list: the one becomes relevant, the other is no longer. A measure uses the judgements if
    its mean score gets better. Measures of popularity, diversity, the length of lists or the share
    of judged items do not. Where no item can change places, all are taken to use them.

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
    gains = np.zeros(len(measures))
    n_exchanges = 0
    for run in tried_runs:
        before = judge(run, qrels, catalogue)
        for exchanged in _exchanges(run, qrels):
            after = judge(run, exchanged, catalogue)
            gains += _mean_gains(before, after, measures, metrics)
            n_exchanges += 1
    if n_exchanges == 0:
        return list(measures)
    return [measure for measure, gain in zip(measures, gains, strict=True) if gain > TOLERANCE]


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


def _exchanges(run: Run, qrels: Qrels) -> Iterator[Qrels]:
    """Yield qrels in which the item at one rank is relevant in place of one that is not listed.

    There is one for each of `TRIED_RANKS` at which some user's item can change places. That is a
    judged item, as long as some are judged non-relevant. Users whose item at the rank is relevant,
    or who have no relevant item that is not listed, stay as they are.
    """
    has_nonrelevant = bool(qrels.nonrelevant.any())
    judgement_at_rank = match(run, qrels)
    is_listed = np.zeros(len(qrels.items), dtype=np.bool_)
    is_listed[judgement_at_rank[judgement_at_rank != NO_JUDGEMENT]] = True
    unlisted = np.flatnonzero(qrels.relevant & ~is_listed)
    users_with_unlisted, first_positions = np.unique(qrels.users[unlisted], return_index=True)
    unlisted_of_users = unlisted[first_positions]
    for rank in TRIED_RANKS:
        if rank <= run.depth:
            column = rank - 1
            items = run.items[users_with_unlisted, column]
            judgements = judgement_at_rank[users_with_unlisted, column]
            is_judged = judgements != NO_JUDGEMENT
            is_relevant = is_judged & qrels.relevant[judgements]
            can_change = (items != NO_ITEM) & ~is_relevant
            if has_nonrelevant:
                can_change &= is_judged
            if can_change.any():
                yield _exchange(
                    qrels, unlisted_of_users[can_change], items[can_change], judgements[can_change]
                )


def _exchange(qrels: Qrels, unlisted: Numbers, items: Numbers, judgements: Numbers) -> Qrels:
    """Make the items of some users relevant in place of relevant items that are not listed.

    The judgement of the unlisted item becomes one of the listed item; if that is judged, its
    judgement becomes one of the unlisted item.

    Parameters
    ----------
    qrels
        The judgements.
    unlisted
        For each of these users, the position of the judgement of an unlisted relevant item.
    items
        The item that becomes relevant, of the same shape.
    judgements
        The position of its judgement, -1 where it has none, of the same shape.
    """
    judged_items = qrels.items.copy()
    judged_items[unlisted] = items
    is_judged = judgements != NO_JUDGEMENT
    judged_items[judgements[is_judged]] = qrels.items[unlisted[is_judged]]
    # Items of a user must rise.
    order = np.lexsort((judged_items, qrels.users))
    subtopics = None if qrels.subtopics is None else qrels.subtopics.select(order)
    return replace(
        qrels, items=judged_items[order], grades=qrels.grades[order], subtopics=subtopics
    )
