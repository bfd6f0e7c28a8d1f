"""Clicks: click-through rates of the arms of an experiment, from a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from analyses.online.logs import DAY, Logs, MatchedLog, match_lists
from analyses.online.rates import (
    OverTime,
    click_through,
    differences,
    planned_shares,
    rates_of,
    sample_ratio,
)
from analyses.online.thesis_tables import frame_of, thesis_table
from analyses.shared.drawing import colours, draw_band, explain
from analyses.shared.estimate import Estimate
from analyses.shared.number_format import percent, rounded
from analyses.shared.result import Result, figure
from analyses.shared.sentences import format_p_value
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA: Final = 0.05
"""Significance level of a difference between arms."""

LONGEST: Final = 2**53
"""Milliseconds that are no duration any more."""

DECIMALS: Final = 5
WEEK: Final = 7

SPARSE = 30
"""Of logs with fewer lists by day and arm, rates are drawn by week."""


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


class Question(Logs):
    """A log, and how clicks are counted: the settings of `harness clicks`."""

    types: Names | None = Field(
        None,
        description="New names of types of interactions, such as click=view,impression=; a type "
        "with an empty new name is left out.",
    )
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

    @model_validator(mode="after")
    def _says_what_a_click_is(self) -> Question:
        if self.explicit == (self.window is not None):
            raise ValueError(
                "say within which time after a list was shown an interaction counts as a click of "
                "it, such as --window '30 min'; or --explicit, if clicks name their list"
            )
        return self


def count_clicks(
    question: Question,
    *,
    progress: Progress,
    name: str = "",
    settings: Sequence[Mapping[str, Any]] = (),
    truth: pd.DataFrame | None = None,
    remarks: Sequence[str] = (),
    folder: Path | None = None,
    n_jobs: int | None = None,
) -> Clicks:
    """Estimate the click-through rates of a log's arms, and all that makes them credible.

    The arms are those of the planned shares, if there are any. Lists of users who were shown lists
    by more than one arm are left out. Temporary files lie in the folder; the threads change no
    result. What else is known may be the name of the data set, the settings of the arms, remarks on
    their models, and the truth of a simulated world: arm, period, users, lists and expected_rate.
    """
    import pandas as pd

    with progress("Matching clicks with lists", 1) as bar:
        arms = None if question.shares is None else [*question.shares]
        log = match_lists(question, question.window, arms=arms, folder=folder, n_jobs=n_jobs)
        bar.advance()
    if question.over_time == "thesis" and log.models is None and not log.versions:
        raise InputError(
            "--over-time thesis averages over periods: it needs --models, or a column "
            "'model_version' in the recommendations."
        )
    shares = planned_shares(log.arms, question.shares)
    names, period = _periods(log)
    lists = log.lists.assign(period=period, day=log.lists["time"] // DAY)
    firsts = lists.iloc[np.lexsort((lists["time"], lists["user"]))].drop_duplicates("user")
    firsts = firsts.set_index("user")
    is_crossed = lists["arm"].to_numpy() != firsts["arm"].to_numpy()[lists["user"]]
    crossed = lists.loc[is_crossed, "user"].unique()
    robots: Any = ()
    if question.robots is not None:
        of_days = lists.groupby(["user", "day"]).size()
        robots = of_days[of_days > question.robots].index.get_level_values("user").unique()
    aside = dict(log.set_aside) | {
        "users were shown lists by more than one arm; their lists do not count": len(crossed),
        "users are excluded as likely bots": len(robots),
        "lists were shown when no version of their arm's model was live; they do not count": int(
            (lists["period"] < 0).sum()
        ),
    }
    lists = lists[~lists["user"].isin([*crossed, *robots]) & (lists["period"] >= 0)]
    if lists.empty:
        raise InputError(
            "no list is left: all users saw lists by two arms or are likely bots, or no version "
            "of a model was live."
        )
    rates = click_through(_by_user(lists, "period"), log.arms, over_time=question.over_time)
    dates = np.sort(lists["day"].unique())
    days = np.datetime_as_string(dates.astype("datetime64[D]")).tolist()
    if truth is not None:
        cells = truth.assign(accepted=truth["expected_rate"] * truth["lists"])
        cells = cells[cells["lists"] > 0].set_index(["arm", "period"])
        expected = rates_of(cells, over_time=question.over_time)
        rates["expected"] = rates["arm"].map(expected)
    by_period = _in_parts(lists, "period", [*enumerate(names)] or [(0, "all")], log.arms)
    plain = by_period.rename(columns={"arm": "model", "lists": "recommendations"})
    columns = ["model", "period", "rate", "error", "users", "recommendations", "accepted"]
    plain = plain.loc[plain["recommendations"] > 0, columns]
    facts = {**log.facts, **aside}
    tables = {
        "arms": rates,
        "rates": plain.reset_index(drop=True),
        "differences": differences(rates),
        "facts": pd.DataFrame({"fact": [*facts], "value": [*facts.values()]}, dtype=object),
    }
    people, alarm = firsts[~firsts.index.isin(robots)], ""
    if len(log.arms) > 1:
        ratio = tables["sample_ratio"] = sample_ratio(people, log.arms, shares)
        of_all, planned = ratio.iloc[0], 100 * np.array(shares)
        users, percents = ([of_all[f"{n}_{arm}"] for arm in log.arms] for n in ("users", "percent"))
        split = {"arm": log.arms, "users": users, "%": percents, "planned %": planned}
        tables["split"] = pd.DataFrame(split | {"p": of_all["p"]})
        if ratio["mismatch"].any():
            found = ", ".join(ratio["day"][ratio["mismatch"]])
            alarm = (
                "SAMPLE-RATIO MISMATCH: the numbers of users per arm differ from the plan "
                f"(--shares; days: {found}). Find the cause before you use any result."
            )
    if names:
        hours = _hours(log, lists, len(names))
        periods = tables["periods"] = by_period.assign(hours=hours.T.ravel())
        tables["thesis2021-table4.2"] = _experiment(name, rates, periods)
    if len(days) > 1:
        tables["days"] = _in_parts(lists, "day", [*zip(dates, days, strict=True)], log.arms)
    if len(days) > WEEK and len(lists) < SPARSE * len(days) * len(log.arms):
        weeks = lists.assign(week=(lists["day"] - dates[0]) // WEEK)
        names_of_weeks = [(week, str(week + 1)) for week in np.sort(weeks["week"].unique())]
        tables["weeks"] = _in_parts(weeks, "week", names_of_weeks, log.arms)
    if settings:
        long = pd.DataFrame(settings, dtype=object).melt(["arm"], var_name="hyperparameter")
        order = [arm["arm"] for arm in settings].index
        long = long.sort_values("arm", kind="stable", key=lambda arms: arms.map(order))
        long = long.dropna().rename(columns={"arm": "system"})
        long.insert(0, "dataset", name)
        tables["thesis2021-table4.1"] = long.astype(str).reset_index(drop=True)
    if truth is not None:
        tables["truth"] = truth
    remarks = [*(f"{count:,} {what}." for what, count in aside.items() if count), *remarks]
    if facts["known_users"] < 0.5 and facts["events"]:
        remarks.append(f"{percent(1 - facts['known_users'])} of the users have no interaction.")
    if len(days) < WEEK:
        remarks.append(
            f"The log covers {len(days)} of the 7 days of the week; rates on other days may differ."
        )
    over_time = "pooled over time" if question.over_time == "pooled" else "averaged over periods"
    accepted = "a click names it."
    if question.window is not None:
        length = pd.Timedelta(question.window, "ms")
        accepted = f"its user interacts with an item of it within {length}."
    note = (
        f"Click-through rates of {len(log.arms)} arms, {over_time}, with 95 % "
        f"intervals over {rates['users'].sum():,} users. A list is accepted if {accepted}"
    )
    return Clicks(tables=tables, arms=log.arms, alarm=alarm, note=note, remarks=tuple(remarks))


def _by_user(lists: pd.DataFrame, part: str) -> pd.DataFrame:
    """Count lists shown and accepted, a row for each user and part of the time."""
    groups = lists.groupby(["user", "arm", part])["accepted"].agg(lists="size", accepted="sum")
    return groups.reset_index().rename(columns={part: "period"})


def _in_parts(
    lists: pd.DataFrame, part: str, names: Sequence[tuple[Any, str]], arms: Sequence[str]
) -> pd.DataFrame:
    """Estimate the rates in each part of the time."""
    import pandas as pd

    counts = _by_user(lists, part)
    found = {name: click_through(counts[counts["period"] == key], arms) for key, name in names}
    return pd.concat(found, names=[part]).reset_index(level=0).reset_index(drop=True)


def _periods(log: MatchedLog) -> tuple[Sequence[str], Any]:
    """Name the periods, and give that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so; without such a table it is the version that lists name, and without
    these there is one without a name.
    """
    lists = log.lists
    if log.models is None:
        return log.versions, lists["version"] if log.versions else 0
    period = np.full(len(lists), -1)
    arm, time = lists["arm"].to_numpy(), lists["time"].to_numpy()
    for row in log.models.itertuples():
        period[(arm == row.arm) & (time >= row.valid_from) & (time < row.valid_to)] = row.period
    versions = log.models.groupby("period")["version"].agg(["first", "nunique"])
    if (versions["nunique"] == 1).all():
        return versions["first"].tolist(), period
    return [str(number + 1) for number in versions.index], period


def _hours(log: MatchedLog, lists: pd.DataFrame, n_periods: int) -> Any:
    """Say how long each version was live, or showed lists, in hours: (n_arms, n_periods)."""
    keys = ["arm", "period"]
    if log.models is not None:
        spans = log.models.set_index(keys)
        length = spans["valid_to"] - spans["valid_from"]
    else:
        times = lists.groupby(keys)["time"]
        length = times.max() - times.min()
    wide = length.unstack().reindex(index=range(len(log.arms)), columns=range(n_periods))
    return wide.to_numpy(np.float64) / 3_600_000


def _experiment(name: str, rates: pd.DataFrame, periods: pd.DataFrame) -> pd.DataFrame:
    """Table 4.2: how often models were trained anew, users, lists and rates."""
    import pandas as pd

    live = periods[periods["lists"] > 0].groupby("arm")["hours"]
    minutes = (60 * live.mean()).round().astype(int)
    rates = rates[rates["lists"] > 0].set_index("arm")
    quantities = {
        ("measurements o", ""): live.size(),
        ("duration of one iteration", "hh:mm"): minutes.map(lambda n: f"{n // 60}:{n % 60:02}"),
        ("iCTR users", ""): rates["users"],
        ("iCTR interactions", "lists shown"): rates["lists"],
        ("iCTR", "%"): 100 * rates["rate"],
    }
    rows = [
        (name, arm, quantity, of_arms[arm], unit)
        for arm in rates.index
        for (quantity, unit), of_arms in quantities.items()
    ]
    columns = ["dataset", "system", "quantity", "value", "unit"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


@dataclass(frozen=True, eq=False)
class Clicks(Result):
    """Click-through rates of the arms of a log.

    Tables by name, the arms, an alarm if users are not split as planned (else empty), what the
    rates are, and remarks.
    """

    tables: Mapping[str, pd.DataFrame]
    arms: tuple[str, ...]
    alarm: str
    note: str
    remarks: tuple[str, ...]

    @property
    def daily(self) -> pd.DataFrame | None:
        """Rates by day, if there are several."""
        return self.tables.get("days")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; those of what is not known or asked are left out."""
        return self.tables

    def caption(self) -> str:
        """Say what the rates are, and when a list is accepted; an alarm comes first."""
        return f"{self.alarm} {self.note}".strip()

    def caption_of(self, part: str) -> str:
        """Say what the figure over time shows."""
        part = "week" if "weeks" in self.tables else "day"
        what = f"Click-through rates of each arm by {part} (UTC)."
        return f"{self.alarm} {what}".strip()

    def findings(self) -> Sequence[str]:
        """Say which arm has the highest rate, if users are split as planned."""
        if self.alarm:
            return [self.alarm, "No arm is called best, as users are not split as planned."]
        return [verdict(self.tables["arms"], self.tables["differences"])]

    def cautions(self) -> Sequence[str]:
        """Say what weakens the rates, and the remarks on the models."""
        return self.remarks

    clicks_rates = frame_of(
        "clicks_rates", "click-through rates of the arms", frame="arms", decimals=DECIMALS
    )
    clicks_differences = frame_of(
        "clicks_differences",
        "differences of the arms' click-through rates",
        "Intervals are for each pair alone; p_holm is adjusted for all pairs (Holm's method).",
        frame="differences",
        decimals=DECIMALS,
    )
    clicks_split = frame_of(
        "clicks_split",
        "users per arm against the plan",
        "Chi-square test; users are counted in the arm of their first list.",
        frame="split",
    )
    clicks_periods = frame_of(
        "clicks_periods",
        "click-through rates by version of the model",
        "A period is the time in which a version of an arm's model was live.",
        frame="periods",
        decimals=DECIMALS,
    )
    thesis2021_table4_1 = thesis_table("4.1", "settings of the arms' models")
    thesis2021_table4_2 = thesis_table("4.2", "periods, users and lists of the arms")

    @figure(
        "thesis2021-figure4.1",
        "Click-through rates over time (figures 4.1 to 4.5 of Kasalický 2021)",
        panels="arm",
        part="daily",
    )
    def plot_over_time(self, ax: Axes, *, arm: str) -> None:
        """Draw the rates of an arm by day, with their intervals, before those of the others."""
        part = "week" if "weeks" in self.tables else "day"
        rates = self.tables[f"{part}s"]
        if part == "day":
            dates = rates["day"].to_numpy().astype("datetime64[D]")
            rates = rates.assign(day=(dates - dates[0]).astype(np.int64) + 1)
        rates = rates.astype({part: int})
        draw_among(ax, rates.pivot(index=part, columns="arm", values="rate"), arm)
        own = rates[rates["arm"] == arm]
        limits = own["low"].to_numpy(), own["high"].to_numpy()
        places, style = own[part].to_numpy(), {"color": colours()[0]}
        bands = f"Bands: 95 % intervals over the users of a {part}."
        draw_band(ax, places, limits, style, label=arm, explanation=bands)
        # The same in all panels, so that none is cut off.
        ax.set_ylim(0, 1.05 * rates[["rate", "high"]].max().max() or None)
        ax.locator_params(axis="x", integer=True)
        ax.set(xlabel=part, ylabel="click-through rate")
        if self.alarm and ax.figure is not None:
            text = "Sample-ratio mismatch (p < .001)"
            ax.figure.suptitle(text, color="#C00000", fontweight="bold")


