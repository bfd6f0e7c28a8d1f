"""The look of figures: one palette, safe for the colour-blind and in grey; labels of curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.shared.estimate import Estimate
from analyses.shared.measure import Measures
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


# Okabe & Ito (2008), without the yellow that vanishes on white; neighbours differ in grey, too.
COLOURS = ("#0072B2", "#D55E00", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">")

FAR = 100
"""Logarithmic axes that end so many times above their start are labelled at powers of ten only."""

MOST_AT_ENDS = 20
"""Largest number of curves that are named where they end."""

LONGEST_AT_END = 24
"""Largest number of characters of such a name."""

NEAR_END = 0.85
"""Share of the width of the axes from which on a curve ends at the right."""

MOST_WITH_BANDS = 2
"""Curves whose bands or whiskers are drawn in full on the same axes: those of more are faint."""

FAINT = 0.4
"""Opacity of the bands or whiskers of more curves, as a share of the usual one."""

USUAL_OPACITY = "usual_opacity"
"""Attribute of a band, or whiskers: its opacity where it is not faint."""

LIMITS = "limits_of_points"
"""Attribute of a band, or whiskers: the `PointLimits` that it shows."""

SPREAD = "_spread of "
"""The label of a band, or whiskers, begins so; legends leave out what begins with a line."""

OTHERS = "0.8"
"""Grey of the curves behind one that is highlighted."""

OTHERS_IN_WORDS = "Grey: the curves of the other panels."

CELL_COLOURS = "Blues"
"""Colormap of cells, of which the lighter half is used."""

UNCOLOURED = "0.93"
"""Grey of cells without a colour."""

THICK = 2.0
THIN = 0.75
"""Widths of lines of two intervals of one point: the thin one is longer, and lies below."""

EXPLANATION = "explanation"
"""Attribute of an artist: the sentence by which the caption explains what is drawn."""


def explain(artist: Artist, sentence: str) -> None:
    """Attach to an artist, or to axes, the sentence by which the caption explains it."""
    setattr(artist, EXPLANATION, sentence)


def explanations(figure: Figure) -> list[str]:
    """Collect the explanations of what a figure shows, each once, panel by panel.

    They are sentences that `explain` attached to axes and what is drawn on them. What is hidden or
    was removed is not explained.
    """
    sentences: dict[str, None] = {}
    for axes in figure.axes:
        for artist in (axes, *axes.get_children()):
            sentence = getattr(artist, EXPLANATION, "")
            if sentence and artist.get_visible():
                sentences[sentence] = None
    return list(sentences)


@dataclass(frozen=True, eq=False)
class PointLimits:
    """The limits of the points of a curve, as a band or whiskers show them.

    Parameters
    ----------
    positions
        Where limits stand, of shape (n_points,): along the x-axis, or if limits are across, along
        the y-axis.
    lower, upper
        The limits, of shape (n_points,) each.
    across
        Whether limits are along the x-axis.
    """

    positions: NDArray[np.floating]
    lower: Floats
    upper: Floats
    across: bool = False

    def describe(self, x: float, y: float) -> str:
        """Write a point with its limits: "50: .831 [.80, .86]"; without, where there are none.

        The position comes first, then the value: x and y, or y and x if limits are across.
        """
        position, value = (y, x) if self.across else (x, y)
        indices = np.flatnonzero(np.isclose(self.positions, position))
        estimate = Estimate(value)
        if len(indices):
            index = indices[0]
            estimate = Estimate(value, float(self.lower[index]), float(self.upper[index]))
        return f"{position:.4g}: {estimate}"


def describe_points(curve: Line2D, points: Floats) -> list[str]:
    """Write points of a curve in words, with its label, and with limits if it has a band.

    ``points``, x and y, are of shape (n_points, 2). Such as "P@5, 50: .831 [.80, .86]".
    """
    label = str(curve.get_label())
    axes: Any = curve.axes
    limits_of_band: PointLimits | None = None
    for spread in spreads_of(axes):
        if spread.get_label() == SPREAD + label:
            limits_of_band = getattr(spread, LIMITS, limits_of_band)
    if limits_of_band is None:
        return [f"{label}, {x:g}: {y:.4g}" for x, y in points]
    return [f"{label}, {limits_of_band.describe(x, y)}" for x, y in points]


def panel_index(names: Sequence[str], name: str | None) -> int:
    """Look up the position, from 0, of the panel that is asked for by name; the first by default.

    Raises InputError if no panel has the name.
    """
    if name is not None and name not in names:
        raise InputError(f"there are {', '.join(names)} to draw, got {name}.")
    return names.index(name) if name else 0


def colours() -> list[str]:
    """List colours for what has no order: `COLOURS`, or those of matplotlib's changed settings.

    Each is a text such as "#0072B2".
    """
    from matplotlib import rcParams, rcParamsDefault
    from matplotlib.colors import to_hex

    current_cycle = rcParams["axes.prop_cycle"]
    if current_cycle == rcParamsDefault["axes.prop_cycle"]:
        return list(COLOURS)
    return [to_hex(colour) for colour in current_cycle.by_key()["color"]]


def ordered_colormap(default: str) -> Colormap:
    """Look up the colormap of what has an order: the default, or that of matplotlib's settings.

    ``default`` is a name. The settings count if they were changed.
    """
    from matplotlib import colormaps, rcParams, rcParamsDefault

    current = rcParams["image.cmap"]
    is_changed = current != rcParamsDefault["image.cmap"]
    return colormaps[current if is_changed else default]


def category_styles(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair labels without an order (metrics, systems) with colours, markers and dashes.

    Yields each label as text with keywords of matplotlib's ``plot``.
    """
    styles = zip(cycle(colours()), cycle(MARKERS), cycle(DASHES), strict=False)
    for label, (colour, marker, dash) in zip(labels, styles, strict=False):
        style = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 3.0}
        yield str(label), style


