"""The card of a metric: its definition, its laws, and its results in finished studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analyses.shared.measure import Measure, depth_of
from analyses.shared.table import MISSING, Table
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
    """Make the card of a metric: one page that refers to nothing outside.

    Without a depth in its name, the metric has that which the first study reports; all studies
    stand side by side. A metric of the user's needs its file as a plug-in. As many cases of each
    law are tried as asked, or as `harness check` tries.
    """
    from harness.laws.cards import CUTOFFS, LEGEND, cards_of, evidence_lines

    known = available_metrics([path.resolve() for path in plugins])
    metric, parsed = find_metric(name, known), parse_name(name)
    names = [_name_in(study, metric, known) for study in studies]
    cutoff = parsed.cutoff
    if studies and not parsed.has_depth:
        measures = studies[0].means.measures
        reported = [m for m in measures.reported if m.metric == names[0]]
        every = [m for m in measures if m.metric == names[0]]
        cutoff = max(reported or every, key=depth_of).cutoff
    (card,) = cards_of([(metric, CUTOFFS)], tries=tries)
    return render_page(
        "card.html",
        label=str(Measure(metric.label, cutoff)),
        metric=metric,
        formulas=formulas_in(metric.doc),
        words=paragraphs_in(metric.doc),
        notation=NOTATION if metric.name in built_in_metrics() else "",
        card=card,
        outcomes=[(outcome, evidence_lines(outcome, card.level)) for outcome in card.outcomes],
        legend=LEGEND.format(level=card.level),
        studies=studies,
        warnings=[
            f"{study.name}: {check.sentence}"
            for study, name in zip(studies, names, strict=True)
            for check in checks_of(study)
            if name in check.metrics
        ],
        table=_table(studies, [Measure(name, cutoff) for name in names]),
    )


def _name_in(study: FinishedStudy, metric: Metric, known: Mapping[str, Metric]) -> str:
    """Find what a metric is called in a study, which may have metrics that are not known here."""
    metrics = study.means.measures.metrics
    for name in metrics:
        is_known = parse_name(name).name in known
        if metric.label in (name, is_known and find_metric(name, known).label):
            return name
    raise InputError(
        f"{study.folder}: the study has no metric {metric.label!r}; it has {', '.join(metrics)}."
    )


def _table(studies: Sequence[FinishedStudy], measures: Sequence[Measure]) -> Table:
    """Tabulate the numbers of the measure, a study in each column."""
    columns = [_numbers(*pair) for pair in zip(studies, measures, strict=True)]
    names = dict.fromkeys(name for column in columns for name in column)
    return Table(
        name="",
        title="Results in the studies",
        note="Values with 95 % intervals. May be best: over users and, where known, systems, no "
        "other metric of the study is significantly better at the same cut-off.",
        headings=["", *(study.name for study in studies)],
        rows=[[name, *(column.get(name, MISSING) for column in columns)] for name in names],
    )


def _numbers(study: FinishedStudy, measure: Measure) -> dict[str, str]:
    """Print the estimates of the measure, and whether it may be the best of all metrics."""
    if measure not in study.means.measures:
        others = [str(m) for m in study.means.measures if m.metric == measure.metric]
        raise InputError(f"{study.folder}: the study has no {measure}; it has {', '.join(others)}.")
    found = {}
    for _, estimates in estimates_of(study):
        if measure in estimates.measures:
            beside = estimates.measures.comparable_with(measure)
            own = estimates.by_label(beside).get(beside.labels[beside.index(measure)])
            if own is not None:
                among = estimates.select(beside)
                may = among.may_be_best(all_sources=among.has_further_sources)[
                    beside.index(measure)
                ]
                found[estimates.name] = f"{own}{', may be best' * bool(may)}"
    return found
