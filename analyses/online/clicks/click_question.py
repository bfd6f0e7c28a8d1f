"""What is asked of a log: what counts as a click, whose lists count, and for which arm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from analyses.online.clicks.checks.crossing import Crossing
from analyses.online.clicks.rates import OverTime
from analyses.online.logs.acceptance import Credit
from runs import InputError

MILLISECONDS: Final[Mapping[str, int]] = {
    "ms": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


@dataclass(frozen=True)
class Question:
    """What is asked of a log.

    Parameters
    ----------
    window
        How long after a list was shown an interaction with an item of it counts, in milliseconds;
        None if only clicks count that name their list.
    credit
        See `analyses.online.logs.acceptance.implicit_clicks`.
    crossing
        What becomes of users who were shown lists by two arms; see
        `analyses.online.clicks.checks.crossing.Stickiness.settle`.
    shares
        Planned share of each arm; equal ones if None.
    per_day
        The most lists of a person's day; None leaves robots in.
    types
        Whether rates are also estimated by the type of interaction.
    zone
        Time zone of days and weeks.
    over_time
        How periods are put together; see `analyses.online.clicks.rates.click_through`.
    replicates, seed
        Of the bootstrap over users.
    halves
        An arm whose users are split in halves, or None.
    """

    window: int | None
    credit: Credit = "all"
    crossing: Crossing = "exclude"
    shares: Mapping[str, float] | None = None
    per_day: int | None = None
    types: bool = False
    zone: str = "UTC"
    over_time: OverTime = "pooled"
    replicates: int = 400
    seed: int = 0
    halves: str | None = None

    @property
    def explicit(self) -> bool:
        """Whether only clicks count that name their list."""
        return self.window is None

    def accepted_when(self) -> str:
        """Say when a list is accepted."""
        if self.window is None:
            return "A list is accepted if a click names it."
        credited = "every list" if self.credit == "all" else "the last list"
        return (
            "A list is accepted if its user interacts with any of its items within "
            f"{in_words(self.window)}; an interaction counts for {credited} in whose window it is. "
            "Views that the list did not bring about count, too."
        )


def question_of(
    *, window: str | None, explicit: bool, shares: str | None, **asked: Any
) -> Question:
    """Read what the command line says: ``"30 min"``, ``"A=0.5,B=0.5"``, and further fields.

    Raises
    ------
    InputError
        If there is neither or both of a window and ``explicit``, or a text says nothing.
    """
    if explicit and window is not None:
        raise InputError(
            "--explicit clicks name their list and have no --window: give one of them."
        )
    if not explicit and window is None:
        raise InputError(
            "say within which time after a list was shown an interaction counts as a click of it, "
            "such as --window '30 min'; or --explicit, if clicks name their list."
        )
    return Question(
        window=None if window is None else parse_duration(window),
        shares=None if shares is None else parse_shares(shares),
        **asked,
    )


def parse_duration(text: str) -> int:
    """Read a duration as milliseconds.

    Raises
    ------
    InputError
        If it is not a number with a unit.

    Examples
    --------
    >>> [parse_duration(text) for text in ("30 min", "1.5h", "2 days", "0 s")]
    [1800000, 5400000, 172800000, 0]
    >>> parse_duration("10")
    Traceback (most recent call last):
    runs.InputError: `--window` must be a number with a unit (ms, s, min, h, d), got '10'.
    """
    found = DURATION.fullmatch(text.strip().lower())
    unit = None if found is None else MILLISECONDS.get(found[2], MILLISECONDS.get(found[2][:-1]))
    if found is None or unit is None:
        raise InputError(
            f"`--window` must be a number with a unit (ms, s, min, h, d), got {text!r}."
        )
    return round(float(found[1]) * unit)


def in_words(duration: int) -> str:
    """Write a duration in the largest unit that needs no fraction.

    Examples
    --------
    >>> [in_words(duration) for duration in (1_800_000, 86_400_000, 1_500, 0)]
    ['30 min', '1 d', '1500 ms', '0 ms']
    """
    for unit in ("d", "h", "min", "s"):
        if duration and duration % MILLISECONDS[unit] == 0:
            return f"{duration // MILLISECONDS[unit]} {unit}"
    return f"{duration} ms"


def parse_shares(text: str) -> dict[str, float]:
    """Read the planned shares of the arms.

    Raises
    ------
    InputError
        If a part is not an arm and a positive number, or an arm is duplicated.

    Examples
    --------
    >>> parse_shares("A=0.5, B=0.5")
    {'A': 0.5, 'B': 0.5}
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        arm, equals, share = (word.strip() for word in part.rpartition("="))
        if not (arm and equals) or arm in shares or not _is_share(share):
            raise InputError(
                "`--shares` must be one positive number for each arm, such as A=0.5,B=0.5, got "
                f"{part.strip()!r} in {text!r}."
            )
        shares[arm] = float(share)
    return shares


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False
