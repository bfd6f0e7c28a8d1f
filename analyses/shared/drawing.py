"""The look of figures: one palette, safe for the colour-blind and in grey; labels of curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterMathtext
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from analyses.shared.measure import Measures
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.collections import Collection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


# Okabe & Ito (2008), without the yellow that vanishes on white; neighbours differ in grey, too.
COLOURS = ("#0072B2", "#D55E00", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#000000")
DASHES = ("-", "--", "-.", ":")
FAR = 100
"""Logarithmic axes that end so many times above their start are labelled at powers of ten only."""

MOST_AT_ENDS, LONGEST_AT_END, NEAR_END = 9, 16, 0.85
"""Curves that are named where they end, characters of such a name, and where the ends begin."""

MOST_WITH_BANDS = 2
"""Curves whose bands or whiskers are drawn on the same axes: more are a grey mud."""

SPREAD = "_spread of "
"""The label of a band, or whiskers, begins so; legends leave out what begins with a line."""

OTHERS = "0.8"
"""Grey of the curves behind one that is singled out."""

THICK, THIN = 2.0, 0.75
"""Widths of lines of two intervals of one point: the thin one is longer, and lies below."""

OTHERS_IN_WORDS = "Grey: the curves of the other panels."

EXPLANATION = "explanation"
"""Attribute of an artist: the sentence by which the caption explains what is drawn."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">")


def explain(artist: Artist, sentence: str) -> None:
    """Attach to an artist, or to axes, the sentence by which the caption explains it."""
    setattr(artist, EXPLANATION, sentence)


def explanations(figure: Figure) -> list[str]:
    """Collect the explanations of what a figure shows, each once, panel by panel.

    What is hidden or was removed is not explained.
    """
    sentences: dict[str, None] = {}
    for axes in figure.axes:
        for artist in (axes, *axes.get_children()):
            sentence = getattr(artist, EXPLANATION, "")
            if sentence and artist.get_visible():
                sentences[sentence] = None
    return [*sentences]


def panel_index(names: Sequence[str], name: str | None) -> int:
    """Number the panel that is asked for; the first by default."""
    if name is not None and name not in names:
        raise InputError(f"there are {', '.join(names)} to draw, got {name}.")
    return names.index(name) if name else 0


def colours() -> list[str]:
    """Give colours for what has no order: those of matplotlib's settings, if they are changed."""
    from matplotlib import rcParams, rcParamsDefault

    cycled = rcParams["axes.prop_cycle"]
    is_usual = cycled == rcParamsDefault["axes.prop_cycle"]
    return [*COLOURS] if is_usual else [to_hex(each) for each in cycled.by_key()["color"]]


def ordered_colormap(usual: str) -> Colormap:
    """Give the colormap of what has an order: that of matplotlib's settings, if it is changed."""
    from matplotlib import colormaps, rcParams, rcParamsDefault

    chosen = rcParams["image.cmap"]
    return colormaps[usual if chosen == rcParamsDefault["image.cmap"] else chosen]


