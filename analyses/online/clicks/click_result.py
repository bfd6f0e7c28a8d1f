"""What a log says of the arms, as numbers, tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from analyses.online.clicks.checks.crossing import Stickiness
from analyses.online.clicks.checks.halves import Halves
from analyses.online.clicks.checks.placebo import Placebo
from analyses.online.clicks.checks.robots import Robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio
from analyses.online.clicks.click_question import Question
from analyses.online.clicks.cycles.cycles import PERIODS, Periodicity
from analyses.online.clicks.durations import in_words
from analyses.online.clicks.off_policy import OffPolicy
from analyses.online.clicks.rates import ClickThrough
from analyses.online.clicks.verdict import alarm, verdict
from analyses.online.logs import LogFacts
from analyses.shared.result import Result, part_figure, table
from analyses.shared.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

EVERYONE: Final = "all"
PEOPLE: Final = "without robots"
RED: Final = "#C00000"

ERROR: Final = ("error", "95 % interval")
COUNTED: Final = ("users", "lists", "accepted", "rate", *ERROR)
"""What stands in every table of rates."""

COLUMNS: Final = {
    "lists": "slates",
    "pooled rate": "pooled_rate",
    "mean of users": "mean_of_users",
    "binomial error (too small)": "binomial_error_too_small",
    "clicks per list": "clicks_per_slate",
}
"""Where columns of frames are called otherwise than in tables."""

_rounded = partial(shown, decimals=5)


@dataclass(frozen=True, eq=False)
class Group:
    """What some of the users did: rates of the arms, also over all periods together.

    Rates by type of interaction are given if asked, the split of users with two arms or more.
    """

    rates: ClickThrough
    pooled: ClickThrough
    by_type: Mapping[str, ClickThrough]
    split: SampleRatio | None


@dataclass(frozen=True, eq=False)
class Clicks(Result):
    """What a log says of the arms.

    Parameters
    ----------
    question
        What was asked.
    facts
        How far the tables fit together; `gaps` lists the times without a live version.
    users
        Arms of all users who were shown lists.
    n_lists
        Lists that count.
    groups
        By name: everyone, and then, if asked, those who are not robots. The last counts.
    periods
        Rates of the last group by version of the models; empty if the log names none.
    cycles
        Of the day and the week; None if the log has less than two days.
    halves, policy, placebo
        If asked.
    """

    question: Question
    facts: LogFacts
    users: Stickiness
    n_lists: int
    groups: Mapping[str, Group]
    periods: Mapping[str, ClickThrough]
    cycles: Periodicity | None
    halves: Halves | None
    policy: OffPolicy | None
    placebo: Placebo | None

    @property
    def chosen(self) -> Group:
        """The group that counts: without robots, if they were looked for."""
        return [*self.groups.values()][-1]

    @property
    def robots(self) -> Robots | None:
        """Rates with and without robots, if they were looked for."""
        if self.question.robots is None:
            return None
        everyone, people = (self.groups[name].rates for name in (EVERYONE, PEOPLE))
        return Robots(everyone, people, self.question.robots)

    @property
    def splits(self) -> Mapping[str, SampleRatio]:
        """Users per arm against the planned shares, by group; none with one arm."""
        return {name: group.split for name, group in self.groups.items() if group.split}

    @property
    def daily_split(self) -> SampleRatio | None:
        """The split of the group that counts, if there are several days."""
        split = self.chosen.split
        return split if split is not None and len(split.days) > 1 else None

    @property
    def weekly(self) -> Periodicity | None:
        """The cycles, if that of a week is among them."""
        return self.cycles if self.cycles is not None and len(self.cycles.periods) > 1 else None

    @cached_property
    def alarm(self) -> str:
        """What is said if users are not split as planned: over all days or on one, robots or not.

        Empty if they are.
        """
        return alarm(self.splits, are_planned=self.question.shares is not None)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what was not asked are left out."""
        frames = {
            "arms": self._every_rate(),
            "rates": self.plain_rates(),
            "differences": self._every_difference(),
            "facts": self.facts.to_frame(),
        }
        if self.chosen.by_type:
            frames["types"] = self._every_type()
        if self.splits:
            frames["sample_ratio"] = _joined(
                {name: split.to_frame() for name, split in self.splits.items()}
            )
        if self.periods:
            frames["periods"] = _by(self.periods, label="period")
        if self.cycles is not None:
            frames["cycles"] = self.cycles.to_frame()
            frames["bins"] = self.cycles.bins()
            frames["day_profile"] = self.cycles.profile("day")
            frames["week_profile"] = self.cycles.profile("week")
        further = {"halves": self.halves, "placebo": self.placebo, "off_policy": self.policy}
        return frames | {name: part.to_frame() for name, part in further.items() if part}

    def _every_rate(self) -> pd.DataFrame:
        return _joined({name: group.rates.to_frame() for name, group in self.groups.items()})

    def _every_difference(self) -> pd.DataFrame:
        return _joined({name: group.rates.compared() for name, group in self.groups.items()})

    def _every_type(self) -> pd.DataFrame:
        return _joined(
            {name: _by(group.by_type, label="type") for name, group in self.groups.items()}
        )

    def plain_rates(self) -> pd.DataFrame:
        """Give the rates of arms by period, of the group that counts, as `harness online` reads.

        Columns model (the arm), period, rate, users, recommendations and accepted; no row where an
        arm showed nothing.
        """
        periods = self.periods or {"all": self.chosen.pooled}
        frame = _by(periods, label="period")
        names = {"arm": "model", "slates": "recommendations"}
        columns = ["model", "period", "rate", "users", "recommendations", "accepted"]
        plain = frame.rename(columns=names)[columns]
        return plain[plain["recommendations"] > 0].reset_index(drop=True)

    def caption(self) -> str:
        """Say what the rates are, and when a list is accepted; first what forbids to read them."""
        return self._marked(f"{self.chosen.rates.caption()} {self.question.accepted_when()}")

    @property
    def shown_rates(self) -> ClickThrough:
        """Rates of the group that counts."""
        return self.chosen.rates

    def caption_of(self, part: str) -> str:
        """Say what a part is; first what forbids to read it."""
        if part == "shown_rates":
            return self.caption()
        return self._marked(super().caption_of(part))

    def _marked(self, text: str) -> str:
        return f"{self.alarm} {text}" if self.alarm else text

    def findings(self) -> Sequence[str]:
        """Say which arm is clicked most; first what forbids to say so."""
        group = "" if self.question.robots is None else "Without robots: "
        said = verdict(self.chosen.rates, mismatch=bool(self.alarm), group=group)
        halves = [] if self.halves is None else [self.halves.caption()]
        return [*([self.alarm] if self.alarm else []), said, *halves]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates."""
        return [*self._about_log(), *self._about_time()]

    def _about_log(self) -> Iterator[str]:
        facts, question = self.facts, self.question
        if self.users.crossed.any():
            fate = (
                "their lists do not count"
                if question.crossing == "exclude"
                else "their lists count for their first arm, or the one they were assigned to"
            )
            yield f"{self.users.caption()[:-1]}; {fate}."
        if facts.repeated_events:
            yield f"{facts.repeated_events:,} interactions are repeated in every column."
        if facts.without_version:
            yield (
                f"{facts.without_version:.1%} of the lists were shown when no version of their "
                "arm's model was live; they do not count."
            )
        if facts.without_arm:
            yield (
                f"{facts.without_arm:.1%} of the users were not assigned; their first arm is "
                "theirs."
            )
        if facts.known_users < 0.5 and facts.events:
            yield (
                f"{1 - facts.known_users:.0%} of the users have no interaction at all: do both "
                "tables call users the same?"
            )
        if question.window is not None and self.chosen.rates.n_accepted.sum() == 0:
            yield (
                f"No list is accepted: is {in_words(question.window)} long enough, and in one "
                "clock?"
            )

    def _about_time(self) -> Iterator[str]:
        day, week = (f"{2 * hours / 24:.0f} days" for hours in PERIODS)
        if self.cycles is None:
            yield f"The log is too short for cycles: a day needs {day}, a week {week}."
        elif self.weekly is None:
            yield f"The log is too short for the cycle of a week, which needs {week}."
        if self.facts.gaps:
            yield f"Between versions of the models there are {self.facts.gaps} gaps."

    @table("clicks_rates", "click-through rates of the arms")
    def rates_table(self) -> Table:
        """Tabulate the rates of every group."""
        pooled = [rate for group in self.groups.values() for rate in group.pooled.rates]
        more = ("mean of users", "binomial error (too small)")
        thesis = ("pooled rate",) if self.question.over_time == "thesis" else ()
        rows: list[dict[str, Cell]] = [
            {
                "arm": _label(row["arm"], row),
                **_cells(row, *COUNTED, *thesis, *self._bootstrap, *more),
            }
            for row in _rows(self._every_rate().assign(pooled_rate=pooled))
        ]
        return _table("rates", "Click-through rates", self.caption(), rows)

    @property
    def _bootstrap(self) -> tuple[str, ...]:
        """Heading of the intervals of the bootstrap, if there are any."""
        return ("bootstrap",) if self.chosen.rates.replicates.shape[1] else ()

    @table("clicks_differences", "differences of the arms' click-through rates")
    def differences_table(self) -> Table:
        """Tabulate the differences of every two arms."""
        rows = [
            {"arms": _label(f"{row['arm_a']} - {row['arm_b']}", row)}
            | _cells(row, "difference", *ERROR, *self._bootstrap)
            | {"p": row["p"], "p (Holm)": row["p_holm"]}
            for row in _rows(self._every_difference())
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
            frame = split.to_frame()
            cells: dict[str, Cell] = {"users": name}
            for arm, count, share in zip(split.arms, split.counts, split.shares, strict=True):
                part = f"{count:,} ({count / split.counts.sum():.1%})"
                cells[f"{arm} (planned {share:.1%})"] = part
            alarms = int(frame["mismatch"].iloc[1:].sum())
            rows.append(cells | {"p": split.p, "days with p < .001 (Holm)": alarms})
            note = split.caption()
        return _table("split", "Users per arm against the plan", note, rows)

    @table("clicks_types", "rates by the type of interaction")
    def types_table(self) -> Table:
        """Tabulate the rates by type of interaction, if asked."""
        rows: list[dict[str, Cell]] = [
            {"type, arm": _label(f"{row['type']}, {row['arm']}", row), **_cells(row, *COUNTED)}
            for row in (_rows(self._every_type()) if self.chosen.by_type else ())
        ]
        note = (
            "Share of the lists with an interaction of each type: of views the click-through rate, "
            "of carts the cart rate (CCR), of purchases the conversion rate (CR)."
        )
        return _table("types", "Rates by the type of interaction", note, rows)

    @table("clicks_periods", "click-through rates by version of the model")
    def periods_table(self) -> Table:
        """Tabulate the rates by version, if the log names them."""
        rows: list[dict[str, Cell]] = [
            {"version, arm": f"{row['period']}, {row['arm']}", **_cells(row, *COUNTED)}
            for row in (_rows(_by(self.periods, label="period")) if self.periods else ())
            if row["slates"]
        ]
        note = "A period is the time in which a version of an arm's model was live."
        return _table("periods", "Click-through rates by version of the model", note, rows)

    @table("clicks_cycles", "cycles of click-through rates over day and week")
    def cycles_table(self) -> Table:
        """Tabulate the cycles, if the log is long enough."""
        rows: list[dict[str, Cell]] = [
            {"cycle": f"{row['period']:g} h"}
            | _cells(row, "amplitude", "95 % interval")
            | {"peak": f"{row['peak']:.1f} h", "p": row["p"]}
            for row in _rows_of(self.cycles)
        ]
        said = "" if self.cycles is None else self.cycles.caption()
        note = f"{said} Peaks: hours after midnight, or after Monday's midnight."
        return _table("cycles", "Cycles of the rates", note, rows)

    @table("clicks_placebo", "click-through rates beside those of lists not shown")
    def placebo_table(self) -> Table:
        """Tabulate the rates of lists that were not shown, if asked."""
        rows = [
            _cells(row, "arm", "rate", "placebo", "excess", *ERROR)
            for row in _rows_of(self.placebo)
        ]
        note = "" if self.placebo is None else self.placebo.caption()
        return _table("placebo", "Rates beside those of lists not shown", note, rows)

    @table("clicks_policy", "clicks that lists which were not shown would have had")
    def policy_table(self) -> Table:
        """Tabulate off-policy estimates, if asked."""
        rows: list[dict[str, Cell]] = [
            _cells(row, "estimator", "clicks per list", *ERROR)
            | {"effective size": f"{row['effective_size']:,.0f}"}
            for row in _rows_of(self.policy)
        ]
        note = "" if self.policy is None else self.policy.caption()
        return _table("policy", "Lists that were not shown", note, rows)

    @table("clicks_facts", "how far the tables of a log fit together")
    def facts_table(self) -> Table:
        """Tabulate counts and shares of the log."""
        facts = self.facts
        rows: dict[str, Cell | None] = {
            "lists": f"{facts.slates:,}",
            "lists that count": f"{self.n_lists:,}",
            "recommended items in lists": f"{facts.places:,}",
            "first list": _instant(facts.first_time),
            "last list": _instant(facts.last_time),
            "users who were shown lists": f"{facts.users:,}",
            "of them with interactions": f"{facts.known_users:.1%}",
            "recommended items with interactions": f"{facts.known_items:.1%}",
            "interactions": f"{facts.events:,}",
            "of them between first and last list": f"{facts.events_in_span:.1%}",
            "repeated interactions": f"{facts.repeated_events:,}",
            "users shown lists by two arms": f"{int(self.users.crossed.sum()):,}",
            "gaps between versions": facts.gaps,
            "lists without a live version": _share(facts.without_version),
            "users without an assigned arm": _share(facts.without_arm),
            "lists of another arm than assigned": _share(facts.against_assignment),
        }
        known = [
            {"fact": name, "value": value} for name, value in rows.items() if value is not None
        ]
        return _table("facts", "The log", "Shares say how far the tables fit together.", known)

    plot_arms = part_figure("arms", "Click-through rates of the arms", of="shown_rates")
    plot_robots = part_figure("robots", "Click-through rates with and without robots", of="robots")
    plot_sample_ratio = part_figure(
        "sample_ratio", "Users of the arms, and the planned shares", of="daily_split"
    )
    plot_over_time = part_figure("over_time", "Click-through rates over time", of="cycles")
    plot_day_profile = part_figure(
        "day_profile",
        "Click-through rates over the day",
        of="cycles",
        draw="plot_profile",
        over="day",
    )
    plot_week_profile = part_figure(
        "week_profile",
        "Click-through rates over the week",
        of="weekly",
        draw="plot_profile",
        over="week",
    )
    plot_halves = part_figure("halves", "Halves of an arm that do not differ", of="halves")
    plot_placebo = part_figure(
        "placebo", "Click-through rates of lists that were not shown", of="placebo"
    )
    plot_off_policy = part_figure(
        "off_policy", "Clicks that other lists would have had", of="policy"
    )

    def draw_part(self, part: str, ax: Axes | None, *, draw: str, **chosen: Any) -> Axes:
        """Draw a part; under a red line, if users are not split as planned."""
        drawn = super().draw_part(part, ax, draw=draw, **chosen)
        if self.alarm and drawn.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            drawn.figure.suptitle(text, color=RED, fontweight="bold")
        return drawn


def _joined(frames: Mapping[str, pd.DataFrame], *, label: str = "users_counted") -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, names=[label]).reset_index(level=0).reset_index(drop=True)


def _by(rates: Mapping[str, ClickThrough], *, label: str) -> pd.DataFrame:
    """Put rates of several kinds, which are not bootstrapped, below each other."""
    frame = _joined({name: found.to_frame() for name, found in rates.items()}, label=label)
    return frame.drop(columns=["bootstrap_low", "bootstrap_high"])


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Make a table of rows that name their cells."""
    headings = list(rows[0]) if rows else []
    return Table(f"clicks-{name}", title, note, headings, [list(row.values()) for row in rows])


def _rows(frame: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
    return frame.to_dict("records")  # type: ignore[return-value]


def _rows_of(part: Periodicity | Placebo | OffPolicy | None) -> Iterable[Mapping[str, Any]]:
    return () if part is None else _rows(part.to_frame())


def _label(name: str, row: Mapping[str, Any]) -> str:
    group = row["users_counted"]
    return name if group == EVERYONE else f"{name}, {group}"


def _interval(row: Mapping[str, Any], prefix: str = "") -> str:
    return f"{_rounded(row[f'{prefix}low'])} to {_rounded(row[f'{prefix}high'])}"


def _cells(row: Mapping[str, Any], *headings: str) -> dict[str, Cell]:
    """Write cells of a row under their headings: counts whole, other numbers rounded."""
    intervals = {"95 % interval": "", "bootstrap": "bootstrap_"}
    cells: dict[str, Cell] = {}
    for heading in headings:
        if heading in intervals:
            cells[heading] = _interval(row, intervals[heading])
        else:
            value = row[COLUMNS.get(heading, heading)]
            cells[heading] = f"{value:,}" if isinstance(value, int) else _rounded(value)
    return cells


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def _instant(time: int) -> str:
    return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M} UTC"
