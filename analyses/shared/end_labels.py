"""Names of curves where they end, beside the axes, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

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
        self.names = [Text(text=str(c.get_label()), va="center", size="small") for c in curves]
        self.leaders = [_leader(curve) for curve in curves]
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
        heights = spread(ends[:, 1], apart, (box.y0, box.y1))
        x = box.x1 + REACH * point
        for name, leader, end, y in zip(self.names, self.leaders, ends, heights, strict=True):
            name.set_position((x + GAP * point, y))
            leader.set_data([end[0], x], [end[1], y])


def _leader(curve: Line2D) -> Line2D:
    return Line2D(
        [],
        [],
        color=curve.get_color(),
        linewidth=0.6,
        marker=curve.get_marker(),
        markersize=curve.get_markersize(),
        markevery=[1],
    )


def right_end(curve: Line2D, box: Bbox) -> tuple[float, float]:
    """Find where a curve ends at the right, in pixels, within axes; their corner if nowhere."""
    points = curve.get_transform().transform(np.asarray(curve.get_xydata(), dtype=np.float64))
    drawn = points[np.isfinite(points).all(axis=1)]
    if not len(drawn):
        return float(box.x1), float(box.y0)
    x, y = drawn[drawn[:, 0].argmax()]
    return min(float(x), box.x1), float(np.clip(y, box.y0, box.y1))


def spread(
    wanted: NDArray[np.float64], apart: float, limits: tuple[float, float]
) -> NDArray[np.float64]:
    """Move heights as little as may be, in the mean square, so that none are nearer than asked.

    Of equal heights the first comes out on top.

    Examples
    --------
    >>> spread(np.array([5.0, 5.0, 1.0]), 2.0, (0.0, 10.0))
    array([6., 4., 1.])
    >>> spread(np.array([10.0, 10.0]), 2.0, (0.0, 10.0))
    array([10.,  8.])
    """
    order = np.lexsort((-np.arange(len(wanted)), wanted))
    steps = apart * np.arange(len(wanted))
    low, high = limits
    starts = isotonic_regression(wanted[order] - steps).x
    found = np.empty(len(wanted))
    found[order] = np.clip(starts, low, max(low, high - steps[-1])) + steps
    return found
