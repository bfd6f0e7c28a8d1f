"""Recall over beta, and over time: figures 4.6 to 4.11 of Kasalický (2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.shared.drawing import axes_or_new, categories, gradations, legend_beside
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


def draw_recall_curves(
    values: Floats,
    *,
    models: Sequence[str],
    validations: Sequence[str],
    betas: Sequence[float],
    cutoffs: Sequence[int],
    relative: bool = False,
    effective_shares: Floats | None = None,
) -> Figure:
    """Draw recall over beta, a line per cut-off: models down, validations across.

    Parameters
    ----------
    values
        Of shape (n_models, n_validations, n_betas, n_cutoffs).
    models, validations, betas, cutoffs
        Labels of the axes.
    relative
        Whether to divide by the value at the first beta, which shows the shape of small values.
    effective_shares
        Effective share of the hidden items at each beta (ESS / n), of shape (n_validations,
        n_betas): drawn above, since the level of a recall says nothing about its worth, and this
        does about its error.

    Returns
    -------
    A figure of n_models x n_validations panels; those of a model share their scale.

    Raises
    ------
    InputError
        If labels and values do not fit.
    """
    from matplotlib.figure import Figure

    _check_shape("values", values, (len(models), len(validations), len(betas), len(cutoffs)))
    if effective_shares is not None:
        _check_shape("effective shares", effective_shares, (len(validations), len(betas)))
    # High enough for the legend, too.
    height = max(1.9 * len(models) + 0.7, 0.22 * len(cutoffs) + 0.6)
    figure = Figure(figsize=(3.2 * len(validations) + 0.8, height), layout="constrained")
    panels = figure.subplots(
        len(models), len(validations), sharex=True, sharey="row", squeeze=False
    )
    for (row, column), ax in np.ndenumerate(panels):
        curves = values[row, column]
        for number, (label, style) in enumerate(gradations(cutoffs)):
            ax.plot(betas, _relative(curves[:, number], relative), label=label, **style)
        if column == 0:
            ax.set_ylabel(f"{models[row]}\n{'relative recall' if relative else 'recall'}")
        if row == len(models) - 1:
            ax.set_xlabel("beta")
    for column, validation in enumerate(validations):
        panels[0, column].set_title(validation)
        if effective_shares is not None:
            _draw_effective_share(panels[0, column], betas, effective_shares[column])
    handles, labels = panels[0, 0].get_legend_handles_labels()
    # The longest list on top, as its line is.
    figure.legend(
        handles[::-1], labels[::-1], title="cut-off", loc="outside right center", frameon=False
    )
    return figure


def draw_recall_over_time(
    recalls: Mapping[str, Floats],
    times: Mapping[str, NDArray[np.datetime64]],
    *,
    label: str = "recall",
    ax: Axes | None = None,
) -> Axes:
    """Draw recall over the periods of an experiment, a line each (figure 4.6).

    Parameters
    ----------
    recalls
        By name of the line (a model, a validation): the recall of each period.
    times
        By the same names: when each period began.
    label
        Of the vertical axis.
    ax
        Axes to draw on; new ones by default.

    Raises
    ------
    InputError
        If recalls and times do not fit.
    """
    import matplotlib.dates

    dates: Any = matplotlib.dates
    ax = axes_or_new(ax)
    locator = dates.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    for (name, style), values in zip(categories([*recalls]), recalls.values(), strict=True):
        if name not in times or times[name].shape != values.shape:
            raise InputError(f"{name}: every recall needs the time of its period.")
        when = np.asarray(dates.date2num(times[name]))
        ax.plot(when, values, label=name, **style)
    ax.set_ylabel(label)
    legend_beside(ax)
    return ax


def _relative(curve: Floats, wanted: bool) -> Floats:
    first = curve[0]
    return curve / first if wanted and first > 0 else curve


def _draw_effective_share(ax: Axes, betas: Sequence[float], shares: Floats) -> None:
    """Name the effective share at some betas on an axis above."""
    above = ax.secondary_xaxis("top")
    some = sorted({round(place) for place in np.linspace(0, len(betas) - 1, 5)})
    above.set_xticks([betas[n] for n in some], [f"{shares[n]:.0%}" for n in some])
    above.set_xlabel("effective share of hidden items", fontsize="small")


def _check_shape(what: str, array: Floats, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{what} must have the shape {shape} of the labels, got {array.shape}.")
