"""Logs of experiments: lists that were shown, what users did, and which lists were accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from qrels.interactions.log_table import (
    PLACE,
    ROWS_OF_FILE,
    ColumnQuery,
    LogDatabase,
    LogTable,
    Rule,
    id_column,
    log_database,
    quote_name,
    quote_text,
    time_column,
)
from runs import InputError, Numbering
from runs.shared.settings import Section, Whole

if TYPE_CHECKING:
    import pandas as pd

DAY: Final = 86_400_000

MISPLACED: Final = "owner IS NULL OR owner <> user OR NOT list_contains(items, item)"
"""Whether a click names a list that is not in the file, another user's, or without the item."""

REPEATED: Final = "a list must not repeat an item, but has {!r} twice."


class Logs(Section):
    """Logs of an experiment that took place, and how their rows are read."""

    recommendations: Path = Field(
        description="Lists that were shown: Parquet, CSV, or a folder of Parquet files. Columns "
        "rec_id, time, user, arm, and items, or position and item in a row for each item; "
        "optionally model_version and clicked."
    )
    interactions: Path = Field(
        description="Interactions of the users, in the same formats. Columns time, user, item, "
        "type, and optionally rec_id, the list that was clicked."
    )
    models: Path | None = Field(
        None,
        description="Times at which each version of a model was live. Columns arm, model_version, "
        "valid_from and valid_to.",
    )
    types: Mapping[str, str] | None = Field(
        None, description="New names of types of interactions; '' excludes a type."
    )
    first_year: Whole | None = Field(
        None, ge=1, le=9999, description="Refuse times before this year; default: 2000."
    )

    @property
    def files(self) -> dict[str, Path]:
        """Give the tables that there are, by name."""
        return {name: value for name, value in self if isinstance(value, Path)}

    def opened(self, database: LogDatabase) -> dict[str, LogTable]:
        """Open the tables that there are, by name."""
        return {name: database.open(path) for name, path in self.files.items()}


@dataclass(frozen=True, eq=False)
class MatchedLog:
    """The lists of a log without their items, and which of them were accepted.

    Lists have the columns user, arm and version (numbers; -1 for no version), time (milliseconds
    since 1970 in UTC) and accepted, in the order in which they first stand in the file. Users are
    in the order of their ids. Models are as of `_read_models`. Facts say how many rows the tables
    have, and how far they fit together; set aside are rows that do not count.
    """

    arms: tuple[str, ...]
    versions: tuple[str, ...]
    lists: pd.DataFrame
    models: pd.DataFrame | None
    facts: Mapping[str, Any]
    set_aside: Mapping[str, int]


def match_lists(
    logs: Logs,
    window: int | None,
    *,
    arms: Sequence[str] | None = None,
    folder: Path | None = None,
    n_jobs: int | None = None,
) -> MatchedLog:
    """Read a log, and find the lists that were followed by what they are meant to bring about.

    With a window, in milliseconds, a list shown at time t is accepted if its user interacts with
    one of its items in [t, t + window] (Kasalický 2021, equation 1.34), of whichever type; without
    one, if a click names it. Arms are by default those that the lists have. Temporary files of a
    log larger than memory lie in the folder; the result does not depend on the threads.
    """
    import pandas as pd

    with log_database(folder, first_year=logs.first_year, n_jobs=n_jobs) as database:
        tables = logs.opened(database)
        n_twice = _read_lists(tables["recommendations"], arms)
        aside = {"lists with a duplicate id do not count": n_twice}
        span = database.fetch_row("SELECT min(time), max(time) FROM lists")
        if span[0] is None:
            raise InputError(f"{logs.recommendations}: there are no recommendations in the file.")
        aside |= _read_events(tables["interactions"], logs.types)
        _accept(tables, window)
        named = "" if arms is None else ", ".join(f"({quote_text(arm)})" for arm in arms)
        database.number_ids("arms", f"VALUES {named}" if named else "SELECT arm FROM lists")
        names = tuple(database.fetch_numbering("arms").ids.tolist())
        models = _read_models(tables["models"], Numbering.of(names)) if logs.models else None
        database.number_ids("users", "SELECT user FROM lists")
        database.number_ids("versions", "SELECT version FROM lists")
        columns = database.fetch_arrays(
            "SELECT u.number, a.number, coalesce(v.number, -1), l.time, l.list IN (FROM accepted) "
            "FROM lists l JOIN users u ON u.id = l.user JOIN arms a ON a.id = l.arm "
            "LEFT JOIN versions v ON v.id = l.version ORDER BY l.list"
        )
        labels = ["user", "arm", "version", "time", "accepted"]
        lists = pd.DataFrame(dict(zip(labels, columns, strict=True)), copy=False)
        facts = _counts(database, span)
        versions = tuple(database.fetch_numbering("versions").ids.tolist())
        return MatchedLog(names, versions, lists, models, {"lists": len(lists)} | facts, aside)


