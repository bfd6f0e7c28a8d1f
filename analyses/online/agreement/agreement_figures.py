"""Figures of offline measures and clicks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any

from analyses.online.agreement.best_of_many import BestOfMany
from analyses.online.agreement.measure_names import find_parametrisation
from analyses.online.agreement.rank_agreement import Agreement
from analyses.online.agreement.rho_curves import alone_of, curves_of, plot_alone, plot_curve
from analyses.shared.figures import N_COLUMNS, PANEL, STYLE, panel_of, panels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_rhos(result: Any) -> Figure:
    """Draw every rho: a panel for each metric, and for each grid of betas and cut-offs.

    Grids of one experiment stand side by side.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found: Agreement = result
    curves, grids = _curves(found), _grids(found)
    n_columns = min(len(curves) + len(grids), 2 if grids else N_COLUMNS)
    n_curve_rows = ceil(len(curves) / n_columns)
    n_rows = n_curve_rows + ceil(len(grids) / n_columns)
    places = [*range(len(curves)), *range(n_curve_rows * n_columns, n_rows * n_columns)]
    with rc_context(STYLE):
        size = (1.1 * PANEL[0] * n_columns, PANEL[1] * n_rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        drawn = dict(zip(places, [*curves, *grids], strict=False))
        for place, panel in enumerate(panels):
            if place in drawn:
                drawn[place](panel)
            else:
                panel.axis("off")
        handles, names = panels[0].get_legend_handles_labels()
        if names:
            figure.legend(
                handles, names, loc="outside lower center", ncols=len(names), frameon=False
            )
    return figure


def draw_bins(result: Any) -> Figure:
    """Draw how many measures have how large a rho, a panel for each experiment."""
    found: Agreement = result
    if len(found.experiments) == 1:
        return panel_of(found.plot_bins)
    draws = {name: partial(found.plot_bins, experiment=name) for name in found.experiments}
    return panels_of(draws)


def draw_null(result: Any) -> Figure:
    """Draw what the best of all measures reaches by chance."""
    best: BestOfMany = result
    return panel_of(best.plot)


def _curves(found: Agreement) -> list[Callable[[Axes], Axes]]:
    """Give what draws a panel each: curves over cut-offs, and the measures that have none."""
    curves = [partial(plot_curve, found, metric=metric) for metric in curves_of(found.measures)]
    return [*curves, partial(plot_alone, found)] if alone_of(found.measures) else [*curves]


def _grids(found: Agreement) -> list[Callable[[Axes], Axes]]:
    """Give what draws a panel each: rhos by beta and cut-off."""
    named = [find_parametrisation(name) for name in found.measures]
    validations = dict.fromkeys(one.validation for one in named if one is not None)
    return [
        partial(found.plot, experiment=experiment, validation=validation)
        for experiment, validation in product(found.experiments, validations)
    ]
