"""Figures: panels of a result on one page, as bytes that are equal between runs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from importlib import import_module
from io import BytesIO
from itertools import pairwise
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.shared.drawing import (
    explanations,
    hidden_spreads,
    highlight_curve,
    label_curves,
    remove_curve_names,
)
from analyses.shared.figure_options import COLUMN_WIDTHS, STYLE, FigureOptions
from analyses.shared.latex import latex_text
from analyses.shared.result import METRIC, FigureDeclaration, Result, measures_of
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import Formatter

RESOLUTION = 160

PANEL, ROOMY_PANEL = 1.6, 2.2
"""Least widths of a panel among others, in inches."""

RATIO, LEAST_HEIGHT, MOST_HEIGHT = 0.78, 1.3, 2.8
"""Height of a panel as a share of its width, and its limits in inches."""

CHARACTER, HANDLE, LINE = 0.0078, 0.062, 0.021
"""Mean width of a character, width of a line in a legend with the space around, and height of a
line of text, in inches for each point of its size."""

LEAST_PLOT, SECOND_AXIS = 0.7, 3
"""Least height of axes without rows, in inches, and lines that a second axis above takes."""

ROW, GAP = 0.018, 4.0
"""Height of a row with a name, in inches for each point of its size, and least distance of two
labels of ticks on an x-axis, in pixels."""

CELL_TEXT, LEAST_TEXT = 2.0, 5.0
"""Width of a number in a cell in units of its size, and the least size printed, in points."""

SET_BY_LATEX = {"pgf"}
"""Kinds of files whose text LaTeX sets, when they are written and where they are used."""

COLLAPSED = "constrained_layout not applied"
"""How matplotlib's warning begins that texts leave no room for axes."""

MOST_BREAKS = 4
"""Times that texts beyond the canvas are broken into more lines, each after a new layout."""

CURVE = "curve"
CANVASES = {
    "svg": ("backend_svg", "FigureCanvasSVG", ["Date"]),
    "png": ("backend_agg", "FigureCanvasAgg", ["Software"]),
    "pdf": ("backend_pdf", "FigureCanvasPdf", ["CreationDate", "Creator", "Producer"]),
}
"""What draws each kind of file: a module of matplotlib's, its class, and what it must not write."""

NUMBER = re.compile(r"[\d.,]+")
MARK = re.compile(r"<use ([^>]*)/>")


NO_OPTIONS = FigureOptions()


def draw_figure(
    result: Result,
    face: FigureDeclaration,
    options: FigureOptions = NO_OPTIONS,
    *,
    usual: FigureOptions = NO_OPTIONS,
    chosen: Mapping[str, Any] | None = None,
) -> Figure:
    """Draw a figure of a result: one panel, or panels of equal size on a grid.

    Curves whose bands would cover each other have a panel each, unless bands are not wanted. The
    label of the figure is its caption: what the result is, and what all marks that are drawn are.

    Parameters
    ----------
    options
        What is shown, and how it looks.
    usual
        Options of all figures, for what is not given: they choose what to show where they can.
    chosen
        Keywords of the method that draws a panel; that of the panels chooses one.

    Raises
    ------
    InputError
        If the figure cannot vary what is asked for.
    """
    shown = {"measures", "cutoffs", "systems"}
    whole = usual.model_copy(update={**dict.fromkeys(shown, ()), "height": None})
    if shown & options.set_options.keys():
        usual = usual.model_copy(update=dict.fromkeys(shown, ()))
    if (shown | {"height"}) & usual.set_options.keys():
        try:
            return _draw(result, face, options.with_defaults(usual), chosen or {})
        except InputError:
            # What all figures are to show, and their height, do not fit this one.
            usual = whole
    return _draw(result, face, options.with_defaults(usual), chosen or {})


def _draw(
    whole: Result, face: FigureDeclaration, options: FigureOptions, chosen: Mapping[str, Any]
) -> Figure:
    result = options.select_measures(whole, figure=face.short)
    figure = _draw_chosen(result, face, options, chosen)
    figure.set_label(figure_caption(figure, face, result))
    return figure


def figure_caption(figure: Figure, face: FigureDeclaration, result: Result) -> str:
    """Describe a figure of a result: what it is of, and what the marks are that are drawn."""
    return " ".join([face.caption(result), *explanations(figure)])