def draw_among(axes: Axes, curves: pd.DataFrame, arm: str) -> None:
    """Draw curves, a column each: one in colour, the others grey behind it."""
    for other in curves.columns.drop(arm):
        (line,) = axes.plot(curves.index, curves[other], color="0.85", linewidth=0.7, zorder=0)
        explain(line, "Grey: the other arms.")
    axes.plot(curves.index, curves[arm], color=colours()[0], linewidth=1.4)
    axes.set_title(arm)


def verdict(rates: pd.DataFrame, pairs: pd.DataFrame) -> str:
    """Say which arm has the highest rate, if it is significantly higher.

    An arm is named if its rate is above that of each other arm, by Holm's method over all pairs.
    """
    import pandas as pd

    if len(rates) < 2:
        return "The log has only one arm, so no rates are compared."
    best = rates["arm"].iloc[int(rates["rate"].argmax())]
    turned = pairs.rename(
        columns={"arm_a": "arm_b", "arm_b": "arm_a", "low": "high", "high": "low"}
    )
    turned[["difference", "low", "high"]] *= -1
    others = pd.concat([pairs, turned]).sort_values("difference")
    others = others[others["arm_a"] == best]
    is_certain = bool((others["p_holm"] < ALPHA).all())
    row = (others if is_certain else others[~(others["p_holm"] < ALPHA)]).iloc[0]
    # The pair is chosen: its interval, for one pair alone, stands in the table of differences.
    pair = Estimate(*(float(row[key]) for key in ("difference", "low", "high")))
    gap = rounded(pair.value, pair.decimals)
    opening = f"Arm {best} has the highest click-through rate"
    if not is_certain:
        opening = "No arm has a significantly higher click-through rate than all others"
    return (
        f"{opening}: the rate of {best} is {gap} above that of {row['arm_b']} "
        f"({format_p_value(float(row['p_holm']))}, Holm's method)."
    )
