"""How numbers of users, ratios and shares are said."""

from __future__ import annotations

import numpy as np

from analyses.shared.table import MISSING


def count(users: float) -> str:
    """Say a number of users.

    Examples
    --------
    >>> count(1234.0), count(np.inf)
    ('1,234', 'never')
    """
    if np.isnan(users):
        return MISSING
    return "never" if np.isinf(users) else f"{users:,.0f}"


def between(low: float, high: float) -> str:
    """Say the limits of an interval of such numbers.

    Examples
    --------
    >>> between(900.0, np.inf)
    '900 to never'
    """
    return MISSING if np.isnan(low + high) else f"{count(low)} to {count(high)}"


def times(ratio: float) -> str:
    """Say a ratio, to two digits.

    Examples
    --------
    >>> times(2.648), times(141.2)
    ('2.6', '141')
    """
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def percent(part: float) -> str:
    """Say a share, to two digits.

    Examples
    --------
    >>> percent(0.8), percent(0.0123), percent(1.0)
    ('80 %', '1.2 %', '100 %')
    """
    if not np.isfinite(part):
        return MISSING
    return f"{100 * part:.3g} %" if part >= 1 else f"{100 * part:.2g} %"
