"""What rates say in the end: which arm is clicked more, if that may be said at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from analyses.online.clicks.checks.sample_ratio import SampleRatio
from analyses.online.clicks.rates import ClickThrough
from analyses.shared.table import shown

if TYPE_CHECKING:
    import pandas as pd

ALPHA: Final = 0.05
"""Level at which an arm is said to be clicked more."""


def verdict(rates: ClickThrough, *, mismatch: bool, group: str = "") -> str:
    """Say which arm is clicked most: none, if users are not split as planned or it may be luck.

    An arm wins if its rate is above that of each other arm, by Holm's method over all pairs. The
    group, whose rates they are, stands before the finding.
    """
    if len(rates.arms) < 2:
        return "There is one arm, and nothing to compare it with."
    if mismatch:
        return (
            "No winner is named: the users are not split as planned, so that the arms' users may "
            "differ in more than their lists."
        )
    best = int(np.nanargmax(rates.rates))
    others = rates.against_others(best).sort_values("difference", kind="stable")
    name, p = rates.arms[best], others["p_holm"]
    n_pairs = len(rates.arms) * (len(rates.arms) - 1) // 2
    by = "" if n_pairs == 1 else f" by Holm's method over {n_pairs} pairs"
    if (p < ALPHA).all():
        gap = _gap(others.iloc[0])
        return f"{group}Arm {name} is clicked most: its rate is {gap} ({_p(p.iloc[0])}{by})."
    doubtful = others[~(p < ALPHA)].iloc[0]
    gap, chance = _gap(doubtful), _p(doubtful["p_holm"])
    return f"{group}No winner: the rate of {name} is {gap}, which may be luck ({chance}{by})."


def alarm(splits: Mapping[str, SampleRatio], *, are_planned: bool) -> str:
    """Say loudly that users are not split as planned, and where; nothing if they are."""
    findings = [
        f"{name}: {finding}" for name, split in splits.items() if (finding := _mismatch(split))
    ]
    if not findings:
        return ""
    planned = "equal shares; say --shares if others were planned"
    against = "the planned shares" if are_planned else planned
    return (
        f"SAMPLE-RATIO MISMATCH against {against} ({'; '.join(findings)}). Find out why before "
        "anything else is read."
    )


def _mismatch(split: SampleRatio) -> str:
    """Say where users are not split as planned; nothing if they are."""
    frame = split.to_frame()
    days = frame["day"][frame["mismatch"]].tolist()
    return _p(split.p) if split.mismatch else f"on {', '.join(days)}" if days else ""


def _gap(row: pd.Series[Any]) -> str:
    """Write how far an arm is above another."""
    difference, low, high = (
        shown(float(row[name]), decimals=5) for name in ("difference", "low", "high")
    )
    return f"{difference} [{low}, {high}] above that of {row['other']}"


def _p(value: float) -> str:
    """Write a p-value after its sign.

    Examples
    --------
    >>> _p(0.0214), _p(1e-40), _p(float("nan"))
    ('p = 0.0214', 'p < 1e-12', 'p unknown')
    """
    if np.isnan(value):
        return "p unknown"
    text = shown(float(value))
    return f"p {text}" if text.startswith("<") else f"p = {text}"
