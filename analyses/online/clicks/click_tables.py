"""The study of a log as tables: in full for files, and rounded for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from analyses.online.clicks.checks.placebo import Placebo
from analyses.online.clicks.click_study import EVERYONE, Clicks
from analyses.online.clicks.cycles.cycles import Periodicity
from analyses.online.clicks.off_policy import OffPolicy
from analyses.online.clicks.rates import ClickThrough
from analyses.online.clicks.verdict import compared
from analyses.shared.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd

_rounded = partial(shown, decimals=5)


def frames_of(found: Clicks) -> dict[str, pd.DataFrame]:
    """Give all tables in full, by name."""
    groups = found.groups
    frames = {
        "rates": plain_rates(found),
        "arms": _joined({name: group.rates.to_frame() for name, group in groups.items()}),
        "differences": _joined({name: compared(group.rates) for name, group in groups.items()}),
        "facts": found.facts.to_frame(),
    }
    if found.chosen.by_type:
        frames["types"] = _joined(
            {name: _by(group.by_type, label="type") for name, group in groups.items()}
        )
    splits = {name: group.split.to_frame() for name, group in groups.items() if group.split}
    if splits:
        frames["sample_ratio"] = _joined(splits)
    if found.periods:
        frames["periods"] = _by(found.periods, label="period")
    return frames | _further(found)


def _further(found: Clicks) -> dict[str, pd.DataFrame]:
    """Give the tables of cycles, halves and lists that were not shown."""
    frames = {}
    if found.cycles is not None:
        frames["cycles"] = found.cycles.to_frame()
        frames["bins"] = found.cycles.bins()
        frames["day_profile"] = found.cycles.profile("day")
        frames["week_profile"] = found.cycles.profile("week")
    if found.halves is not None:
        frames["halves"] = found.halves.to_frame()
    if found.placebo is not None:
        frames["placebo"] = found.placebo.to_frame()
    if found.policy is not None:
        frames["off_policy"] = found.policy.to_frame()
    return frames


def _joined(frames: Mapping[str, pd.DataFrame], *, label: str = "users_counted") -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, names=[label]).reset_index(level=0).reset_index(drop=True)


def _by(rates: Mapping[str, ClickThrough], *, label: str) -> pd.DataFrame:
    """Put rates of several kinds, which are not bootstrapped, below each other."""
    frame = _joined({name: found.to_frame() for name, found in rates.items()}, label=label)
    return frame.drop(columns=["bootstrap_low", "bootstrap_high"])


def plain_rates(found: Clicks) -> pd.DataFrame:
    """Give the rates of arms by period, of the group that counts, as `harness online` reads them.

    Returns
    -------
    Columns model (the arm), period, rate, users, recommendations and accepted; no row where an
    arm showed nothing.
    """
    periods = found.periods or {"all": found.chosen.pooled}
    frame = _by(periods, label="period")
    names = {"arm": "model", "slates": "recommendations"}
    columns = ["model", "period", "rate", "users", "recommendations", "accepted"]
    plain = frame.rename(columns=names)[columns]
    return plain[plain["recommendations"] > 0].reset_index(drop=True)


def tables_of(found: Clicks) -> Iterator[Table]:
    """Make the tables for reading."""
    yield _rates_table(found)
    if len(found.chosen.rates.arms) > 1:
        yield _differences_table(found)
        yield _split_table(found)
    if found.chosen.by_type:
        yield _types_table(found)
    if found.periods:
        yield _periods_table(found)
    if found.cycles is not None:
        yield _cycles_table(found.cycles)
    if found.placebo is not None:
        yield _placebo_table(found.placebo)
    if found.policy is not None:
        yield _policy_table(found.policy)
    yield _facts_table(found)


def _table(name: str, title: str, note: str, rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Make a table of rows that name their cells."""
    return Table(
        name=f"clicks-{name}",
        title=title,
        note=note,
        headings=list(rows[0]),
        rows=[list(row.values()) for row in rows],
        best={},
    )


