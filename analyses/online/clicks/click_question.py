"""What is asked of a log: what counts as a click, whose lists count, and for which arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from analyses.online.clicks.checks import Crossing
from analyses.online.clicks.rates import OverTime
from analyses.online.logs.acceptance import Credit
from runs.shared.members import Section, Whole

UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}
LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""


def milliseconds(text: str) -> int:
    """Read a duration.

    Raises
    ------
    ValueError
        If it is not a number with a unit, negative, or too long.

    Examples
    --------
    >>> [milliseconds(text) for text in ("30 min", "1.5h", "2 days", "0 s")]
    [1800000, 5400000, 172800000, 0]
    >>> milliseconds("10")
    Traceback (most recent call last):
    ValueError: must be a number with a unit (ms, s, min, h, d), got '10'
    """
    from pandas import Timedelta

    try:
        # Without a unit they would be nanoseconds.
        length = Timedelta(text if text.strip()[-1:].isalpha() else "").total_seconds() * 1000
    except ValueError:
        length = -1.0
    if not 0 <= length < LONGEST:
        raise ValueError(f"must be a number with a unit (ms, s, min, h, d), got {text!r}")
    return round(length)


def in_words(duration: int) -> str:
    """Write a duration in the largest unit that needs no fraction.

    Examples
    --------
    >>> [in_words(duration) for duration in (1_800_000, 86_400_000, 1_500, 0)]
    ['30 min', '1 d', '1500 ms', '0 ms']
    """
    for unit, length in UNITS.items():
        if duration and duration % length == 0:
            return f"{duration // length} {unit}"
    return f"{duration} ms"


def read_pairs(text: str) -> dict[str, str]:
    """Read what belongs to what.

    Raises
    ------
    ValueError
        If a part is not a name and a value, or a name is duplicated.

    Examples
    --------
    >>> read_pairs("click=view, impression=")
    {'click': 'view', 'impression': ''}
    """
    pairs: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        if not (name and equals) or name in pairs:
            rule = "must be a value for each name, such as A=0.5,B=0.5"
            raise ValueError(f"{rule}, got {part.strip()!r} in {text!r}")
        pairs[name] = value
    return pairs


def _from_text(read: Callable[[str], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


def _text(format: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "format": format})


Duration = Annotated[int, _from_text(milliseconds), _text("duration")]
"""Milliseconds, or a text with a unit."""

Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Shares = Annotated[Mapping[str, Share], _from_text(read_pairs), _text("shares")]
"""The share of each arm, or a text with them."""

Names = Annotated[Mapping[str, str], _from_text(read_pairs), _text("names")]
"""New names by old ones, or a text with them."""


class Question(Section):
    """What is asked of a log: the settings of `harness clicks`.

    Raises
    ------
    ValueError
        If a setting breaks a rule, or there is neither or both of a window and ``explicit``.
    """

    window: Duration | None = Field(
        None,
        description="Within this time after a list was shown, an interaction of its user with an "
        "item of it counts as a click, such as '30 min'. Needed, unless clicks are explicit.",
    )
    explicit: bool = Field(
        False,
        description="Only clicks count that name their list: a column rec_id of INTERACTIONS, or "
        "clicked of RECOMMENDATIONS.",
    )
    credit: Credit = Field(
        "all",
        description="Which lists an interaction counts for, if it is in the windows of several.",
    )
    rename: Names | None = Field(
        None,
        description="What types of interactions are to be called, such as click=view,impression=; "
        "those without a new name are left out.",
    )
    strict: bool = Field(
        False,
        description="Refuse what else is set aside and counted: clicks that name lists outside the "
        "file, of other users or without the item, and lists whose id stands before.",
    )
    merged: Path | None = Field(
        None, description="A table user, person: ids of users that are one person."
    )
    models: Path | None = Field(
        None,
        description="A table arm, model_version, valid_from, valid_to: rates by version, too.",
    )
    assignment: Path | None = Field(
        None, description="A table user, arm; else the first list decides."
    )
    shares: Shares | None = Field(
        None,
        description="Planned shares of the users, such as A=0.5,B=0.5; equal ones by default. "
        "Names the arms.",
    )
    crossing: Crossing = Field(
        "exclude",
        description="Users with lists of two arms: left out, or in the arm of their assignment or "
        "first list.",
    )
    robots: Whole | None = Field(
        None,
        ge=1,
        description="Who was shown more lists than that on a day is taken for a robot; every rate "
        "with and without them.",
    )
    over_time: OverTime = Field(
        "pooled",
        description="All lists together; or the mean over versions, weighted by users (Kasalický "
        "2021).",
    )
    policy: Path | None = Field(
        None,
        description="Other lists, under the same rec_id: what they would have earned, by the "
        "propensities and clicks of RECOMMENDATIONS; or with a column propensity, the chance "
        "that a stochastic policy shows what the log showed.",
    )

    @model_validator(mode="after")
    def _says_what_a_click_is(self) -> Question:
        if self.explicit and self.window is not None:
            raise ValueError(
                "--explicit clicks name their list and have no --window: give one of them"
            )
        if not self.explicit and self.window is None:
            raise ValueError(
                "say within which time after a list was shown an interaction counts as a click of "
                "it, such as --window '30 min'; or --explicit, if clicks name their list"
            )
        return self

    def fate_of_crossing(self) -> str:
        """Say what becomes of the lists of users of two arms."""
        if self.crossing == "exclude":
            return "their lists do not count"
        return "their lists count for their first arm, or the one they were assigned to"

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
