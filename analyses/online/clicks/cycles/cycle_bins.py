"""What bins of time do to cycles: they damp them, and make short ones look long."""

from __future__ import annotations

import math

import numpy as np

from runs import InputError


def damping(period: float, *, bin_width: float) -> float:
    r"""Share of a cycle's amplitude that means over bins still have.

    .. math:: \left| \frac{\sin(\pi T / P)}{\pi T / P} \right|

    Parameters
    ----------
    period, bin_width
        P and T, in one unit, above 0.

    Examples
    --------
    A day in bins of an hour, of half a day, and of a day:

    >>> [round(damping(24, bin_width=hours), 3) for hours in (1, 12, 24)]
    [0.997, 0.637, 0.0]
    """
    _require_lengths(period, bin_width)
    return float(abs(np.sinc(bin_width / period)))


def apparent_period(period: float, *, bin_width: float) -> float:
    """Period at which a cycle shows in means over bins; its own, if that is two bins or more.

    Parameters
    ----------
    period, bin_width
        In one unit, above 0.

    Returns
    -------
    In the same unit; infinite if the cycle shows as a constant.

    Examples
    --------
    >>> round(apparent_period(24, bin_width=14.7), 1), apparent_period(24, bin_width=1)
    (37.9, 24.0)
    """
    _require_lengths(period, bin_width)
    cycles_per_bin = bin_width / period
    apparent = abs(cycles_per_bin - round(cycles_per_bin))
    return bin_width / apparent if apparent else math.inf


def _require_lengths(period: float, bin_width: float) -> None:
    if not (period > 0 and bin_width > 0):
        raise InputError(
            f"a period and the width of bins must be above 0, got {period} and {bin_width}."
        )