def gradation_styles(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair ordered labels (cut-offs) with shades that run from light to dark.

    Yields each label as text with keywords of matplotlib's ``plot``.
    """
    colormap = ordered_colormap("viridis_r")
    n_steps = max(len(labels) - 1, 1)
    for position, label in enumerate(labels):
        shade = colormap(0.1 + 0.9 * position / n_steps)
        dash = DASHES[position % len(DASHES)]
        yield str(label), {"color": shade, "linestyle": dash}


Curve = tuple[int, str, dict[str, Any]]
"""Position of a measure, label and style."""


def curve_styles(measures: Measures, *, metric: str | None = None) -> list[Curve]:
    """Choose the curves of a figure: a position, label and style for each.

    The curves are those of the cut-offs of one metric in the grid of ``measures``; without a
    metric, of their report measures. Positions are those in ``measures``; styles are keywords of
    matplotlib's ``plot``. Raises InputError if there are none.
    """
    if metric is not None:
        chosen = measures.curve(metric)
        styles = gradation_styles([measure.cutoff_label for measure in chosen])
    else:
        chosen = measures.reported
        styles = category_styles(chosen)
    if not chosen:
        raise InputError(f"there is nothing to draw of {metric or 'these measures'}.")
    indices = measures.indices(chosen)
    return [(index, label, style) for index, (label, style) in zip(indices, styles, strict=True)]


def label_curves(ax: Axes, *, ordered: bool = False) -> None:
    """Name curves where they end, or in a legend right of the axes, where it covers nothing.

    There is a legend if curves are ``ordered``, as cut-offs are, some handle is no curve, there are
    more than 20 (`MOST_AT_ENDS`), a name is longer than 24 characters (`LONGEST_AT_END`), or a
    curve ends before .85 of the width of the axes (`NEAR_END`). Of more than 2 curves
    (`MOST_WITH_BANDS`), bands and whiskers are faint. Nothing happens without labels.
    """
    from analyses.shared.end_labels import EndLabels, right_end

    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    are_faint = bool(crowded_spreads(ax))
    for spread in spreads_of(ax):
        _set_opacity(spread, is_faint=are_faint)
    ax.autoscale_view()
    curves = _joined_curves(handles)
    are_all_curves = len(curves) == len(handles)
    are_many = len(handles) > MOST_AT_ENDS
    has_long_name = max(len(label) for label in labels) > LONGEST_AT_END
    near_end = ax.bbox.x0 + NEAR_END * ax.bbox.width
    ends_early = any(right_end(curve, ax.bbox)[0] < near_end for curve in curves)
    if ordered or ends_early or has_long_name or are_many or not are_all_curves:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    else:
        EndLabels(ax, curves)


def _joined_curves(handles: Sequence[object]) -> list[Line2D]:
    """Select the curves, whose points are joined by lines, from the handles of a legend."""
    from matplotlib.lines import Line2D

    return [
        handle
        for handle in handles
        if isinstance(handle, Line2D) and handle.get_linestyle() != "None"
    ]


def count_named_curves(ax: Axes) -> int:
    """Count the curves that have a name; points that no line joins do not count."""
    handles, _ = ax.get_legend_handles_labels()
    return len(_joined_curves(handles))


def _set_opacity(spread: Collection, *, is_faint: bool) -> None:
    """Make a band, or whiskers, faint, or as opaque as it was drawn."""
    if not hasattr(spread, USUAL_OPACITY):
        opacity = spread.get_alpha()
        setattr(spread, USUAL_OPACITY, opacity if isinstance(opacity, float) else 1.0)
    usual_opacity = float(getattr(spread, USUAL_OPACITY))
    spread.set_alpha(FAINT * usual_opacity if is_faint else usual_opacity)


def remove_curve_names(ax: Axes) -> bool:
    """Remove the names that `label_curves` drew, a legend or names at ends.

    The result is whether there were any.
    """
    from matplotlib.legend import Legend

    from analyses.shared.end_labels import EndLabels

    candidates = [*ax.artists, ax.get_legend()]
    names = [artist for artist in candidates if isinstance(artist, EndLabels | Legend)]
    for artist in names:
        artist.remove()
    return bool(names)


def crowded_spreads(ax: Axes) -> list[str]:
    """Name the curves with bands or whiskers, if more than 2 (`MOST_WITH_BANDS`) have them."""
    labels = [str(spread.get_label()) for spread in spreads_of(ax)]
    names = [label.removeprefix(SPREAD) for label in dict.fromkeys(labels)]
    return names if len(names) > MOST_WITH_BANDS else []


def highlight_curve(ax: Axes, name: str) -> None:
    """Show one curve with its band or whiskers before all others in light grey, without names.

    ``name`` is the label of the curve, and becomes the title of the axes. Lines without a label
    stay as they are, and the bands of other curves are hidden.
    """
    remove_curve_names(ax)
    for spread in spreads_of(ax):
        spread.set_visible(spread.get_label() == SPREAD + name)
        _set_opacity(spread, is_faint=False)
    for line in ax.lines:
        label = str(line.get_label())
        is_another_curve = label != name and not label.startswith("_")
        if is_another_curve:
            line.set(color=OTHERS, linewidth=0.6, linestyle="-", marker="", label="_", zorder=1)
            explain(line, OTHERS_IN_WORDS)
    ax.set_title(name)


def keep_systems(ax: Axes, chosen: Sequence[str], systems: Sequence[str], *, figure: str) -> None:
    """Remove the curves of all systems but the chosen ones, with their bands and names.

    ``systems`` are the names of all systems; the label of a curve begins with one of them. The
    others are named anew, if curves had names. Raises InputError if no curve is of a single system,
    with the name of the figure, or if a chosen system is unknown.
    """
    artists_of_systems: dict[str, list[Artist]] = {system: [] for system in systems}
    for artist in [*ax.lines, *ax.collections, *ax.patches]:
        # Bands, and curves that are not named in legends, have a prefix before the name.
        label = str(artist.get_label()).removeprefix(SPREAD).lstrip("_")
        # A label may have more after a comma.
        system, _, _ = label.partition(", ")
        if system in artists_of_systems:
            artists_of_systems[system].append(artist)
    if not any(artists_of_systems.values()):
        raise InputError(f"{figure} does not show single systems: there is none to choose.")
    require_known("no system is called", chosen, systems)
    for system, artists in artists_of_systems.items():
        if system not in chosen:
            for artist in artists:
                artist.remove()
    if remove_curve_names(ax):
        label_curves(ax)


def spreads_of(ax: Axes) -> list[Collection]:
    """List the bands and whiskers of curves."""
    return [artist for artist in ax.collections if str(artist.get_label()).startswith(SPREAD)]


def set_log_scale(ax: Axes, *, along: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with a few plain numbers beside it.

    Nothing happens if no positive number is drawn. An axis that ends 100 times (`FAR`) above its
    start is labelled at powers of ten only, another also at twice and five times these.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = ax.xaxis if along == "x" else ax.yaxis
    # The smallest positive number that is drawn, or infinity.
    if not np.isfinite(axis.get_minpos()):
        return
    if along == "x":
        ax.set_xscale("log")
    else:
        ax.set_yscale("log")
    low, high = axis.get_view_interval()
    multiples = (1.0, 2.0, 5.0) if high < FAR * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=multiples))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


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
    """Print every value, at most 1, in a cell that is the darker, the higher it is.

    Parameters
    ----------
    ax
        The axes.
    values
        Of shape (n_names, n_names); a dash is printed for NaN.
    names
        Names of rows and columns. Cells of a name with itself, and of NaN, are grey.
    label
        What the colours mean.
    lowest
        Value of the lightest colour.
    """
    is_diagonal = np.eye(len(names), dtype=np.bool_)
    coloured_values = np.where(is_diagonal, np.nan, values)
    # NaN is drawn in a light grey.
    colormap = _cell_colormap().with_extremes(bad=UNCOLOURED)
    image = ax.imshow(coloured_values, cmap=colormap, vmin=lowest, vmax=1.0, aspect="auto")
    image.set_label(label)
    explanation = "Grey cells: a row and the column of the same name."
    if np.isnan(values[~is_diagonal]).any():
        explanation = "Grey cells: undefined (–), or a row and the column of the same name."
    explain(image, explanation)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    font_size = 8 if len(names) < 9 else 6
    backgrounds = image.to_rgba(np.ma.masked_invalid(coloured_values))
    for (row, column), value in np.ndenumerate(values):
        colour = readable_ink(backgrounds[row, column])
        text = ax.text(column, row, _cell_text(value), ha="center", va="center", color=colour)
        # Cells lie within the axes: the layout need not look at hundreds of them.
        text.set(fontsize=font_size, in_layout=False)


def _cell_colormap() -> Colormap:
    """Make the colours of cells: the lighter half of Blues, or the colormap of the settings.

    Black numbers are read well on the lighter half (a contrast of 8.6 or more), and still where a
    page inverts the colours for the dark (4.7).
    """
    from matplotlib.colors import ListedColormap

    colormap = ordered_colormap(CELL_COLOURS)
    if colormap.name != CELL_COLOURS:
        return colormap
    lighter_half = colormap(np.linspace(0.0, 0.5, 256))
    return ListedColormap(lighter_half, name=CELL_COLOURS)


def readable_ink(background: Any) -> str:
    """Choose "black" or "white" for a text, whichever has the higher contrast; at least 4.5.

    ``background`` is any colour of matplotlib.
    """
    with_black = contrast("black", background)
    with_white = contrast("white", background)
    return "black" if with_black >= with_white else "white"


def contrast(first: Any, second: Any) -> float:
    """Compute the contrast of two colours, from 1 (the same) to 21 (black and white).

    It is that of the Web Content Accessibility Guidelines 2.2, which ask for 4.5 for text. Colours
    are any of matplotlib's, of which an opacity is left out.
    """
    from matplotlib.colors import to_rgb

    luminances = [_relative_luminance(to_rgb(colour)) for colour in (first, second)]
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def _relative_luminance(rgb: tuple[float, float, float]) -> float:
    """Compute the luminance of a colour of sRGB, each part from 0 to 1, relative to white."""
    parts = np.array(rgb)
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _cell_text(value: float) -> str:
    """Print a value with two decimals and no 0 before the point; 1 without, a dash for NaN."""
    if np.isnan(value):
        return "–"
    return "1" if value == 1 else f"{value:.2f}".replace("0.", ".")


def draw_band(
    ax: Axes,
    positions: NDArray[np.floating],
    limits: tuple[Floats, Floats],
    style: Mapping[str, Any],
    *,
    label: str,
    explanation: str,
    across: bool = False,
) -> None:
    """Draw the band of a curve below all curves, in its colour.

    The label of the band is `SPREAD` and that of the curve, which legends leave out.

    Parameters
    ----------
    ax
        The axes.
    positions
        Where the limits stand along the x-axis, of shape (n_points,).
    limits
        The lower and the upper limits, of shape (n_points,) each.
    style
        Keywords of the curve, of which its "color" is taken.
    label
        The label of the curve.
    explanation
        A sentence for the caption: what bands are.
    across
        Whether limits are along the x-axis, and positions along the y-axis.
    """
    lower, upper = limits
    draw = ax.fill_betweenx if across else ax.fill_between
    band = draw(positions, lower, upper, color=style["color"], alpha=0.18, linewidth=0, zorder=1)
    band.set_label(SPREAD + label)
    explain(band, explanation)
    point_limits = PointLimits(np.asarray(positions), lower, upper, across=across)
    setattr(band, LIMITS, point_limits)


def draw_whiskers(
    ax: Axes,
    positions: NDArray[np.floating],
    values: Floats,
    limits: tuple[Floats, Floats],
    style: Mapping[str, Any],
    *,
    label: str,
    explanation: str,
) -> None:
    """Draw a curve whose points have a thin line, a whisker, from the lower to the upper limit.

    The label of whiskers is `SPREAD` and that of the curve, which legends leave out; points that no
    line joins have whiskers without a label, which are never hidden.

    Parameters
    ----------
    ax
        The axes.
    positions, values
        The points along the x-axis and the y-axis, of shape (n_points,) each.
    limits
        The lower and the upper limits, of shape (n_points,) each.
    style
        Keywords of matplotlib's ``plot`` for the curve.
    label
        The label of the curve.
    explanation
        A sentence for the caption: what these lines are; left out if no limits differ.
    """
    lower, upper = limits
    (line,) = ax.plot(positions, values, label=label, **style)
    whiskers = ax.vlines(
        positions, lower, upper, color=style["color"], linewidth=0.7, alpha=0.6, zorder=1
    )
    if (upper > lower).any():
        explain(whiskers, explanation)
    if line.get_linestyle() != "None":
        whiskers.set_label(SPREAD + label)
        setattr(whiskers, LIMITS, PointLimits(np.asarray(positions), lower, upper))


def draw_rows(
    ax: Axes,
    names: Sequence[str],
    values: Floats,
    limits: tuple[Floats, Floats],
    *,
    explanation: str,
) -> None:
    """Draw a point with its limits in a row for each name, the highest on top.

    ``values`` and both limits, the lower and the upper, are of shape (n_names,). The explanation is
    a sentence for the caption: what points and lines are.
    """
    lower, upper = limits
    from_lowest = np.argsort(values, kind="stable")
    rows = np.arange(len(names))
    first_colour, *_ = colours()
    lines = ax.hlines(rows, lower[from_lowest], upper[from_lowest], first_colour)
    explain(lines, explanation)
    ax.plot(values[from_lowest], rows, "o", color=first_colour, markersize=4)
    ax.set_yticks(rows, [names[index] for index in from_lowest])


def draw_intervals(
    ax: Axes, rows: NDArray[Any], limits: Sequence[Floats], width: float, *, over: str
) -> None:
    """Draw 95 % intervals in rows as thick or thin lines, and explain what they are over.

    ``rows``, their heights, and both limits, the lower and the upper, are of shape (n_rows,).
    ``width`` is `THICK` or `THIN`. The explanation is left out if no limits differ.
    """
    lower, upper = limits
    first_colour, *_ = colours()
    lines = ax.hlines(rows, lower, upper, first_colour, linewidth=width)
    if (upper > lower).any():
        adjective = "Thick" if width == THICK else "Thin"
        explain(lines, f"{adjective} lines: 95 % intervals over {over}.")
