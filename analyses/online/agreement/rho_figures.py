"""Figures of rhos: curves over cut-offs, grids of betas and cut-offs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.measure_names import find_parametrisation
from analyses.online.agreement.rank_agreement import Agreement
from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import ALPHA, print_p
from analyses.online.tables.experiment import numbers_of
from analyses.shared.drawing import axes_or_new, categories
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONE = "one cut-off or none"
"""Panel of the measures that are on no curve."""


def curves_of(measures: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
    """Find metrics with several cut-offs: their measures' numbers by cut-off, recall grids aside.

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
    others = (number for number in range(len(measures)) if number not in on_curves)
    return [number for number in others if find_parametrisation(measures[number]) is None]


def rho_panels(found: Agreement) -> tuple[str, ...]:
    """Name the panels: curves over cut-offs, measures that have none, grids by experiment."""
    named = [find_parametrisation(name) for name in found.measures]
    validations = dict.fromkeys(one.validation for one in named if one is not None)
    grids = [f"{experiment}, {way}" for experiment, way in product(found.experiments, validations)]
    alone = [ALONE] if alone_of(found.measures) else []
    return (*curves_of(found.measures), *alone, *grids)


def draw_rhos(found: Agreement, ax: Axes, panel: str) -> Axes:
    """Draw one of `rho_panels`."""
    if panel == ALONE:
        return plot_alone(found, ax)
    if panel in curves_of(found.measures):
        return plot_curve(found, ax, metric=panel)
    experiment, _, validation = panel.rpartition(", ")
    return plot_grid(found, ax, experiment=experiment, validation=validation)


def plot_curve(found: Agreement, ax: Axes | None = None, *, metric: str) -> Axes:
    """Draw the rhos of one metric against the cut-off, a line for each experiment.

    A dashed line is at the smallest rho that a random order of the models reaches with a chance of
    at most 5 %, where there is one.
    """
    ax = axes_or_new(ax)
    curve = curves_of(found.measures)[metric]
    numbers, places = list(curve.values()), np.arange(len(curve))
    for column, (name, style) in enumerate(categories(found.experiments)):
        ax.plot(places, found.rhos[numbers, column], label=name, **style)
    every = max(1, len(curve) // 6)
    ax.set_xticks(places[::every], [str(cutoff) for cutoff in list(curve)[::every]])
    ax.set_xlabel("cut-off")
    ax.set_ylabel("rho with click-through rate")
    ax.set_ylim(-1.05, 1.05)
    ax.set_title(metric)
    ax.axhline(0, color="0.6", linewidth=0.6)
    smallest = smallest_rho(found.n_models, alpha=ALPHA)
    if not np.isnan(smallest):
        label = f"chance {print_p(ALPHA)} or less"
        ax.axhline(smallest, color="0.4", linestyle="--", linewidth=0.9, label=label)
    _draw_legend(ax)
    return ax


def plot_alone(found: Agreement, ax: Axes | None = None) -> Axes:
    """Draw the rhos of the measures with one cut-off or none, a row for each."""
    ax = axes_or_new(ax)
    numbers = alone_of(found.measures)
    places = np.arange(len(numbers))
    for column, (name, style) in enumerate(categories(found.experiments)):
        ax.plot(found.rhos[numbers, column], places, label=name, **style | {"linestyle": "none"})
    ax.set_yticks(places, [found.measures[number] for number in numbers])
    ax.set_ylim(len(numbers) - 0.5, -0.5)
    ax.set_title(ALONE)
    ax.set_xlabel("rho with click-through rate")
    ax.set_xlim(-1.05, 1.05)
    ax.axvline(0, color="0.6", linewidth=0.6)
    _draw_legend(ax)
    return ax


def _draw_legend(ax: Axes) -> None:
    """Put a legend where rhos are rare; it takes no room from panels with other curves."""
    ax.legend(loc="lower left", frameon=False, fontsize="small").set_in_layout(False)


def plot_grid(
    found: Agreement, ax: Axes | None = None, *, experiment: str, validation: str = "LLOO"
) -> Axes:
    """Draw the rhos of one experiment and validation: cut-offs up, betas right, undefined grey."""
    from matplotlib import colormaps

    ax = axes_or_new(ax)
    (column,) = numbers_of([experiment], found.experiments)
    betas, cutoffs, cells = _grid(found, validation, column)
    shades = colormaps["RdBu"].with_extremes(bad="0.8")
    image = ax.imshow(cells, cmap=shades, vmin=-1, vmax=1, origin="lower", aspect="auto")
    every = max(1, len(betas) // 5)
    ax.set_xticks(range(0, len(betas), every), [f"{beta:g}" for beta in betas[::every]])
    ax.set_yticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs], fontsize="small")
    ax.set_xlabel("beta")
    ax.set_ylabel("cut-off")
    ax.set_title(f"{experiment}, {validation}")
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, label="rho with click-through rate")
    return ax


def _grid(
    found: Agreement, validation: str, column: int
) -> tuple[list[float], list[int], NDArray[np.float64]]:
    """Lay the rhos out by cut-off and beta; those of the first weights where there are two."""
    named = [(n, find_parametrisation(name)) for n, name in enumerate(found.measures)]
    rhos = {
        (one.cutoff, one.beta): found.rhos[number, column]
        for number, one in reversed(named)
        if one is not None and one.validation == validation
    }
    if not rhos:
        raise InputError(f"no recall with the validation {validation!r} was measured.")
    betas = sorted({beta for _, beta in rhos})
    cutoffs = sorted({cutoff for cutoff, _ in rhos})
    cells = [[rhos.get((cutoff, beta), np.nan) for beta in betas] for cutoff in cutoffs]
    return betas, cutoffs, np.array(cells)
