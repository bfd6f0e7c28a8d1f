"""Facts of a log: how far its tables fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from analyses.online.logs.models import Models
from analyses.online.logs.slates import Slates

if TYPE_CHECKING:
    import pandas as pd


HASH_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples spread well (Knuth, The Art of Computer Programming, 6.4)."""


@dataclass(frozen=True)
class LogFacts:
    """How many rows the tables have, and which share of one is known to the other.

    Parameters
    ----------
    slates, places, users, events
        Lists, recommended items in them, users who were shown any, interactions.
    first_time, last_time
        Span of the lists, in milliseconds since 1970 in UTC.
    known_users, known_items
        Shares of the users who were shown lists, and of the recommended items, that occur in the
        interactions.
    events_in_span
        Share of the interactions within the span of the lists; the others are history.
    repeated_events
        Interactions that another equals in user, item, type and time.
    gaps
        Times between two versions of an arm's model when none was live; `Models.gaps` lists them.
    without_version
        Share of the lists that were shown when no version of their arm's model was live.
    without_arm
        Share of the users who were shown lists, but were not assigned to an arm.
    against_assignment
        Share of the lists that another arm showed than their user was assigned to. These two, and
        the two before, are None if there is no such table.
    set_aside
        Rows that were left out rather than refused, by what is wrong with them.
    further
        Columns without a meaning here, by table.
    """

    slates: int
    places: int
    users: int
    events: int
    first_time: int
    last_time: int
    known_users: float
    known_items: float
    events_in_span: float
    repeated_events: int
    gaps: int | None
    without_version: float | None
    without_arm: float | None
    against_assignment: float | None
    set_aside: Mapping[str, int]
    further: Mapping[str, tuple[str, ...]]

    def to_frame(self) -> pd.DataFrame:
        """One row per fact: fact, value."""
        import pandas as pd

        parts = {"set_aside", "further"}
        facts = {name: value for name, value in vars(self).items() if name not in parts}
        facts |= self.set_aside
        for table, names in self.further.items():
            facts[f"further columns of {table}"] = ", ".join(names)
        return pd.DataFrame({"fact": [*facts], "value": [*facts.values()]})

    def cautions(self) -> Iterator[str]:
        """Say where the tables do not fit together."""
        if self.repeated_events:
            yield f"{self.repeated_events:,} interactions are repeated in every column."
        for what, count in self.set_aside.items():
            if count:
                yield f"{count:,} {what}: set aside, and not counted."
        if self.without_version:
            yield (
                f"{self.without_version:.1%} of the lists were shown when no version of their "
                "arm's model was live; they do not count."
            )
        if self.gaps:
            yield f"Between versions of the models there are {self.gaps} gaps."
        if self.without_arm:
            yield (
                f"{self.without_arm:.1%} of the users were not assigned; their first arm is theirs."
            )
        if self.known_users < 0.5 and self.events:
            yield (
                f"{1 - self.known_users:.0%} of the users have no interaction at all: do both "
                "tables call users the same?"
            )


def facts_of(
    slates: Slates,
    events: Events,
    models: Models | None,
    assigned: NDArray[np.int32] | None,
    *,
    set_aside: Mapping[str, int],
    further: Mapping[str, tuple[str, ...]],
) -> LogFacts:
    """Compare the tables of a log; see `analyses.online.logs.Logs` for the parameters."""
    users, items = np.unique(slates.user), np.unique(slates.item)
    begin, end = int(slates.time.min()), int(slates.time.max())
    inside = (events.time >= begin) & (events.time <= end)
    return LogFacts(
        slates=len(slates),
        places=len(slates.item),
        users=len(users),
        events=len(events),
        first_time=begin,
        last_time=end,
        known_users=float(np.isin(users, events.user).mean()),
        known_items=float(np.isin(items, events.item).mean()),
        events_in_span=float(inside.mean()) if len(events) else 0.0,
        repeated_events=_repeated(events),
        gaps=None if models is None else len(models.gaps()),
        without_version=None
        if models is None
        else float((models.at(slates.arm, slates.time) < 0).mean()),
        without_arm=None if assigned is None else float((assigned[users] < 0).mean()),
        against_assignment=None if assigned is None else _against(slates, assigned),
        set_aside=set_aside,
        further=further,
    )


def _against(slates: Slates, assigned: NDArray[np.int32]) -> float:
    planned = assigned[slates.user]
    return float(((planned >= 0) & (planned != slates.arm)).mean())


def _repeated(events: Events) -> int:
    """Count interactions that another equals, among those whose hash another has."""
    columns = (events.user, events.item, events.type, events.time)
    hashes = np.zeros(len(events), dtype=np.uint64)
    for column in columns:
        hashes = (hashes ^ column.astype(np.uint64)) * HASH_FACTOR
    rising = np.sort(hashes)
    suspects = np.isin(hashes, rising[1:][rising[1:] == rising[:-1]])
    rows = np.stack([column[suspects] for column in columns])
    rows = rows[:, np.lexsort(rows)]
    return int(np.count_nonzero((rows[:, 1:] == rows[:, :-1]).all(axis=0)))