def category_styles(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair labels without an order (metrics, systems) with colours, markers and dashes."""
    styles = zip(cycle(colours()), cycle(MARKERS), cycle(DASHES), strict=False)
    for label, (colour, marker, dash) in zip(labels, styles, strict=False):
        style = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 3.0}
        yield str(label), style


def gradation_styles(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair ordered labels (cut-offs) with shades that run from light to dark."""
    scale = ordered_colormap("viridis_r")
    for position, label in enumerate(labels):
        shade = scale(0.1 + 0.9 * position / max(len(labels) - 1, 1))
        yield str(label), {"color": shade, "linestyle": DASHES[position % len(DASHES)]}


Curve = tuple[int, str, dict[str, Any]]
"""Position of a measure, label and style."""


def curve_styles(measures: Measures, *, metric: str | None = None) -> list[Curve]:
    """Choose the curves of a figure: the cut-offs of one metric, or the report measures."""
    if metric is not None:
        chosen = measures.curve(metric)
        labelled = gradation_styles([measure.cutoff_label for measure in chosen])
    else:
        chosen = measures.reported
        labelled = category_styles(chosen.labels)
    if not chosen:
        raise InputError(f"there is nothing to draw of {metric or 'these measures'}.")
    numbered = zip(measures.indices(chosen), labelled, strict=True)
    return [(number, label, style) for number, (label, style) in numbered]


def panel_title(measures: Measures, *, metric: str | None) -> str:
    """Name the metric, or the place at which metrics are compared, if that is one."""
    return measures.reported.common_depth if metric is None else metric


def label_curves(ax: Axes, *, ordered: bool = False) -> None:
    """Name curves where they end, or in a legend right of the axes, where it covers nothing.

    A legend has what is ordered, as cut-offs are, what is no curve, many curves, long names, and
    curves that end far from the right.
    Of more than two curves the bands and whiskers are hidden: see `highlight_curve`.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    for band in spreads_of(ax):
        band.set_visible(len(labels) <= MOST_WITH_BANDS)
    curves = [h for h in handles if isinstance(h, Line2D) and h.get_linestyle() != "None"]
    are_few = len(curves) == len(handles) <= MOST_AT_ENDS
    are_long = max(map(len, labels)) > LONGEST_AT_END
    ax.autoscale_view()
    near = ax.bbox.x0 + NEAR_END * ax.bbox.width
    end_far = any(right_end(curve, ax.bbox)[0] < near for curve in curves)
    if ordered or end_far or are_long or not are_few:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    else:
        EndLabels(ax, curves)


def remove_curve_names(ax: Axes) -> bool:
    """Take away what `label_curves` draws; tell whether there was any."""
    names = [a for a in [*ax.artists, ax.get_legend()] if isinstance(a, EndLabels | Legend)]
    for each in names:
        each.remove()
    return bool(names)


def hidden_spreads(ax: Axes) -> list[str]:
    """Name the curves whose bands or whiskers are drawn but hidden, as they are too many."""
    hidden = [str(band.get_label()) for band in spreads_of(ax) if not band.get_visible()]
    return [label.removeprefix(SPREAD) for label in dict.fromkeys(hidden)]


def highlight_curve(ax: Axes, name: str) -> None:
    """Show one curve with its band or whiskers before all others in light grey, without names."""
    remove_curve_names(ax)
    for band in spreads_of(ax):
        band.set_visible(band.get_label() == SPREAD + name)
    for line in ax.lines:
        if str(line.get_label()) != name and not str(line.get_label()).startswith("_"):
            line.set(color=OTHERS, linewidth=0.6, linestyle="-", marker="", label="_", zorder=1)
            explain(line, OTHERS_IN_WORDS)
    ax.set_title(name)


def keep_systems(ax: Axes, chosen: Sequence[str], known: Sequence[str], *, figure: str) -> None:
    """Remove the curves of all systems but some; refuse where curves are of other things."""
    of_systems: dict[str, list[Artist]] = {system: [] for system in known}
    for artist in [*ax.lines, *ax.collections, *ax.patches]:
        system = str(artist.get_label()).removeprefix(SPREAD).lstrip("_").partition(", ")[0]
        of_systems.get(system, []).append(artist)
    if not any(of_systems.values()):
        raise InputError(f"{figure} does not show single systems: there is none to choose.")
    require_known("no system is called", chosen, known)
    for system, artists in of_systems.items():
        for artist in artists if system not in chosen else ():
            artist.remove()
    if remove_curve_names(ax):
        label_curves(ax)


def spreads_of(ax: Axes) -> list[Collection]:
    """Give the bands and whiskers of curves."""
    return [c for c in ax.collections if str(c.get_label()).startswith(SPREAD)]


def set_log_scale(ax: Axes, *, along: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with a few plain numbers beside it, if anything is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = ax.xaxis if along == "x" else ax.yaxis
    if not np.isfinite(axis.get_minpos()):
        return
    ax.set(**{f"{along}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < FAR * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


class _PlainLogNumbers(LogFormatterMathtext):
    """Numbers beside a logarithmic axis where matplotlib's formulas stand, such as 100 or 1e-05."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Write a number, if matplotlib writes one there."""
        return f"{x:g}" if super().__call__(x, pos) else ""


def write_plain_numbers(ax: Axes) -> None:
    """Write powers beside logarithmic axes as plain numbers: no text is parsed as a formula."""
    for axis in (ax.xaxis, ax.yaxis):
        base = getattr(axis.get_transform(), "base", 10.0)
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(_PlainLogNumbers(base=base))
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(_PlainLogNumbers(base=base, labelOnlyBase=False))


def keep_texts_unparsed(ax: Axes) -> None:
    """Make the labels beside ticks now, as later ones would be parsed as formulas.

    Title and labels of the axes may be replaced by formulas, unless they have a dollar sign.
    """
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_ticklabels()
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_parse_math("$" not in text.get_text())


def draw_matrix(
    ax: Axes, values: Floats, names: Sequence[str], *, label: str, lowest: float
) -> None:
    """Print every value, at most 1, in a cell that is the darker, the higher it is."""
    others = np.where(np.eye(len(names), dtype=np.bool_), np.nan, values)
    blues = ordered_colormap("Blues").with_extremes(bad="0.93")
    image = ax.imshow(others, cmap=blues, vmin=lowest, vmax=1.0, aspect="auto")
    image.set_label(label)
    grey = "Grey cells: a row and the column of the same name."
    if np.isnan(others[~np.eye(len(names), dtype=np.bool_)]).any():
        grey = "Grey cells: undefined (–), or a row and the column of the same name."
    explain(image, grey)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    dark = lowest + 0.6 * (1.0 - lowest)
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if row != column and value > dark else "black"
        text = "–" if np.isnan(value) else "1" if value == 1 else f"{value:.2f}".replace("0.", ".")
        printed = ax.text(column, row, text, ha="center", va="center", color=colour)
        # Cells lie within the axes: the layout need not look at hundreds of them.
        printed.set(fontsize=8 if len(names) < 9 else 6, in_layout=False)


def draw_band(
    ax: Axes,
    places: NDArray[np.floating],
    limits: tuple[Floats, Floats],
    style: Mapping[str, Any],
    *,
    label: str,
    explanation: str,
    across: bool = False,
) -> None:
    """Draw the band of a curve below all curves; across, if limits are along the x-axis.

    The explanation is a sentence for the caption: what bands are.
    """
    fill = ax.fill_betweenx if across else ax.fill_between
    band = fill(places, *limits, color=style["color"], alpha=0.18, linewidth=0, zorder=1)
    band.set_label(SPREAD + label)
    explain(band, explanation)


def draw_whiskers(
    ax: Axes,
    places: NDArray[np.floating],
    values: Floats,
    limits: tuple[Floats, Floats],
    style: Mapping[str, Any],
    *,
    label: str,
    explanation: str,
) -> None:
    """Draw a curve whose points have a thin line from the lower to the upper limit.

    The explanation is a sentence for the caption: what these lines are.
    """
    (line,) = ax.plot(places, values, label=label, **style)
    whiskers = ax.vlines(places, *limits, color=style["color"], linewidth=0.7, alpha=0.6, zorder=1)
    if (limits[1] > limits[0]).any():
        explain(whiskers, explanation)
    if line.get_linestyle() != "None":
        whiskers.set_label(SPREAD + label)


def draw_rows(
    ax: Axes,
    names: Sequence[str],
    values: Floats,
    limits: tuple[Floats, Floats],
    *,
    explanation: str,
) -> None:
    """Draw a point with its limits in a row for each name, the highest on top.

    The explanation is a sentence for the caption: what points and lines are.
    """
    low, high = limits
    order = np.argsort(values, kind="stable")
    rows = np.arange(len(names))
    lines = ax.hlines(rows, low[order], high[order], colours()[0])
    explain(lines, explanation)
    ax.plot(values[order], rows, "o", color=colours()[0], markersize=4)
    ax.set_yticks(rows, [names[place] for place in order])


def draw_intervals(
    ax: Axes, rows: NDArray[Any], limits: Sequence[Floats], width: float, *, over: str
) -> None:
    """Draw 95 % intervals in rows as thick or thin lines, and say what they are over.

    Rows, and each of the two limits, are of shape (n_rows,).
    """
    low, high = limits
    lines = ax.hlines(rows, low, high, colours()[0], linewidth=width)
    if (high > low).any():
        name = "Thick" if width == THICK else "Thin"
        explain(lines, f"{name} lines: 95 % intervals over {over}.")


REACH, GAP = 11.0, 3.0
"""From the axes to the marks beside names, and from these to the names, in points."""

LINE = 1.2
"""Distance of two names, in sizes of their type."""


class EndLabels(Artist):
    """Names beside axes, each as near as others let it to the right end of its curve.

    Thin lines lead from the ends to the names, with the mark of the curve. Places are found anew
    whenever the figure is drawn, so that axes may be scaled after.
    """

    def __init__(self, ax: Axes, curves: Sequence[Line2D]) -> None:
        super().__init__()
        self.box, self.curves = ax.bbox, curves
        self.names = [Text(text=str(c.get_label()), va="center") for c in curves]
        self.leaders = [Line2D([], [], linewidth=0.6, markevery=[1]) for _ in curves]
        for leader, curve in zip(self.leaders, curves, strict=True):
            leader.set(color=curve.get_color(), marker=curve.get_marker())
            leader.set_markersize(curve.get_markersize())
        ax.add_artist(self)
        self.set_clip_on(False)
        root = ax.get_figure(root=True)
        if root is not None:
            for part in self.get_children():
                part.set_figure(root)

    def get_children(self) -> list[Artist]:
        """Give lines and names."""
        return [*self.leaders, *self.names]

    def draw(self, renderer: RendererBase) -> None:
        """Draw lines and names."""
        self._place(renderer)
        for part in self.get_children():
            part.draw(renderer)

    def get_window_extent(self, renderer: RendererBase | None = None) -> Bbox:
        """Give the room that the names take."""
        root = self.get_figure(root=True)
        self._place(renderer or root.canvas.get_renderer())  # type: ignore[union-attr]
        return Bbox.union([name.get_window_extent(renderer) for name in self.names])

    def _place(self, renderer: RendererBase) -> None:
        box, point = self.box, float(np.asarray(renderer.points_to_pixels(1.0)))
        ends = np.array([right_end(curve, box) for curve in self.curves])
        apart = LINE * point * max(float(name.get_fontsize()) for name in self.names)
        heights = spread_heights(ends[:, 1], apart, (box.y0, box.y1))
        x = box.x1 + REACH * point
        for name, leader, end, y in zip(self.names, self.leaders, ends, heights, strict=True):
            name.set_position((x + GAP * point, y))
            leader.set_data([end[0], x], [end[1], y])


def right_end(curve: Line2D, box: Bbox) -> tuple[float, float]:
    """Find where a curve ends at the right, in pixels, within axes; their corner if nowhere."""
    points = curve.get_transform().transform(np.asarray(curve.get_xydata(), dtype=np.float64))
    drawn = points[np.isfinite(points).all(axis=1)]
    if not len(drawn):
        return float(box.x1), float(box.y0)
    x, y = drawn[drawn[:, 0].argmax()]
    return min(float(x), box.x1), float(np.clip(y, box.y0, box.y1))


def spread_heights(wanted: Floats, apart: float, limits: tuple[float, float]) -> Floats:
    """Move heights as little as may be, in the mean square, so that none are nearer than asked.

    Of equal heights the first comes out on top.
    """
    order = np.lexsort((-np.arange(len(wanted)), wanted))
    steps = apart * np.arange(len(wanted))
    low, high = limits
    starts = isotonic_regression(wanted[order] - steps).x
    found = np.empty(len(wanted))
    found[order] = np.clip(starts, low, max(low, high - steps[-1])) + steps
    return found
