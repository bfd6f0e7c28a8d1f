"""Facts of a log: how far its tables fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.models import Models
from analyses.online.logs.slates import Events, Shown, Slates

if TYPE_CHECKING:
    import pandas as pd


HASH_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples spread well (Knuth, The Art of Computer Programming, 6.4)."""


@dataclass(frozen=True)
class LogFacts:
    """How many rows the tables have, and which share of one is known to the other.

    Slates, places and users: lists, recommended items in them, who was shown any. Known users and
    items are shares of those that occur in the interactions; events in span the share of these
    within the span of the lists, in milliseconds since 1970 in UTC, the others being history;
    repeated events equal another in user, item, type and time. Without a version are the share of
    the lists that were shown when none was live, without an arm that of the users who were not
    assigned, against their assignment that of the lists of another arm; None if there is no such
    table. Set aside are rows that were left out rather than refused, by what is wrong with them;
    further columns have no meaning here.
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


@dataclass(frozen=True, eq=False)
class Fit:
    """How far interactions fit lists: what adds up over shards of users, and ids of items.

    See `LogFacts`; inside are interactions within the span of all lists. Ids are of items that were
    shown, and of those that were interacted with.
    """

    places: int
    events: int
    inside: int
    repeated: int
    known_users: int
    shown_items: NDArray[np.str_]
    used_items: NDArray[np.str_]
    set_aside: Mapping[str, int]

    @classmethod
    def of(
        cls, slates: Slates, events: Events, span: tuple[int, int], set_aside: Mapping[str, int]
    ) -> Fit:
        """Compare the tables of a log, whose lists are from the first to the last time."""
        begin, end = span
        items = slates.items.ids
        return cls(
            places=len(slates.item),
            events=len(events),
            inside=int(np.count_nonzero((events.time >= begin) & (events.time <= end))),
            repeated=_repeated(events),
            known_users=int(np.count_nonzero(np.isin(np.unique(slates.user), events.user))),
            shown_items=items[np.unique(slates.item)],
            used_items=items[np.unique(events.item)],
            set_aside=set_aside,
        )

    @classmethod
    def joined(cls, parts: Sequence[Fit]) -> Fit:
        """Add up those of different users."""
        sums = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("places", "events", "inside", "repeated", "known_users")
        }
        shown, used = (
            np.unique(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("shown_items", "used_items")
        )
        what = dict.fromkeys(name for part in parts for name in part.set_aside)
        set_aside = {name: sum(part.set_aside.get(name, 0) for part in parts) for name in what}
        return cls(**sums, shown_items=shown, used_items=used, set_aside=set_aside)


def facts_of(
    shown: Shown,
    fit: Fit,
    models: Models | None,
    assigned: NDArray[np.int32] | None,
    *,
    further: Mapping[str, tuple[str, ...]],
) -> LogFacts:
    """Say how a log's tables fit together; see `analyses.online.logs.Logs` for the parameters."""
    users = np.unique(shown.user)
    return LogFacts(
        slates=len(shown),
        places=fit.places,
        users=len(users),
        events=fit.events,
        first_time=int(shown.time.min()),
        last_time=int(shown.time.max()),
        known_users=fit.known_users / len(users),
        known_items=float(np.isin(fit.shown_items, fit.used_items).mean()),
        events_in_span=fit.inside / fit.events if fit.events else 0.0,
        repeated_events=fit.repeated,
        gaps=None if models is None else models.n_gaps,
        without_version=None
        if models is None
        else float((models.at(shown.arm, shown.time) < 0).mean()),
        without_arm=None if assigned is None else float((assigned[users] < 0).mean()),
        against_assignment=None if assigned is None else _against(shown, assigned),
        set_aside=fit.set_aside,
        further=further,
    )


def _against(shown: Shown, assigned: NDArray[np.int32]) -> float:
    planned = assigned[shown.user]
    return float(((planned >= 0) & (planned != shown.arm)).mean())


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
