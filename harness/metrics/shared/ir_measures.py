"""Measures of ir_measures and of trec_eval as metrics of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import Value, parse_name, print_name
from qrels import Judged
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known

PREFIX = "ir_measures:"


def metric_of_ir_measures(text: str) -> Metric:
    """Make a metric of an ir_measures measure, scored by its provider.

    Notes
    -----
    A provider sees each list with invented item ids: ranks and grades are all that a measure may
    know. It is some hundred times slower than a metric of ours.
    """
    parsed = parse_name(text.removeprefix(PREFIX))
    measure = _measure(parsed.name, parsed.options)

    def score(judged: Judged, *, cutoff: int | None = None, **_: Any) -> Floats:
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


CUT = frozenset({"P", "map_cut", "ndcg_cut", "recall", "relative_P", "success"})
"""Measures of trec_eval whose parameter is a cut-off."""


def metric_of_trec_eval(declared: Metric) -> Metric:
    """Make a metric of the measure of trec_eval that a metric names, scored by pytrec_eval."""
    import pytrec_eval

    text = declared.trec_eval.partition(" ")[0]
    base, _, parameter = text.partition(".")
    known = sorted(pytrec_eval.supported_measures)
    require_known(f"metric {declared.name!r}: trec_eval has no measure", [base], known)
    defaults = {option.name: option.default for option in declared.options}
    is_cut = base in CUT and not parameter.isdecimal()

    def score(judged: Judged, *, cutoff: int | None = None, **_: Any) -> Floats:
        given = (cutoff or judged.depth) if is_cut else defaults.get(parameter, parameter)
        run, qrels = _as_dicts(judged, depth=None if base in CUT else cutoff)
        measures = {f"{base}.{given}" if given else base}
        level = int(judged.relevance_level)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level)
        scores = np.zeros(judged.n_users)
        for user, values in evaluator.evaluate(run).items():
            if len(values) > 1:
                raise InputError(f"trec_eval's {base} has several values: declare a parameter.")
            (scores[int(user)],) = values.values()
        return scores

    return Metric(f"trec_eval's {text}", score, source="trec_eval", high=np.inf)


def _measure(name: str, options: Mapping[str, Value]) -> Any:
    """Find a measure in ir_measures and set its parameters."""
    import ir_measures

    registry = ir_measures.measures.registry
    require_known("ir_measures has no measure", [name], sorted(registry))
    measure = registry[name](**options)
    try:
        (measure @ 1 if "cutoff" in measure.SUPPORTED_PARAMS else measure).validate_params()
    except AssertionError as error:
        every = ", ".join(measure.SUPPORTED_PARAMS) or "none"
        raise InputError(f"ir_measures' {name}: {error}; its parameters are: {every}.") from None
    return measure


def _provided(measure: Any, judged: Judged, *, depth: int | None) -> Floats:
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
        judgements = judged.judgements[user]
        missed = Counter(judgements[~np.isnan(judgements)].astype(int).tolist())
        missed -= Counter(known.values())
        grades = known | {f"n{number}": grade for number, grade in enumerate(missed.elements())}
        if grades:
            qrels[name] = grades
            scores = {item: float(len(found) - k) for k, (item, _) in enumerate(found[:depth])}
            run[name] = scores
    return run, qrels
