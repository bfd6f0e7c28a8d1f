"""Which arm of an experiment is clicked more: what is asked of a log, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from analyses.online.logs import DAY, Acceptance, Credit, LogFacts, Logs, MatchedLog, match_lists
from analyses.online.rates import (
    ClickThrough,
    Floats,
    OverTime,
    UserCounts,
    click_through,
    rates_of,
)
from analyses.online.sample_ratio import SampleRatio, sample_ratio
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, part_figure, table
from analyses.shared.table import Cell, Table, shown
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.settings import Section, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA: Final = 0.05
"""Level at which an arm is said to be clicked more."""

UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000}
LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""

EVERYONE: Final = "all"
PEOPLE: Final = "without robots"
WHOLE_LOG: Final = ("all",)
"""The one period of a log that names no versions."""

RED: Final = "#C00000"
WEEK: Final = 7
COUNTED: Final = ("users", "lists", "accepted", "rate", "error", "95 % interval")

LABELS: Final = {
    "lists": "lists",
    "n_lists": "lists that count",
    "places": "recommended items in lists",
    "first_time": "first list",
    "last_time": "last list",
    "users": "users who were shown lists",
    "known_users": "of them with interactions",
    "known_items": "recommended items with interactions",
    "events": "interactions",
    "events_in_span": "of them between first and last list",
    "repeated_events": "repeated interactions",
    "n_crossed": "users shown lists by two arms",
    "gaps": "gaps between versions",
    "without_version": "lists without a live version",
}
"""What facts of a log are called in the table."""

_rounded = partial(shown, decimals=5)


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
    """Read values by name.

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


def _from_text(read: Any, format: str) -> tuple[BeforeValidator, WithJsonSchema]:
    parse = BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)
    return parse, WithJsonSchema({"type": "string", "format": format})


Duration = Annotated[int, *_from_text(milliseconds, "duration")]
"""Milliseconds, or a text with a unit."""

Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Shares = Annotated[Mapping[str, Share], *_from_text(read_pairs, "shares")]
Names = Annotated[Mapping[str, str], *_from_text(read_pairs, "names")]


class Question(Section):
    """What is asked of a log: the settings of `harness clicks`.

    Raises
    ------
    ValueError
        If a setting breaks a rule, or there is neither or both of a window and ``explicit``.
    """

    window: Duration | None = Field(
        None,
        description="An interaction with an item of a list within this time after the list was "
        "shown is a click, such as '30 min'. Required unless clicks are explicit.",
    )
    explicit: bool = Field(
        False,
        description="Count only clicks that name their list: column rec_id of INTERACTIONS, or "
        "clicked of RECOMMENDATIONS.",
    )
    credit: Credit = Field(
        "all", description="Lists that an interaction counts for if it is in several windows."
    )
    rename: Names | None = Field(
        None,
        description="New names of types of interactions, such as click=view,impression=; types "
        "without a new name are left out.",
    )
    strict: bool = Field(
        False,
        description="Refuse duplicate lists, and clicks that name a list outside the file, of "
        "another user, or without the item; default: leave them out and count them.",
    )
    models: Path | None = Field(
        None,
        description="Table arm, model_version, valid_from, valid_to: rates by version.",
    )
    shares: Shares | None = Field(
        None,
        description="Planned shares of the users, such as A=0.5,B=0.5; default: equal shares. "
        "Names the arms.",
    )
    robots: Whole | None = Field(
        None,
        ge=1,
        description="Exclude users who were shown more lists than that on one day (likely bots); "
        "rates are shown with and without them.",
    )
    over_time: OverTime = Field(
        "pooled",
        description="Pool all lists; or average the rates of the versions, weighted by users "
        "(Kasalický 2021).",
    )
    first_year: Whole | None = Field(
        None,
        ge=1,
        le=9999,
        description="Refuse times before this year, which are probably in seconds; default: 2000.",
    )

    @model_validator(mode="after")
    def _says_what_a_click_is(self) -> Question:
        if self.explicit and self.window is not None:
            raise ValueError(
                "--explicit clicks name their list and have no --window: give one of them"
            )
        if self.explicit and self.credit != "all":
            raise ValueError("--credit applies to a --window, not to --explicit clicks")
        if not self.explicit and self.window is None:
            raise ValueError(
                "say within which time after a list was shown an interaction counts as a click of "
                "it, such as --window '30 min'; or --explicit, if clicks name their list"
            )
        return self

    def logs(self, recommendations: Path, interactions: Path) -> Logs:
        """Say which files are read, and how."""
        return Logs(
            recommendations,
            interactions,
            models=self.models,
            rename=self.rename,
            strict=self.strict,
            first_year=self.first_year,
        )

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


