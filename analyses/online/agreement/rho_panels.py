"""Panels of a figure of all rhos: a metric each, and grids of betas and cut-offs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from analyses.online.agreement.measure_names import find_parametrisation
from analyses.online.agreement.rank_agreement import Agreement
from analyses.online.agreement.rho_curves import (
    ALONE,
    alone_of,
    curves_of,
    plot_alone,
    plot_curve,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    return found.plot(ax, experiment=experiment, validation=validation)