def model_starts(logs: Logs) -> tuple[tuple[str, ...], int, dict[tuple[str, int], int]]:
    """Name the arms, and say when the first list was shown, and each version became live.

    Versions are those of an arm and a period (from 0); without a table of models there is one,
    live from the first list on.
    """
    with log_database(first_year=logs.first_year) as database:
        tables = logs.opened(database)
        columns = tables["recommendations"].read({"arm": id_column, "time": time_column})
        arms = columns["arm"][0]
        if len(columns["time"]) == 0:
            raise InputError(f"{logs.recommendations}: there are no recommendations in the file.")
        first = int(columns["time"].min())
        models = _read_models(tables["models"], arms) if logs.models else None
    names = tuple(arms.ids.tolist())
    if models is None:
        return names, first, {(arm, 0): first for arm in names}
    rows = models[["arm", "period", "valid_from"]].to_numpy().tolist()
    return names, first, {(names[arm], period): start for arm, period, start in rows}


def _read_lists(table: LogTable, arms: Sequence[str] | None) -> int:
    """Make the table ``lists`` (list, rec_id, user, arm, version, time, items, clicked).

    Of several rows with one list the first counts; given is how many others there are.
    """
    table.require("rec_id", "time", "user", "arm")
    in_rows = "items" not in table
    if in_rows and not ("item" in table and "position" in table):
        raise InputError(
            f"{table.path}: recommendations need a column 'items' with lists, or the columns "
            f"'position' and 'item'; found {', '.join(table.types)}."
        )
    kinds: dict[str, Any] = {
        **dict.fromkeys(("rec_id", "user"), id_column),
        "arm": partial(_arm_column, arms=arms),
        "time": time_column,
    }
    optional: dict[str, Any] = {"model_version": id_column, "clicked": _clicked_column}
    kinds |= {name: kind for name, kind in optional.items() if name in table}
    if in_rows:
        kinds |= {"item": id_column, "position": _position_column}
        items, clicked = (f"{how} OVER of_list" for how in ("list(item)", "bool_or(clicked)"))
    else:
        kinds["items"] = _items_column
        items, clicked = "items", "list_contains(clicked, true)"
    version = "model_version" if "model_version" in table else "NULL::VARCHAR"
    clicked = clicked if "clicked" in table else "false"
    table.view("shown", kinds)
    if in_rows:
        _refuse_rows(table)
    table.database.run(
        "CREATE TEMP TABLE lists AS "
        "SELECT row_number() OVER (ORDER BY place) - 1 AS list, * EXCLUDE (place) FROM "
        f"(SELECT {version} AS version, rec_id, user, arm, time, {PLACE} AS place, {items} AS "
        f"items, {clicked} AS clicked FROM shown WINDOW of_list AS (PARTITION BY rec_id) "
        "QUALIFY row_number() OVER (PARTITION BY rec_id ORDER BY place) = 1)"
    )
    counts = "SELECT (SELECT count(*) FROM shown), (SELECT count(*) FROM lists)"
    n_rows, n_lists = table.database.fetch_row(counts)
    return 0 if in_rows else int(n_rows - n_lists)


