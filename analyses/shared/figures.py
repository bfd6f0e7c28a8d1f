"""Figures: panels of a result on one page, as bytes that are equal between runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from importlib import import_module
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analyses.shared.drawing import hidden_spreads, single_out
from analyses.shared.result import METRIC, FigureFace, Result, measures_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

N_COLUMNS = 3
PANEL = (3.3, 2.7)
ROOMY_PANEL = (1.3 * PANEL[0], 1.2 * PANEL[1])
WIDE_PANEL = (5.4, 3.6)
SMALL_PANEL = (2.4, 1.8)
RESOLUTION = 160
STYLE: Any = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    # Where titles stand is not asked of the axes below them, which takes long.
    "axes.titley": 1.0,
    "svg.hashsalt": "metric-robustness-harness",
    "pdf.fonttype": 42,
}
LONG_NAME = 16
"""Names of as many characters have a column of a legend for themselves."""

CHARACTER, HANDLE = 0.07, 0.5
"""Mean width of a character of a legend, and of a line in it with the space around, in inches."""

LARGEST_LEGEND = 0.25
"""Part of a figure's width that a legend may take from the panels; wider ones are added to it."""

CURVE = "curve"
CANVASES = {
    "svg": ("backend_svg", "FigureCanvasSVG"),
    "png": ("backend_agg", "FigureCanvasAgg"),
    "pdf": ("backend_pdf", "FigureCanvasPdf"),
}
"""What draws each kind of file: a module of matplotlib's, and its class."""

MARK = re.compile(r"<use ([^>]*)/>")


def draw_figure(
    result: Result,
    face: FigureFace,
    *,
    chosen: Mapping[str, Any] | None = None,
    panels: Sequence[str] = (),
    most_columns: int = N_COLUMNS,
    singly: bool = True,
) -> Figure:
    """Draw a figure of a result, on one page.

    A figure of one panel takes the keywords that are chosen, and curves whose bands would cover
    each other are drawn once more, singly, unless that is not wanted. Of a figure of several panels
    those that are named are drawn, all by default.
    """
    if face.panels is None:

        def draw(ax: Axes) -> Axes:
            return face.draw(result, ax, **(chosen or {}))

        figure = panel_of(draw)
        names = hidden_spreads(figure.axes[0]) if singly else []
        return one_by_one(draw, names) if names else figure
    names = list(panels or face.panels_of(result))
    keyword = face.panels
    if len(names) == 1 and keyword != METRIC:
        return panel_of(partial(_draw_panel, result, face, keyword, names[0]))
    return side_by_side(
        {name: partial(_draw_panel, result, face, keyword, name) for name in names},
        most_columns=len(names) if face.in_row else 2 if face.roomy else most_columns,
        in_row=face.in_row,
        size=ROOMY_PANEL if face.roomy else PANEL,
        alike=face.comparable and (keyword != METRIC or _have_the_same_cutoffs(result, names)),
        legend="cut-off" if face.comparable and keyword == METRIC else None,
    )


def _draw_panel(result: Result, face: FigureFace, keyword: str, name: str, ax: Axes) -> Axes:
    return face.draw(result, ax, **{keyword: name})


def side_by_side(
    draws: Mapping[str, Callable[[Axes], Axes]],
    *,
    most_columns: int,
    size: tuple[float, float] = PANEL,
    alike: bool = True,
    in_row: bool = False,
    legend: str | None = None,
) -> Figure:
    """Draw panels in rows; those that are alike share their scales, and a legend stands once.

    Panels in one row share what they draw from top to bottom: only the first one names it.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    n_columns = min(len(draws), most_columns)
    n_rows = ceil(len(draws) / n_columns)
    with rc_context(STYLE):
        whole = (size[0] * n_columns, size[1] * n_rows)
        figure = Figure(figsize=whole, layout="constrained")
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=alike, sharey=alike)
        panels, spare = list(grid.flat[: len(draws)]), list(grid.flat[len(draws) :])
        for panel, draw in zip(panels, draws.values(), strict=True):
            draw(panel)
        if alike:
            _label_outer(panels, n_columns)
        for panel in panels[1:] if in_row else ():
            panel.tick_params(labelleft=False)
        for panel in spare:
            panel.axis("off")
        _share_legend(figure, panels, spare, title=legend)
    return figure


def one_by_one(draw: Callable[[Axes], Axes], names: Sequence[str]) -> Figure:
    """Draw all curves on large axes, and beside and below them each with its band, singled out."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows_below = ceil(max(0, len(names) - 4) / 4)
    heights = [2, rows_below][: 1 + (rows_below > 0)]
    with rc_context(STYLE):
        size = (4 * SMALL_PANEL[0], sum(heights) * SMALL_PANEL[1])
        figure = Figure(figsize=size, layout="constrained")
        # Rows below have columns of their own: names stand beside the large axes.
        parts = figure.add_gridspec(len(heights), height_ratios=heights)
        grids = [parts[n].subgridspec(n_rows, 4) for n, n_rows in enumerate(heights)]
        cells = [grid[n] for grid in grids for n in range(4 * grid.nrows)]
        whole = figure.add_subplot(grids[0][:, :2])
        draw(whole)
        limits = {"xlim": whole.get_xlim(), "ylim": whole.get_ylim()}
        for number, (name, cell) in enumerate(zip(names, [*cells[2:4], *cells[6:]], strict=False)):
            panel = figure.add_subplot(cell)
            draw(panel)
            single_out(panel, name)
            panel.set(xlabel="", ylabel="", **limits)
            panel.tick_params(labelleft=number % (2 if number < 4 else 4) == 0, labelsize="small")
    return figure


