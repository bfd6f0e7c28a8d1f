"""Rhos against cut-offs: a curve for each metric that was measured at several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyses.online.agreement.measure_names import find_parametrisation
from analyses.online.agreement.rank_agreement import Agreement
from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import ALPHA, print_p
from analyses.shared.drawing import axes_or_new, categories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONE = "one cut-off or none"
"""Panel of the measures that are on no curve."""

Curves = Mapping[str, Mapping[int, int]]
"""For each metric, numbers of measures by cut-off."""


def curves_of(measures: Sequence[str]) -> Curves:
    """Find the metrics with several cut-offs, recall of the grid of betas aside.

    Examples
    --------
    >>> curves_of(["P@10", "nDCG@5", "nDCG@10", "LOO(beta=0)@5", "LOO(beta=0)@10"])
    {'nDCG': {5: 1, 10: 2}}
    """
    found: dict[str, dict[int, int]] = {}
    for number, name in enumerate(measures):
        metric, _, cutoff = name.rpartition("@")
        if metric and cutoff.isdecimal() and find_parametrisation(name) is None:
            found.setdefault(metric, {})[int(cutoff)] = number
    return {metric: dict(sorted(some.items())) for metric, some in found.items() if len(some) > 1}


def alone_of(measures: Sequence[str]) -> list[int]:
    """Give the numbers of the measures that are neither on a curve nor in the grid of betas.

    Examples
    --------
    >>> alone_of(["P@10", "nDCG@5", "nDCG@10", "LOO(beta=0)@5"])
    [0]
    """
    on_curves = {number for curve in curves_of(measures).values() for number in curve.values()}
    return [
        number
        for number, name in enumerate(measures)
        if number not in on_curves and find_parametrisation(name) is None
    ]


def plot_curve(result: Agreement, ax: Axes | None = None, *, metric: str) -> Axes:
    """Draw the rhos of one metric against the cut-off, a line for each experiment.

    A dashed line is at the smallest rho that a random order of the models reaches with a chance of
    at most 5 %, where there is one.
    """
    ax = axes_or_new(ax)
    curve = curves_of(result.measures)[metric]
    numbers = list(curve.values())
    places = np.arange(len(curve))
    for column, (name, style) in enumerate(categories(result.experiments)):
        ax.plot(places, result.rhos[numbers, column], label=name, **style)
    every = max(1, len(curve) // 6)
    ax.set_xticks(places[::every], [str(cutoff) for cutoff in list(curve)[::every]])
    ax.set_xlabel("cut-off")
    ax.set_ylabel("rho with click-through rate")
    ax.set_ylim(-1.05, 1.05)
    ax.set_title(metric)
    ax.axhline(0, color="0.6", linewidth=0.6)
    _draw_smallest(result, ax)
    _draw_legend(ax)
    return ax


def plot_alone(result: Agreement, ax: Axes | None = None) -> Axes:
    """Draw the rhos of the measures with one cut-off or none, a row for each."""
    ax = axes_or_new(ax)
    numbers = alone_of(result.measures)
    places = np.arange(len(numbers))
    for column, (name, style) in enumerate(categories(result.experiments)):
        ax.plot(result.rhos[numbers, column], places, label=name, **style | {"linestyle": "none"})
    ax.set_yticks(places, [result.measures[number] for number in numbers])
    ax.set_ylim(len(numbers) - 0.5, -0.5)
    ax.set_title(ALONE)
    ax.set_xlabel("rho with click-through rate")
    ax.set_xlim(-1.05, 1.05)
    ax.axvline(0, color="0.6", linewidth=0.6)
    _draw_legend(ax)
    return ax


def _draw_smallest(result: Agreement, ax: Axes) -> None:
    smallest = smallest_rho(result.n_models, alpha=ALPHA)
    if not np.isnan(smallest):
        label = f"chance {print_p(ALPHA)} or less"
        ax.axhline(smallest, color="0.4", linestyle="--", linewidth=0.9, label=label)


def _draw_legend(ax: Axes) -> None:
    """Put a legend where rhos are rare; it takes no room from panels with other curves."""
    legend = ax.legend(loc="lower left", frameon=False, fontsize="small")
    legend.set_in_layout(False)
