"""How the figures look: one palette, safe for the colour-blind, distinguishable in grey."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measures
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito (2008), without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
FAR = 100
"""Logarithmic axes that end so many times above their start are labelled at powers of ten only."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h", ">")


def axes_or_new(ax: Axes | None) -> Axes:
    """Give the axes back, or those of a new figure of pyplot's, which notebooks show."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    axes: Axes = pyplot.figure(figsize=(5.0, 3.6), layout="constrained").subplots()
    return axes


def chosen_panel(names: Sequence[str], name: str | None) -> int:
    """Number the panel that is asked for; the first by default.

    Raises
    ------
    InputError
        If there is none.
    """
    if name is not None and name not in names:
        raise InputError(f"there are {', '.join(names)} to draw, got {name}.")
    return names.index(name) if name else 0


def categories(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair labels without an order (metrics, systems) with colours, markers and dashes.

    Examples
    --------
    >>> [style["marker"] for _, style in categories(["P", "AP"])]
    ['o', 's']
    """
    styles = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    for label, (colour, marker, dash) in zip(labels, styles, strict=False):
        style = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 3.5}
        yield str(label), style


def gradations(labels: Sequence[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pair ordered labels (cut-offs) with shades that run from light to dark."""
    from matplotlib import colormaps

    shades = colormaps["viridis_r"]
    for position, label in enumerate(labels):
        shade = shades(0.1 + 0.9 * position / max(len(labels) - 1, 1))
        yield str(label), {"color": shade, "linestyle": DASHES[position % len(DASHES)]}


Curve = tuple[int, str, dict[str, Any]]
"""Position of a measure, label and style."""


def curves_of(
    measures: Measures, *, metric: str | None = None, cutoff: int | None = None
) -> list[Curve]:
    """Choose the curves of a figure: the cut-offs of one metric, or the metrics at one cut-off.

    Without either these are the report measures.

    Returns
    -------
    Position among the measures, label and style of each curve.

    Raises
    ------
    InputError
        If both are given, or nothing was measured there.

    Examples
    --------
    >>> from analyses.shared.measure import Measure
    >>> measures = Measures([Measure("P", 5), Measure("P", 10), Measure("AP")])
    >>> [label for _, label, _ in curves_of(measures)]
    ['P@10', 'AP']
    >>> [label for _, label, _ in curves_of(measures, metric="P")]
    ['@5', '@10']
    """
    if metric is not None and cutoff is not None:
        raise InputError("give a `metric` or a `cutoff` to draw, not both.")
    if metric is not None:
        chosen = measures.curve(metric)
        labelled = gradations([measure.place for measure in chosen])
    else:
        chosen = measures.compared(cutoff)
        labelled = categories(chosen.labels)
    if not chosen:
        raise InputError(f"nothing was measured for {metric or f'cut-off {cutoff}'}.")
    numbered = zip(measures.numbers(chosen), labelled, strict=True)
    return [(number, label, style) for number, (label, style) in numbered]


def panel_title(measures: Measures, *, metric: str | None, cutoff: int | None) -> str:
    """Name the metric, or the place at which metrics are compared, if that is one."""
    return measures.compared(cutoff).place if metric is None else metric


def legend_beside(ax: Axes) -> None:
    """Put the legend right of the axes, where it covers nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")


def scale_by_factors(ax: Axes, *, along: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with a few plain numbers beside it, if anything is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if not has_positive(ax, along=along):
        return
    ax.set(**{f"{along}scale": "log"})
    axis = ax.xaxis if along == "x" else ax.yaxis
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < FAR * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def has_positive(ax: Axes, *, along: Literal["x", "y"]) -> bool:
    """Tell whether something is drawn that has a place on a logarithmic axis."""
    axis = ax.xaxis if along == "x" else ax.yaxis
    return bool(np.isfinite(axis.get_minpos()))


def draw_band(
    ax: Axes,
    places: NDArray[np.floating],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    style: Mapping[str, Any],
) -> None:
    """Draw a band below all curves: faint, so that many may lie over each other, with thin edges.

    The edges have the dashes of the curve, so that bands can be told apart in grey.
    """
    colour, dash = style["color"], style["linestyle"]
    ax.fill_between(places, low, high, color=colour, alpha=0.06, linewidth=0, zorder=1)
    for limit in (low, high):
        ax.plot(places, limit, color=colour, linestyle=dash, linewidth=0.5, alpha=0.6, zorder=1)


def draw_whiskers(
    ax: Axes,
    places: NDArray[np.floating],
    values: NDArray[np.float64],
    limits: tuple[NDArray[np.float64], NDArray[np.float64]],
    style: Mapping[str, Any],
    *,
    label: str,
) -> None:
    """Draw a curve whose points have a thin line from the lower to the upper limit."""
    ax.plot(places, values, label=label, **style)
    ax.vlines(places, *limits, color=style["color"], linewidth=0.9, alpha=0.6, zorder=1)


def side_by_side(places: Sequence[int], n_curves: int) -> Iterator[NDArray[np.float64]]:
    """Move each curve a little along a logarithmic axis, so that whiskers do not cover another.

    Examples
    --------
    >>> [moved.round(1).tolist() for moved in side_by_side([100], 3)]
    [[98.0], [100.0], [102.0]]
    """
    for number in range(n_curves):
        yield np.asarray(places) * 1.02 ** (number - (n_curves - 1) / 2)
