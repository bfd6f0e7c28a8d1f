"""What a log says in the end: which arm is clicked more, if that may be said at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.checks.sample_ratio import SampleRatio
from analyses.online.clicks.click_question import in_words
from analyses.online.clicks.click_study import Clicks
from analyses.online.clicks.cycles.cycles import PERIODS
from analyses.online.clicks.rates import ClickThrough
from analyses.shared.table import shown
from analyses.significance.corrections.holm import holm

if TYPE_CHECKING:
    import pandas as pd

ALPHA: Final = 0.05
"""Level at which an arm is said to be clicked more."""


def compared(rates: ClickThrough) -> pd.DataFrame:
    """Compare the arms in pairs.

    Returns
    -------
    Columns of `ClickThrough.differences`, then p (two-sided, of the difference divided by its
    error as a normal deviate) and p_holm (adjusted for the number of pairs).
    """
    from scipy.special import ndtr

    frame = rates.differences()
    difference, error = frame["difference"].to_numpy(), frame["error"].to_numpy()
    missing = np.full(len(frame), np.nan)
    deviates = np.divide(np.abs(difference), error, out=missing, where=error > 0)
    p = 2 * ndtr(-deviates)
    return frame.assign(p=p, p_holm=holm(p) if len(p) else p)


def verdict(found: Clicks) -> str:
    """Say which arm is clicked most: none, if users are not split as planned or it may be luck.

    An arm wins if its rate is above that of each other arm, by Holm's method over all pairs.
    """
    rates = found.chosen.rates
    if len(rates.arms) < 2:
        return "There is one arm, and nothing to compare it with."
    if found.mismatch:
        return (
            "No winner is named: the users are not split as planned, so that the arms' users may "
            "differ in more than their lists."
        )
    best = leader(rates.rates)
    others = against_others(rates, best).sort_values("difference", kind="stable")
    name, p = rates.arms[best], others["p_holm"]
    n_pairs = len(rates.arms) * (len(rates.arms) - 1) // 2
    group = "" if found.question.per_day is None else "Without robots: "
    by = "" if n_pairs == 1 else f" by Holm's method over {n_pairs} pairs"
    if (p < ALPHA).all():
        gap = _gap(others.iloc[0])
        return f"{group}Arm {name} is clicked most: its rate is {gap} ({_p(p.iloc[0])}{by})."
    doubtful = others[~(p < ALPHA)].iloc[0]
    gap, chance = _gap(doubtful), _p(doubtful["p_holm"])
    return f"{group}No winner: the rate of {name} is {gap}, which may be luck ({chance}{by})."


def leader(rates: NDArray[np.float64]) -> int:
    """Find the largest rate; arms without lists have none.

    Examples
    --------
    >>> leader(np.array([0.1, np.nan, 0.3, 0.2]))
    2
    """
    return int(np.nanargmax(rates))


def against_others(rates: ClickThrough, best: int) -> pd.DataFrame:
    """Compare one arm with each other.

    Returns
    -------
    Columns other, difference (the arm less the other), low, high and p_holm (over all pairs of
    arms).
    """
    import pandas as pd

    frame, name = compared(rates), rates.arms[best]
    ahead = frame[frame["arm_a"] == name].rename(columns={"arm_b": "other"})
    behind = frame[frame["arm_b"] == name].rename(columns={"arm_a": "other"})
    turned = behind.assign(
        difference=-behind["difference"], low=-behind["high"], high=-behind["low"]
    )
    columns = ["other", "difference", "low", "high", "p_holm"]
    return pd.concat([ahead[columns], turned[columns]])


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


def alarm(found: Clicks) -> str | None:
    """Say loudly that users are not split as planned, and where; None if they are."""
    if not found.mismatch:
        return None
    findings = [
        f"{name}: {finding}"
        for name, group in found.groups.items()
        if group.split is not None and (finding := _mismatch(group.split))
    ]
    planned = "equal shares; say --shares if others were planned"
    against = "the planned shares" if found.question.shares else planned
    return (
        f"SAMPLE-RATIO MISMATCH against {against} ({'; '.join(findings)}). Find out why before "
        "anything else is read."
    )


def _mismatch(split: SampleRatio) -> str:
    """Say where users are not split as planned; nothing if they are."""
    frame = split.to_frame()
    days = frame["day"][frame["mismatch"]].tolist()
    return _p(split.p) if split.mismatch else f"on {', '.join(days)}" if days else ""


def cautions(found: Clicks) -> Iterator[str]:
    """Say what weakens the rates, in sentences."""
    facts, question = found.facts, found.question
    if found.users.crossed.any():
        fate = (
            "their lists do not count"
            if question.crossing == "exclude"
            else "their lists count for their first arm, or the one they were assigned to"
        )
        yield f"{found.users.caption()[:-1]}; {fate}."
    if facts.repeated_events:
        yield f"{facts.repeated_events:,} interactions are repeated in every column."
    if facts.without_version:
        yield (
            f"{facts.without_version:.1%} of the lists were shown when no version of their arm's "
            "model was live; they do not count."
        )
    if facts.without_arm:
        yield f"{facts.without_arm:.1%} of the users were not assigned; their first arm is theirs."
    if facts.known_users < 0.5 and facts.events:
        yield (
            f"{1 - facts.known_users:.0%} of the users have no interaction at all: do both tables "
            "call users the same?"
        )
    if question.window is not None and found.chosen.rates.n_accepted.sum() == 0:
        yield f"No list is accepted: is {in_words(question.window)} long enough, and in one clock?"
    yield from _about_time(found)


def _about_time(found: Clicks) -> Iterator[str]:
    day, week = (f"{2 * hours / 24:.0f} days" for hours in PERIODS)
    if found.cycles is None:
        yield f"The log is too short for cycles: a day needs {day}, a week {week}."
    elif len(found.cycles.periods) < len(PERIODS):
        yield f"The log is too short for the cycle of a week, which needs {week}."
    if found.facts.gaps:
        yield f"Between versions of the models there are {found.facts.gaps} gaps."
