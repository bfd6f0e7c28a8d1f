"""The card of a metric: its definition, its laws, and its results in finished studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analyses.shared.measure import Measure, depth_of
from analyses.shared.number_format import MISSING
from analyses.shared.table import Table
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.option import formulas_in, paragraphs_in
from harness.metrics.shared.register import available_metrics, built_in_metrics, find_metric
from harness.report.checks import checks_of
from harness.report.page import render_page
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError

NOTATION = (
    "R is the number of relevant items of the user, N that of judged non-relevant items; rel(k) is "
    "1 if the item at rank k is relevant, and r_k is the number of relevant items in ranks 1 to k."
)
"""What the formulas of the built-in metrics have in common."""


def metric_card(
    name: str, studies: Sequence[FinishedStudy], *, plugins: Sequence[Path] = (), tries: int | None
) -> bytes:
    """Make the card of a metric: one HTML page, as UTF-8, that refers to no other file.

    The laws of metrics are tried at the usual cut-offs (`CUTOFFS`), whatever that of the results.

    Parameters
    ----------
    name
        Name of the metric; without a depth in it, the depth of results is that which the first
        study reports, or else its deepest.
    studies
        Studies whose results stand side by side.
    plugins
        Files of users' metrics.
    tries
        Number of cases of each law that are tried; None for as many as `harness check` tries.

    Raises
    ------
    InputError
        If there is no such metric, or a study does not have it.
    """
    from harness.laws.cards import CUTOFFS, LEGEND, cards_of, evidence_lines

    metrics = available_metrics([path.resolve() for path in plugins])
    metric = find_metric(name, metrics)
    names = [_name_in(study, metric, metrics) for study in studies]
    parsed_name = parse_name(name)
    cutoff = parsed_name.cutoff
    if studies and not parsed_name.has_depth:
        cutoff = _usual_cutoff(studies[0], names[0])
    warnings = []
    for study, name_in_study in zip(studies, names, strict=True):
        for check in checks_of(study):
            if name_in_study in check.metrics:
                warnings.append(f"{study.name}: {check.sentence}")
    (card,) = cards_of([(metric, CUTOFFS)], tries=tries)
    outcomes = [(outcome, evidence_lines(outcome, card.level)) for outcome in card.outcomes]
    measures = [Measure(name_in_study, cutoff) for name_in_study in names]
    return render_page(
        "card.html",
        label=str(Measure(metric.label, cutoff)),
        metric=metric,
        formulas=formulas_in(metric.doc),
        words=paragraphs_in(metric.doc),
        notation=NOTATION if metric.name in built_in_metrics() else "",
        card=card,
        outcomes=outcomes,
        legend=LEGEND.format(level=card.level),
        studies=studies,
        warnings=warnings,
        table=_results_table(studies, measures),
    )


def _usual_cutoff(study: FinishedStudy, metric: str) -> int | None:
    """Look up the deepest cut-off of a metric among report measures, or else among all.

    ``metric`` is its name in the study, which must have it. None stands for whole lists.
    """
    measures = study.means.measures
    reported = [measure for measure in measures.reported if measure.metric == metric]
    candidates = reported or [measure for measure in measures if measure.metric == metric]
    return max(candidates, key=depth_of).cutoff


def _name_in(study: FinishedStudy, metric: Metric, metrics: Mapping[str, Metric]) -> str:
    """Find what a metric is called in a study; InputError if the study does not have it.

    ``metrics`` are those that are known, by name. Names may spell out default options. A study may
    have metrics of users that are not among them: these are not looked up.
    """
    names = study.means.measures.metrics
    for name in names:
        if name == metric.label:
            return name
        if parse_name(name).name in metrics and find_metric(name, metrics).label == metric.label:
            return name
    raise InputError(
        f"{study.folder}: the study has no metric {metric.label!r}; it has {', '.join(names)}."
    )


def _results_table(studies: Sequence[FinishedStudy], measures: Sequence[Measure]) -> Table:
    """Tabulate the estimates of a measure: quantities down, studies across.

    ``measures`` are the measure as each study calls it. Cells are texts with intervals; `MISSING`
    where a study did not estimate a quantity. Raises InputError if a study lacks the measure.
    """
    columns = [
        _formatted_estimates(study, measure)
        for study, measure in zip(studies, measures, strict=True)
    ]
    quantities = dict.fromkeys(quantity for column in columns for quantity in column)
    rows = []
    for quantity in quantities:
        cells = [column.get(quantity, MISSING) for column in columns]
        rows.append([quantity, *cells])
    return Table(
        name="",
        title="Results in the studies",
        note="Values with 95 % intervals. May be best: over users and, where known, systems, no "
        "other metric of the study is significantly better at the same cut-off.",
        headings=["", *(study.name for study in studies)],
        rows=rows,
    )


def _formatted_estimates(study: FinishedStudy, measure: Measure) -> dict[str, str]:
    """Format the estimates of a measure, by quantity, and whether it may be the best of all.

    Such as "0.53 [0.48, 0.58], may be best": no other measure of the same cut-off is significantly
    better. Quantities without an estimate of the measure are left out. Raises InputError if the
    study does not have the measure.
    """
    measures = study.means.measures
    if measure not in measures:
        names = [str(present) for present in measures if present.metric == measure.metric]
        raise InputError(f"{study.folder}: the study has no {measure}; it has {', '.join(names)}.")
    texts = {}
    for _, estimates in estimates_of(study):
        if measure not in estimates.measures:
            continue
        comparable = estimates.measures.comparable_with(measure)
        index = comparable.index(measure)
        estimate = estimates.by_label(comparable).get(comparable.labels[index])
        if estimate is not None:
            compared = estimates.select(comparable)
            may_be_best = compared.may_be_best(all_sources=compared.has_further_sources)
            remark = ", may be best" if may_be_best[index] else ""
            texts[estimates.name] = f"{estimate}{remark}"
    return texts
