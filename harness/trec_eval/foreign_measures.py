"""Metrics of ours as measures of other tools: ir_measures, and LensKit's analyses of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from qrels import Judged
from recommenders import list_metric
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure as IrMeasure

    from recommenders.shared.lenskit_bridge import ListMetric


def ir_measure(metric: str | Metric, *, relevance_level: float = 1) -> IrMeasure:
    """Give a metric as a measure for ir_measures, beside its own measures.

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

    chosen = _chosen(metric)

    def score(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        # As trec_eval orders.
        ranked = run.sort_values(["score", "doc_id"], ascending=[False, False]).doc_id
        grades = dict(zip(qrels.doc_id, qrels.relevance.astype(float), strict=True))
        return _score(chosen, list(ranked), grades, relevance_level)

    return ir_measures.define_byquery(score, name=str(chosen), support_cutoff=False)


def lenskit_metric(metric: str | Metric, *, relevance_level: float = 1) -> ListMetric:
    """Give a metric as a metric for LensKit's ``MeasurementCollector`` (2025: ``RunAnalysis``).

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
    chosen = _chosen(metric)

    def score(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
        return _score(chosen, ranked, grades, relevance_level)

    return list_metric(str(chosen), score)


def _chosen(metric: str | Metric) -> Metric:
    """Find a metric, whose scores must be averaged as other tools do."""
    if isinstance(metric, str):
        found, cutoff = find_metric(metric, available_metrics()), parse_name(metric).cutoff
        metric = found if cutoff is None else found @ cutoff
    if metric.is_geometric:
        raise InputError(f"{metric}: other tools take the arithmetic mean of every measure.")
    return metric


def _score(
    metric: Metric, ranked: Sequence[str], grades: Mapping[str, float], relevance_level: float
) -> float:
    """Score the list of one user."""
    listed = np.array([[grades.get(item, np.nan) for item in ranked]]).reshape(1, -1)
    judgements = np.array([list(grades.values())], dtype=np.float64)
    return float(metric(Judged(listed, judgements, relevance_level=relevance_level))[0])
