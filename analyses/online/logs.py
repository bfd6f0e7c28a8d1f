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
        """Paths of the tables that there are, by name."""
        return {name: value for name, value in self if isinstance(value, Path)}

    def open_tables(self, database: LogDatabase) -> dict[str, LogTable]:
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

    Refuse, with InputError, a log without lists, and rows that break a rule.
    """
    with log_database(folder, first_year=logs.first_year, n_jobs=n_jobs) as database:
        tables = logs.open_tables(database)
        n_duplicates = _read_lists(tables["recommendations"], arms)
        set_aside = {"lists with a duplicate id do not count": n_duplicates}
        first_time, last_time = database.fetch_row("SELECT min(time), max(time) FROM lists")
        if first_time is None:
            raise InputError(f"{logs.recommendations}: there are no recommendations in the file.")
        set_aside |= _read_events(tables["interactions"], logs.types)
        # The table ``accepted`` of the numbers of these lists.
        _accept_lists(tables, window)
        arm_names = _number_arms(database, arms)
        models = None
        if logs.models is not None:
            models = _read_models(tables["models"], Numbering.of(arm_names))
        lists = _fetch_lists(database)
        versions = tuple(database.fetch_numbering("versions").ids.tolist())
        facts = {"lists": len(lists), **_count_rows(database, first_time, last_time)}
        return MatchedLog(arm_names, versions, lists, models, facts, set_aside)


def _number_arms(database: LogDatabase, arms: Sequence[str] | None) -> tuple[str, ...]:
    """Make the table ``arms`` of ids and numbers; return the names in the order of the numbers.

    Arms are those that are given, else those of the table ``lists``.
    """
    if arms:
        query = "VALUES " + ", ".join(f"({quote_text(arm)})" for arm in arms)
    else:
        query = "SELECT arm FROM lists"
    database.number_ids("arms", query)
    return tuple(database.fetch_numbering("arms").ids.tolist())


def _fetch_lists(database: LogDatabase) -> pd.DataFrame:
    """Number users and versions, and fetch the lists without items, as `MatchedLog` has them.

    The database has the tables ``lists``, ``arms`` and ``accepted``.
    """
    import pandas as pd

    database.number_ids("users", "SELECT user FROM lists")
    database.number_ids("versions", "SELECT version FROM lists")
    user, arm, version, time, accepted = database.fetch_arrays(
        "SELECT u.number, a.number, coalesce(v.number, -1), l.time, l.list IN (FROM accepted) "
        "FROM lists l JOIN users u ON u.id = l.user JOIN arms a ON a.id = l.arm "
        "LEFT JOIN versions v ON v.id = l.version ORDER BY l.list"
    )
    columns = {"user": user, "arm": arm, "version": version, "time": time, "accepted": accepted}
    return pd.DataFrame(columns, copy=False)


def model_starts(logs: Logs) -> tuple[tuple[str, ...], int, dict[tuple[str, int], int]]:
    """Name the arms, and find when the first list was shown, and each version became live.

    Versions are those of an arm and a period (from 0); without a table of models each arm has one,
    live from the first list on. Times are milliseconds since 1970 in UTC. Arms are those of the
    lists, in the order of their ids. Refuse, with InputError, a log without lists, and rows that
    break a rule.
    """
    with log_database(first_year=logs.first_year) as database:
        tables = logs.open_tables(database)
        columns = tables["recommendations"].read({"arm": id_column, "time": time_column})
        arms, _ = columns["arm"]
        if len(columns["time"]) == 0:
            raise InputError(f"{logs.recommendations}: there are no recommendations in the file.")
        first_time = int(columns["time"].min())
        models = _read_models(tables["models"], arms) if logs.models else None
    names = tuple(arms.ids.tolist())
    if models is None:
        return names, first_time, {(arm, 0): first_time for arm in names}
    rows = models[["arm", "period", "valid_from"]].to_numpy().tolist()
    starts = {(names[arm], period): start for arm, period, start in rows}
    return names, first_time, starts


def _read_lists(table: LogTable, arms: Sequence[str] | None) -> int:
    """Make the table ``lists`` (list, rec_id, user, arm, version, time, items, clicked).

    Lists are numbered as they stand in the file. If arms are given, others are refused. Of several
    rows with one list the first counts; returned is how many others there are: 0 where a list has a
    row for each item. Refuse, with InputError, a table without columns of items, and rows that
    break a rule.
    """
    table.require("rec_id", "time", "user", "arm")
    has_item_rows = "items" not in table
    if has_item_rows and not ("item" in table and "position" in table):
        raise InputError(
            f"{table.path}: recommendations need a column 'items' with lists, or the columns "
            f"'position' and 'item'; found {', '.join(table.types)}."
        )
    table.view("shown", _list_columns(table, arms, has_item_rows=has_item_rows))
    if has_item_rows:
        _refuse_item_rows(table)
        items = "list(item) OVER of_list"
        clicked = "bool_or(clicked) OVER of_list"
    else:
        items = "items"
        clicked = "list_contains(clicked, true)"
    if "clicked" not in table:
        clicked = "false"
    version = "model_version" if "model_version" in table else "NULL::VARCHAR"
    table.database.run(
        "CREATE TEMP TABLE lists AS "
        "SELECT row_number() OVER (ORDER BY place) - 1 AS list, * EXCLUDE (place) FROM "
        f"(SELECT {version} AS version, rec_id, user, arm, time, {PLACE} AS place, {items} AS "
        f"items, {clicked} AS clicked FROM shown WINDOW of_list AS (PARTITION BY rec_id) "
        "QUALIFY row_number() OVER (PARTITION BY rec_id ORDER BY place) = 1)"
    )
    counts = "SELECT (SELECT count(*) FROM shown), (SELECT count(*) FROM lists)"
    n_rows, n_lists = table.database.fetch_row(counts)
    return 0 if has_item_rows else int(n_rows - n_lists)


def _list_columns(
    table: LogTable, arms: Sequence[str] | None, *, has_item_rows: bool
) -> dict[str, Any]:
    """Map the columns of a table of lists to functions that make their queries.

    Columns of items depend on whether a list has a row for each item.
    """
    columns: dict[str, Any] = {
        "rec_id": id_column,
        "user": id_column,
        "arm": partial(_arm_column, arms=arms),
        "time": time_column,
    }
    if "model_version" in table:
        columns["model_version"] = id_column
    if "clicked" in table:
        columns["clicked"] = _clicked_column
    if has_item_rows:
        columns["item"] = id_column
        columns["position"] = _position_column
    else:
        columns["items"] = _items_column
    return columns


def _arm_column(table: LogTable, name: str, *, arms: Sequence[str] | None) -> ColumnQuery:
    """Make the query of a column of arms as ids, with its rules.

    ``name`` is that of the column. If arms are given, a rule refuses others: its condition holds
    for rows that break it.
    """
    column = id_column(table, name)
    if not arms:
        return column
    allowed = ", ".join(map(quote_text, arms))
    is_unknown = f"{column.expression} NOT IN ({allowed})"
    arm_names = ", ".join(sorted(arms))
    problem = f"the arms are {arm_names}, got {{!r}}."
    rule = Rule(name, is_unknown, problem, value=column.expression)
    return column._replace(rules=[*column.rules, rule])


def _position_column(table: LogTable, name: str) -> ColumnQuery:
    """Query a column of positions as numbers; refuse what is none."""
    number = f"TRY_CAST({quote_name(name)} AS DOUBLE)"
    rule = Rule(name, f"{number} IS NULL", "a position must be a number, got {!r}.")
    return ColumnQuery(number, [rule])


def _clicked_column(table: LogTable, name: str) -> ColumnQuery:
    """Query a column of clicks as truth values, or lists of them; refuse what is none.

    The rule has a condition that holds for rows that break it, and the words of the error.
    """
    sql_type = "BOOLEAN[]" if table.types[name].endswith("[]") else "BOOLEAN"
    flag = f"TRY_CAST({quote_name(name)} AS {sql_type})"
    rule = Rule(name, f"{flag} IS NULL", "a click must be true or false, got {!r}.")
    return ColumnQuery(flag, [rule])


def _items_column(table: LogTable, name: str) -> ColumnQuery:
    """Query a column of lists of items as ids.

    Refuse a column of another type, empty lists, empty ids and an item that a list has twice. A
    rule has a condition that holds for rows that break it, the words of the error, and, if it is
    not the column, the SQL expression of the value in the error.
    """
    column_type = table.types[name]
    if not column_type.endswith("[]"):
        description = "text" if column_type == "VARCHAR" else column_type
        raise table.error(name, f"a list must be given, found {description}.")
    items = f"{quote_name(name)}::VARCHAR[]"
    has_empty_id = f"len(list_filter({items}, lambda x: x IS NULL OR x = '')) > 0"
    has_repetition = f"len(list_distinct({items})) < len({items})"
    repeated = f"list_filter({items}, lambda x, i: list_position({items}, x) < i)"
    rules = [
        Rule(name, f"coalesce(len({items}), 0) = 0", "a list must hold an item."),
        Rule(name, has_empty_id, "an id must not be empty."),
        Rule(name, has_repetition, REPEATED, f"{repeated}[1]"),
    ]
    return ColumnQuery(items, rules)


def _refuse_item_rows(table: LogTable) -> None:
    """Refuse rows of one list that disagree, repeated items and wrong positions.

    All with InputError. The view ``shown`` has a row for each item of a list. A rule has a
    condition that holds for rows that break it, the words of the error, and, if it is not the
    column, the SQL expression of the value in the error.
    """
    shared_names = [name for name in ("user", "arm", "time", "model_version") if name in table]
    shared = ", ".join(shared_names)
    other = f"a list has one {shared}, but list {{0[rec]!r}} has others in row {{0[row]}}."
    position = (
        "the positions of a list must be 1, 2, 3 and so on, each once, but list {0[rec]!r} has "
        "{0[got]:g} where {0[row]} should be."
    )
    first_row = f"{{'rec': rec_id, 'row': head % {ROWS_OF_FILE} + 1}}"
    wrong_position = "{'rec': rec_id, 'got': position, 'row': expected}"
    rules = [
        Rule("rec_id", f"row({shared}) <> first_row", other, first_row),
        Rule("item", "repeats > 1", REPEATED),
        Rule("position", "position <> expected", position, wrong_position),
    ]
    rows = (
        "(SELECT *, "
        f"first_value(row({shared})) OVER of_list AS first_row, "
        f"min({PLACE}) OVER (PARTITION BY rec_id) AS head, "
        "row_number() OVER (PARTITION BY rec_id, item ORDER BY log_file, log_row) AS repeats, "
        "row_number() OVER (PARTITION BY rec_id ORDER BY position, log_file, log_row) AS expected "
        "FROM shown WINDOW of_list AS (PARTITION BY rec_id ORDER BY log_file, log_row))"
    )
    table.check_rules(rules, rows)


def _read_events(table: LogTable, rename: Mapping[str, str] | None) -> dict[str, int]:
    """Make the view ``events``, of types with a name; count the interactions that are set aside.

    ``rename``: new names of types; a type with an empty one is left out. Counts are by what they
    are of.
    """
    table.require("time", "user", "item", "type")
    columns: dict[str, Any] = {
        "user": id_column,
        "item": id_column,
        "type": id_column,
        "time": time_column,
    }
    if "rec_id" in table:
        columns["rec_id"] = partial(id_column, optional=True)
    table.view("all_events", columns)
    excluded = [quote_text(old) for old, new in (rename or {}).items() if not new]
    condition = f"WHERE type NOT IN ({', '.join(excluded)})" if excluded else ""
    table.database.run(f"CREATE TEMP VIEW events AS FROM all_events {condition}")
    (n_unnamed,) = table.database.fetch_row(
        "SELECT (SELECT count(*) FROM all_events) - (SELECT count(*) FROM events)"
    )
    counts = {"interactions of a type without a name do not count": n_unnamed}
    if "rec_id" in table:
        (n_misplaced,) = table.database.fetch_row(
            f"SELECT count(*) FILTER (WHERE {MISPLACED}) FROM "
            "(SELECT e.*, l.user AS owner, l.items FROM all_events e "
            "LEFT JOIN lists l ON l.rec_id = e.rec_id WHERE e.rec_id IS NOT NULL)"
        )
        counts["clicks do not fit their list and do not count"] = n_misplaced
    return counts


def _accept_lists(tables: Mapping[str, LogTable], window: int | None) -> None:
    """Make the table ``accepted`` of the numbers of accepted lists.

    Within a window in milliseconds, or by clicks that name their list: then refuse, with
    InputError, tables without a column for it.
    """
    query = _explicit_clicks(tables) if window is None else _interactions_within(window)
    accepted = f"CREATE TEMP TABLE accepted AS SELECT DISTINCT list FROM ({query})"
    tables["interactions"].database.run(accepted)


def _explicit_clicks(tables: Mapping[str, LogTable]) -> str:
    """Query the numbers of lists that a click names, or whose column "clicked" is true.

    Refuse, with InputError, tables without either column.
    """
    has_names = "rec_id" in tables["interactions"]
    if not has_names and "clicked" not in tables["recommendations"]:
        raise InputError(
            "explicit clicks (--explicit) must name their list: a column 'rec_id' in the "
            "interactions, or 'clicked' in the recommendations, is needed."
        )
    query = "SELECT list FROM lists WHERE clicked"
    if has_names:
        query += (
            " UNION SELECT l.list FROM events e JOIN lists l ON l.rec_id = e.rec_id "
            "AND l.user = e.user AND list_contains(l.items, e.item)"
        )
    return query


def _interactions_within(window: int) -> str:
    """Query the numbers of lists whose user interacts with an item within the milliseconds."""
    # Within a window from t, times have the quotient of t by the window, or the next.
    width = max(window, 1)
    followed = (
        f"SELECT s.list, e.item FROM events e JOIN (SELECT list, user, time, "
        f"unnest([time // {width}, time // {width} + 1]) AS part FROM lists) s "
        f"ON s.user = e.user AND s.part = e.time // {width} "
        f"WHERE e.time BETWEEN s.time AND s.time + {window}"
    )
    return (
        f"SELECT f.list FROM ({followed}) f JOIN lists l ON l.list = f.list "
        "WHERE list_contains(l.items, f.item)"
    )


def _count_rows(database: LogDatabase, first_time: int, last_time: int) -> dict[str, Any]:
    """Count the users with lists and the events, and compute the share of those users with events.

    The times of the first and last list, in milliseconds since 1970, are facts of the log, too.
    """
    (n_users,) = database.fetch_row("SELECT count(*) FROM (SELECT DISTINCT user FROM lists)")
    n_events, n_with_events = database.fetch_row(
        # Counts of distinct values do not leave memory; distinct rows do.
        "SELECT (SELECT count(*) FROM events), "
        "(SELECT count(*) FROM (SELECT user FROM events INTERSECT SELECT user FROM lists))"
    )
    return {
        "users": n_users,
        "events": n_events,
        "first_time": first_time,
        "last_time": last_time,
        "known_users": n_with_events / n_users,
    }


def _read_models(table: LogTable, arms: Numbering) -> pd.DataFrame:
    """Read the versions of the models, which must not overlap in an arm, by arm and time.

    Columns arm (its number), version, valid_from and valid_to (milliseconds), of [from, to), and
    period: the number of the version among those of its arm, from 0. Refuse, with InputError,
    versions that end before they begin or overlap.
    """
    import pandas as pd

    columns = table.read(
        {
            "arm": partial(_arm_column, arms=arms.ids.tolist()),
            "model_version": id_column,
            "valid_from": time_column,
            "valid_to": time_column,
        }
    )
    table_arms, arm = columns["arm"]
    versions, version = columns["model_version"]
    start = columns["valid_from"]
    end = columns["valid_to"]
    # Numbers of the table's arms become those of all arms.
    arm_numbers = arms.numbers(table_arms.ids)[arm]
    version_names = versions.ids[version]
    models = pd.DataFrame(
        {"arm": arm_numbers, "version": version_names, "valid_from": start, "valid_to": end}
    )
    models = models.sort_values(["arm", "valid_from"], kind="stable")
    previous_end = models.groupby("arm")["valid_to"].shift()
    overlaps = (models["valid_from"] < previous_end).sort_index().to_numpy()
    for column, is_wrong, problem in (
        ("valid_to", end <= start, "must end after it begins"),
        ("valid_from", overlaps, "begins before another version of the same arm ends"),
    ):
        if is_wrong.any():
            row = int(is_wrong.argmax())
            name = models["version"][row]
            raise table.error(column, f"version {name!r} {problem}.", row=row)
    periods = models.groupby("arm").cumcount()
    return models.assign(period=periods).reset_index(drop=True)
