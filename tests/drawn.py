"""What is drawn on axes, as numbers."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.lines import Line2D

Point = tuple[float, float]


def points_of(line: Line2D) -> list[Point]:
    """List the points of a curve."""
    xs = np.asarray(line.get_xdata(), dtype=np.float64)
    ys = np.asarray(line.get_ydata(), dtype=np.float64)
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def segments_of(ax: Axes) -> list[tuple[Point, Point]]:
    """List the ends of all lines that are drawn as collections, one collection after the other."""
    segments = []
    for lines in ax.collections:
        if isinstance(lines, LineCollection):
            for segment in lines.get_segments():
                (x_start, y_start), (x_end, y_end) = np.asarray(segment).tolist()
                segments.append(((x_start, y_start), (x_end, y_end)))
    return segments


def corners_of(band: Collection) -> set[Point]:
    """Collect the corners of a band, to 9 decimals."""
    (path,) = band.get_paths()
    corners = np.asarray(path.vertices).round(9).tolist()
    return {(x, y) for x, y in corners}