def _rows(frame: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
    return frame.to_dict("records")  # type: ignore[return-value]


def _label(name: str, group: str) -> str:
    return name if group == EVERYONE else f"{name}, {group}"


def _interval(row: Mapping[str, Any], prefix: str = "") -> str:
    return f"{_rounded(row[f'{prefix}low'])} to {_rounded(row[f'{prefix}high'])}"


def _has_bootstrap(found: Clicks) -> bool:
    return found.chosen.rates.replicates.shape[1] > 0


def _counted(row: Mapping[str, Any]) -> dict[str, Cell]:
    """Write what stands in every table of rates."""
    return {
        "users": f"{row['users']:,}",
        "lists": f"{row['slates']:,}",
        "accepted": f"{row['accepted']:,}",
        "rate": _rounded(row["rate"]),
        "error": _rounded(row["error"]),
        "95 % interval": _interval(row),
    }


def _rates_table(found: Clicks) -> Table:
    rows = []
    for name, group in found.groups.items():
        pooled = group.pooled.rates
        for number, row in enumerate(_rows(group.rates.to_frame())):
            cells: dict[str, Cell] = {"arm": _label(row["arm"], name), **_counted(row)}
            if found.question.over_time == "thesis":
                cells["pooled rate"] = _rounded(float(pooled[number]))
            if _has_bootstrap(found):
                cells["bootstrap"] = _interval(row, "bootstrap_")
            cells["mean of users"] = _rounded(row["mean_of_users"])
            cells["binomial error (too small)"] = _rounded(row["binomial_error_too_small"])
            rows.append(cells)
    note = f"{found.chosen.rates.caption()} {found.question.accepted_when()}"
    return _table("rates", "Click-through rates", note, rows)


def _differences_table(found: Clicks) -> Table:
    rows = []
    for name, group in found.groups.items():
        for row in _rows(compared(group.rates)):
            cells: dict[str, Cell] = {
                "arms": _label(f"{row['arm_a']} - {row['arm_b']}", name),
                "difference": _rounded(row["difference"]),
                "error": _rounded(row["error"]),
                "95 % interval": _interval(row),
            }
            if _has_bootstrap(found):
                cells["bootstrap"] = _interval(row, "bootstrap_")
            rows.append(cells | {"p": row["p"], "p (Holm)": row["p_holm"]})
    note = (
        "Intervals are of each pair alone; p-values by Holm's method are adjusted for the number "
        "of pairs."
    )
    return _table("differences", "Differences of the arms' rates", note, rows)


def _split_table(found: Clicks) -> Table:
    rows = []
    splits = {name: group.split for name, group in found.groups.items() if group.split}
    for name, split in splits.items():
        frame = split.to_frame()
        cells: dict[str, Cell] = {"users": name}
        for arm, count, share in zip(split.arms, split.counts, split.shares, strict=True):
            cells[f"{arm} (planned {share:.1%})"] = f"{count:,} ({count / split.counts.sum():.1%})"
        alarms = int(frame["mismatch"].iloc[1:].sum())
        rows.append(cells | {"p": split.p, "days with p < .001 (Holm)": alarms})
    note = splits[[*splits][-1]].caption()
    return _table("split", "Users per arm against the plan", note, rows)


def _types_table(found: Clicks) -> Table:
    rows: list[dict[str, Cell]] = [
        {"type, arm": _label(f"{type}, {row['arm']}", name), **_counted(row)}
        for name, group in found.groups.items()
        for type, rates in group.by_type.items()
        for row in _rows(rates.to_frame())
    ]
    note = (
        "Share of the lists with an interaction of each type: of views the click-through rate, of "
        "carts the cart rate (CCR), of purchases the conversion rate (CR)."
    )
    return _table("types", "Rates by the type of interaction", note, rows)


def _periods_table(found: Clicks) -> Table:
    rows: list[dict[str, Cell]] = [
        {"version, arm": f"{period}, {row['arm']}", **_counted(row)}
        for period, rates in found.periods.items()
        for row in _rows(rates.to_frame())
        if row["slates"]
    ]
    note = "A period is the time in which a version of an arm's model was live."
    return _table("periods", "Click-through rates by version of the model", note, rows)


def _cycles_table(cycles: Periodicity) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "cycle": f"{row['period']:g} h",
            "amplitude": _rounded(row["amplitude"]),
            "95 % interval": _interval(row),
            "peak": f"{row['peak']:.1f} h",
            "p": row["p"],
        }
        for row in _rows(cycles.to_frame())
    ]
    note = f"{cycles.caption()} Peaks: hours after midnight, or after Monday's midnight."
    return _table("cycles", "Cycles of the rates", note, rows)


def _placebo_table(placebo: Placebo) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "arm": row["arm"],
            "rate": _rounded(row["rate"]),
            "placebo": _rounded(row["placebo"]),
            "excess": _rounded(row["excess"]),
            "error": _rounded(row["error"]),
            "95 % interval": _interval(row),
        }
        for row in _rows(placebo.to_frame())
    ]
    return _table("placebo", "Rates beside those of lists not shown", placebo.caption(), rows)


def _policy_table(policy: OffPolicy) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "estimator": row["estimator"],
            "clicks per list": _rounded(row["clicks_per_slate"]),
            "error": _rounded(row["error"]),
            "95 % interval": _interval(row),
            "effective size": f"{row['effective_size']:,.0f}",
        }
        for row in _rows(policy.to_frame())
    ]
    return _table("policy", "Lists that were not shown", policy.caption(), rows)


def _facts_table(found: Clicks) -> Table:
    facts = found.facts
    rows: dict[str, Cell | None] = {
        "lists": f"{facts.slates:,}",
        "lists that count": f"{found.n_lists:,}",
        "recommended items in lists": f"{facts.places:,}",
        "first list": _instant(facts.first_time),
        "last list": _instant(facts.last_time),
        "users who were shown lists": f"{facts.users:,}",
        "of them with interactions": f"{facts.known_users:.1%}",
        "recommended items with interactions": f"{facts.known_items:.1%}",
        "interactions": f"{facts.events:,}",
        "of them between first and last list": f"{facts.events_in_span:.1%}",
        "repeated interactions": f"{facts.repeated_events:,}",
        "users shown lists by two arms": f"{int(found.users.crossed.sum()):,}",
        "gaps between versions": facts.gaps,
        "lists without a live version": _share(facts.without_version),
        "users without an assigned arm": _share(facts.without_arm),
        "lists of another arm than assigned": _share(facts.against_assignment),
    }
    known = [{"fact": name, "value": value} for name, value in rows.items() if value is not None]
    return _table("facts", "The log", "Shares say how far the tables fit together.", known)


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def _instant(time: int) -> str:
    return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M} UTC"
