"""How numbers are rounded and printed, in tables and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeAlias

Cell: TypeAlias = str | int | float
"""A cell of a table."""

SMALLEST = 1e-12
"""Exact p-values are good to about 1e-13; below this, only that is said."""

MISSING = "–"
"""Printed for NaN."""


def format_cell(cell: Cell, *, decimals: int = 4) -> str:
    """Round a score or p-value for reading; counts and names stay as they are.

    NaN becomes a dash. Numbers that would be rounded to 0 have a power of ten: "4.2e-05"; positive
    ones below `SMALLEST` become "< 1e-12".
    """
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return MISSING
    if 0 < cell < SMALLEST:
        return f"< {SMALLEST:.0e}"
    if _is_rounded_to_zero(cell, decimals):
        return f"{cell:.1e}"
    return f"{cell:.{decimals}f}"


def _is_rounded_to_zero(value: float, decimals: int) -> bool:
    """Tell whether a number is not 0 but rounded to 0."""
    return 0 < abs(value) < 0.5 * 10**-decimals


def supported_decimals(low: float, high: float) -> int:
    """Compute the decimals that an interval supports: the last is at most an eighth of its width.

    Without an upper limit (infinity), they are those of 0 to the lower one; without an interval
    (NaN, or no width) there are 3. There are never more than 5.
    """
    if math.isinf(high):
        high = low or 1.0
        low = 0.0
    width = high - low
    if math.isnan(width) or width <= 0:
        return 3
    decimals = math.ceil(-math.log10(width / 8))
    return min(5, max(0, decimals))


def common_decimals(lows: Iterable[float], highs: Iterable[float]) -> int:
    """Compute the decimals for a table: the median of those that its intervals support.

    Of an even number of intervals, the lower median; 3 without any.
    """
    decimals = sorted(map(supported_decimals, lows, highs))
    if not decimals:
        return 3
    return decimals[(len(decimals) - 1) // 2]


def rounded(value: float, decimals: int = 3) -> str:
    """Print a number as a paper does: no 0 before the point; a dash for NaN."""
    if math.isnan(value):
        return MISSING
    # Adding 0 turns -0 into 0.
    number = round(value, decimals) + 0.0
    return without_zero(f"{number:,.{decimals}f}").replace("inf", "∞")


def rounded_ratio(value: float, decimals: int = 3) -> str:
    """Print a number that is compared by ratio: in powers of ten where rounding would leave 0.

    Examples
    --------
    >>> rounded_ratio(11.26, 1), rounded_ratio(0.00042, 1), rounded_ratio(1e-14, 1)
    ('11.3', '4.2e-04', '< 1e-12')
    """
    if _is_rounded_to_zero(value, decimals):
        return format_cell(value, decimals=decimals)
    return rounded(value, decimals)


def percent(share: float) -> str:
    """Print a share in per cent, with two digits, or three from 99.5 % on; a dash for NaN.

    Examples
    --------
    >>> percent(0.0512), percent(0.997), percent(12.34)
    ('5.1 %', '99.7 %', '1,230 %')
    """
    if not math.isfinite(share):
        return MISSING
    digits = 3 if share >= 0.995 else 2
    number = float(f"{100 * round(share, 12):.{digits}g}")
    return f"{number:,.10g} %"


def without_zero(text: str) -> str:
    """Leave out the 0 before the point of a number."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", text)