def _have_the_same_cutoffs(result: Result, metrics: Sequence[str]) -> bool:
    curves = measures_of(result).curves
    measured = [[m.cutoff for m in curves.get(metric, ())] for metric in metrics]
    return all(cutoffs == measured[0] for cutoffs in measured)


def _label_outer(panels: Sequence[Axes], n_columns: int) -> None:
    """Label the first panel of each row and the last of each column."""
    labels = [panel.get_xlabel() for panel in panels]
    for panel in panels:
        panel.label_outer()
    for panel, label in list(zip(panels, labels, strict=True))[-n_columns:]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(label)


def panel_of(draw: Callable[[Axes], Axes], *, size: tuple[float, float] = WIDE_PANEL) -> Figure:
    """Draw one panel, of a width and height in inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
    return figure


def as_svg(figure: Figure, *, text_as: Literal["none", "path"] = "none") -> bytes:
    """Render as SVG, the same bytes every time; marked points tell their values when pointed at.

    Text stays text, or is drawn as paths, so that no font is missed.
    """
    curves = _name_curves(figure)
    svg = _render(figure, "svg", {"Date": None}, text_as=text_as).decode()
    for name, curve in curves.items():
        svg = _with_values(svg, name, values_of(curve))
    return svg.encode()


def as_png(figure: Figure) -> bytes:
    """Render as PNG."""
    return _render(figure, "png", {"Software": None})


def as_pdf(figure: Figure) -> bytes:
    """Render as PDF, with its fonts embedded as TrueType."""
    return _render(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None})


def values_of(curve: Line2D) -> list[str]:
    """Say what each marked point of a curve is."""
    points = np.asarray(curve.get_xydata(), dtype=np.float64)
    every = curve.get_markevery()
    marked = points[:: every if isinstance(every, int) else 1]
    defined = marked[np.isfinite(marked).all(axis=1)]
    return [f"{curve.get_label()}, {x:g}: {y:.4g}" for x, y in defined]


def _name_curves(figure: Figure) -> dict[str, Line2D]:
    """Name the curves that have a label and markers, so that they are found in the SVG."""
    curves = {f"{CURVE}{number}": curve for number, curve in enumerate(_labelled(figure))}
    for name, curve in curves.items():
        curve.set_gid(name)
    return curves


def _labelled(figure: Figure) -> Iterator[Line2D]:
    for axes in figure.axes:
        for line in axes.lines:
            if not str(line.get_label()).startswith("_") and line.get_marker() not in ("None", ""):
                yield line


def _with_values(svg: str, name: str, values: Sequence[str]) -> str:
    """Give each mark of a curve its value as title; none where marks and values do not pair up."""
    start = svg.index(f'<g id="{name}">')
    end = svg.find("<g id=", start + 1)
    curve = svg[start:end]
    if len(MARK.findall(curve)) != len(values):
        return svg
    titles = iter(values)
    titled = MARK.sub(
        lambda mark: f"<use {mark[1]}><title>{escape(next(titles))}</title></use>", curve
    )
    return svg[:start] + titled + svg[end:]


def _render(
    figure: Figure, kind: str, metadata: dict[str, None], *, text_as: str = "none"
) -> bytes:
    """Lay a figure out, which takes as long as to draw it, once for all kinds, and draw it once."""
    from matplotlib import rc_context

    stream, (canvas, method) = BytesIO(), CANVASES[kind]
    with rc_context({**STYLE, "svg.fonttype": text_as}):
        figure.set_dpi(RESOLUTION)
        drawn = getattr(import_module(f"matplotlib.backends.{canvas}"), method)(figure)
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        figure.set_dpi(RESOLUTION)
        getattr(drawn, f"print_{kind}")(stream, metadata=metadata)
    return stream.getvalue()


def _share_legend(
    figure: Figure, panels: Sequence[Axes], spare: Sequence[Axes], *, title: str | None
) -> None:
    """Show a legend that all panels have, or begin, once: in a spare place, or beside them."""
    legends = [legend for panel in panels if (legend := panel.get_legend()) is not None]
    entries = [panel.get_legend_handles_labels() for panel in panels]
    handles, names = max(entries, key=lambda entry: len(entry[1]))
    if len(legends) < len(panels) or any(names[: len(some)] != some for _, some in entries):
        return
    for legend in legends:
        legend.remove()
    if spare:
        n_columns = 2 if max(map(len, names)) < LONG_NAME else 1
        spare[0].legend(handles, names, loc="center", ncols=n_columns, frameon=False, title=title)
    else:
        width, height = figure.get_size_inches()
        beside = HANDLE + CHARACTER * max(map(len, names))
        if beside > LARGEST_LEGEND * width:
            # Long names would leave no room for the panels.
            figure.set_size_inches(width + beside, height)
        figure.legend(handles, names, loc="outside right upper", frameon=False, title=title)
