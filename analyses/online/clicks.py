"""Clicks: counting the lists of a log that were accepted, by arm, user and period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from analyses.online.clicks_result import Clicks
from analyses.online.logs import DAY, Logs, MatchedLog, match_lists
from analyses.online.rates import (
    OverTime,
    click_through,
    differences,
    planned_shares,
    rates_of,
    sample_ratio,
)
from analyses.shared.number_format import percent
from runs import InputError
from runs.shared.progress import Progress
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd

MAX_DURATION: Final = 2**53
"""Milliseconds that are no duration any more."""

DAYS_OF_WEEK: Final = 7
MILLISECONDS_OF_HOUR: Final = 3_600_000

MIN_LISTS_BY_DAY = 30
"""Of logs with fewer lists by day and arm, rates are drawn by week."""


def milliseconds(text: str) -> int:
    """Read a duration in milliseconds, such as "30 min", "1.5h" or "2 days".

    It is rounded to whole milliseconds. Refuse, with ValueError, what is no number with a unit,
    numbers below 0, and those from 2 to the power of 53 on.
    """
    from pandas import Timedelta

    # Without a unit they would be nanoseconds; an empty text is refused.
    has_unit = text.strip()[-1:].isalpha()
    text_with_unit = text if has_unit else ""
    try:
        duration = Timedelta(text_with_unit).total_seconds() * 1000
    except ValueError:
        duration = -1.0
    if not 0 <= duration < MAX_DURATION:
        raise ValueError(f"must be a number with a unit (ms, s, min, h, d), got {text!r}")
    return round(duration)


def read_pairs(text: str) -> dict[str, str]:
    """Read values by name, such as "click=view,impression=".

    Values stay texts, and may be empty; the last "=" of a part divides it. Refuse, with ValueError,
    a part without a name or "=", and a name that occurs twice.
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
    """Make annotations of a setting that a function reads from texts; others stay as they are.

    ``format`` is the name of the texts in the JSON schema.
    """

    def read_text(value: Any) -> Any:
        return read(value) if isinstance(value, str) else value

    return BeforeValidator(read_text), WithJsonSchema({"type": "string", "format": format})


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
    def _require_one_kind_of_click(self) -> Question:
        """Refuse, with ValueError, neither a window nor explicit clicks, and both."""
        if self.explicit == (self.window is not None):
            raise ValueError(
                "say within which time after a list was shown an interaction counts as a click of "
                "it, such as --window '30 min'; or --explicit, if clicks name their list"
            )
        return self


