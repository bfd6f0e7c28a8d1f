"""The card of a metric: what it is, which laws it keeps, and how it fared in finished studies."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.figures import STYLE, as_svg
from analyses.shared.table import MISSING, Cell, Table, shown
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, built_in_metrics, find_metric
from harness.report.page import Overlay, image_source, overlay_of, render_page
from harness.report.study_folder import FinishedStudy, Row, number
from harness.report.summary import Estimate, areas_of, powers_of
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAW_CUTOFF = 5
"""Laws are tried on short lists: what a law says does not depend on the depth."""

PANEL = (4.4, 2.7)
TYPE, MARGIN = 13, 4
"""Size of formulas, and the space around them, in points."""

ACCENT, OTHERS = "#0072B2", "0.78"
FORMULA = re.compile(r"\.\. math::\s*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
ROLE = re.compile(r":math:`([^`]*)`|``([^`]*)``|\*([^*]+)\*")
COMPARISON = re.compile(r"\\([lg])e(?![a-z])")
UPRIGHT = re.compile(r"\\mathrm\{(\w+)\}")


NOTATION = (
    "R counts the user's relevant items, N the judged non-relevant ones; rel(k) is 1 where rank k "
    "holds a relevant item, and r_k counts the relevant items in ranks 1 to k."
)
"""What the formulas of the built-in metrics have in common."""


@dataclass(frozen=True)
class Measured:
    """A metric at a cut-off in a finished study that has it.

    Parameters
    ----------
    study
        The study.
    metric
        Name of the metric in that study.
    cutoff
        The cut-off.
    """

    study: FinishedStudy
    metric: str
    cutoff: int

    def own(self, table: str) -> list[Row]:
        """Rows of a table about the metric."""
        rows = self.study.rows(table, cutoff=self.cutoff)
        return [row for row in rows if row["metric"] == self.metric]


@dataclass(frozen=True)
class Panel:
    """A kind of curve: the table and columns that have it, and how it is drawn."""

    title: str
    table: str
    x: str
    x_label: str
    y: str = "tau"
    y_label: str = "Kendall's tau-b"
    low: str = "low"
    high: str = "high"
    x_unit: float = 1.0
    falling_x: bool = False
    log_x: bool = False


PANELS = (
    Panel(
        title="Random loss of judgements",
        table="sparsity",
        x="level",
        x_label="judgements kept (%)",
        x_unit=100,
        falling_x=True,
    ),
    Panel(
        title="Loss of the judgements of popular items",
        table="popularity",
        x="level",
        x_label="least popular items kept (%)",
        x_unit=100,
        falling_x=True,
    ),
    Panel(
        title="Fewer users",
        table="users",
        x="users",
        low="tau_low",
        high="tau_high",
        x_label="users",
        log_x=True,
    ),
    Panel(
        title="p-values of all pairs of systems",
        table="pvalues",
        x="rank",
        y="p",
        low="",
        high="",
        x_label="pair of systems, by falling p",
        y_label="p-value",
    ),
)


def metric_card(
    name: str, studies: Sequence[FinishedStudy], *, plugins: Sequence[Path] = (), tries: int | None
) -> bytes:
    """Make the card of a metric: one page that refers to nothing outside.

    Parameters
    ----------
    name
        The metric, with options and cut-off; without a cut-off, the deepest of the first study.
    studies
        Finished studies that have it, side by side.
    plugins
        Files of metrics; those of the studies are known.
    tries
        Cases tried for each law; None for as many as `harness check` tries.

    Raises
    ------
    InputError
        If there is no such metric, or a study lacks it; the sentence says what there is.
    """
    metric = find_metric(name, _known(studies, plugins))
    cutoff = parse_name(name).cutoff or (studies[0].cutoff if studies else None)
    measured = [_measured(study, metric, cutoff) for study in studies if cutoff is not None]
    return render_page(
        "card.html",
        label=metric.label if cutoff is None else f"{metric.label}@{cutoff}",
        metric=metric,
        formulas=[(tex, formula_image(tex)) for tex in formulas_of(metric)],
        words=words_of(metric),
        notation=NOTATION if metric.name in built_in_metrics() else "",
        laws=_laws(metric, tries),
        studies=[m.study for m in measured],
        panels=[_panel(panel, measured) for panel in PANELS if _has(panel, measured)],
        tables=[make(measured) for make in (_glance, _taus, _means) if measured],
    )


def formulas_of(metric: Metric) -> list[str]:
    r"""Give the formulas of a definition's docstring, as TeX.

    Examples
    --------
    >>> from harness.metrics.shared.register import built_in_metrics
    >>> print(*formulas_of(built_in_metrics()["Recall"]))
    \mathrm{Recall}@n = r_n / R
    """
    found = FORMULA.findall(inspect.getdoc(metric.function) or "")
    return [" ".join(tex.split()) for tex in found]


def words_of(metric: Metric) -> list[str]:
    """Give the paragraphs of a definition's docstring before its parameters, formulas aside.

    Examples
    --------
    >>> def count(judged, *, cutoff=None):
    ...     '''Hits.
    ...
    ...     Of the :math:`n_k` *judged* items.
    ...     '''
    >>> words_of(Metric("count", count, source="by hand"))
    ['Of the n_k judged items.']
    """
    text = (inspect.getdoc(metric.function) or "").partition("\nParameters\n")[0]
    paragraphs = FORMULA.sub("\n\n", text).split("\n\n")[1:]
    plain = (ROLE.sub(lambda m: m[1] or m[2] or m[3], " ".join(p.split())) for p in paragraphs)
    return [UPRIGHT.sub(r"\1", paragraph) for paragraph in plain if paragraph]


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
    r"""Write TeX as matplotlib knows it, with tall fractions.

    Examples
    --------
    >>> print(_drawable(r"\left(\frac{1}{k} \le n\right)"))
    \left(\dfrac{1}{k} \leq n\right)
    """
    return COMPARISON.sub(r"\\\1eq", tex).replace(r"\frac", r"\dfrac")


def _known(studies: Sequence[FinishedStudy], plugins: Sequence[Path]) -> dict[str, Metric]:
    paths = [path.resolve() for path in plugins]
    for study in studies:
        paths += [path for path in study.plugins if path not in paths]
    return available_metrics(paths)


def _measured(study: FinishedStudy, metric: Metric, cutoff: int) -> Measured:
    """Find a metric in a study.

    Raises
    ------
    InputError
        If the study lacks the metric or the cut-off.
    """
    known = study.available_metrics()
    named = {find_metric(name, known).label: name for name in study.metrics}
    if metric.label not in named:
        raise InputError(
            f"{study.folder}: the study has no metric {metric.label!r}; it has "
            f"{', '.join(study.metrics)}."
        )
    found = Measured(study, named[metric.label], cutoff)
    if not found.own("means"):
        cutoffs = [r["cutoff"] for r in study.rows("means") if r["metric"] == found.metric]
        raise InputError(
            f"{study.folder}: {found.metric} was not measured at cut-off {cutoff}, but at "
            f"{', '.join(dict.fromkeys(cutoffs))}."
        )
    return found


def _laws(metric: Metric, tries: int | None) -> dict[str, Any]:
    from harness.laws.cards import LEGEND, evidence_lines
    from harness.laws.check import cards_of

    (card,) = cards_of([(metric, LAW_CUTOFF)], tries=tries)
    outcomes = [outcome for outcome in card.outcomes if not outcome.is_measured]
    return {
        "card": card,
        "facts": card.facts(),
        "outcomes": [(outcome, evidence_lines(outcome, card.level)) for outcome in outcomes],
        "legend": LEGEND.format(level=card.level),
    }


def _has(panel: Panel, measured: Sequence[Measured]) -> bool:
    return any(m.own(panel.table) for m in measured)


def _panel(panel: Panel, measured: Sequence[Measured]) -> dict[str, Any]:
    """Draw the curves of every study."""
    images = [_draw(panel, m) if m.own(panel.table) else None for m in measured]
    return {"title": panel.title, "images": list(zip(measured, images, strict=True))}


def _draw(panel: Panel, measured: Measured) -> tuple[str, Overlay]:
    """Draw the metric's curve over those of the other metrics, which are grey."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    curves: dict[str, list[Row]] = {}
    for row in _ranked(panel, measured.study.rows(panel.table, cutoff=measured.cutoff)):
        curves.setdefault(row["metric"], []).append(row)
    with rc_context(STYLE):
        figure = Figure(figsize=PANEL, layout="constrained")
        axes = figure.subplots()
        for name, rows in curves.items():
            _draw_curve(axes, panel, rows, label=name, is_own=name == measured.metric)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        _scale_x(axes, panel)
    svg = as_svg(figure)
    return image_source(svg), overlay_of(svg)