@dataclass(frozen=True, eq=False)
class Truth:
    """Expected click-through rates of the lists that were shown in a simulated experiment.

    The rates of the log estimate it, with the same users and lists. It is not the rate of a model
    that serves everybody, since users use up what their own arm has for them.

    Users who were shown lists, lists, and the sum of their chances of a click or more are of shape
    (n_arms, n_periods).
    """

    arms: tuple[str, ...]
    users: Floats
    lists: Floats
    expected: Floats

    def rates(self, over_time: OverTime) -> Floats:
        """Give the expected rate of every arm over all periods, of shape (n_arms,)."""
        return rates_of(np.stack([self.users, self.lists, self.expected]), over_time=over_time)

    def to_frame(self) -> pd.DataFrame:
        """One row per arm and period (from 1): arm, period, users, lists and expected_rate."""
        import pandas as pd

        n_arms, n_periods = self.lists.shape
        sums = np.stack([self.users, self.lists, self.expected]).reshape(3, -1, 1)
        return pd.DataFrame(
            {
                "arm": np.repeat(self.arms, n_periods),
                "period": np.tile(np.arange(1, n_periods + 1), n_arms),
                "users": self.users.astype(np.int64).ravel(),
                "lists": self.lists.astype(np.int64).ravel(),
                "expected_rate": rates_of(sums, over_time="pooled"),
            }
        )


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of an experiment beside its log.

    Name of the data set; settings of the arms, a row each; the truth, of simulated worlds; and
    remarks on the models.
    """

    name: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()
    truth: Truth | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Group:
    """What some of the users did: rates of the arms, and the split of users of two arms or more."""

    rates: ClickThrough
    split: SampleRatio | None


def count_clicks(
    logs: Logs,
    question: Question,
    *,
    progress: Progress,
    known: Known | None = None,
    folder: Path | None = None,
    n_jobs: int | None = None,
) -> Clicks:
    """Estimate the click-through rates of a log's arms, and all that makes them credible.

    The arms are those of the planned shares, if there are any. Lists of users who were shown lists
    by more than one arm are left out. The log's own question on files (`Question.logs`) has been
    answered by ``logs``. Temporary files lie in the folder; the threads change no result.

    Raises
    ------
    InputError
        If the files break a rule, or no list counts.
    """
    arms = None if question.shares is None else [*question.shares]
    acceptance = Acceptance(question.window, question.credit)
    with progress("Matching clicks with lists", 1) as bar:
        log = match_lists(logs, acceptance, arms=arms, folder=folder, n_jobs=n_jobs)
        bar.advance()
    if question.over_time == "thesis" and log.models is None and not log.versions:
        raise InputError(
            "--over-time thesis averages over periods: it needs --models, or a column "
            "'model_version' in the recommendations."
        )
    n_users = int(log.user.max()) + 1
    order = np.lexsort((log.time, log.user))
    firsts = order[np.unique(log.user[order], return_index=True)[1]]
    first_arm, first_day = log.arm[firsts], log.time[firsts] // DAY
    crossed = np.zeros(n_users, dtype=np.bool_)
    crossed[log.user[log.arm != first_arm[log.user]]] = True
    periods, period = _periods(log)
    counts = ~crossed[log.user] & (period >= 0)
    if not counts.any():
        raise InputError(
            "no list counts: all users were shown lists by two arms, or no version of a model was "
            "live."
        )
    members = {EVERYONE: np.ones(n_users, dtype=np.bool_)}
    if question.robots is not None:
        days, n_lists = np.unique([log.user, log.time // DAY], axis=1, return_counts=True)
        members[PEOPLE] = members[EVERYONE].copy()
        members[PEOPLE][days[0, n_lists > question.robots]] = False
    groups = {}
    for name, is_member in members.items():
        chosen = counts & is_member[log.user]
        if not chosen.any():
            raise InputError(f"`--robots {question.robots}` leaves nobody: take a larger number.")
        rates = click_through(
            _user_counts(log, chosen, period, periods), over_time=question.over_time
        )
        split = None
        if len(log.arms) > 1:
            place = first_arm[is_member], first_day[is_member]
            split = sample_ratio(*place, arms=log.arms, shares=question.shares)
        groups[name] = Group(rates, split)
    dates, day = np.unique(log.time[chosen] // DAY, return_inverse=True)
    days_of_lists = np.zeros(len(log.time), dtype=np.int64)
    days_of_lists[chosen] = day
    names = np.datetime_as_string(dates.astype("datetime64[D]")).tolist()
    return Clicks(
        accepted_when=question.accepted_when(),
        window="" if question.window is None else in_words(question.window),
        robots=question.robots,
        planned=question.shares is not None,
        facts=log.facts,
        n_crossed=int(crossed.sum()),
        n_lists=int(counts.sum()),
        groups=groups,
        periods={} if periods == WHOLE_LOG else _by_period(log, chosen, period, periods),
        hours=_hours(log, chosen, period, len(periods)),
        days=_by_period(log, chosen, days_of_lists, names) if len(names) > 1 else {},
        known=known or Known(),
    )


def _user_counts(
    log: MatchedLog, kept: NDArray[np.bool_], period: NDArray[np.int64], periods: Sequence[str]
) -> UserCounts:
    return UserCounts.of(
        log.accepted[kept],
        user=log.user[kept],
        arm=log.arm[kept],
        arms=log.arms,
        period=period[kept],
        periods=periods,
    )


def _by_period(
    log: MatchedLog, kept: NDArray[np.bool_], period: NDArray[np.int64], periods: Sequence[str]
) -> Mapping[str, ClickThrough]:
    counts = _user_counts(log, kept, period, periods)
    return {name: click_through(counts.in_period(n)) for n, name in enumerate(periods)}


def _periods(log: MatchedLog) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Name the periods, and give that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so; without such a table it is the version that lists name.
    """
    if log.models is not None:
        numbers = log.models.numbers
        alike = [set(log.models.names[numbers == k].tolist()) for k in range(numbers.max() + 1)]
        are_named = all(len(names) == 1 for names in alike)
        named = [min(names) if are_named else str(k + 1) for k, names in enumerate(alike)]
        return tuple(named), np.append(numbers, -1)[log.models.at(log.arm, log.time)]
    if log.versions:
        return log.versions, log.version.astype(np.int64)
    return WHOLE_LOG, np.zeros(len(log.user), dtype=np.int64)


