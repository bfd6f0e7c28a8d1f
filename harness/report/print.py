"""Figures for print: redrawn from the evidence at the width of a column, in one size of type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Literal

from analyses.shared.figures import as_pdf, as_png, as_svg, draw_figure
from analyses.shared.result import METRIC, FigureFace, Result, choices_of, figures_of, measures_of
from harness.report.study_folder import FinishedStudy
from runs import InputError
from runs.shared.errors import nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Width = Literal["single", "double"]

INCHES = {"single": 3.33, "double": 7.0}
"""Widths of one column and of both, in ACM's double-column layout."""

COLUMNS = {"single": 2, "double": 3}
SINGLE_HEIGHT, ROW_HEIGHT, SMALL_ROW = 2.6, 1.9, 1.35
TYPE = 8.0
"""Size of all type, in points; numbers in the cells of a table shrink to fit them."""

CHARACTER = 0.062
"""Mean width of a character, in inches."""

HANDLE = 0.5
"""Width of a line in the legend with the space around it, in inches."""

LINE = 0.17
"""Height of a line of the legend, in inches."""

CELL_TEXT = 1.8
"""Width of a number in a cell, in units of its size."""

FORMATS: Mapping[str, Callable[[Figure], bytes]] = {"svg": as_svg, "png": as_png, "pdf": as_pdf}


def find_figure(study: FinishedStudy, text: str) -> tuple[str, FigureFace]:
    """Find a figure by its number, as ``fig6``, or its name; and the key of its result."""
    every = list(study.figures())
    named = re.fullmatch(r"(?:fig(?:ure)?[ .]*)?([0-9]+)", text.strip(), re.IGNORECASE)

    def is_meant(face: FigureFace) -> bool:
        by_number = named is not None and int(named[1]) == face.number
        return by_number or text in (face.name, face.file)

    for key, face in every:
        if is_meant(face):
            return key, face
    for kind in study.kinds.values():
        if any(is_meant(face) and face.over_cutoffs for face in figures_of(kind)):
            raise InputError(
                f"{study.folder}: {text!r} shows curves over cut-offs, and no metric of the study "
                "is measured at several of its `cutoffs`."
            )
    known = [face.short for _, face in every]
    raise InputError(f"no figure is called {text!r}; {nearest(text, known)}")


def print_figure(
    result: Result,
    face: FigureFace,
    *,
    cutoff: int | None = None,
    metrics: Sequence[str] = (),
    width: Width | None = None,
) -> Figure:
    """Redraw a figure of a result.

    A figure of all metrics has the report measures, or those at a cut-off; one with a panel for
    each metric has all of them, or some. It takes one column, or two if it has several panels,
    unless a width is asked for; with two columns curves with bands are drawn singly, too.
    """
    columns = width or ("single" if face.is_single(result) else "double")
    chosen = _choose(result, face, cutoff)
    _check_panels(result, face, metrics)
    figure = draw_figure(
        result,
        face,
        chosen=chosen,
        panels=metrics,
        most_columns=COLUMNS[columns],
        singly=columns == "double",
    )
    _fit(figure, INCHES[columns])
    return figure


def _choose(result: Result, face: FigureFace, cutoff: int | None) -> dict[str, int]:
    if cutoff is None:
        return {}
    if face.panels is not None or "cutoff" not in choices_of(type(result), face):
        raise InputError(f"{face.short} has no cut-off to choose.")
    if cutoff not in measures_of(result).cutoffs:
        raise InputError(f"nothing was measured for cut-off {cutoff}.")
    return {"cutoff": cutoff}


def _check_panels(result: Result, face: FigureFace, metrics: Sequence[str]) -> None:
    if metrics and face.panels != METRIC:
        raise InputError(f"{face.short} has no metric to choose.")
    known = face.panels_of(result) if metrics else ()
    for metric in metrics:
        if metric not in known:
            raise InputError(f"the study has no metric {metric!r}; {nearest(metric, known)}")


def format_of(path: Path) -> Callable[[Figure], bytes]:
    """Give what writes a figure in the format that a file's name ends in."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InputError(f"{path}: the name must end in .svg, .png or .pdf.")
    return FORMATS[ending]


def caption_of(study: FinishedStudy, result: Result, face: FigureFace) -> str:
    """Give title and caption of a figure, and what the data are."""
    return study.caption(f"{study.title(face)}. {face.caption(result)}")


def _fit(figure: Figure, width: float) -> None:
    """Bring a figure to a width, and all its type to one size."""
    from matplotlib.text import Text

    panels = [axes for axes in figure.axes if axes.axison]
    places = [place for axes in panels if (place := axes.get_subplotspec()) is not None]
    n_rows, n_columns = places[0].get_gridspec().get_geometry()
    small = len(places[0].rowspan) > 1
    row = SMALL_ROW if small else SINGLE_HEIGHT if n_rows * n_columns == 1 else ROW_HEIGHT
    height = n_rows * row
    for text in figure.findobj(Text):
        text.set_fontsize(TYPE)
    for axes, place in zip(panels, places, strict=False):
        spans = len(place.colspan), len(place.rowspan)
        _fit_panel(axes, width * spans[0] / n_columns, row * spans[1])
    if figure.legends or any(axes.get_legend() for axes in panels[:1]):
        n_lines = _legend_below(figure, panels[0], width)
        height += 0 if len(panels) == 1 else n_lines * LINE
    figure.set_size_inches(width, height)


def _fit_panel(axes: Axes, width: float, height: float) -> None:
    axes.tick_params(labelsize=TYPE)
    axes.title.set_fontsize(TYPE)
    axes.title.set_text(fill(axes.get_title(), int(0.7 * width / CHARACTER)))
    axes.set_xlabel(fill(axes.get_xlabel(), int(0.8 * width / CHARACTER)))
    axes.set_ylabel(fill(axes.get_ylabel(), int(0.6 * height / CHARACTER)))
    for line in axes.lines:
        # Thinner lines are the edges of bands, or marks, and stay behind the curves.
        line.set_linewidth(1.0 if line.get_linewidth() >= 1 else 0.35)
        line.set_markersize(min(3.0, line.get_markersize()))
    if axes.images:
        cell = 72 * 0.75 * width / len(axes.get_xticks())
        for text in axes.texts:
            text.set_fontsize(min(TYPE, cell / CELL_TEXT))


def _legend_below(figure: Figure, panel: Axes, width: float) -> int:
    """Put the legend below the panels, in as many columns as fit; give its number of lines."""
    for legend in [*figure.legends, *filter(None, [panel.get_legend()])]:
        legend.remove()
    handles, labels = panel.get_legend_handles_labels()
    if not labels:
        return 0
    n_columns = max(1, int(width / (HANDLE + CHARACTER * max(len(str(name)) for name in labels))))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=TYPE,
        columnspacing=1.0,
        handlelength=2.2,
    )
    return ceil(len(labels) / n_columns)