def _arm_column(table: LogTable, name: str, *, arms: Sequence[str] | None) -> ColumnQuery:
    kind = id_column(table, name)
    known = ", ".join(map(quote_text, arms or [""]))
    finding = f"the arms are {', '.join(sorted(arms or []))}, got {{!r}}."
    broken = f"{kind.expression} NOT IN ({known})"
    rules = [Rule(name, broken, finding, value=kind.expression)] if arms else []
    return kind._replace(rules=[*kind.rules, *rules])


def _position_column(table: LogTable, name: str) -> ColumnQuery:
    number = f"TRY_CAST({quote_name(name)} AS DOUBLE)"
    return ColumnQuery(
        number, [Rule(name, f"{number} IS NULL", "a position must be a number, got {!r}.")]
    )


def _clicked_column(table: LogTable, name: str) -> ColumnQuery:
    kind = "BOOLEAN[]" if table.types[name].endswith("[]") else "BOOLEAN"
    flag = f"TRY_CAST({quote_name(name)} AS {kind})"
    return ColumnQuery(
        flag, [Rule(name, f"{flag} IS NULL", "a click must be true or false, got {!r}.")]
    )


def _items_column(table: LogTable, name: str) -> ColumnQuery:
    if not table.types[name].endswith("[]"):
        found = "text" if table.types[name] == "VARCHAR" else table.types[name]
        raise table.error(name, f"a list must be given, found {found}.")
    items = f"{quote_name(name)}::VARCHAR[]"
    empty = f"len(list_filter({items}, lambda x: x IS NULL OR x = '')) > 0"
    repeated = f"list_filter({items}, lambda x, i: list_position({items}, x) < i)"
    rules = [
        Rule(name, f"coalesce(len({items}), 0) = 0", "a list must hold an item."),
        Rule(name, empty, "an id must not be empty."),
        Rule(name, f"len(list_distinct({items})) < len({items})", REPEATED, f"{repeated}[1]"),
    ]
    return ColumnQuery(items, rules)


def _refuse_rows(table: LogTable) -> None:
    """Refuse rows of one list that disagree, repeated items and wrong positions."""
    shared = ", ".join(n for n in ("user", "arm", "time", "model_version") if n in table)
    other = f"a list has one {shared}, but list {{0[rec]!r}} has others in row {{0[row]}}."
    position = (
        "the positions of a list must be 1, 2, 3 and so on, each once, but list {0[rec]!r} has "
        "{0[got]:g} where {0[row]} should be."
    )
    head = f"{{'rec': rec_id, 'row': head % {ROWS_OF_FILE} + 1}}"
    got = "{'rec': rec_id, 'got': position, 'row': expected}"
    table.check_rules(
        [
            Rule("rec_id", f"row({shared}) <> first_row", other, head),
            Rule("item", "repeats > 1", REPEATED),
            Rule("position", "position <> expected", position, got),
        ],
        "(SELECT *, "
        f"first_value(row({shared})) OVER of_list AS first_row, "
        f"min({PLACE}) OVER (PARTITION BY rec_id) AS head, "
        "row_number() OVER (PARTITION BY rec_id, item ORDER BY log_file, log_row) AS repeats, "
        "row_number() OVER (PARTITION BY rec_id ORDER BY position, log_file, log_row) AS expected "
        "FROM shown WINDOW of_list AS (PARTITION BY rec_id ORDER BY log_file, log_row))",
    )


def _read_events(table: LogTable, rename: Mapping[str, str] | None) -> dict[str, int]:
    """Make the view ``events``, of types with a name; count the interactions that are set aside."""
    table.require("time", "user", "item", "type")
    kinds = {**dict.fromkeys(("user", "item", "type"), id_column), "time": time_column}
    if "rec_id" in table:
        kinds["rec_id"] = partial(id_column, optional=True)
    table.view("all_events", kinds)
    excluded = ", ".join(quote_text(old) for old, new in (rename or {}).items() if not new)
    kept = f"WHERE type NOT IN ({excluded})" if excluded else ""
    table.database.run(f"CREATE TEMP VIEW events AS FROM all_events {kept}")
    (unnamed,) = table.database.fetch_row(
        "SELECT (SELECT count(*) FROM all_events) - (SELECT count(*) FROM events)"
    )
    counts = {"interactions of a type without a name do not count": unnamed}
    if "rec_id" in table:
        (counts["clicks do not fit their list and do not count"],) = table.database.fetch_row(
            f"SELECT count(*) FILTER (WHERE {MISPLACED}) FROM "
            "(SELECT e.*, l.user AS owner, l.items FROM all_events e "
            "LEFT JOIN lists l ON l.rec_id = e.rec_id WHERE e.rec_id IS NOT NULL)"
        )
    return counts


