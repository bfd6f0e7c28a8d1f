"""What a figure shows, as numbers."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from analyses.shared.drawing import explanations

Floats = NDArray[np.float64]
Point = tuple[float, float]


def points(line: Line2D) -> Floats:
    """The points of a line, of shape (n, 2): x, then y."""
    return np.asarray(line.get_xydata(), dtype=np.float64)


def curve(ax: Axes, name: str) -> Floats:
    """The points of the first line whose label begins with a name, of shape (n, 2)."""
    return points(next(line for line in ax.lines if str(line.get_label()).startswith(name)))


def segments(ax: Axes, number: int = 0) -> Floats:
    """Both ends of the straight lines that are drawn together, of shape (n, 2, 2)."""
    lines: Any = ax.collections[number]
    return np.array(lines.get_segments(), dtype=np.float64)


def corners(ax: Axes) -> Floats:
    """The corners of the first band, of shape (n, 2)."""
    band = next(each for each in ax.collections if each.get_paths())
    return np.asarray(band.get_paths()[0].vertices, dtype=np.float64)


def band_at(ax: Axes, place: float) -> list[float]:
    """The limits of the first band at a place of the x-axis, rising."""
    found = corners(ax)
    return sorted({round(float(y), 9) for x, y in found if x == place})


def explained(ax: Axes) -> str:
    """What the caption explains of a figure of one panel."""
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    return " ".join(explanations(figure))


def points_of(line: Line2D) -> list[Point]:
    """List the points of a curve."""
    return [(x, y) for x, y in points(line).tolist()]


def segments_of(ax: Axes) -> list[tuple[Point, Point]]:
    """List the ends of all lines that are drawn as collections, one collection after the other."""
    listed = []
    for number, lines in enumerate(ax.collections):
        if isinstance(lines, LineCollection):
            for (x_start, y_start), (x_end, y_end) in segments(ax, number).tolist():
                listed.append(((x_start, y_start), (x_end, y_end)))
    return listed


def corners_of(band: Collection) -> set[Point]:
    """Collect the corners of a band, to 9 decimals."""
    (path,) = band.get_paths()
    corners = np.asarray(path.vertices).round(9).tolist()
    return {(x, y) for x, y in corners}
