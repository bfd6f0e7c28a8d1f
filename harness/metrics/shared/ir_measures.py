"""The bridge to ir_measures, both ways: its measures as metrics of ours, ours as its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.metric import Metric, built_in_metrics, find_metric
from harness.metrics.shared.names import Value, parse_name, print_name
from qrels import Judged
from runs import InputError
from runs.shared.errors import nearest

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure as IrMeasure

PREFIX = "ir_measures:"


def metric_of_ir_measures(text: str) -> Metric:
    """Make a metric of an ir_measures measure, scored by its provider.

    Parameters
    ----------
    text
        Such as ``ir_measures:nDCG(dcg='exp-log2')``. Where the measure has a ``rel`` and none is
        given, it is the relevance level of the qrels. Where it has no cut-off, lists are cut
        before they are scored.

    Raises
    ------
    InputError
        If ir_measures has no such measure or parameter.

    Notes
    -----
    A provider sees each list with invented item ids: ranks and grades are all that a measure may
    know. It is some hundred times slower than a metric of ours.
    """
    parsed = parse_name(text.removeprefix(PREFIX))
    measure = _measure(parsed.name, parsed.options)

    def score(judged: Judged, *, cutoff: int | None = None, **_: Any) -> NDArray[np.float64]:
        chosen = measure
        if "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params:
            chosen = chosen(rel=int(judged.relevance_level))
        if cutoff is None or "cutoff" not in measure.SUPPORTED_PARAMS:
            return _provided(chosen, judged, depth=cutoff)
        return _provided(chosen @ cutoff, judged, depth=None)

    score.__doc__ = f"{measure.PRETTY_NAME or parsed.name}, as ir_measures computes it."
    return Metric(
        print_name(PREFIX + parsed.name, parsed.options),
        score,
        source="MacAvaney, Macdonald & Ounis (2022), Streamlining Evaluation with ir-measures",
        high=np.inf,
        has_level=False,
    )


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


def _measure(name: str, options: Mapping[str, Value]) -> Any:
    """Find a measure in ir_measures and set its parameters."""
    import ir_measures

    registry = ir_measures.measures.registry
    if name not in registry:
        known = sorted({str(known.NAME or alias) for alias, known in registry.items()})
        raise InputError(f"ir_measures has no measure {name!r}; {nearest(name, known)}")
    measure = registry[name](**options)
    try:
        (measure @ 1 if "cutoff" in measure.SUPPORTED_PARAMS else measure).validate_params()
    except AssertionError as error:
        supported = ", ".join(measure.SUPPORTED_PARAMS) or "none"
        raise InputError(
            f"ir_measures' {name}: {error}; its parameters are: {supported}."
        ) from None
    return measure


def _provided(measure: Any, judged: Judged, *, depth: int | None) -> NDArray[np.float64]:
    """Let the provider score every user; users that it leaves out score 0."""
    import ir_measures

    run, qrels = _as_dicts(judged, depth=depth)
    scores = np.zeros(judged.n_users)
    for scored in ir_measures.iter_calc([measure], qrels, run):
        scores[int(scored.query_id)] = scored.value
    return scores


def _as_dicts(
    judged: Judged, *, depth: int | None
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Invent ids: the item at rank k is ``r<k>``, a judged item that was not found ``n<j>``."""
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for user in range(judged.n_users):
        name = str(user)
        listed = judged.grades[user, : judged.n_retrieved[user]]
        found = [(f"r{rank}", grade) for rank, grade in enumerate(listed, start=1)]
        known = {item: int(grade) for item, grade in found if not np.isnan(grade)}
        missed = _missed(judged.judgements[user], listed)
        grades = known | {f"n{number}": grade for number, grade in enumerate(missed)}
        if grades:
            qrels[name] = grades
            scores = {item: float(len(found) - k) for k, (item, _) in enumerate(found[:depth])}
            run[name] = scores
    return run, qrels


def _missed(judgements: NDArray[np.float64], listed: NDArray[np.float64]) -> list[int]:
    """Take the grades that the list holds out of all grades of the user."""
    left = {grade: np.count_nonzero(judgements == grade) for grade in np.unique(judgements)}
    return [
        int(grade)
        for grade, count in left.items()
        if not np.isnan(grade)
        for _ in range(count - np.count_nonzero(listed == grade))
    ]


def _judged_user(qrels: pd.DataFrame, run: pd.DataFrame, *, relevance_level: int) -> Judged:
    """See one user's list in ir_measures' frames, ordered as trec_eval orders."""
    ranked = run.sort_values(["score", "doc_id"], ascending=[False, False]).doc_id
    grades = dict(zip(qrels.doc_id, qrels.relevance.astype(float), strict=True))
    listed = np.array([[grades.get(item, np.nan) for item in ranked]]).reshape(1, -1)
    judgements = np.array([list(grades.values())], dtype=np.float64)
    return Judged(listed, judgements, relevance_level=relevance_level)
