"""What a log says of the arms, as numbers, tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.daily_rates import DailyRates
from analyses.online.clicks.off_policy import OffPolicy
from analyses.online.clicks.rates import ClickThrough, Truth
from analyses.online.clicks.sample_ratio import SampleRatio
from analyses.online.logs import LogFacts
from analyses.shared.result import Result, figure, part_figure, table
from analyses.shared.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA: Final = 0.05
"""Level at which an arm is said to be clicked more."""

EVERYONE: Final = "all"
PEOPLE: Final = "without robots"
RED: Final = "#C00000"
WEEK: Final = 7

COUNTED: Final = ("users", "lists", "accepted", "rate", "error", "95 % interval")
"""What stands in every table of rates."""

COLUMNS: Final = {
    "lists": "slates",
    "mean of users": "mean_of_users",
    "clicks per list": "clicks_per_slate",
}
"""Where columns of frames are called otherwise than in tables."""

LABELS: Final = {
    "slates": "lists",
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
    "without_arm": "users without an assigned arm",
    "against_assignment": "lists of another arm than assigned",
}
"""What facts of a log are called in the table."""

Floats = NDArray[np.float64]

_rounded = partial(shown, decimals=5)
Rows = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Group:
    """What some of the users did: rates of the arms, and the split of users of two arms or more."""

    rates: ClickThrough
    split: SampleRatio | None


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of an experiment beside its log.

    Settings of the arms, a row each; the truth, of simulated worlds; and what is to be said of the
    models.
    """

    settings: Rows = ()
    truth: Truth | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Clicks(Result):
    """What a log says of the arms.

    What was asked: when a list is accepted, and how soon ("" if clicks name it); lists a day beyond
    which a user is a robot; whether shares were planned; what becomes of the lists of users of two
    arms. Crossed are users of two arms, lists those that count. Groups are everyone and, if asked,
    then those who are not robots, of whom there are rates by version of the models (none if the log
    names none), and how long versions were live, of shape (n_arms, n_periods); rates by day (None
    if there is but one); what else was asked; and what else is known.
    """

    accepted_when: str
    window: str
    per_day: int | None
    planned: bool
    fate: str
    facts: LogFacts
    n_crossed: int
    n_lists: int
    groups: Mapping[str, Group]
    periods: Mapping[str, ClickThrough]
    hours: Floats
    daily: DailyRates | None
    policy: OffPolicy | None
    known: Known

    @property
    def chosen(self) -> Group:
        """The group that counts: without robots, if they were looked for."""
        return [*self.groups.values()][-1]

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
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: panels of the figure over time."""
        return self.chosen.rates.arms

    @cached_property
    def alarm(self) -> str:
        """What is said if users are not split as planned: over all days or on one, robots or not.

        Empty if they are.
        """
        said = [f"{name}: {found}" for name, s in self.splits.items() if (found := _mismatch(s))]
        if not said:
            return ""
        equal = "equal shares; say --shares if others were planned"
        against = "the planned shares" if self.planned else equal
        return (
            f"SAMPLE-RATIO MISMATCH against {against} ({'; '.join(said)}). Find out why before "
            "anything else is read."
        )

    @cached_property
    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """The frames, made once for what is shown of them."""
        return self.frames()

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what is not known or asked are left out."""
        import pandas as pd

        known = self.known
        frames: dict[str, pd.DataFrame | None] = {
            "arms": _joined({name: group.rates.to_frame() for name, group in self.groups.items()}),
            "rates": self.plain_rates(),
            "differences": _joined({n: g.rates.differences() for n, g in self.groups.items()}),
            "facts": self.facts.to_frame(),
            "sample_ratio": _joined({name: split.to_frame() for name, split in self.splits.items()})
            if self.splits
            else None,
            "periods": _by(self.periods, label="period").assign(hours=self.hours.T.ravel())
            if self.periods
            else None,
            "days": _by(self.daily.by_day, label="day") if self.daily else None,
            "settings": pd.DataFrame(known.settings) if known.settings else None,
            "truth": known.truth.to_frame() if known.truth else None,
            "off_policy": self.policy.to_frame() if self.policy else None,
        }
        return {name: frame for name, frame in frames.items() if frame is not None}

    def plain_rates(self) -> pd.DataFrame:
        """Give the rates of arms by period, of the group that counts, as `harness online` reads.

        Columns model (the arm), period, rate, error (over users), users, recommendations and
        accepted; no row where an arm showed nothing.
        """
        frame = _by(self.periods or {"all": self.chosen.rates}, label="period")
        names = {"arm": "model", "slates": "recommendations"}
        columns = ["model", "period", "rate", "error", "users", "recommendations", "accepted"]
        plain = frame.rename(columns=names)[columns]
        return plain[plain["recommendations"] > 0].reset_index(drop=True)

    def caption(self) -> str:
        """Say what the rates are, and when a list is accepted; first what forbids to read them."""
        return self._marked(f"{self.chosen.rates.caption()} {self.accepted_when}")

    @property
    def shown_rates(self) -> ClickThrough:
        """Rates of the group that counts."""
        return self.chosen.rates

    def caption_of(self, part: str) -> str:
        """Say what a part is; first what forbids to read it."""
        return self.caption() if part == "shown_rates" else self._marked(super().caption_of(part))

    def _marked(self, text: str) -> str:
        return f"{self.alarm} {text}" if self.alarm else text

    def findings(self) -> Sequence[str]:
        """Say which arm is clicked most; first what forbids to say so."""
        group = "" if self.per_day is None else "Without robots: "
        said = verdict(self.chosen.rates, mismatch=bool(self.alarm), group=group)
        return [*([self.alarm] if self.alarm else []), said]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates, and what is to be said of the models."""
        return [*self._about_log(), *self.known.remarks]

    def _about_log(self) -> Iterator[str]:
        facts, n_crossed = self.facts, self.n_crossed
        if n_crossed:
            yield (
                f"{n_crossed:,} of {facts.users:,} users were shown lists by more than one arm; "
                f"{self.fate}."
            )
        yield from facts.cautions()
        n_days = len(self.daily.by_day) if self.daily else 1
        if n_days < WEEK:
            yield f"The log has {n_days} of the 7 days of a week, which may differ."
        if self.window and self.chosen.rates.n_accepted.sum() == 0:
            yield f"No list is accepted: is {self.window} long enough, and in one clock?"

    @table("clicks_rates", "click-through rates of the arms (table 4.2)")
    def rates_table(self) -> Table:
        """Tabulate the rates of every group, and of simulated ones what they estimate."""
        truth, rates = self.known.truth, self.chosen.rates
        known = (
            {}
            if truth is None
            else dict(zip(truth.arms, truth.rates(rates.over_time), strict=True))
        )
        rows = [
            {"arm": _label(row["arm"], row), **_cells(row, *COUNTED, "mean of users")}
            | ({"expected": _rounded(known[row["arm"]])} if known else {})
            for row in _rows(self._tables["arms"])
        ]
        note = (
            "" if truth is None else " Expected: mean chance of a click in lists shown to people."
        )
        return _table("rates", "Click-through rates", self.caption() + note, rows)

    @table("clicks_differences", "differences of the arms' click-through rates")
    def differences_table(self) -> Table:
        """Tabulate the differences of every two arms."""
        rows = [
            {"arms": _label(f"{row['arm_a']} - {row['arm_b']}", row)}
            | _cells(row, "difference", "error", "95 % interval")
            | {"p": row["p"], "p (Holm)": row["p_holm"]}
            for row in _rows(self._tables["differences"])
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

    @table("clicks_periods", "click-through rates by version of the model (table 4.2)")
    def periods_table(self) -> Table:
        """Tabulate the rates by version, if the log names them."""
        frame = self._tables.get("periods")
        rows = [
            {
                "version, arm": f"{row['period']}, {row['arm']}",
                "hours": shown(row["hours"], decimals=1),
                **_cells(row, *COUNTED),
            }
            for row in _rows(frame)
            if row["slates"]
        ]
        note = "A period is the time in which a version of an arm's model was live."
        return _table("periods", "Click-through rates by version of the model", note, rows)

    @table("clicks_policy", "clicks that lists which were not shown would have had")
    def policy_table(self) -> Table:
        """Tabulate off-policy estimates, if asked."""
        rows = [
            _cells(row, "estimator", "clicks per list", "error", "95 % interval")
            | {"effective size": f"{row['effective_size']:,.0f}"}
            for row in _rows(self._tables.get("off_policy"))
        ]
        note = "" if self.policy is None else self.policy.caption()
        return _table("policy", "Lists that were not shown", note, rows)

    @table("clicks_settings", "arms and their models (table 4.1)")
    def settings_table(self) -> Table:
        """Tabulate the settings of the arms of an experiment."""
        every = dict.fromkeys(name for row in self.known.settings for name in row)
        rows = [{name: str(row.get(name, "")) for name in every} for row in self.known.settings]
        return _table("settings", "Arms and their models", "", rows)

    @table("clicks_facts", "how far the tables of a log fit together")
    def facts_table(self) -> Table:
        """Tabulate counts and shares of the log."""
        aside = {name: count for name, count in self.facts.set_aside.items() if count}
        facts = {**vars(self.facts), **vars(self), **aside}
        known = [
            {"fact": LABELS.get(name, name), "value": _fact(name, facts[name])}
            for name in [*LABELS, *aside]
            if facts[name] is not None
        ]
        return _table("facts", "The log", "Shares say how far the tables fit together.", known)

    plot_arms = part_figure("arms", "Click-through rates of the arms", of="shown_rates")

    @figure(
        "sample_ratio", "Users of the arms, and the planned shares", panels="arm", of="daily_split"
    )
    def plot_sample_ratio(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw an arm's share of each day's new users, as a multiple of what was planned."""
        return self.draw_part("daily_split", ax, draw="plot", arm=arm)

    @figure(
        "over_time", "Click-through rates over time (figures 4.1 to 4.5)", panels="arm", of="daily"
    )
    def plot_over_time(self, ax: Axes | None = None, *, arm: str) -> Axes:
        """Draw the rates of an arm by day before those of the others."""
        return self.draw_part("daily", ax, draw="plot", arm=arm)

    def draw_part(self, part: str, ax: Axes | None, *, draw: str, **chosen: Any) -> Axes:
        """Draw a part; under a red line, if users are not split as planned."""
        drawn = super().draw_part(part, ax, draw=draw, **chosen)
        if self.alarm and drawn.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            drawn.figure.suptitle(text, color=RED, fontweight="bold")
        return drawn


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
    said = f"{gap} above that of {row['other']}"
    if doubtful:
        return (
            f"{group}No winner: the rate of {name} is {said}, which may be luck "
            f"({_p(row['p_holm'])}{by})."
        )
    return f"{group}Arm {name} is clicked most: its rate is {said} ({_p(row['p_holm'])}{by})."


def _mismatch(split: SampleRatio) -> str:
    """Say where users are not split as planned; nothing if they are."""
    frame = split.to_frame()
    days = frame["day"][frame["mismatch"]].tolist()
    return _p(split.p) if split.mismatch else f"on {', '.join(days)}" if days else ""


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


def _interval(row: Mapping[str, Any]) -> str:
    return f"{_rounded(row['low'])} to {_rounded(row['high'])}"


def _cells(row: Mapping[str, Any], *headings: str) -> dict[str, Cell]:
    """Write cells of a row under their headings: counts whole, other numbers rounded."""
    cells: dict[str, Cell] = {}
    for heading in headings:
        if heading == "95 % interval":
            cells[heading] = _interval(row)
        else:
            value = row[COLUMNS.get(heading, heading)]
            cells[heading] = f"{value:,}" if isinstance(value, int) else _rounded(value)
    return cells


def _fact(name: str, value: Any) -> str:
    """Write a time, a share or a count."""
    if name.endswith("_time"):
        return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
