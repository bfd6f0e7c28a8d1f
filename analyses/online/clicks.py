"""Which arm of an experiment is clicked more: what is asked of a log, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from analyses.online.logs import DAY, LogFacts, Logs, MatchedLog, match_lists
from analyses.online.rates import (
    ClickThrough,
    Floats,
    OverTime,
    SampleRatio,
    UserCounts,
    click_through,
    rates_of,
    sample_ratio,
)
from analyses.online.thesis_tables import named_table, thesis_table
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, frame_table, shown
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.settings import Section, Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA: Final = 0.05
"""Level at which an arm is said to be clicked more."""

LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""

DECIMALS: Final = 5
WEEK: Final = 7


def milliseconds(text: str) -> int:
    """Read a duration, such as "30 min", "1.5h" or "2 days"."""
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
    """Write a duration in the largest unit that needs no fraction."""
    for unit, length in {"d": DAY, "h": 3_600_000, "min": 60_000, "s": 1000}.items():
        if duration and duration % length == 0:
            return f"{duration // length} {unit}"
    return f"{duration} ms"


def read_pairs(text: str) -> dict[str, str]:
    """Read values by name, such as "click=view,impression="."""
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
    """What is asked of a log: the settings of `harness clicks`."""

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
    rename: Names | None = Field(
        None,
        description="New names of types of interactions, such as click=view,impression=; types "
        "without a new name are left out.",
    )
    models: Path | None = Field(
        None, description="Table arm, model_version, valid_from, valid_to: rates by version."
    )
    shares: Shares | None = Field(
        None,
        description="Planned shares of the users, such as A=0.5,B=0.5; default: equal shares. "
        "Names the arms.",
    )
    robots: Whole | None = Field(
        None,
        ge=1,
        description="Exclude users who were shown more lists than that on one day (likely bots).",
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
        if not self.explicit and self.window is None:
            raise ValueError(
                "say within which time after a list was shown an interaction counts as a click of "
                "it, such as --window '30 min'; or --explicit, if clicks name their list"
            )
        return self

    def logs(self, recommendations: Path, interactions: Path) -> Logs:
        """Say which files are read, and how."""
        return Logs(recommendations, interactions, self.models, self.rename, self.first_year)


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
        """Give arm, period (from 1), users, lists and expected_rate."""
        import pandas as pd

        n_arms, n_periods = self.lists.shape
        return pd.DataFrame(
            {
                "arm": np.repeat(self.arms, n_periods),
                "period": np.tile(np.arange(1, n_periods + 1), n_arms),
                "users": self.users.astype(np.int64).ravel(),
                "lists": self.lists.astype(np.int64).ravel(),
                "expected_rate": (self.expected / np.where(self.lists, self.lists, np.nan)).ravel(),
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
    by more than one arm are left out. Temporary files lie in the folder; the threads change no
    result.
    """
    with progress("Matching clicks with lists", 1) as bar:
        arms = None if question.shares is None else [*question.shares]
        log = match_lists(logs, question.window, arms=arms, folder=folder, n_jobs=n_jobs)
        bar.advance()
    if question.over_time == "thesis" and log.models is None and not log.versions:
        raise InputError(
            "--over-time thesis averages over periods: it needs --models, or a column "
            "'model_version' in the recommendations."
        )
    order = np.lexsort((log.time, log.user))
    firsts = order[np.unique(log.user[order], return_index=True)[1]]
    first_arm, first_day = log.arm[firsts], log.time[firsts] // DAY
    crossed = np.zeros(len(firsts), dtype=np.bool_)
    crossed[log.user[log.arm != first_arm[log.user]]] = True
    periods, period = _periods(log)
    kept = ~crossed[log.user] & (period >= 0)
    if not kept.any():
        raise InputError(
            "no list counts: all users were shown lists by two arms, or no version of a model was "
            "live."
        )
    people = np.ones(len(firsts), dtype=np.bool_)
    if question.robots is not None:
        days, n_lists = np.unique([log.user, log.time // DAY], axis=1, return_counts=True)
        people[days[0, n_lists > question.robots]] = False
        kept &= people[log.user]
        if not kept.any():
            raise InputError(f"`--robots {question.robots}` leaves nobody: take a larger number.")
    dates, day = np.unique(log.time[kept] // DAY, return_inverse=True)
    columns: dict[str, Any] = {"user": log.user[kept], "arm": log.arm[kept], "arms": log.arms}

    def counted(period: NDArray[np.int64], n_periods: int) -> UserCounts:
        return UserCounts.of(log.accepted[kept], **columns, period=period, n_periods=n_periods)

    def by_period(counts: UserCounts, names: Sequence[str]) -> Mapping[str, ClickThrough]:
        return {name: click_through(counts.in_period(n)) for n, name in enumerate(names)}

    counts, split = counted(period[kept], max(len(periods), 1)), None
    if len(log.arms) > 1:
        places = first_arm[people], first_day[people]
        split = sample_ratio(*places, arms=log.arms, shares=question.shares)
    names = np.datetime_as_string(dates.astype("datetime64[D]")).tolist()
    return Clicks(
        window=question.window,
        planned=question.shares is not None,
        over_time=question.over_time,
        facts=log.facts,
        n_crossed=int(crossed.sum()),
        n_robots=int((~people).sum()),
        rates=click_through(counts, over_time=question.over_time),
        split=split,
        periods=by_period(counts, periods),
        hours=_hours(log, kept, period, max(len(periods), 1)),
        days=by_period(counted(day, len(names)), names) if len(names) > 1 else {},
        known=known or Known(),
    )


def _periods(log: MatchedLog) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Name the periods, and give that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so; without such a table it is the version that lists name, and without
    these there is one without a name.
    """
    if log.models is not None:
        numbers = log.models.numbers
        alike = [set(log.models.names[numbers == k].tolist()) for k in range(numbers.max() + 1)]
        are_named = all(len(names) == 1 for names in alike)
        named = [min(names) if are_named else str(k + 1) for k, names in enumerate(alike)]
        return tuple(named), np.append(numbers, -1)[log.models.at(log.arm, log.time)]
    if log.versions:
        return log.versions, log.version.astype(np.int64)
    return (), np.zeros(len(log.user), dtype=np.int64)


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

    What was asked: milliseconds within which an interaction is a click (None if clicks name their
    list), whether shares were planned, and the mean over time. Facts of the log, users of two arms
    and robots, who are left out. Rates, the split of the users (None with one arm), rates by
    version of the models (none if the log names none), how long versions were live, of shape
    (n_arms, n_periods), and rates by day (none if there is but one). What else is known.
    """

    window: int | None
    planned: bool
    over_time: OverTime
    facts: LogFacts
    n_crossed: int
    n_robots: int
    rates: ClickThrough
    split: SampleRatio | None
    periods: Mapping[str, ClickThrough]
    hours: Floats
    days: Mapping[str, ClickThrough]
    known: Known

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: panels of the figure over time."""
        return self.rates.arms

    @property
    def daily(self) -> Mapping[str, ClickThrough] | None:
        """Rates by day, if there are several."""
        return self.days or None

    @cached_property
    def alarm(self) -> str:
        """What is said if users are not split as planned, over all days or on one; else empty."""
        if self.split is None:
            return ""
        split = self.split.to_frame()
        if not split["mismatch"].any():
            return ""
        found = _p(split["p"][0])
        if not split["mismatch"][0]:
            found = f"on {', '.join(split['day'][split['mismatch']])}"
        plan = "equal shares; say --shares if others were planned"
        return (
            f"SAMPLE-RATIO MISMATCH against {'the planned shares' if self.planned else plan} "
            f"({found}). Find out why before anything else is read."
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what is not known or asked are left out."""
        import pandas as pd

        facts = {name: value for name, value in asdict(self.facts).items() if name != "set_aside"}
        facts |= self.facts.set_aside
        frames = {
            "arms": self.rates.to_frame(),
            "rates": self._plain_rates(),
            "differences": self.rates.differences(),
            "facts": pd.DataFrame({"fact": [*facts], "value": [*facts.values()]}),
        }
        if self.split is not None:
            frames["sample_ratio"] = self.split.to_frame()
        if self.periods:
            hours = self.hours.T.ravel()
            frames["periods"] = _joined(self.periods, "period").assign(hours=hours)
            frames["thesis2021-table4.2"] = self._experiment()
        if self.days:
            frames["days"] = _joined(self.days, "day")
        if self.known.settings:
            frames["thesis2021-table4.1"] = self._settings()
        if self.known.truth:
            frames["truth"] = self.known.truth.to_frame()
        return frames

    def _plain_rates(self) -> pd.DataFrame:
        """Give the rates of arms by period, as `harness online` reads them.

        Columns model (the arm), period, rate, error (over users), users, recommendations and
        accepted; no row where an arm showed nothing.
        """
        frame = _joined(self.periods or {"all": self.rates}, "period")
        frame = frame.rename(columns={"arm": "model", "lists": "recommendations"})
        columns = ["model", "period", "rate", "error", "users", "recommendations", "accepted"]
        return frame.loc[frame["recommendations"] > 0, columns].reset_index(drop=True)

    def _settings(self) -> pd.DataFrame:
        """Table 4.1: the settings of the arms of an experiment."""
        import pandas as pd

        rows = [
            (self.known.name, arm["arm"], name, str(value))
            for arm in self.known.settings
            for name, value in arm.items()
            if name != "arm" and str(value)
        ]
        return pd.DataFrame(rows, columns=["dataset", "system", "hyperparameter", "value"])

    def _experiment(self) -> pd.DataFrame:
        """Table 4.2: how often models were trained anew, users, lists and rates."""
        import pandas as pd

        rows: list[tuple[str, str, str, Any, str]] = []
        was_live = np.array([found.n_lists for found in self.periods.values()]).T > 0
        for arm in np.flatnonzero(was_live.any(axis=1)):
            minutes = round(60 * float(self.hours[arm, was_live[arm]].mean()))
            iteration = f"{minutes // 60}:{minutes % 60:02}"
            of = self.known.name, self.arms[arm]
            rows += [
                (*of, "measurements o", int(was_live[arm].sum()), ""),
                (*of, "duration of one iteration", iteration, "hh:mm"),
                (*of, "iCTR users", int(self.rates.n_users[arm]), ""),
                (*of, "iCTR interactions", int(self.rates.n_lists[arm]), "lists shown"),
                (*of, "iCTR", 100 * float(self.rates.rates[arm]), "%"),
            ]
        columns = ["dataset", "system", "quantity", "value", "unit"]
        return pd.DataFrame(rows, columns=columns, dtype=object)

    def caption(self) -> str:
        """Say what the rates are, and when a list is accepted; first what forbids to read them."""
        how, accepted = "accepted lists divided by lists shown", "a click names it."
        if self.over_time == "thesis":
            how = "the mean of the periods' rates, weighted by the arm's users in each period"
        if self.window is not None:
            accepted = (
                f"its user interacts with any of its items within {in_words(self.window)}, also "
                "where the list did not bring it about."
            )
        return self._marked(
            f"Click-through rates of {len(self.arms)} arms: {how}. 95 % intervals by the delta "
            f"method over {int(self.rates.n_users.sum()):,} users, who are the independent units. "
            f"A list is accepted if {accepted}"
        )

    def caption_of(self, part: str) -> str:
        """Say what the figure over time shows."""
        return self._marked(
            f"Click-through rates on {len(self.days):,} days (UTC), each arm before the others; "
            "bands: 95 % by the delta method over the users of the day."
        )

    def _marked(self, text: str) -> str:
        return f"{self.alarm} {text}" if self.alarm else text

    def findings(self) -> Sequence[str]:
        """Say which arm is clicked most; first what forbids to say so."""
        found = verdict(self.rates, mismatch=bool(self.alarm))
        return [self.alarm, found] if self.alarm else [found]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates, and the remarks on the models."""
        return [*self._about_log(), *self.known.remarks]

    def _about_log(self) -> Iterator[str]:
        facts, n_days = self.facts, max(len(self.days), 1)
        if self.n_crossed:
            yield (
                f"{self.n_crossed:,} of {facts.users:,} users were shown lists by more than one "
                "arm; their lists do not count."
            )
        if self.n_robots:
            yield f"{self.n_robots:,} of {facts.users:,} users are excluded as likely bots."
        if facts.repeated_events:
            yield f"{facts.repeated_events:,} interactions are repeated in every column."
        for what, count in facts.set_aside.items():
            if count:
                yield f"{count:,} {what}: set aside, and not counted."
        if facts.without_version:
            yield (
                f"{facts.without_version:.1%} of the lists were shown when no version of their "
                "arm's model was live; they do not count."
            )
        if facts.gaps:
            yield f"Between versions of the models there are {facts.gaps} gaps."
        if facts.known_users < 0.5 and facts.events:
            yield (
                f"{1 - facts.known_users:.0%} of the users have no interaction at all: do both "
                "tables call users the same?"
            )
        if n_days < WEEK:
            yield f"The log has {n_days} of the 7 days of a week, which may differ."
        if self.window is not None and self.rates.n_accepted.sum() == 0:
            length = in_words(self.window)
            yield f"No list is accepted: is {length} long enough, and in one clock?"

    @table("clicks_rates", "click-through rates of the arms")
    def rates_table(self) -> Table:
        """Tabulate the rates, and of simulated ones what they estimate."""
        frame, note, truth = self.rates.to_frame(), self.caption(), self.known.truth
        if truth is not None:
            expected = dict(zip(truth.arms, truth.rates(self.over_time), strict=True))
            frame["expected"] = frame["arm"].map(expected)
            note += " Expected: mean chance of a click in lists shown to people."
        return frame_table("clicks-rates", "Click-through rates", frame, note, decimals=DECIMALS)

    differences_table = named_table(
        "clicks_differences",
        "differences_table",
        "differences of the arms' click-through rates",
        "Intervals are of each pair alone; p-values by Holm's method are adjusted for them.",
        frame="differences",
        decimals=DECIMALS,
    )

    @table("clicks_split", "users per arm against the plan")
    def split_table(self) -> Table:
        """Tabulate the users of the arms, and the chance of such a split."""
        import pandas as pd

        rows, note = pd.DataFrame(), ""
        if (split := self.split) is not None:
            found, counts = split.to_frame(), split.daily.sum(axis=0)
            shares = {"%": 100 * counts / counts.sum(), "planned %": 100 * split.shares}
            rows = pd.DataFrame({"arm": split.arms, "users": counts, **shares})
            note = (
                f"Chi-square test of {counts.sum():,} users: {_p(found['p'][0])}; days with "
                f"p < .001 (Holm): {found['mismatch'][1:].sum()}. Users are counted in the arm and "
                "on the day of their first list."
            )
        return frame_table("clicks-split", "Users per arm against the plan", rows, note)

    periods_table = named_table(
        "clicks_periods",
        "periods_table",
        "click-through rates by version of the model",
        "A period is the time in which a version of an arm's model was live.",
        frame="periods",
        decimals=DECIMALS,
    )

    @table("clicks_facts", "how far the tables of a log fit together")
    def facts_table(self) -> Table:
        """Tabulate counts and shares of the log."""
        import pandas as pd

        facts = {name.replace("_", " "): _fact(name, v) for name, v in vars(self.facts).items()}
        rows = [(name, text) for name, text in facts.items() if text]
        note = "Shares of known users and items say how far the tables fit together."
        return frame_table("clicks-facts", "The log", pd.DataFrame(rows, columns=["", "n"]), note)

    table_4_1 = thesis_table("4.1", "settings of the arms' models")
    table_4_2 = thesis_table("4.2", "periods, users and lists of the arms")

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
        if self.alarm and axes.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            axes.figure.suptitle(text, color="#C00000", fontweight="bold")
        return axes


def draw_among(axes: Axes, places: NDArray[np.generic], curves: Floats, number: int) -> None:
    """Draw curves of shape (n_curves, n_places): one in colour, the others grey behind it."""
    for other in np.delete(curves, number, axis=0):
        axes.plot(places, other, color="0.85", linewidth=0.7, zorder=0)
    axes.plot(places, curves[number], color="#0072B2", linewidth=1.4)


def verdict(rates: ClickThrough, *, mismatch: bool) -> str:
    """Say which arm is clicked most: none, if users are not split as planned or it may be luck.

    An arm wins if its rate is above that of each other arm, by Holm's method over all pairs.
    """
    if len(rates.arms) < 2:
        return "There is one arm, and nothing to compare it with."
    if mismatch:
        return (
            "No winner is named: the users are not split as planned, so that the arms' users may "
            "differ in more than their lists."
        )
    name, pairs = rates.arms[int(np.nanargmax(rates.rates))], rates.differences()
    columns = ["difference", "low", "high", "p_holm"]
    others = [
        *pairs.loc[pairs["arm_a"] == name, [*columns, "arm_b"]].itertuples(index=False, name=None),
        *(
            (-difference, -high, -low, p, arm)
            for difference, low, high, p, arm in pairs.loc[
                pairs["arm_b"] == name, [*columns, "arm_a"]
            ].itertuples(index=False, name=None)
        ),
    ]
    others.sort(key=lambda row: row[0])
    doubtful = [row for row in others if not row[3] < ALPHA]
    difference, low, high, p, other = (doubtful or others)[0]
    gap, *ends = (shown(float(number), decimals=DECIMALS) for number in (difference, low, high))
    margin = f"{gap} [{', '.join(ends)}] above that of {other}"
    by = "" if len(pairs) == 1 else f" by Holm's method over {len(pairs)} pairs"
    if doubtful:
        return f"No winner: the rate of {name} is {margin}, which may be luck ({_p(p)}{by})."
    return f"Arm {name} is clicked most: its rate is {margin} ({_p(p)}{by})."


def _p(value: float) -> str:
    """Write a p-value after its sign."""
    if np.isnan(value):
        return "p unknown"
    text = shown(float(value))
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _joined(rates: Mapping[str, ClickThrough], label: str) -> pd.DataFrame:
    """Put rates of several kinds below each other."""
    import pandas as pd

    frames = {name: found.to_frame() for name, found in rates.items()}
    return pd.concat(frames, names=[label]).reset_index(level=0).reset_index(drop=True)


def _fact(name: str, value: Any) -> str:
    """Write a time, a share or a count; nothing for what is not known or a number."""
    if value is None or isinstance(value, Mapping):
        return ""
    if name.endswith("_time"):
        return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
