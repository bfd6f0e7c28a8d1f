"""Measures of ir_measures and of trec_eval as metrics of ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import Value, parse_name, print_name
from qrels import Judged
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known

PREFIX = "ir_measures:"
"""Begin of the name of a measure of ir_measures."""


OF_PROVIDERS: Final = ("SetAP", "NumRet", "NumRelRet")
"""Measures of ir_measures that have no metric of ours: their providers compute them."""

RECALL_POINT: Final = re.compile(r"IPrec@([01]?\.?[0-9]+)")
"""IPrec as ir_measures writes it, with a recall point in the place of a cut-off."""


def translate_from_ir_measures(text: str) -> str:
    """Translate a name that ir_measures writes otherwise: IPrec@0.3 is IPrec(recall=0.3).

    Names that mean the same in both are returned as they are.

    Examples
    --------
    >>> translate_from_ir_measures("IPrec@0.3"), translate_from_ir_measures("SetAP(rel=2)")
    ('IPrec(recall=0.3)', 'ir_measures:SetAP(rel=2)')
    """
    recall_point = RECALL_POINT.fullmatch(text.strip())
    if recall_point is not None and float(recall_point[1]) <= 1:
        return f"IPrec(recall={recall_point[1]})"
    name = re.split(r"[(@]", text.strip())[0]
    return f"{PREFIX}{text.strip()}" if name in OF_PROVIDERS else text


def is_of_ir_measures(measure: object) -> bool:
    """Tell whether an object is a measure of ir_measures, such as ``ir_measures.nDCG @ 10``."""
    return type(measure).__module__.partition(".")[0] == "ir_measures"


def name_of_ir_measure(measure: Any) -> str:
    """Write a measure of ir_measures as its name: ``nDCG@10``, ``P(rel=4)@5``."""
    return str(measure)


def metric_of_ir_measures(text: str) -> Metric:
    """Make a metric of a measure of the package ir_measures.

    ``text`` is its name behind a prefix, such as ``ir_measures:nDCG(dcg='exp-log2')``.

    Its provider in ir_measures computes the scores; a cut-off in the name is ignored. Raises
    InputError if there is no such measure, or it does not take a parameter.

    Notes
    -----
    A provider sees each list with invented item ids: ranks and grades are all that a measure may
    know. It is some hundred times slower than a metric of ours.
    """
    parsed = parse_name(text.removeprefix(PREFIX))
    measure = _measure(parsed.name, parsed.options)

    def score(judged: Judged, *, cutoff: int | None = None, **_: Any) -> Floats:
        """Score every user by the provider of the measure, float64 of shape (n_users,).

        Relevance level and cut-off are set if they are parameters of the measure. If the cut-off is
        none, the lists are cut.
        """
        with_level = measure
        # NumRet counts all items where no level is said.
        level = measure.SUPPORTED_PARAMS.get("rel")
        has_default_level = level is not None and level.default == 1
        if has_default_level and "rel" not in measure.params:
            with_level = measure(rel=int(judged.relevance_level))
        if cutoff is None or "cutoff" not in measure.SUPPORTED_PARAMS:
            return _score_by_provider(with_level, judged, depth=cutoff)
        return _score_by_provider(with_level @ cutoff, judged, depth=None)

    score.__doc__ = f"{measure.PRETTY_NAME or parsed.name}, as ir_measures computes it."
    return Metric(
        print_name(PREFIX + parsed.name, parsed.options),
        score,
        source="MacAvaney, Macdonald & Ounis (2022), Streamlining Evaluation with ir-measures",
        high=np.inf,
        has_level=False,
    )


CUTOFF_MEASURES = frozenset({"P", "map_cut", "ndcg_cut", "recall", "relative_P", "success"})
"""Measures of trec_eval whose parameter is a cut-off."""


def metric_of_trec_eval(declared: Metric) -> Metric:
    """Make a metric of the measure of trec_eval that ``declared.trec_eval`` names.

    pytrec_eval computes the scores. The parameter behind the point, as in ``success.n``, is the
    cut-off, the default of an option of the metric that has its name, or a value. Raises InputError
    if trec_eval has no such measure.
    """
    import pytrec_eval

    measure_name = declared.trec_eval.partition(" ")[0]
    base, _, parameter = measure_name.partition(".")
    supported = sorted(pytrec_eval.supported_measures)
    require_known(f"metric {declared.name!r}: trec_eval has no measure", [base], supported)
    option_defaults = {option.name: option.default for option in declared.options}
    parameter_is_cutoff = base in CUTOFF_MEASURES and not parameter.isdecimal()

    def score(judged: Judged, *, cutoff: int | None = None, **_: Any) -> Floats:
        """Score every user by pytrec_eval, float64 of shape (n_users,); 0 for users left out.

        Lists are cut at the cut-off unless it is the parameter of the measure. Raises InputError
        for a measure that has several values.
        """
        if parameter_is_cutoff:
            value: Any = cutoff or judged.depth
        else:
            value = option_defaults.get(parameter, parameter)
        run, qrels = _as_dicts(judged, depth=None if base in CUTOFF_MEASURES else cutoff)
        measures = {f"{base}.{value}" if value else base}
        level = int(judged.relevance_level)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level)
        scores = np.zeros(judged.n_users)
        for user, values in evaluator.evaluate(run).items():
            if len(values) > 1:
                raise InputError(f"trec_eval's {base} has several values: declare a parameter.")
            (scores[int(user)],) = values.values()
        return scores

    return Metric(f"trec_eval's {measure_name}", score, source="trec_eval", high=np.inf)


def _measure(name: str, options: Mapping[str, Value]) -> Any:
    """Look up a measure in ir_measures, and set its parameters.

    Raises InputError if there is no such measure, or it does not take the parameters.
    """
    import ir_measures

    registry = ir_measures.measures.registry
    require_known("ir_measures has no measure", [name], sorted(registry))
    measure = registry[name](**options)
    with_cutoff = measure @ 1 if "cutoff" in measure.SUPPORTED_PARAMS else measure
    try:
        with_cutoff.validate_params()
    except AssertionError as error:
        parameters = ", ".join(measure.SUPPORTED_PARAMS) or "none"
        raise InputError(
            f"ir_measures' {name}: {error}; its parameters are: {parameters}."
        ) from None
    return measure


def _score_by_provider(measure: Any, judged: Judged, *, depth: int | None) -> Floats:
    """Score every user by the measure's provider in ir_measures: float64 of shape (n_users,).

    Lists are cut at ``depth``, None for whole lists. Users that the provider leaves out score 0.
    """
    import ir_measures

    run, qrels = _as_dicts(judged, depth=depth)
    scores = np.zeros(judged.n_users)
    for scored in ir_measures.iter_calc([measure], qrels, run):
        scores[int(scored.query_id)] = scored.value
    return scores


def _as_dicts(
    judged: Judged, *, depth: int | None
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Convert judged lists to a run and qrels with invented ids, by number of the user as text.

    The run has the score of each listed item down to ``depth`` (None for all), falling by rank; the
    qrels have the grade of each judged item. The item at rank k is ``r<k>``, a judged item that is
    not in the list ``n<j>``. Users without a judged item are left out.
    """
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for user in range(judged.n_users):
        listed_grades = judged.grades[user, : judged.n_retrieved[user]]
        n_listed = len(listed_grades)
        grade_by_item: dict[str, int] = {}
        for rank, grade in enumerate(listed_grades, start=1):
            if not np.isnan(grade):
                grade_by_item[f"r{rank}"] = int(grade)
        judgements = judged.judgements[user]
        grades = judgements[~np.isnan(judgements)].astype(int).tolist()
        grades_not_listed = Counter(grades) - Counter(grade_by_item.values())
        for number, grade in enumerate(grades_not_listed.elements()):
            grade_by_item[f"n{number}"] = grade
        if grade_by_item:
            n_ranks = n_listed if depth is None else min(n_listed, depth)
            qrels[str(user)] = grade_by_item
            ranks = range(1, n_ranks + 1)
            run[str(user)] = {f"r{rank}": float(n_listed + 1 - rank) for rank in ranks}
    return run, qrels
