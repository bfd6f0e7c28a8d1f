"""Metrics of ours as measures for ir_measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.metrics.shared.names import parse_name, print_name
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure as IrMeasure


def ir_measure_of(text: str, *, relevance_level: int) -> IrMeasure:
    """Make a measure object for ir_measures of a metric of ours.

    Parameters
    ----------
    text
        Name with options and cut-off, such as ``infAP@10``.
    relevance_level
        Lowest relevant grade, unless the name gives one (``rel``).

    Returns
    -------
    A measure for ``ir_measures.calc_aggregate`` and its like. Pass runs without equal scores,
    restricted to users in the qrels: ir_measures lets others enter the mean.

    Raises
    ------
    InputError
        If there is no such metric, or it asks for a geometric mean, which ir_measures has not.

    Examples
    --------
    >>> import ir_measures
    >>> measure = ir_measure_of("infAP@10", relevance_level=1)
    >>> ir_measures.calc_aggregate([measure], {"u": {"a": 1}}, {"u": {"x": 2.0, "a": 1.0}})
    {infAP@10: 0.75}
    """
    import ir_measures

    parsed = parse_name(text)
    metric = find_metric(text, built_in_metrics())
    if metric.is_geometric:
        raise InputError(f"{text}: ir_measures takes the arithmetic mean of every measure.")

    def score(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        judged = _judged_user(qrels, run, relevance_level=relevance_level)
        return float(metric(judged, cutoff=parsed.cutoff)[0])

    label = print_name(metric.name, dict(metric.given), parsed.cutoff)
    return ir_measures.define_byquery(score, name=label, support_cutoff=False)


def _judged_user(qrels: pd.DataFrame, run: pd.DataFrame, *, relevance_level: int) -> Judged:
    """See one user's list in ir_measures' frames, ordered as trec_eval orders."""
    ranked = run.sort_values(["score", "doc_id"], ascending=[False, False]).doc_id
    grades = dict(zip(qrels.doc_id, qrels.relevance.astype(float), strict=True))
    listed = np.array([[grades.get(item, np.nan) for item in ranked]]).reshape(1, -1)
    judgements = np.array([list(grades.values())], dtype=np.float64)
    return Judged(listed, judgements, relevance_level=relevance_level)
