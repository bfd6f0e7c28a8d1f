"""The card of a metric: what it is, which laws it keeps, and how it fared in finished studies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.shared.drawing import single_out
from analyses.shared.figures import STYLE, as_svg
from analyses.shared.measure import Measure, depth_of
from analyses.shared.result import FigureFace, Result, choices_of, figures_of, measures_of
from analyses.shared.table import MISSING, Table
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.option import formulas_in, words_in
from harness.metrics.shared.register import available_metrics, built_in_metrics, find_metric
from harness.report.checks import checks_of
from harness.report.page import Overlay, image_source, overlay_of, render_page
from harness.report.study_folder import FinishedStudy
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAW_CUTOFF = 5
"""Laws are tried on short lists: what a law says does not depend on the depth."""

PANEL = (4.4, 2.7)
TYPE, MARGIN = 13, 4
"""Size of formulas, and the space around them, in points."""

COMPARISON = re.compile(r"\\([lg])e(?![a-z])")


NOTATION = (
    "R counts the user's relevant items, N the judged non-relevant ones; rel(k) is 1 where rank k "
    "holds a relevant item, and r_k counts the relevant items in ranks 1 to k."
)
"""What the formulas of the built-in metrics have in common."""


@dataclass(frozen=True)
class Measured:
    """A measure, by its name there, in a study that has it, and what was found of it, by key."""

    study: FinishedStudy
    measure: Measure
    results: Mapping[str, Result]

    def warnings(self) -> list[str]:
        """Say what keeps the metric from telling what it is for in the study."""
        checks = checks_of(self.study)
        return [check.sentence for check in checks if self.measure.metric in check.metrics]

    def estimates(self) -> dict[str, str]:
        """Print the estimates of the measure, each with its place among those of all metrics."""
        found = {}
        for result in self.results.values():
            estimates = result.estimates()
            if estimates is None or self.measure not in estimates.measures:
                continue
            beside = estimates.measures.beside(self.measure)
            every = dict(estimates.of(beside))
            own = every.get(beside.labels[beside.index(self.measure)])
            if own is not None:
                sign = -1 if estimates.lower_is_better else 1
                better = [e for e in every.values() if sign * e.value > sign * own.value]
                found[estimates.name] = f"{own}, {len(better) + 1} of {len(every)}"
        return found


def metric_card(
    name: str, studies: Sequence[FinishedStudy], *, plugins: Sequence[Path] = (), tries: int | None
) -> bytes:
    """Make the card of a metric: one page that refers to nothing outside.

    Without a depth in its name, the metric has that which the first study reports; all studies
    stand side by side. Users' metrics are what the studies say of them, unless their file is a
    plug-in: then their laws are tried, too. Of each law as many cases are tried, or as many as
    `harness check` tries.
    """
    defined = available_metrics([path.resolve() for path in plugins])
    kept = {name: metric for study in studies for name, metric in study.own_metrics.items()}
    known = {**kept, **defined}
    metric = find_metric(name, known)
    parsed = parse_name(name)
    is_open = bool(studies) and not parsed.has_depth
    cutoff = _reported_cutoff(studies[0], metric, known) if is_open else parsed.cutoff
    measured = [_measured(study, metric, known, cutoff) for study in studies]
    return render_page(
        "card.html",
        label=str(Measure(metric.label, cutoff)),
        metric=metric,
        formulas=[(tex, formula_image(tex)) for tex in formulas_in(metric.doc)],
        words=words_in(metric.doc),
        notation=NOTATION if metric.name in built_in_metrics() else "",
        laws=None if metric.name in kept.keys() - defined.keys() else _laws(metric, tries),
        studies=[m.study for m in measured],
        warnings=[f"{m.study.name}: {sentence}" for m in measured for sentence in m.warnings()],
        panels=list(_panels(measured)),
        tables=list(_tables(measured)),
    )


def formula_image(tex: str) -> str | None:
    """Draw a formula; None if it uses more of TeX than matplotlib draws."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    formula = f"${_drawable(tex)}$"
    with rc_context({"mathtext.fontset": "cm"}):
        try:
            parsed = MathTextParser("path").parse(formula, 72, FontProperties(size=TYPE))
        except ValueError:
            return None
        width, height = parsed[0] + 2 * MARGIN, parsed[1] + 2 * MARGIN
        figure = Figure(figsize=(width / 72, height / 72))
        baseline = (parsed[2] + MARGIN) / height
        figure.text(MARGIN / width, baseline, formula, size=TYPE)
        return image_source(as_svg(figure, text_as="path"))


def _drawable(tex: str) -> str:
    r"""Write TeX as matplotlib knows it, with tall fractions."""
    return COMPARISON.sub(r"\\\1eq", tex).replace(r"\frac", r"\dfrac")