def _hours(
    log: MatchedLog, kept: NDArray[np.bool_], period: NDArray[np.int64], n_periods: int
) -> Floats:
    """Say how long each version was live, or showed lists, in hours: (n_arms, n_periods)."""
    hours = np.full((len(log.arms), n_periods), np.nan)
    if (models := log.models) is not None:
        hours[models.arm, models.numbers] = (models.valid_to - models.valid_from) / 3_600_000
        return hours
    first, last = np.full_like(hours, np.inf), np.full_like(hours, -np.inf)
    cell, time = (log.arm[kept], period[kept]), log.time[kept] / 3_600_000
    np.minimum.at(first, cell, time)
    np.maximum.at(last, cell, time)
    return np.where(first <= last, last - first, hours)


@dataclass(frozen=True, eq=False)
class Clicks(Result):
    """What a log says of the arms.

    What was asked: when a list is accepted, how soon ("" if clicks name it), lists a day beyond
    which a user is a robot, whether shares were planned. Facts of the log, users of two arms, and
    lists that count. Groups are everyone and, if asked, then those who are not robots, of whom
    there are rates by version of the models (none if the log names none), how long versions were
    live, of shape (n_arms, n_periods), and rates by day (none if there is but one). What else is
    known.
    """

    accepted_when: str
    window: str
    robots: int | None
    planned: bool
    facts: LogFacts
    n_crossed: int
    n_lists: int
    groups: Mapping[str, Group]
    periods: Mapping[str, ClickThrough]
    hours: Floats
    days: Mapping[str, ClickThrough]
    known: Known

    @property
    def chosen(self) -> Group:
        """The group that counts: without robots, if they were looked for."""
        return [*self.groups.values()][-1]

    @property
    def rates(self) -> ClickThrough:
        """Rates of the group that counts."""
        return self.chosen.rates

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: panels of the figure over time."""
        return self.rates.arms

    @property
    def splits(self) -> Mapping[str, SampleRatio]:
        """Users per arm against the planned shares, by group; none with one arm."""
        return {name: group.split for name, group in self.groups.items() if group.split}

    @property
    def daily(self) -> Mapping[str, ClickThrough] | None:
        """Rates by day, if there are several."""
        return self.days or None

    @property
    def daily_split(self) -> SampleRatio | None:
        """The split of the group that counts, if there are several days."""
        split = self.chosen.split
        return split if split is not None and len(split.days) > 1 else None

    @cached_property
    def alarm(self) -> str:
        """What is said if users are not split as planned, over all days or on one; else empty."""
        found = []
        for name, split in self.splits.items():
            frame = split.to_frame()
            days = frame["day"][frame["mismatch"]].tolist()
            if days:
                found.append(
                    f"{name}: {_p(split.p) if split.mismatch else 'on ' + ', '.join(days)}"
                )
        if not found:
            return ""
        against = (
            "the planned shares"
            if self.planned
            else "equal shares; say --shares if others were planned"
        )
        return (
            f"SAMPLE-RATIO MISMATCH against {against} ({'; '.join(found)}). Find out why before "
            "anything else is read."
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what is not known or asked are left out."""
        return self._frames

    @cached_property
    def _frames(self) -> Mapping[str, pd.DataFrame]:
        import pandas as pd

        known, groups = self.known, self.groups
        frames = {
            "arms": _joined({name: group.rates.to_frame() for name, group in groups.items()}),
            "rates": self._plain_rates(),
            "differences": _joined({n: g.rates.differences() for n, g in groups.items()}),
            "facts": self.facts.to_frame(),
        }
        if self.splits:
            frames["sample_ratio"] = _joined({n: s.to_frame() for n, s in self.splits.items()})
        if self.periods:
            hours = self.hours.T.ravel()
            frames["periods"] = _by(self.periods, label="period").assign(hours=hours)
        if self.days:
            frames["days"] = _by(self.days, label="day")
        if known.settings:
            frames["settings"] = pd.DataFrame(known.settings)
        if known.truth:
            frames["truth"] = known.truth.to_frame()
        return frames

    def _plain_rates(self) -> pd.DataFrame:
        """Give the rates of arms by period, of the group that counts, as `harness online` reads.

        Columns model (the arm), period, rate, error (over users), users, recommendations and
        accepted; no row where an arm showed nothing.
        """
        frame = _by(self.periods or {"all": self.rates}, label="period")
        names = {"arm": "model", "lists": "recommendations"}
        columns = ["model", "period", "rate", "error", "users", "recommendations", "accepted"]
        plain = frame.rename(columns=names)[columns]
        return plain[plain["recommendations"] > 0].reset_index(drop=True)

    def caption(self) -> str:
        """Say what the rates are, and when a list is accepted; first what forbids to read them."""
        return self._marked(f"{self.rates.caption()} {self.accepted_when}")

    def caption_of(self, part: str) -> str:
        """Say what a part is; first what forbids to read it."""
        if part == "rates":
            return self.caption()
        if part == "daily":
            return self._marked(
                f"Click-through rates on {len(self.days):,} days (UTC), each arm before the "
                "others; bands: 95 % by the delta method over the users of the day."
            )
        return self._marked(super().caption_of(part))

    def _marked(self, text: str) -> str:
        return f"{self.alarm} {text}" if self.alarm else text

    def findings(self) -> Sequence[str]:
        """Say which arm is clicked most; first what forbids to say so."""
        group = "" if self.robots is None else "Without robots: "
        found = verdict(self.rates, mismatch=bool(self.alarm), group=group)
        return [self.alarm, found] if self.alarm else [found]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates, and the remarks on the models."""
        return [*self._about_log(), *self.known.remarks]

    def _about_log(self) -> Iterator[str]:
        if self.n_crossed:
            yield (
                f"{self.n_crossed:,} of {self.facts.users:,} users were shown lists by more than "
                "one arm; their lists do not count."
            )
        yield from self.facts.cautions()
        n_days = max(len(self.days), 1)
        if n_days < WEEK:
            yield f"The log has {n_days} of the 7 days of a week, which may differ."
        if self.window and self.rates.n_accepted.sum() == 0:
            yield f"No list is accepted: is {self.window} long enough, and in one clock?"

    @table("clicks_rates", "click-through rates of the arms")
    def rates_table(self) -> Table:
        """Tabulate the rates of every group, and of simulated ones what they estimate."""
        truth, known, note = self.known.truth, {}, ""
        if truth is not None:
            known = dict(zip(truth.arms, truth.rates(self.rates.over_time), strict=True))
            note = " Expected: mean chance of a click in lists shown to people."
        rows = [
            {"arm": _label(row["arm"], row), **_cells(row, *COUNTED)}
            | {"mean of users": _rounded(row["mean_of_users"])}
            | ({"expected": _rounded(known[row["arm"]])} if known else {})
            for row in _rows(self._frames["arms"])
        ]
        return _table("rates", "Click-through rates", self.caption() + note, rows)

    @table("clicks_differences", "differences of the arms' click-through rates")
    def differences_table(self) -> Table:
        """Tabulate the differences of every two arms."""
        rows = [
            {"arms": _label(f"{row['arm_a']} - {row['arm_b']}", row)}
            | _cells(row, "difference", "error", "95 % interval")
            | {"p": row["p"], "p (Holm)": row["p_holm"]}
            for row in _rows(self._frames["differences"])
        ]
        note = (
            "Intervals are of each pair alone; p-values by Holm's method are adjusted for the "
            "number of pairs."
        )
        return _table("differences", "Differences of the arms' rates", note, rows)

    @table("clicks_split", "users per arm against the plan")
    def split_table(self) -> Table:
        """Tabulate the users of the arms, and the chance of such a split."""
        rows, note = [], ""
        for name, split in self.splits.items():
            cells: dict[str, Cell] = {"users": name}
            for arm, count, share in zip(split.arms, split.counts, split.shares, strict=True):
                part = f"{count:,} ({count / split.counts.sum():.1%})"
                cells[f"{arm} (planned {share:.1%})"] = part
            alarms = int(split.to_frame()["mismatch"].iloc[1:].sum())
            rows.append(cells | {"p": split.p, "days with p < .001 (Holm)": alarms})
            note = split.caption()
        return _table("split", "Users per arm against the plan", note, rows)

    @table("clicks_periods", "click-through rates by version of the model")
    def periods_table(self) -> Table:
        """Tabulate the rates by version, if the log names them."""
        rows = [
            {
                "version, arm": f"{row['period']}, {row['arm']}",
                "hours": shown(row["hours"], decimals=1),
                **_cells(row, *COUNTED),
            }
            for row in _rows(self._frames.get("periods"))
            if row["lists"]
        ]
        note = "A period is the time in which a version of an arm's model was live."
        return _table("periods", "Click-through rates by version of the model", note, rows)

    @table("thesis2021-table4.1", "settings of the arms' models", "table4.1")
    def settings_table(self) -> Table:
        """Tabulate the settings of the arms of an experiment."""
        rows = [
            {
                "dataset": self.known.name,
                "system": arm["arm"],
                "hyperparameter": name,
                "value": text,
            }
            for arm in self.known.settings
            for name, value in arm.items()
            if name != "arm" and (text := str(value))
        ]
        return _table("settings", "Settings of the models", "", rows)

    @table("thesis2021-table4.2", "periods, users and lists of the arms", "table4.2")
    def experiment_table(self) -> Table:
        """Tabulate how often models were trained anew, users, lists and rates."""
        rows: list[dict[str, Cell]] = []
        if self.periods:
            shown_in = np.array([found.n_lists for found in self.periods.values()]).T > 0
            for arm, name in enumerate(self.arms):
                if not shown_in[arm].any():
                    continue
                minutes = round(60 * float(self.hours[arm, shown_in[arm]].mean()))
                cells: list[tuple[str, Cell, str]] = [
                    ("measurements o", int(shown_in[arm].sum()), ""),
                    ("duration of one iteration", f"{minutes // 60}:{minutes % 60:02}", "hh:mm"),
                    ("iCTR users", int(self.rates.n_users[arm]), ""),
                    ("iCTR interactions", int(self.rates.n_lists[arm]), "lists shown"),
                    ("iCTR", 100 * float(self.rates.rates[arm]), "%"),
                ]
                of = {"dataset": self.known.name, "system": name}
                rows += [{**of, "quantity": q, "value": v, "unit": u} for q, v, u in cells]
        note = f"iCTR interactions are lists, as printed there. {self.rates.caption()}"
        return _table("experiment", "Periods, users and lists of the arms", note, rows)

    @table("clicks_facts", "how far the tables of a log fit together")
    def facts_table(self) -> Table:
        """Tabulate counts and shares of the log."""
        aside = {name: count for name, count in self.facts.set_aside.items() if count}
        facts = {**vars(self.facts), **vars(self), **aside}
        rows = [
            {"fact": LABELS.get(name, name), "value": _fact(name, facts[name])}
            for name in [*LABELS, *aside]
            if facts[name] is not None
        ]
        return _table("facts", "The log", "Shares say how far the tables fit together.", rows)

    plot_arms = part_figure("arms", "Click-through rates of the arms", of="rates")

    @figure(
        "sample_ratio", "Users of the arms, and the planned shares", panels="arm", of="daily_split"
    )
    def plot_sample_ratio(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw an arm's share of each day's new users, as a multiple of what was planned."""
        return self.draw_part("daily_split", ax, draw="plot", arm=arm)

    @figure(
        "thesis2021-figure4.1",
        "Click-through rates over time (figures 4.1 to 4.5 of Kasalický 2021)",
        panels="arm",
        of="daily",
    )
    def plot_over_time(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw the rates of an arm by day, with their intervals, before those of the others."""
        axes, found = axes_or_new(ax), [*self.days.values()]
        dates, number = np.array([*self.days], dtype="datetime64[D]"), self.arms.index(arm)
        days = (dates - dates[0]).astype(np.int64) + 1
        low, high = np.array([each.limits for each in found]).transpose(1, 2, 0)
        draw_among(axes, days, np.array([each.rates for each in found]).T, number)
        axes.fill_between(days, low[number], high[number], color="#0072B2", alpha=0.15, lw=0)
        # The same in all panels, so that none is cut off.
        axes.set_ylim(0, 1.05 * np.nanmax(high))
        axes.set_title(arm)
        axes.set_xlabel("day")
        axes.set_ylabel("click-through rate")
        return self._under_alarm(axes)

    def draw_part(self, part: str, ax: Axes | None, *, draw: str, **chosen: Any) -> Axes:
        """Draw a part; under a red line, if users are not split as planned."""
        return self._under_alarm(super().draw_part(part, ax, draw=draw, **chosen))

    def _under_alarm(self, axes: Axes) -> Axes:
        if self.alarm and axes.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            axes.figure.suptitle(text, color=RED, fontweight="bold")
        return axes


def draw_among(axes: Axes, places: NDArray[np.generic], curves: Floats, number: int) -> None:
    """Draw curves of shape (n_curves, n_places): one in colour, the others grey behind it."""
    for other in np.delete(curves, number, axis=0):
        axes.plot(places, other, color="0.85", linewidth=0.7, zorder=0)
    axes.plot(places, curves[number], color="#0072B2", linewidth=1.4)


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
    name = rates.arms[int(np.nanargmax(rates.rates))]
    pairs = rates.differences()
    ahead = pairs[pairs["arm_a"] == name].rename(columns={"arm_b": "other"})
    behind = pairs[pairs["arm_b"] == name].rename(columns={"arm_a": "other"})
    turned = {"difference": -behind["difference"], "low": -behind["high"], "high": -behind["low"]}
    others = [*_rows(ahead), *_rows(behind.assign(**turned))]
    others.sort(key=lambda row: row["difference"])
    by = "" if len(pairs) == 1 else f" by Holm's method over {len(pairs)} pairs"
    doubtful = [row for row in others if not row["p_holm"] < ALPHA]
    row = (doubtful or others)[0]
    gap = f"{_rounded(row['difference'])} [{_rounded(row['low'])}, {_rounded(row['high'])}]"
    told = f"{gap} above that of {row['other']}"
    if doubtful:
        return (
            f"{group}No winner: the rate of {name} is {told}, which may be luck "
            f"({_p(row['p_holm'])}{by})."
        )
    return f"{group}Arm {name} is clicked most: its rate is {told} ({_p(row['p_holm'])}{by})."


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


def _joined(frames: Mapping[str, pd.DataFrame], *, label: str = "users_counted") -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, names=[label]).reset_index(level=0).reset_index(drop=True)


def _by(rates: Mapping[str, ClickThrough], *, label: str) -> pd.DataFrame:
    """Put rates of several kinds below each other."""
    return _joined({name: found.to_frame() for name, found in rates.items()}, label=label)


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table of rows that name their cells."""
    headings = list(rows[0]) if rows else []
    return Table(f"clicks-{name}", title, note, headings, [list(row.values()) for row in rows])


def _rows(frame: pd.DataFrame | None) -> Iterable[dict[str, Any]]:
    return () if frame is None else frame.to_dict("records")  # type: ignore[return-value]


def _label(name: str, row: Mapping[str, Any]) -> str:
    group = row["users_counted"]
    return name if group == EVERYONE else f"{name}, {group}"


def _cells(row: Mapping[str, Any], *headings: str) -> dict[str, Cell]:
    """Write cells of a row under their headings: counts whole, other numbers rounded."""
    cells: dict[str, Cell] = {}
    for heading in headings:
        if heading == "95 % interval":
            cells[heading] = f"{_rounded(row['low'])} to {_rounded(row['high'])}"
        else:
            value = row[heading]
            cells[heading] = f"{value:,}" if isinstance(value, int) else _rounded(value)
    return cells


def _fact(name: str, value: Any) -> str:
    """Write a time, a share or a count."""
    if name.endswith("_time"):
        return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
