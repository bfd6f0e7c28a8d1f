"""What bins of time do to cycles: they damp them."""

from __future__ import annotations

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


def _require_lengths(period: float, bin_width: float) -> None:
    if not (period > 0 and bin_width > 0):
        raise InputError(
            f"a period and the width of bins must be above 0, got {period} and {bin_width}."
        )
