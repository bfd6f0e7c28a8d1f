"""Small multiples: one arm before all others, so that a dozen of lines can be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_among(
    axes: Axes, places: NDArray[np.generic], curves: NDArray[np.float64], number: int
) -> None:
    """Draw curves of shape (n_curves, n_places): one in colour, the others grey behind it."""
    for other in np.delete(curves, number, axis=0):
        axes.plot(places, other, color="0.85", linewidth=0.7, zorder=0)
    axes.plot(places, curves[number], color="#0072B2", linewidth=1.4)
