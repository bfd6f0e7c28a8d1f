"""Recall over beta: figures 4.7 to 4.11 of Kasalický (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.drawing import gradations, label_curves
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ABOVE = 28.0
"""Points between axes and their title, which leave room for the shares and what they are."""


def draw_recalls(
    ax: Axes,
    values: Floats,
    *,
    betas: Sequence[float],
    cutoffs: Sequence[int],
    effective_shares: Floats,
    title: str,
) -> Axes:
    """Draw recall over beta, a line per cut-off, under a title.

    Values are of shape (n_betas, n_cutoffs). The effective share of the hidden items at each beta
    (ESS / n), of shape (n_betas,), is named above, since the level of a recall says nothing about
    its worth, and this does about its error.

    Raises
    ------
    InputError
        If labels and values do not fit.
    """
    _check_shape("values", values, (len(betas), len(cutoffs)))
    _check_shape("effective shares", effective_shares, (len(betas),))
    curves = list(zip(values.T, gradations([f"@{cutoff}" for cutoff in cutoffs]), strict=True))
    # The longest list on top of the legend, as its line is.
    for curve, (label, style) in reversed(curves):
        ax.plot(betas, curve, label=label, **style)
    ax.set_xlabel("exponent of popularity (beta)")
    above = ax.secondary_xaxis("top")
    some = sorted({round(place) for place in np.linspace(0, len(betas) - 1, 5)})
    above.set_xticks([betas[n] for n in some], [f"{effective_shares[n]:.0%}" for n in some])
    above.set_xlabel("effective share of hidden items", fontsize="small")
    ax.set_title(title, pad=ABOVE)
    label_curves(ax, ordered=True)
    return ax


def _check_shape(what: str, array: Floats, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{what} must have the shape {shape} of the labels, got {array.shape}.")