def _draw_chosen(
    result: Result, face: FigureDeclaration, options: FigureOptions, chosen: Mapping[str, Any]
) -> Figure:
    """Draw a result that reports what is to be shown alone."""
    systems = getattr(result, "systems", ())

    def draw(panel: Mapping[str, Any], ax: Axes) -> Axes:
        drawn = face.draw(result, ax, **{**chosen, **panel})
        options.apply_to(drawn, figure=face.short, systems=systems)
        return drawn

    keyword, is_alike = face.panels, face.comparable
    if keyword is None or keyword in chosen:
        figure = draw_panels({"": partial(draw, {})}, options)
        names = hidden_spreads(figure.axes[0])
        if not names:
            return figure
        draws = {name: partial(_draw_singly, partial(draw, {}), name) for name in names}
        return draw_panels(draws, options, title=figure.axes[0].get_title())
    names = list(face.panels_of(result))
    if keyword == METRIC:
        curves = [[m.cutoff for m in measures_of(result).curve(name)] for name in names]
        is_alike = is_alike and all(curve == curves[0] for curve in curves)
    return draw_panels(
        {name: partial(draw, {keyword: name}) for name in names},
        options,
        roomy=face.wide,
        alike=is_alike,
        legend="cut-off" if face.comparable and keyword == METRIC else None,
    )


def _draw_singly(draw: Callable[[Axes], Axes], name: str, ax: Axes) -> Axes:
    highlight_curve(draw(ax), name)
    return ax