class _SelectedLists(NamedTuple):
    """The lists that count, the first list of each user, and numbers of rows set aside.

    Lists have the columns of `MatchedLog.lists`, period and day (since 1970). First lists are
    indexed by user; those of users of several arms are among them, those of likely bots are not.
    """

    lists: pd.DataFrame
    first_lists: pd.DataFrame
    set_aside: Mapping[str, int]


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
    by more than one arm are left out. Temporary files lie in the folder; the number of threads
    (``n_jobs``) changes no result. What else is known may be the name of the data set, the settings
    of the arms, remarks on their models, and the truth of a simulated world: arm, period, users,
    lists and expected_rate.

    The tables of the result are arms, rates (by model and period), differences (of arms), facts,
    and, as far as the log has them, sample_ratio and split (of users to arms), periods, days,
    weeks, truth, and those of the thesis, such as "thesis2021-table4.2".

    Refuse, with InputError, an average over periods without versions of models, shares that do not
    fit the arms, and a log of which no list is left.
    """
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
    period_names, period = _periods(log)
    lists, first_lists, set_aside = _select_lists(log, period, question.robots)
    facts = {**log.facts, **set_aside}
    rates = click_through(_by_user(lists, "period"), log.arms, over_time=question.over_time)
    if truth is not None:
        rates["expected"] = rates["arm"].map(_expected_rates(truth, question.over_time))
    numbered_names = [*enumerate(period_names)] or [(0, "all")]
    by_period = _rates_by(lists, "period", numbered_names, log.arms)
    tables = {
        "arms": rates,
        "rates": _model_rates(by_period),
        "differences": differences(rates),
        "facts": _facts_frame(facts),
    }
    if len(log.arms) > 1:
        ratio = sample_ratio(first_lists, log.arms, shares)
        tables["sample_ratio"] = ratio
        tables["split"] = _split_frame(ratio, log.arms, shares)
    if period_names:
        # Rows are by period, then arm.
        periods = by_period.assign(hours=_hours(log, lists, len(period_names)).T.ravel())
        tables["periods"] = periods
        tables["thesis2021-table4.2"] = _experiment_frame(name, rates, periods)
    tables |= _rates_over_time(lists, log.arms)
    if settings:
        tables["thesis2021-table4.1"] = _settings_frame(name, settings)
    if truth is not None:
        tables["truth"] = truth
    n_days = lists["day"].nunique()
    return Clicks(
        tables=tables,
        arms=log.arms,
        alarm=_mismatch_alarm(tables.get("sample_ratio")),
        note=_note(question, rates),
        remarks=_all_remarks(facts, set_aside, remarks, n_days),
    )


def _select_lists(log: MatchedLog, period: Any, max_lists: int | None) -> _SelectedLists:
    """Leave out lists of users of several arms and of likely bots, and those of no version.

    ``period``: the number of the period of each list, -1 where no version was live, or one number
    for all. Likely bots have more lists than the maximum on some day (UTC); without a maximum there
    are none. Rows set aside are counted by the reason, those of the log among them. First lists are
    those of each user, without bots. Refuse, with InputError, a log of which no list is left.
    """
    days = log.lists["time"] // DAY
    lists = log.lists.assign(period=period, day=days)
    first_lists = _first_lists(lists)
    crossed = _users_of_several_arms(lists, first_lists)
    robots = _likely_robots(lists, max_lists)
    is_live = lists["period"] >= 0
    n_not_live = int((~is_live).sum())
    set_aside = {
        **log.set_aside,
        "users were shown lists by more than one arm; their lists do not count": len(crossed),
        "users are excluded as likely bots": len(robots),
        "lists were shown when no version of their arm's model was live; they do not "
        "count": n_not_live,
    }
    is_excluded = lists["user"].isin([*crossed, *robots])
    lists = lists[~is_excluded & is_live]
    if lists.empty:
        raise InputError(
            "no list is left: all users saw lists by two arms or are likely bots, or no version "
            "of a model was live."
        )
    people = first_lists[~first_lists.index.isin(robots)]
    return _SelectedLists(lists, people, set_aside)


def _first_lists(lists: pd.DataFrame) -> pd.DataFrame:
    """Select the first list of each user, by time; rows are indexed by user."""
    by_time = np.lexsort((lists["time"], lists["user"]))
    return lists.iloc[by_time].drop_duplicates("user").set_index("user")


def _users_of_several_arms(lists: pd.DataFrame, first_lists: pd.DataFrame) -> Any:
    """Find the users (numbers) who were shown lists by more than one arm.

    ``first_lists``: the first list of each user, row k that of user k. Users are numbered from 0.
    """
    first_arms = first_lists["arm"].to_numpy()[lists["user"]]
    is_crossed = lists["arm"].to_numpy() != first_arms
    return lists.loc[is_crossed, "user"].unique()


def _likely_robots(lists: pd.DataFrame, max_lists: int | None) -> Any:
    """Find the users (numbers) with more lists than the maximum on some day.

    ``lists``: columns user and day. None are found if there is no maximum.
    """
    if max_lists is None:
        return ()
    by_day = lists.groupby(["user", "day"]).size()
    return by_day[by_day > max_lists].index.get_level_values("user").unique()


def _expected_rates(truth: pd.DataFrame, over_time: OverTime) -> pd.Series:
    """Compute the true click-through rates of a simulated world, indexed by the name of the arm.

    ``truth``: columns arm, period, users, lists and expected_rate. Periods without lists do not
    count; periods are averaged as `rates_of` does.
    """
    expected_clicks = truth["expected_rate"] * truth["lists"]
    cells = truth.assign(accepted=expected_clicks)
    cells = cells[cells["lists"] > 0].set_index(["arm", "period"])
    return rates_of(cells, over_time=over_time)


def _model_rates(by_period: pd.DataFrame) -> pd.DataFrame:
    """Tabulate rates by model and period, as `harness online` reads them.

    ``by_period``: rows of `click_through`, with the period. Those without lists are left out.
    Columns model, period, rate, error, users, recommendations and accepted.
    """
    frame = by_period.rename(columns={"arm": "model", "lists": "recommendations"})
    columns = ["model", "period", "rate", "error", "users", "recommendations", "accepted"]
    frame = frame.loc[frame["recommendations"] > 0, columns]
    return frame.reset_index(drop=True)


def _facts_frame(facts: Mapping[str, Any]) -> pd.DataFrame:
    """Tabulate facts on the log: columns fact and value."""
    import pandas as pd

    return pd.DataFrame({"fact": [*facts], "value": [*facts.values()]}, dtype=object)


def _split_frame(ratio: pd.DataFrame, arms: Sequence[str], shares: Sequence[float]) -> pd.DataFrame:
    """Tabulate users of each arm, in number and per cent, against the planned shares.

    ``ratio``: the table of `sample_ratio`, whose first row is that of all users; ``shares``:
    planned for the arms, with the sum 1. Columns arm, users, %, planned % and p (of the test that
    users are split as planned, the same in all rows).
    """
    import pandas as pd

    all_users = ratio.iloc[0]
    users = [all_users[f"users_{arm}"] for arm in arms]
    percentages = [all_users[f"percent_{arm}"] for arm in arms]
    planned = 100 * np.array(shares)
    p = all_users["p"]
    columns = {"arm": arms, "users": users, "%": percentages, "planned %": planned, "p": p}
    return pd.DataFrame(columns)


def _mismatch_alarm(ratio: pd.DataFrame | None) -> str:
    """Warn that users are not split as planned; "" if they are, overall and on all days.

    ``ratio``: the table of `sample_ratio`; None for a log of one arm, which has no alarm.
    """
    if ratio is None or not ratio["mismatch"].any():
        return ""
    days = ", ".join(ratio["day"][ratio["mismatch"]])
    return (
        "SAMPLE-RATIO MISMATCH: the numbers of users per arm differ from the plan "
        f"(--shares; days: {days}). Find the cause before you use any result."
    )


def _rates_over_time(lists: pd.DataFrame, arms: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Estimate the rates of arms by day ("days"), and by week ("weeks") of a long log of few lists.

    A long log has lists on more than 7 days, few are less than 30 for each day and arm. Weeks of 7
    days are counted from the first day. ``lists``: columns user, arm, day (since 1970) and
    accepted. Both are missing for a log of one day.
    """
    tables = {}
    dates = np.sort(lists["day"].unique())
    n_days = len(dates)
    if n_days > 1:
        day_names = np.datetime_as_string(dates.astype("datetime64[D]")).tolist()
        days = [*zip(dates, day_names, strict=True)]
        tables["days"] = _rates_by(lists, "day", days, arms)
    is_sparse = len(lists) < MIN_LISTS_BY_DAY * n_days * len(arms)
    if n_days > DAYS_OF_WEEK and is_sparse:
        with_weeks = lists.assign(week=(lists["day"] - dates[0]) // DAYS_OF_WEEK)
        week_numbers = np.sort(with_weeks["week"].unique())
        weeks = [(week, str(week + 1)) for week in week_numbers]
        tables["weeks"] = _rates_by(with_weeks, "week", weeks, arms)
    return tables


def _settings_frame(name: str, settings: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate table 4.1: a row for each arm and hyperparameter that it has, all texts.

    Columns dataset, system, hyperparameter and value. ``name`` is that of the data set. Settings
    are by arm: its name under the key "arm", and values of hyperparameters by name. Arms stay in
    their order.
    """
    import pandas as pd

    order = [arm_settings["arm"] for arm_settings in settings].index
    frame = pd.DataFrame(settings, dtype=object).melt(["arm"], var_name="hyperparameter")
    frame = frame.sort_values("arm", kind="stable", key=lambda arms: arms.map(order))
    frame = frame.dropna().rename(columns={"arm": "system"})
    frame.insert(0, "dataset", name)
    return frame.astype(str).reset_index(drop=True)


def _all_remarks(
    facts: Mapping[str, Any], set_aside: Mapping[str, int], remarks: Sequence[str], n_days: int
) -> tuple[str, ...]:
    """List what was set aside, remarks on the models, and where the log is thin, as sentences.

    ``set_aside``: numbers of rows by what they are and why; zeros are left out. Facts: known_users
    (share of users with interactions) and events (number). Days are those with lists.
    """
    sentences = [f"{count:,} {reason}." for reason, count in set_aside.items() if count]
    sentences += remarks
    known_users = facts["known_users"]
    if known_users < 0.5 and facts["events"]:
        unknown_share = percent(1 - known_users)
        sentences.append(f"{unknown_share} of the users have no interaction.")
    if n_days < DAYS_OF_WEEK:
        sentences.append(
            f"The log covers {n_days} of the 7 days of the week; rates on other days may differ."
        )
    return tuple(sentences)


def _note(question: Question, rates: pd.DataFrame) -> str:
    """Describe the rates of the arms, their intervals, and when a list is accepted.

    ``rates``: a row for each arm, with its users. The window is in milliseconds.
    """
    import pandas as pd

    is_pooled = question.over_time == "pooled"
    over_time = "pooled over time" if is_pooled else "averaged over periods"
    if question.window is None:
        rule = "a click names it."
    else:
        duration = pd.Timedelta(question.window, "ms")
        rule = f"its user interacts with an item of it within {duration}."
    n_users = rates["users"].sum()
    return (
        f"Click-through rates of {len(rates)} arms, {over_time}, with 95 % intervals over "
        f"{n_users:,} users. A list is accepted if {rule}"
    )


def _by_user(lists: pd.DataFrame, part: str) -> pd.DataFrame:
    """Count lists shown and accepted, a row for each user and part of the time.

    ``part``: the column of the parts. Columns user, arm, period (the part), lists and accepted.
    """
    groups = lists.groupby(["user", "arm", part])["accepted"]
    counts = groups.agg(lists="size", accepted="sum")
    return counts.reset_index().rename(columns={part: "period"})


def _rates_by(
    lists: pd.DataFrame, part: str, names: Sequence[tuple[Any, str]], arms: Sequence[str]
) -> pd.DataFrame:
    """Estimate the rates in each part of the time: rows of `click_through` by part and arm.

    ``lists``: columns user, arm (number), the part and accepted. ``part``: the column of the parts,
    such as "day", and of their names in the result; ``names``: values of the column, with names.
    An arm without lists in a part has a row, too, with missing rates.
    """
    import pandas as pd

    counts = _by_user(lists, part)
    rates = {}
    for key, name in names:
        is_in_part = counts["period"] == key
        rates[name] = click_through(counts[is_in_part], arms)
    return pd.concat(rates, names=[part]).reset_index(level=0).reset_index(drop=True)


def _periods(log: MatchedLog) -> tuple[Sequence[str], Any]:
    """Name the periods, and find the number of that of every list; -1 where no version was live.

    Period k is that of the k-th version of each arm in the table of models, called as the version
    if all arms call theirs so, else with its number; without such a table it is the version that
    lists name. Without these there is one period without a name: then no names are returned, and
    the number 0 for all lists.
    """
    lists = log.lists
    if log.models is None:
        period_of_lists = lists["version"] if log.versions else 0
        return log.versions, period_of_lists
    period = np.full(len(lists), -1)
    arm = lists["arm"].to_numpy()
    time = lists["time"].to_numpy()
    for row in log.models.itertuples():
        is_live = (time >= row.valid_from) & (time < row.valid_to)
        period[(arm == row.arm) & is_live] = row.period
    versions = log.models.groupby("period")["version"].agg(["first", "nunique"])
    if (versions["nunique"] == 1).all():
        return versions["first"].tolist(), period
    return [str(number + 1) for number in versions.index], period


def _hours(log: MatchedLog, lists: pd.DataFrame, n_periods: int) -> Any:
    """Compute how long each version was live, in hours: (n_arms, n_periods).

    If the log has no table of versions, it is the time from the first list to the last. ``lists``:
    columns arm, period and time (milliseconds). NaN where an arm has no version of a period, or
    showed no list in it.
    """
    keys = ["arm", "period"]
    if log.models is not None:
        versions = log.models.set_index(keys)
        durations = versions["valid_to"] - versions["valid_from"]
    else:
        times = lists.groupby(keys)["time"]
        durations = times.max() - times.min()
    by_period = durations.unstack()
    by_period = by_period.reindex(index=range(len(log.arms)), columns=range(n_periods))
    return by_period.to_numpy(np.float64) / MILLISECONDS_OF_HOUR


def _experiment_frame(name: str, rates: pd.DataFrame, periods: pd.DataFrame) -> pd.DataFrame:
    """Tabulate table 4.2: numbers and lengths of the periods, users, lists and rates of the arms.

    ``name`` is that of the data set. ``rates``: from `click_through`; ``periods``: the same by
    period, with hours. Columns dataset, system, quantity, value and unit: five rows for each arm
    that showed lists.
    """
    import pandas as pd

    hours = periods[periods["lists"] > 0].groupby("arm")["hours"]
    minutes = (60 * hours.mean()).round().astype(int)
    rates = rates[rates["lists"] > 0].set_index("arm")
    n_periods = hours.size()
    durations = minutes.map(_clock_time)
    percentages = 100 * rates["rate"]
    quantities = [
        ("measurements o", n_periods, ""),
        ("duration of one iteration", durations, "hh:mm"),
        ("iCTR users", rates["users"], ""),
        ("iCTR interactions", rates["lists"], "lists shown"),
        ("iCTR", percentages, "%"),
    ]
    rows = []
    for arm in rates.index:
        for quantity, by_arm, unit in quantities:
            rows.append((name, arm, quantity, by_arm[arm], unit))
    columns = ["dataset", "system", "quantity", "value", "unit"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _clock_time(minutes: int) -> str:
    """Write minutes as hours and minutes, such as 1:05."""
    return f"{minutes // 60}:{minutes % 60:02}"
