"""Panels of validity: each is drawn on given axes, for one truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import (
    COLOURS,
    categories,
    draw_whiskers,
    label_curves,
    scale_by_factors,
    side_by_side,
)
from analyses.shared.estimate import Limits
from analyses.verdicts.pair_verdicts import VERDICTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

BARS = dict(zip(VERDICTS, (*COLOURS[:2], COLOURS[4], "0.6", "0.9"), strict=True))
SUBSETS = 0.9
"""Lines run from the 5 % to the 95 % quantile of the subsets of the users."""

WITH_TRUTH = "Kendall's tau-b with the truth"


def draw_taus(
    ax: Axes, labels: Sequence[str], taus: Floats, ideal: Floats, limits: Sequence[Limits]
) -> None:
    """Draw a point a measure, from the last at the bottom; wide intervals thin, the last bold."""
    rows = np.arange(len(labels))[::-1]
    for (low, high), width in zip(limits, (0.8, 2.5), strict=True):
        ax.hlines(rows, low, high, COLOURS[0], linewidth=width)
    ax.plot(taus, rows, "o", color=COLOURS[0], markersize=4, label="tau-b")
    ax.plot(ideal, rows, "|", color="0.4", markersize=9, label="ideal, but for noise")
    ax.set_yticks(rows, labels)
    ax.set_xlabel(WITH_TRUTH)
    label_curves(ax)


def draw_robustness(
    ax: Axes, labels: Sequence[str], robustness: Floats, taus: Floats, limits: Limits
) -> None:
    """Draw a point a measure, with the interval of its validity."""
    each = zip(categories(labels), robustness, taus, *limits, strict=True)
    for (label, style), robust, valid, low, high in each:
        ax.plot([robust], [valid], label=label, **style)
        ax.vlines([robust], low, high, color=style["color"], linewidth=0.9)
    ax.axline((1.0, 1.0), slope=1, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlim(right=1.01)
    ax.set_xlabel("robustness: mean tau-b with itself")
    ax.set_ylabel("validity: tau-b with the truth")
    label_curves(ax)


def draw_verdicts(ax: Axes, labels: Sequence[str], shares: Floats) -> None:
    """Stack the shares of pairs by verdict, (n_measures, n_verdicts), from the first at the top."""
    rows, percent = np.arange(len(labels))[::-1], 100 * shares
    starts = np.cumsum(percent, axis=1) - percent
    for n, (name, colour) in enumerate(BARS.items()):
        ax.barh(rows, percent[:, n], left=starts[:, n], color=colour, label=name)
    ax.set_yticks(rows, labels)
    ax.set_xlim(0, 100)
    ax.set_xlabel("pairs of systems (%)")
    label_curves(ax)


def draw_sizes(ax: Axes, labels: Sequence[str], sizes: Sequence[int], taus: Floats) -> None:
    """Draw mean taus of subsets, (n_measures, n_sizes, n_repeats), against their sizes."""
    places = side_by_side(sizes, len(labels))
    for own, (label, style), place in zip(taus, categories(labels), places, strict=True):
        limits = percentiles(own, confidence=SUBSETS)
        draw_whiskers(ax, place, mean_of_defined(own), limits, style, label=label)
    scale_by_factors(ax, along="x")
    ax.set_xlabel("users")
    ax.set_ylabel(WITH_TRUTH)
    label_curves(ax)