def _accept(tables: Mapping[str, LogTable], window: int | None) -> None:
    """Make the table ``accepted`` of the numbers of accepted lists."""
    if window is None:
        has_names = "rec_id" in tables["interactions"]
        if not has_names and "clicked" not in tables["recommendations"]:
            raise InputError(
                "explicit clicks (--explicit) must name their list: a column 'rec_id' in the "
                "interactions, or 'clicked' in the recommendations, is needed."
            )
        named = (
            " UNION SELECT l.list FROM events e JOIN lists l ON l.rec_id = e.rec_id "
            "AND l.user = e.user AND list_contains(l.items, e.item)"
        )
        found = "SELECT list FROM lists WHERE clicked" + named * has_names
    else:
        # Within a window from t, times have the quotient of t by the window, or the next.
        width = max(window, 1)
        followed = (
            f"SELECT s.list, e.item FROM events e JOIN (SELECT list, user, time, "
            f"unnest([time // {width}, time // {width} + 1]) AS part FROM lists) s "
            f"ON s.user = e.user AND s.part = e.time // {width} "
            f"WHERE e.time BETWEEN s.time AND s.time + {window}"
        )
        found = (
            f"SELECT f.list FROM ({followed}) f JOIN lists l ON l.list = f.list "
            "WHERE list_contains(l.items, f.item)"
        )
    accepted = f"CREATE TEMP TABLE accepted AS SELECT DISTINCT list FROM ({found})"
    tables["interactions"].database.run(accepted)


def _counts(database: LogDatabase, span: tuple[int, int]) -> dict[str, Any]:
    """Say how far both tables fit together."""
    (users,) = database.fetch_row("SELECT count(*) FROM (SELECT DISTINCT user FROM lists)")
    events, known = database.fetch_row(
        # Counts of distinct values do not leave memory; distinct rows do.
        "SELECT (SELECT count(*) FROM events), "
        "(SELECT count(*) FROM (SELECT user FROM events INTERSECT SELECT user FROM lists))"
    )
    times = {"first_time": span[0], "last_time": span[1]}
    return {"users": users, "events": events, **times, "known_users": known / users}


def _read_models(table: LogTable, arms: Numbering) -> pd.DataFrame:
    """Read the versions of the models, which must not overlap in an arm, by arm and time.

    Columns arm (its number), version, valid_from and valid_to (milliseconds), of [from, to), and
    period: the number of the version among those of its arm, from 0.
    """
    import pandas as pd

    kinds: dict[str, Any] = {
        "arm": partial(_arm_column, arms=arms.ids.tolist()),
        "model_version": id_column,
        **dict.fromkeys(("valid_from", "valid_to"), time_column),
    }
    (own, arm), (versions, version), start, end = table.read(kinds).values()
    columns = {"arm": arms.numbers(own.ids)[arm], "version": versions.ids[version]}
    models = pd.DataFrame(columns | {"valid_from": start, "valid_to": end})
    models = models.sort_values(["arm", "valid_from"], kind="stable")
    before = models.groupby("arm")["valid_to"].shift()
    overlaps = (models["valid_from"] < before).sort_index().to_numpy()
    for column, is_wrong, finding in (
        ("valid_to", end <= start, "must end after it begins"),
        ("valid_from", overlaps, "begins before another version of the same arm ends"),
    ):
        if is_wrong.any():
            row = int(is_wrong.argmax())
            told = f"version {models['version'][row]!r} {finding}."
            raise table.error(column, told, row=row)
    return models.assign(period=models.groupby("arm").cumcount()).reset_index(drop=True)
