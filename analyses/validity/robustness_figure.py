"""The figure of robustness and validity: a point for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyses.shared.drawing import category_styles, explain, label_curves
from analyses.shared.limits import Limits
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_robustness(
    ax: Axes, labels: Sequence[str], robustness: Floats, taus: Floats, limits: Limits, *, over: str
) -> None:
    """Draw a point a measure, with the interval of its validity; both axes have one range.

    `explain` attaches sentences for the caption to what is drawn.

    Parameters
    ----------
    ax
        The axes.
    labels
        Labels of the measures.
    robustness, taus
        Robustness (horizontal) and validity (vertical) of each measure, of shape (n_measures,).
    limits
        Lower and upper limits of the validity, each of shape (n_measures,).
    over
        What the intervals are over, in words: users or worlds.
    """
    lows, highs = limits
    by_measure = zip(category_styles(labels), robustness, taus, lows, highs, strict=True)
    for (label, style), x, y, low, high in by_measure:
        ax.plot([x], [y], label=label, **{**style, "linestyle": "none"})
        line = ax.vlines([x], low, high, color=style["color"], linewidth=0.9)
        if high > low:
            explain(line, f"Vertical lines: 95 % intervals of validity over {over}.")
    # Panels that share their axes share the range of all of them.
    coordinates = np.concatenate([robustness, taus, lows, highs])
    if np.isfinite(coordinates).any():
        lowest = np.nanmin(coordinates)
        highest = np.nanmax(coordinates)
        ax.update_datalim([(lowest, lowest), (highest, highest)])
    diagonal = ax.axline((1.0, 1.0), slope=1, color="0.8", linewidth=0.8, zorder=0)
    explain(diagonal, "Diagonal: robustness and validity are equal.")
    ax.set(xlabel="robustness (mean tau-b)", ylabel="validity (tau-b)")
    label_curves(ax)