def draw_panels(
    draws: Mapping[str, Callable[[Axes], Axes]],
    options: FigureOptions = NO_OPTIONS,
    *,
    most_columns: int | None = None,
    roomy: bool = False,
    alike: bool = True,
    title: str = "",
    legend: str | None = None,
) -> Figure:
    """Draw panels of equal size on a grid; those that are alike share their scales.

    What all panels say stands once: labels of the axes, a legend above, and a colour bar.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_panels = len(draws)
    width = options.width or COLUMN_WIDTHS["single" if n_panels == 1 else "double"]
    fit = max(int(width / (ROOMY_PANEL if roomy else PANEL)), 1 + (n_panels > 3))
    n_rows = ceil(n_panels / min(n_panels, most_columns or fit))
    n_columns = ceil(n_panels / n_rows)
    usual_height = min(max(RATIO * width / n_columns, LEAST_HEIGHT), MOST_HEIGHT)
    height = options.height or n_rows * usual_height
    each = width / n_columns, height / n_rows
    with options.style_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained", dpi=RESOLUTION)
        FigureCanvasAgg(figure)  # Without it, a renderer is made for each text that is measured.
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=alike, sharey=alike)
        panels: list[Axes] = list(grid.flat[:n_panels])
        for panel in grid.flat[n_panels:]:
            panel.remove()
        for panel, draw in zip(panels, draws.values(), strict=True):
            draw(panel)
        n_lines = _share_legend(figure, panels, width, legend)
        names = [_row_names(panel) for panel in panels]
        if alike:
            _label_outer(panels, n_columns)
        elif names[0] and all(rows == names[0] for rows in names):
            for number, panel in enumerate(panels):
                panel.tick_params(labelleft=number % n_columns == 0)
        _fit_texts(figure, panels, each, title=title, has_title=options.title is not False)
        if options.height is None:
            texts = [f"{panel.get_title()}\n{panel.get_xlabel()}" for panel in panels]
            n_around = 4 + max(text.count("\n") for text in texts)
            n_around += SECOND_AXIS * any(panel.child_axes for panel in panels)
            least = max(map(len, names)) * ROW * _size() or LEAST_PLOT
            least += n_around * LINE * _size()
            usual = LEAST_HEIGHT if names[0] and not panels[0].images else each[1]
            height = n_rows * max(usual, least) + n_lines * LINE * _size()
            figure.set_size_inches(width, height)
        _add_colour_bar(figure, panels)
        _lay_out(figure)
    return figure


def _row_names(panel: Axes) -> list[str]:
    """Name the rows of a panel, if it has rows with names."""
    from matplotlib.ticker import FixedLocator

    has_rows = isinstance(panel.yaxis.get_major_locator(), FixedLocator)
    names = [text.get_text() for text in panel.get_yticklabels()] if has_rows else []
    return [name for name in names if not NUMBER.fullmatch(name)]


def _size() -> float:
    """Give the size of text in points."""
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def _label_outer(panels: Sequence[Axes], n_columns: int) -> None:
    """Label the ticks of the first panel of each row and the last of each column alone."""
    labels = [panel.get_xlabel() for panel in panels]
    for panel in panels:
        panel.label_outer()
    for panel, label in list(zip(panels, labels, strict=True))[-n_columns:]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(label)


def _fit_texts(
    figure: Figure,
    panels: Sequence[Axes],
    each: tuple[float, float],
    *,
    title: str,
    has_title: bool,
) -> None:
    """Break titles and labels into lines that fit; what all panels say stands once."""
    across, up = (0.85 * inches / (CHARACTER * _size()) for inches in each)
    width, height = (inches / (CHARACTER * _size()) for inches in figure.get_size_inches())
    if title and has_title:
        figure.suptitle(fill(title, int(0.9 * width)))
    for panel in panels:
        is_titled = has_title or len(panels) > 1
        panel.title.set_text(fill(panel.get_title(), int(across)) if is_titled else "")
    for along, shared, most in (("x", width, across), ("y", height, up)):
        labels = [getattr(panel, f"get_{along}label")() for panel in panels]
        is_shared = len(panels) > 1 and len(set(filter(None, labels))) == 1
        if is_shared:
            label = fill(next(filter(None, labels)), int(0.85 * shared))
            getattr(figure, f"sup{along}label")(label)
        for panel, label in zip(panels, labels, strict=True):
            panel.set(**{f"{along}label": "" if is_shared else fill(label, int(most))})


def _share_legend(figure: Figure, panels: Sequence[Axes], width: float, title: str | None) -> int:
    """Show a legend that all panels have, or begin, once, above; give its number of lines."""
    is_direct = len(panels) == 1 and panels[0].get_legend() is None
    if is_direct or not [panel for panel in panels if remove_curve_names(panel)]:
        return 0
    entries = [panel.get_legend_handles_labels() for panel in panels]
    handles, names = max(entries, key=lambda entry: len(entry[1]))
    if any(names[: len(some)] != some for _, some in entries):
        for panel in panels:
            label_curves(panel, ordered=True)
        return 0
    entry = (HANDLE + CHARACTER * max(map(len, names))) * _size()
    n_columns = min(len(names), max(1, int(width / entry)))
    figure.legend(
        handles,
        names,
        loc="outside upper center",
        ncols=n_columns,
        frameon=False,
        title=title,
        columnspacing=1.0,
        handlelength=2.2,
    )
    return ceil(len(names) / n_columns) + (title is not None)


def _add_colour_bar(figure: Figure, panels: Sequence[Axes]) -> None:
    """Show what the colours of cells mean, once for all panels."""
    images = [panel.images[0] for panel in panels if panel.images]
    if images:
        bar = figure.colorbar(images[0], ax=[*panels], aspect=30, fraction=0.05, pad=0.02)
        bar.outline.set_visible(False)
        most = 0.7 * figure.get_size_inches()[1] / (CHARACTER * _size())
        bar.set_label(fill(str(images[0].get_label()), int(most)))


def _lay_out(figure: Figure) -> None:
    """Find places once for all kinds of files; drop what would be too small or overlap."""
    every: list[Any] = [*figure.axes]
    every += [child for axes in figure.axes for child in axes.child_axes]
    for axes in every:
        # Else the number of ticks depends on settings when the figure is drawn.
        axes.tick_params(labelsize=_size())
    _find_places(figure)
    for _ in range(MOST_BREAKS):
        if not _break_long_texts(figure, every):
            break
        _find_places(figure)
    figure.set_layout_engine("none")
    for axes in every:
        _thin_out(axes.xaxis, gap=GAP)
        _thin_out(axes.yaxis, gap=0.0)
        cells = axes.images[0].get_array() if axes.images else None
        if cells is not None:
            wide, high = (72 * side / figure.dpi for side in axes.bbox.size)
            size = min(wide / cells.shape[1] / CELL_TEXT, high / cells.shape[0] / 1.3, _size())
            for text in axes.texts:
                text.set(fontsize=size, visible=size >= LEAST_TEXT)


def _find_places(figure: Figure) -> None:
    """Let matplotlib find the places of axes; refuse a figure without room for its texts."""
    layout = figure.get_layout_engine()
    if layout is None:
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=COLLAPSED, category=UserWarning)
        try:
            layout.execute(figure)
        except UserWarning:
            width, height = figure.get_size_inches()
            raise InputError(
                f"a figure {width:g} inches wide and {height:g} inches high has no room for its "
                "panels beside their texts: choose a larger width or height, a smaller font size, "
                "or fewer measures."
            ) from None


def _break_long_texts(figure: Figure, every: Sequence[Axes]) -> bool:
    """Break titles and labels that leave the canvas into more lines; tell whether there were any.

    Axes are lower than the panel that labels were broken for: they share it with a title.
    """
    texts = [*figure.texts]
    for axes in every:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
    any_long = False
    for text in texts:
        words = " ".join(text.get_text().split())
        if not words or not text.get_visible():
            continue
        is_upright = text.get_rotation() == 90
        box = text.get_window_extent()
        low, high = (box.y0, box.y1) if is_upright else (box.x0, box.x1)
        canvas = figure.bbox.height if is_upright else figure.bbox.width
        # Labels are centred at their axes: what is beyond one end is taken from both.
        beyond = max(-low, high - canvas)
        if beyond > 0:
            longest = max(map(len, text.get_text().split("\n")))
            n_characters = int(longest * max(1 - 2 * beyond / (high - low), 0.0))
            broken = fill(words, max(n_characters, 1), break_long_words=False)
            any_long |= broken != text.get_text()
            text.set_text(broken)
    return any_long


def _thin_out(axis: Axis, *, gap: float) -> None:
    """Drop labels of ticks that overlap."""
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=False)
    labels = [t for t, at in ticks if low <= at <= high and t.get_visible() and t.get_text()]
    boxes, step = [label.get_window_extent() for label in labels], 1
    while any(a.padded(gap).overlaps(b) for a, b in pairwise(boxes[::step])):
        step += 1
    for number, label in enumerate(labels):
        label.set_visible(number % step == 0)


def as_svg(figure: Figure) -> bytes:
    """Render as SVG, the same bytes every time; marked points tell their values when pointed at."""
    curves = [
        line
        for axes in figure.axes
        for line in axes.lines
        if not str(line.get_label()).startswith("_") and line.get_marker() not in ("None", "")
    ]
    for number, curve in enumerate(curves):
        curve.set_gid(f"{CURVE}{number}")
    svg = _render(figure, "svg").decode()
    for curve in curves:
        svg = _with_values(svg, str(curve.get_gid()), values_of(curve))
    return svg.encode()


def values_of(curve: Line2D) -> list[str]:
    """Say what each marked point of a curve is."""
    points = np.asarray(curve.get_xydata(), dtype=np.float64)
    every = curve.get_markevery()
    marked = points[:: every if isinstance(every, int) else 1]
    defined = marked[np.isfinite(marked).all(axis=1)]
    return [f"{curve.get_label()}, {x:g}: {y:.4g}" for x, y in defined]


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


def figure_writer(path: Path) -> Callable[[Figure], bytes]:
    """Give what writes a figure in the format that the name of a file ends in."""
    from matplotlib.backend_bases import FigureCanvasBase

    ending = path.suffix.lower().removeprefix(".")
    known = FigureCanvasBase.get_supported_filetypes()
    if ending not in known:
        endings = ", ".join(f".{each}" for each in sorted(known))
        raise InputError(f"{path}: the name must end in one of {endings}.")
    return WRITERS.get(ending) or partial(_save, kind=ending)


def _save(figure: Figure, *, kind: str) -> bytes:
    from matplotlib import rc_context

    if kind in SET_BY_LATEX:
        write_texts_for_latex(figure)
    stream = BytesIO()
    with rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=RESOLUTION)
    return stream.getvalue()


def write_texts_for_latex(figure: Figure) -> None:
    """Escape what would be a command of LaTeX in all texts of a figure, which is drawn once more.

    Names of systems and measures come from data.
    """
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_in_latex(axis.get_major_formatter()))
            axis.set_minor_formatter(_in_latex(axis.get_minor_formatter()))
    for text in figure.findobj(Text):
        text.set_text(_lines_in_latex(text.get_text()))


def _in_latex(formatter: Formatter) -> Formatter:
    """Escape what a formatter writes beside ticks that stay where they are."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, place: _lines_in_latex(formatter(value, place)))


def _lines_in_latex(text: str) -> str:
    return "\n".join(map(latex_text, text.split("\n")))


def _render(figure: Figure, kind: str) -> bytes:
    """Draw a figure, whose places are found, once; fonts in PDF are embedded as TrueType."""
    from matplotlib import rc_context

    stream, (canvas, method, undated) = BytesIO(), CANVASES[kind]
    with rc_context(STYLE):
        figure.set_dpi(RESOLUTION)
        drawn = getattr(import_module(f"matplotlib.backends.{canvas}"), method)(figure)
        figure.set_dpi(RESOLUTION)
        getattr(drawn, f"print_{kind}")(stream, metadata=dict.fromkeys(undated))
    return stream.getvalue()


WRITERS: Mapping[str, Callable[[Figure], bytes]] = {
    "svg": as_svg,
    "png": partial(_render, kind="png"),
    "pdf": partial(_render, kind="pdf"),
}
"""What writes a figure as bytes that are equal between runs."""
