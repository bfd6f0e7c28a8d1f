"""How numbers of users, ratios and shares are said."""

from __future__ import annotations

import numpy as np

from analyses.shared.table import MISSING


def count(users: float) -> str:
    """Say a number of users."""
    if np.isnan(users):
        return MISSING
    return "never" if np.isinf(users) else f"{users:,.0f}"


def between(low: float, high: float) -> str:
    """Say the limits of an interval of such numbers."""
    return MISSING if np.isnan(low + high) else f"{count(low)} to {count(high)}"


def times(ratio: float) -> str:
    """Say a ratio, to two digits."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def percent(part: float) -> str:
    """Say a share, to two digits."""
    if not np.isfinite(part):
        return MISSING
    return f"{100 * part:.3g} %" if part >= 1 else f"{100 * part:.2g} %"
