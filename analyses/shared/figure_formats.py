"""Figures as files: SVG, PNG and PDF, as bytes that are equal between runs, and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyses.shared.drawing import describe_points
from analyses.shared.figure_options import STYLE
from analyses.shared.latex import latex_text
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import Formatter

RESOLUTION = 160
"""Pixels for each inch."""

POINTS_PER_INCH = 72

SET_BY_LATEX = {"pgf"}
"""Kinds of files whose text LaTeX sets, when they are written and where they are used."""

CURVE = "curve"
"""The ids of curves in SVG begin so."""

MARK = re.compile(r"<use ([^>]*)/>")
"""A mark of a curve in SVG."""


@dataclass(frozen=True)
class Canvas:
    """What draws a kind of file: a module and a class of matplotlib, and its facts to leave out.

    The facts, such as the date, differ between runs.
    """

    module: str
    class_name: str
    varying_facts: tuple[str, ...]


CANVASES = {
    "svg": Canvas("backend_svg", "FigureCanvasSVG", ("Date",)),
    "png": Canvas("backend_agg", "FigureCanvasAgg", ("Software",)),
    "pdf": Canvas("backend_pdf", "FigureCanvasPdf", ("CreationDate", "Creator", "Producer")),
}
"""What draws each kind of file."""


def as_svg(figure: Figure) -> bytes:
    """Render as SVG, the same bytes every time; marked points show their values when pointed at.

    Curves that have a label and marks get an id, "curve0" and so on, in the figure, too.
    """
    lines = [line for axes in figure.axes for line in axes.lines]
    curves = [line for line in lines if _is_marked_curve(line)]
    for number, curve in enumerate(curves):
        curve.set_gid(f"{CURVE}{number}")
    svg = _render(figure, "svg").decode()
    for curve in curves:
        svg = _with_titles(svg, str(curve.get_gid()), values_of(curve))
    return svg.encode()


def _is_marked_curve(line: Line2D) -> bool:
    """Tell whether a line has a name, which matplotlib's own ones have not, and marks."""
    has_name = not str(line.get_label()).startswith("_")
    return has_name and line.get_marker() not in ("None", "")


def values_of(curve: Line2D) -> list[str]:
    """Describe each marked point of a curve: "P@5, 0.5: .831 [.80, .86]" (label, x and y).

    Limits are those of its band, if it has one. Points that are not finite are left out.
    """
    points = np.asarray(curve.get_xydata(), dtype=np.float64)
    # A number n marks each n-th point; all are marked by default.
    mark_every = curve.get_markevery()
    step = mark_every if isinstance(mark_every, int) else 1
    marked = points[::step]
    defined = marked[np.isfinite(marked).all(axis=1)]
    return describe_points(curve, defined)


def _with_titles(svg: str, curve_id: str, titles: Sequence[str]) -> str:
    """Add a title to each mark of a curve in SVG, which is shown when it is pointed at.

    ``curve_id`` is the id of the curve's group. The text stays as it is if the numbers of marks and
    titles differ, and if there is no such group, as of a curve without points.
    """
    start = svg.find(f'<g id="{curve_id}">')
    if start == -1:
        return svg
    # Where the next group begins.
    end = svg.find("<g id=", start + 1)
    curve = svg[start:end]
    if len(MARK.findall(curve)) != len(titles):
        return svg
    remaining_titles = iter(titles)

    def with_title(mark: re.Match[str]) -> str:
        return f"<use {mark[1]}><title>{escape(next(remaining_titles))}</title></use>"

    titled_curve = MARK.sub(with_title, curve)
    return svg[:start] + titled_curve + svg[end:]


def figure_writer(path: Path) -> Callable[[Figure], bytes]:
    """Look up the function that writes a figure in the format that the name of a file ends in.

    The function turns the figure into bytes, and writes no file: for SVG, PNG and PDF by `WRITERS`,
    which are equal between runs, else by matplotlib. Raises InputError if it has no such format.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    ending = path.suffix.lower().removeprefix(".")
    supported = FigureCanvasBase.get_supported_filetypes()
    if ending not in supported:
        endings = ", ".join(f".{name}" for name in sorted(supported))
        raise InputError(f"{path}: the name must end in one of {endings}.")
    return WRITERS.get(ending) or partial(_save, kind=ending)


def _save(figure: Figure, *, kind: str) -> bytes:
    """Write a figure in a format of matplotlib's, ``kind``, such as "eps", as bytes.

    The texts of the figure are escaped in place if LaTeX sets them (`SET_BY_LATEX`).
    """
    from matplotlib import rc_context

    if kind in SET_BY_LATEX:
        write_texts_for_latex(figure)
    stream = BytesIO()
    with rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=RESOLUTION)
    return stream.getvalue()


def write_texts_for_latex(figure: Figure) -> None:
    """Escape what would be a command of LaTeX in all texts of a figure, in place.

    Names of systems and measures come from data. Labels of ticks are escaped by formatters, as they
    are written when the figure is drawn.
    """
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_latex_formatter(axis.get_major_formatter()))
            axis.set_minor_formatter(_latex_formatter(axis.get_minor_formatter()))
    for text in figure.findobj(Text):
        text.set_text(_lines_in_latex(text.get_text()))


def _latex_formatter(formatter: Formatter) -> Formatter:
    """Make a formatter of ticks that escapes what another one writes, for LaTeX."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, position: _lines_in_latex(formatter(value, position)))


def _lines_in_latex(text: str) -> str:
    """Escape each line of a text for LaTeX; line breaks stay."""
    return "\n".join(latex_text(line) for line in text.split("\n"))


def _render(figure: Figure, kind: str) -> bytes:
    """Draw a figure, whose layout is done, as one of the `CANVASES`; equal figures, equal bytes.

    ``kind`` is "svg", "png" or "pdf". Facts that vary between runs, such as the date, are left out.
    Fonts in PDF are embedded as TrueType.
    """
    from matplotlib import rc_context

    canvas_facts = CANVASES[kind]
    module = import_module(f"matplotlib.backends.{canvas_facts.module}")
    stream = BytesIO()
    with rc_context(STYLE):
        figure.set_dpi(RESOLUTION)
        canvas = getattr(module, canvas_facts.class_name)(figure)
        # The canvas may change it.
        figure.set_dpi(RESOLUTION)
        write = getattr(canvas, f"print_{kind}")
        write(stream, metadata=dict.fromkeys(canvas_facts.varying_facts))
    return stream.getvalue()


WRITERS: Mapping[str, Callable[[Figure], bytes]] = {
    "svg": as_svg,
    "png": partial(_render, kind="png"),
    "pdf": partial(_render, kind="pdf"),
}
"""What writes a figure as bytes that are equal between runs."""