def _reported_cutoff(
    study: FinishedStudy, metric: Metric, known: Mapping[str, Metric]
) -> int | None:
    """Give the deepest cut-off at which a study reports a metric, or else measures it."""
    name, measures = _name_in(study, metric, known), study.means.measures
    reported, measured = (
        [m for m in some if m.metric == name] for some in (measures.reported, measures)
    )
    return max(reported or measured, key=depth_of).cutoff


def _name_in(study: FinishedStudy, metric: Metric, known: Mapping[str, Metric]) -> str:
    """Find what a metric is called in a study."""
    measures = study.means.measures
    named = {find_metric(name, known).label: name for name in measures.metrics}
    if metric.label not in named:
        raise InputError(
            f"{study.folder}: the study has no metric {metric.label!r}; it has "
            f"{', '.join(measures.metrics)}."
        )
    return named[metric.label]


def _measured(
    study: FinishedStudy, metric: Metric, known: Mapping[str, Metric], cutoff: int | None
) -> Measured:
    """Find a metric in a study."""
    measure, measures = Measure(_name_in(study, metric, known), cutoff), study.means.measures
    if measure not in measures:
        places = [m.place.removeprefix("@") for m in measures if m.metric == measure.metric]
        asked = "of whole lists" if cutoff is None else f"at cut-off {cutoff}"
        raise InputError(
            f"{study.folder}: {measure.metric} was not measured {asked}, but at "
            f"{', '.join(places)}."
        )
    return Measured(
        study, measure, {key: r for key, r in study.results() if measure in measures_of(r)}
    )


def _laws(metric: Metric, tries: int | None) -> dict[str, Any]:
    from harness.laws.cards import LEGEND, cards_of, evidence_lines

    (card,) = cards_of([(metric, LAW_CUTOFF)], tries=tries)
    return {
        "card": card,
        "outcomes": [(outcome, evidence_lines(outcome, card.level)) for outcome in card.outcomes],
        "legend": LEGEND.format(level=card.level),
    }


def _panels(measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """Draw the curve of the metric over those of the others, for every study that has it."""
    faces = {
        face.name: face
        for m in measured
        for result in m.results.values()
        for face in figures_of(type(result))
        if face.panels is None and "cutoff" in choices_of(type(result), face)
    }
    for face in faces.values():
        images = [_draw(face, m) for m in measured]
        if any(images):
            yield {"title": face.title, "images": list(zip(measured, images, strict=True))}


def _draw(face: FigureFace, measured: Measured) -> tuple[str, Overlay] | None:
    """Draw a figure with the curve of the metric alone in colour; None if it has no curves."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    result = next((r for r in measured.results.values() if face in figures_of(type(r))), None)
    if result is None:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=PANEL, layout="constrained")
        measure, measures = measured.measure, measures_of(result)
        beside = measures.beside(measure)
        chosen = {} if beside == measures.reported else {"cutoff": measure.cutoff}
        axes = face.draw(result, figure.subplots(), **chosen)
        if not _emphasise(axes, beside.labels[beside.index(measure)]):
            return None
        svg = as_svg(figure)
    return image_source(svg), overlay_of(svg)


def _emphasise(axes: Axes, label: str) -> bool:
    """Leave colour and band to one curve, and tell whether there is one."""
    names = axes.get_legend_handles_labels()[1]
    own = next((name for name in names if _is_of(name, label)), None)
    if own is None:
        return False
    single_out(axes, own)
    axes.set_title("")
    return True


def _is_of(found: str, label: str) -> bool:
    """Tell whether a label is that of a measure, which may have a number behind it."""
    return found == label or found.startswith(f"{label} (")


def _tables(measured: Sequence[Measured]) -> Iterator[Table]:
    """Tabulate what is known of the metric, a study in each column."""
    if not measured:
        return
    note = (
        "Areas: 1 where the ordering of the systems never changes. DP: the sum of p over "
        "unordered pairs of systems; lower is more discriminative, and only numbers of one study "
        "compare. In brackets 95 % intervals, then the place among the study's metrics."
    )
    glance = _beside("At a glance", note, measured, [m.estimates() for m in measured])
    if glance.rows:
        yield glance
    for key in dict.fromkeys(key for m in measured for key in m.results):
        cells = [m.results[key].about(m.measure) if key in m.results else {} for m in measured]
        table = _beside(key.replace("_", " ").capitalize(), "", measured, cells)
        if table.rows:
            yield table


def _beside(
    title: str, note: str, measured: Sequence[Measured], cells: Sequence[Mapping[str, str]]
) -> Table:
    names = dict.fromkeys(name for column in cells for name in column)
    return Table(
        name="",
        title=title,
        note=note,
        headings=["", *(m.study.name for m in measured)],
        rows=[[name, *(column.get(name, MISSING) for column in cells)] for name in names],
    )
