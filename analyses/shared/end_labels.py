"""Names of curves at their right ends, beside the axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from scipy.optimize import isotonic_regression

from runs.shared.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

MARKER_DISTANCE = 11.0
"""From the axes to the marks beside names, in points."""

NAME_DISTANCE = 3.0
"""From the marks to the names, in points."""

LINE_HEIGHT = 1.2
"""Distance of two names, in sizes of their type."""


class EndLabels(Artist):
    """Names beside axes, each as near as others let it to the right end of its curve.

    Thin lines (leaders) lead from the ends to the names, with the mark of the curve. Places are
    found anew whenever the figure is drawn, so that axes may be scaled after.
    """

    def __init__(self, ax: Axes, curves: Sequence[Line2D]) -> None:
        """Make the names and leaders (thin lines to the names) of curves, and add them to the axes.

        Names are the labels of the curves, which are drawn on ``ax``.
        """
        super().__init__()
        self.box = ax.bbox
        self.curves = curves
        self.names = [Text(text=str(curve.get_label()), va="center") for curve in curves]
        self.leaders = [_leader_of(curve) for curve in curves]
        ax.add_artist(self)
        self.set_clip_on(False)
        root_figure = ax.get_figure(root=True)
        if root_figure is not None:
            for part in self.get_children():
                part.set_figure(root_figure)

    def get_children(self) -> list[Artist]:
        """List the leaders and names."""
        return [*self.leaders, *self.names]

    def draw(self, renderer: RendererBase) -> None:
        """Draw the leaders and names, at their places."""
        self._place(renderer)
        for part in self.get_children():
            part.draw(renderer)

    def get_window_extent(self, renderer: RendererBase | None = None) -> Bbox:
        """Compute the box around the names, in pixels."""
        root_figure = self.get_figure(root=True)
        self._place(renderer or root_figure.canvas.get_renderer())  # type: ignore[union-attr]
        return Bbox.union([name.get_window_extent(renderer) for name in self.names])

    def _place(self, renderer: RendererBase) -> None:
        """Set the positions of names and leaders, in pixels, to where the curves now end.

        ``self.names`` are texts and ``self.leaders`` lines, one for each of ``self.curves``;
        ``self.box`` is that of the axes. Names stand right of the axes, at the height of the ends
        but at least `LINE_HEIGHT` apart.
        """
        # Pixels in a point.
        point = float(np.asarray(renderer.points_to_pixels(1.0)))
        largest_size = max(float(name.get_fontsize()) for name in self.names)
        distance = LINE_HEIGHT * point * largest_size
        ends = np.array([right_end(curve, self.box) for curve in self.curves])
        heights = spread_heights(ends[:, 1], distance, (self.box.y0, self.box.y1))
        marker_x = self.box.x1 + MARKER_DISTANCE * point
        name_x = marker_x + NAME_DISTANCE * point
        for name, leader, end, height in zip(self.names, self.leaders, ends, heights, strict=True):
            name.set_position((name_x, height))
            leader.set_data([end[0], marker_x], [end[1], height])


def _leader_of(curve: Line2D) -> Line2D:
    """Make a thin line of two points in the colour of a curve, the second with its mark."""
    return Line2D(
        [],
        [],
        linewidth=0.6,
        markevery=[1],
        color=curve.get_color(),
        marker=curve.get_marker(),
        markersize=curve.get_markersize(),
    )


def right_end(curve: Line2D, box: Bbox) -> tuple[float, float]:
    """Find the point where a curve ends at the right, in pixels, cut to the box of its axes.

    A curve without a finite point ends in the lower right corner.
    """
    data = np.asarray(curve.get_xydata(), dtype=np.float64)
    pixels = curve.get_transform().transform(data)
    finite = pixels[np.isfinite(pixels).all(axis=1)]
    if not len(finite):
        return float(box.x1), float(box.y0)
    x, y = finite[finite[:, 0].argmax()]
    height_within = float(np.clip(y, box.y0, box.y1))
    return min(float(x), box.x1), height_within


def spread_heights(heights: Floats, distance: float, limits: tuple[float, float]) -> Floats:
    """Move heights so that no two are nearer than a distance, as little as may be in mean square.

    Parameters
    ----------
    heights
        Of shape (n_names,); of equal ones the first comes out on top.
    distance
        Least distance of two.
    limits
        The lowest and the highest height; if there is no room, names go beyond the highest.

    Returns
    -------
    The moved heights, of shape (n_names,).
    """
    lowest, highest = limits
    n_names = len(heights)
    # Sorted by height, of equal ones the last at the bottom.
    from_bottom = np.lexsort((-np.arange(n_names), heights))
    steps = distance * np.arange(n_names)
    # Heights less their steps must not fall: then neighbours are a distance apart at least.
    starts = isotonic_regression(heights[from_bottom] - steps).x
    highest_start = max(lowest, highest - steps[-1])
    moved = np.empty(n_names)
    moved[from_bottom] = np.clip(starts, lowest, highest_start) + steps
    return moved
