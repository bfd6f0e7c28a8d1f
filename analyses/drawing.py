"""How the figures look: one palette, safe for the colour-blind, distinguishable in grey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito (2008), without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def axes_or_new(ax: Axes | None) -> Axes:
    """Give the axes back, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(5.0, 3.6), layout="constrained").subplots()


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
