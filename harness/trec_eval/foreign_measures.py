"""Metrics of ours as measures of other tools: ir_measures, and LensKit's analyses of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from qrels import Judged
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure as IrMeasure

    from recommenders.shared.lenskit_bridge import ListMetric


def ir_measure(metric: str | Metric, *, relevance_level: float = 1) -> IrMeasure:
    """Make a measure for ir_measures from a metric, which it scores topic by topic.

    Items are ordered by score, those of equal score by id, both falling, as in trec_eval.

    Parameters
    ----------
    metric
        Metric, or name of one that is built in or installed, such as ``infAP@10``.
    relevance_level
        Lowest relevant grade.

    Raises
    ------
    InputError
        If there is no such metric, or its mean is geometric.

    Examples
    --------
    >>> import ir_measures
    >>> measure = ir_measure("infAP@10")
    >>> ir_measures.calc_aggregate([measure], {"u": {"d1": 1}}, {"u": {"d1": 0.7}})
    {infAP@10: 1.0}
    """
    import ir_measures

    arithmetic = _with_arithmetic_mean(metric)

    def score(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        """Score the list of one topic: columns doc_id, and relevance or score."""
        # As trec_eval orders.
        ranked = run.sort_values(["score", "doc_id"], ascending=[False, False])
        grades = dict(zip(qrels.doc_id, qrels.relevance.astype(float), strict=True))
        return _score(arithmetic, list(ranked.doc_id), grades, relevance_level)

    return ir_measures.define_byquery(score, name=str(arithmetic), support_cutoff=False)


def lenskit_metric(metric: str | Metric, *, relevance_level: float = 1) -> ListMetric:
    """Make a metric for LensKit's ``MeasurementCollector`` (2025: ``RunAnalysis``).

    Grades are the ratings of the test data, or 1 where it has none.

    Parameters
    ----------
    metric, relevance_level
        See `ir_measure`; the relevance level is the lowest relevant rating.

    Raises
    ------
    InputError
        See `ir_measure`.

    Examples
    --------
    >>> lenskit_metric("infAP@10").label
    'infAP@10'
    """
    from recommenders.shared.lenskit_bridge import list_metric

    arithmetic = _with_arithmetic_mean(metric)

    def score(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
        return _score(arithmetic, ranked, grades, relevance_level)

    return list_metric(str(arithmetic), score)


def _with_arithmetic_mean(metric: str | Metric) -> Metric:
    """Look up a metric by its name, such as "infAP@10"; a metric is returned as it is.

    Raises InputError if there is none, or if its mean is geometric: other tools take the arithmetic
    mean of every measure.
    """
    if isinstance(metric, str):
        cutoff = parse_name(metric).cutoff
        metric = find_metric(metric, available_metrics())
        if cutoff is not None:
            metric = metric @ cutoff
    if metric.is_geometric:
        raise InputError(f"{metric}: other tools take the arithmetic mean of every measure.")
    return metric


def _score(
    metric: Metric, ranked: Sequence[str], grades: Mapping[str, float], relevance_level: float
) -> float:
    """Score the list of one user.

    ``ranked`` are the ids of its items, best first, ``grades`` the judgements of the user by id of
    the item. Grades from the relevance level on are relevant. Either may be empty.
    """
    # An empty list has shape (1, 0), too.
    grades_at_ranks = np.array([[grades.get(item, np.nan) for item in ranked]]).reshape(1, -1)
    judgements = np.array([list(grades.values())], dtype=np.float64)
    judged = Judged(grades_at_ranks, judgements, relevance_level=relevance_level)
    (score,) = metric(judged)
    return float(score)