def _scale_x(axes: Axes, panel: Panel) -> None:
    """Number the axis at round numbers; a logarithmic one where its curves have points."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    if panel.log_x:
        numbers = sorted({x for line in axes.lines for x in np.asarray(line.get_xdata())})
        axes.set_xscale("log")
        axes.set_xticks(numbers, [f"{x:,.0f}" for x in numbers])
        axes.xaxis.set_minor_locator(NullLocator())
        return
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    if panel.falling_x:
        axes.invert_xaxis()


def _ranked(panel: Panel, rows: Sequence[Row]) -> Sequence[Row]:
    """Rank p-values by metric, the highest first; other curves have an axis of their own."""
    if panel.x != "rank":
        return rows
    falling = sorted(rows, key=lambda row: -number(row, panel.y))
    counts: dict[str, int] = {}
    ranked = []
    for row in falling:
        counts[row["metric"]] = counts.get(row["metric"], 0) + 1
        ranked.append({**row, "rank": str(counts[row["metric"]])})
    return ranked


def _draw_curve(axes: Axes, panel: Panel, rows: Sequence[Row], *, label: str, is_own: bool) -> None:
    def column(name: str) -> Any:
        return np.array([number(row, name) for row in rows])

    x = panel.x_unit * column(panel.x)
    if not is_own:
        axes.plot(x, column(panel.y), color=OTHERS, linewidth=1.0, label=label, zorder=1)
        return
    axes.plot(
        x, column(panel.y), color=ACCENT, linewidth=1.8, marker="o", markersize=3, label=label
    )
    axes.fill_between(x, column(panel.low), column(panel.high), color=ACCENT, alpha=0.18, lw=0)


def _glance(measured: Sequence[Measured]) -> Table:
    """Tabulate what summarises the metric, a study in each column."""
    quantities: Mapping[str, Callable[[Measured], str]] = {
        "area, loss of judgements": lambda m: _placed(
            m, areas_of(m.study, "sparsity", cutoff=m.cutoff)
        ),
        "area, loss of popular items": lambda m: _placed(
            m, areas_of(m.study, "popularity", cutoff=m.cutoff)
        ),
        "DP": lambda m: _placed(m, powers_of(m.study, cutoff=m.cutoff), fewer_is_more=True),
        "share of pairs with p < .05": lambda m: _of_pairs(m, "significant_05"),
        "median p": lambda m: _of_pairs(m, "median_p"),
    }
    rows: list[list[Cell]] = [
        [name, *(quantity(m) for m in measured)] for name, quantity in quantities.items()
    ]
    return Table(
        name="",
        title="At a glance",
        note="Areas: 1 where the ordering of the systems never changes. DP: the sum of p over "
        "unordered pairs of systems; lower is more discriminative, and only numbers of one "
        "study compare. In brackets 95 % intervals, then the place among the study's metrics.",
        headings=["", *(m.study.name for m in measured)],
        rows=[row for row in rows if any(cell != MISSING for cell in row[1:])],
        best={},
    )


def _placed(
    measured: Measured, estimates: Sequence[Estimate], *, fewer_is_more: bool = False
) -> str:
    """Print an estimate with its place among those of all metrics; equal ones share a place."""
    own = [estimate for estimate in estimates if estimate.metric == measured.metric]
    if not own:
        return MISSING
    sign = -1 if fewer_is_more else 1
    place = 1 + sum(sign * other.value > sign * own[0].value for other in estimates)
    return f"{own[0]}, {place} of {len(estimates)}"


def _of_pairs(measured: Measured, column: str) -> str:
    rows = measured.own("discrimination")
    return shown(number(rows[0], column)) if rows else MISSING


def _taus(measured: Sequence[Measured]) -> Table:
    """Tabulate the agreement with the other metrics."""
    asked = [m.study for m in measured if m.study.rows("correlation_metrics")]
    words = dict.fromkeys(f"{study.coefficient} ({study.name})" for study in asked)
    return _by_study(
        "Agreement with other metrics",
        f"Orderings of the systems, at the same cut-off, compared by {', '.join(words)}.",
        "metric",
        measured,
        lambda m: {
            row["metric_b"]: str(Estimate("", *(number(row, c) for c in ("tau", "low", "high"))))
            for row in m.study.rows("correlation_metrics", cutoff=m.cutoff)
            if row["metric_a"] == m.metric != row["metric_b"]
        },
    )


def _means(measured: Sequence[Measured]) -> Table:
    """Tabulate the mean scores of the systems."""
    return _by_study(
        "Mean scores",
        "Means over all users in the qrels.",
        "system",
        measured,
        lambda m: {row["system"]: number(row, "mean") for row in m.own("means")},
    )


def _by_study(
    title: str,
    note: str,
    corner: str,
    measured: Sequence[Measured],
    cells: Callable[[Measured], Mapping[str, Cell]],
) -> Table:
    columns = [cells(m) for m in measured]
    names = dict.fromkeys(name for column in columns for name in column)
    return Table(
        name="",
        title=title,
        note=note,
        headings=[corner, *(m.study.name for m in measured)],
        rows=[[name, *(column.get(name, math.nan) for column in columns)] for name in names],
        best={},
    )
