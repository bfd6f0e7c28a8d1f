"""Logs of experiments: lists that were shown, what users did, and which lists were accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from qrels.interactions.log_table import (
    PLACE,
    Kind,
    LogDatabase,
    LogTable,
    Rule,
    id_column,
    literal,
    log_database,
    optional_id_column,
    quoted,
    time_column,
)
from runs import InputError, Numbering

DAY: Final = 86_400_000
DAYS_AROUND: Final = 3660
"""How far from the lists an interaction may be: ten years, beyond which the unit is wrong."""

LISTED_TWICE: Final = "lists with a duplicate id"
UNNAMED: Final = "interactions of a type without a name"
WRONG_CLICKS: Final = {
    "clicks that name a list outside the file": "list IS NULL",
    "clicks on a list of another user": "owner <> user",
    "clicks on an item that their list lacks": "owner = user AND NOT list_contains(items, item)",
}
REPEATED: Final = "a list must not repeat an item, but has {} twice."


@dataclass(frozen=True)
class Logs:
    """The files of a log, and how their rows are read.

    Parameters
    ----------
    recommendations
        ``rec_id, time, user, arm``, and ``items`` (lists), or ``position`` and ``item`` in a row
        for each item; optionally ``model_version`` and ``clicked``.
    interactions
        ``time, user, item, type``, and optionally ``rec_id`` (the list that was clicked).
    models
        ``arm, model_version, valid_from, valid_to``, if there is such a table.
    rename
        New names of types of interactions; those without a new name ("") are left out.
    first_year
        Times before it are refused; 2000 by default.
    """

    recommendations: Path
    interactions: Path
    models: Path | None = None
    rename: Mapping[str, str] | None = None
    first_year: int | None = None

    def opened(self, database: LogDatabase) -> dict[str, LogTable]:
        """Open the tables that there are, by name."""
        paths = {name: getattr(self, name) for name in ("recommendations", "interactions")}
        paths |= {"models": self.models} if self.models else {}
        return {name: database.open(path) for name, path in paths.items()}


@dataclass(frozen=True, eq=False)
class Models:
    """Versions of the arms' models, sorted by arm and time; each is live in [from, to).

    Names of the versions, numbers of the arms, and milliseconds since 1970: (n_versions,).
    """

    names: NDArray[np.str_]
    arm: NDArray[np.int32]
    valid_from: NDArray[np.int64]
    valid_to: NDArray[np.int64]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each version among those of its arm, from 0."""
        return np.arange(len(self.arm)) - np.searchsorted(self.arm, self.arm)

    def at(self, arm: NDArray[np.int32], time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the version that was live in an arm at a time, (n,); -1 where none was."""
        found = np.full(len(time), -1, dtype=np.int64)
        columns = zip(self.arm, self.valid_from, self.valid_to, strict=True)
        for number, (of_arm, start, end) in enumerate(columns):
            found[(arm == of_arm) & (time >= start) & (time < end)] = number
        return found


@dataclass(frozen=True)
class LogFacts:
    """How many rows the tables have, and how far they fit together.

    Known users and items are shares of those that were shown lists or recommended; events in span
    are between the first and the last list, whose times are milliseconds since 1970; repeated
    events equal another in user, item, type and time. Gaps between versions, and the share of lists
    without a live one, are None without a table of models. Set aside are rows that were left out.
    """

    lists: int
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
    set_aside: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class MatchedLog:
    """The lists of a log without their items, and which of them were accepted.

    User, arm and version (-1 for none) are numbers, times milliseconds since 1970 in UTC, all of
    shape (n_lists,), in the order in which lists first stand in the file. Users are in the order of
    their ids.
    """

    arms: tuple[str, ...]
    versions: tuple[str, ...]
    user: NDArray[np.int32]
    arm: NDArray[np.int32]
    version: NDArray[np.int32]
    time: NDArray[np.int64]
    accepted: NDArray[np.bool_]
    models: Models | None
    facts: LogFacts


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
    with log_database(folder, first_year=logs.first_year, n_jobs=n_jobs) as database:
        tables = logs.opened(database)
        aside = {LISTED_TWICE: _read_lists(tables["recommendations"], arms)}
        span = database.row("SELECT min(time), max(time) FROM lists")
        if span[0] is None:
            raise InputError(f"{logs.recommendations}: there are no recommendations in the file.")
        aside |= _read_events(tables["interactions"], logs.rename, span)
        _accept(tables, window)
        named = "" if arms is None else ", ".join(f"({literal(arm)})" for arm in arms)
        database.number_ids("arms", [f"VALUES {named}" if named else "SELECT arm FROM lists"])
        names = tuple(database.numbering("arms").ids.tolist())
        models = _read_models(tables["models"], Numbering.of(names)) if logs.models else None
        database.number_ids("users", ["SELECT user FROM lists"])
        database.number_ids("versions", ["SELECT version FROM lists"])
        user, arm, version, time, accepted = database.arrays(
            "SELECT u.number, a.number, coalesce(v.number, -1), l.time, l.list IN (FROM accepted) "
            "FROM lists l JOIN users u ON u.id = l.user JOIN arms a ON a.id = l.arm "
            "LEFT JOIN versions v ON v.id = l.version ORDER BY l.list"
        )
        gaps, without_version = None, None
        if models is not None:
            follows = (models.arm[1:] == models.arm[:-1], models.valid_from[1:])
            gaps = int(np.count_nonzero(follows[0] & (follows[1] > models.valid_to[:-1])))
            without_version = float((models.at(arm, time) < 0).mean())
        facts = LogFacts(
            lists=len(user),
            **_counts(database, span),
            gaps=gaps,
            without_version=without_version,
            set_aside=aside,
        )
        versions = tuple(database.numbering("versions").ids.tolist())
        return MatchedLog(names, versions, user, arm, version, time, accepted, models, facts)


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
    places = zip(arms.ids[models.arm].tolist(), models.numbers.tolist(), strict=True)
    return names, first, dict(zip(places, models.valid_from.tolist(), strict=True))


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
    version, clicked, items = "NULL::VARCHAR", "false", "items"
    if "model_version" in table:
        kinds["model_version"], version = id_column, "model_version"
    if in_rows:
        kinds |= {"item": id_column, "position": _position_column}
        items = "list(item) OVER (PARTITION BY rec_id)"
    else:
        kinds["items"] = _items_column
    if "clicked" in table:
        kinds["clicked"] = _flag_column if in_rows else _flags_column
        clicked = "list_contains(clicked, true)"
        if in_rows:
            clicked = "bool_or(clicked) OVER (PARTITION BY rec_id)"
    table.view("shown", kinds)
    if in_rows:
        _refuse_rows(table)
    table.database.run(
        "CREATE TEMP TABLE lists AS "
        "SELECT row_number() OVER (ORDER BY place) - 1 AS list, * EXCLUDE (place) FROM "
        f"(SELECT {version} AS version, rec_id, user, arm, time, {PLACE} AS place, {items} AS "
        f"items, {clicked} AS clicked FROM shown "
        f"QUALIFY row_number() OVER (PARTITION BY rec_id ORDER BY place) = 1)"
    )
    n_rows, n_lists = table.database.row(
        "SELECT (SELECT count(*) FROM shown), (SELECT count(*) FROM lists)"
    )
    return 0 if in_rows else int(n_rows - n_lists)


def _arm_column(table: LogTable, name: str, *, arms: Sequence[str] | None) -> Kind:
    kind = id_column(table, name)
    if arms is None:
        return kind
    named = ", ".join(map(literal, arms))
    finding = f"the arms are {', '.join(sorted(arms))}, got {{}}."
    rule = Rule(name, f"{kind.expression} NOT IN ({named})", finding, value=kind.expression)
    return kind._replace(rules=[*kind.rules, rule])


def _position_column(table: LogTable, name: str) -> Kind:
    number = f"TRY_CAST({quoted(name)} AS BIGINT)"
    whole = f"TRY_CAST({quoted(name)} AS DOUBLE) = floor(TRY_CAST({quoted(name)} AS DOUBLE))"
    finding = "a position must be a whole number, got {}."
    return Kind(number, [Rule(name, f"{number} IS NULL OR NOT {whole}", finding)])


def _flag_column(table: LogTable, name: str) -> Kind:
    flag = f"TRY_CAST({quoted(name)} AS BOOLEAN)"
    return Kind(flag, [Rule(name, f"{flag} IS NULL", "a click must be true or false, got {}.")])


def _list_column(table: LogTable, name: str, expression: str, *rules: Rule) -> Kind:
    if not table.types[name].endswith("[]"):
        found = "text" if table.types[name] == "VARCHAR" else table.types[name]
        raise table.error(name, f"a list must be given, found {found}.")
    missing = Rule(name, f"{quoted(name)} IS NULL", "a list must be given.")
    return Kind(expression, [missing, *rules])


def _items_column(table: LogTable, name: str) -> Kind:
    items = f"{quoted(name)}::VARCHAR[]"
    empty = f"len(list_filter({items}, lambda x: x IS NULL OR x = '')) > 0"
    repeated = f"list_filter({items}, lambda x, i: list_position({items}, x) < i)"
    return _list_column(
        table,
        name,
        items,
        Rule(name, f"len({items}) = 0", "a list must hold an item."),
        Rule(name, empty, "an id must not be empty."),
        Rule(name, f"len(list_distinct({items})) < len({items})", REPEATED, f"{repeated}[1]"),
    )


def _flags_column(table: LogTable, name: str) -> Kind:
    flags, lengths = f"TRY_CAST({quoted(name)} AS BOOLEAN[])", f"len({quoted(name)})"
    unknown = f"list_contains(list_transform({flags}, lambda x: x IS NULL), true)"

    def finding(wrong: list[int]) -> str:
        return f"{wrong[0]} values expected, one an item, got {wrong[1]}."

    missing = "a click must be true or false, got {}."
    return _list_column(
        table,
        name,
        flags,
        Rule(name, f"{lengths} <> len(items)", finding, value=f"[len(items), {lengths}]"),
        Rule(name, f"{flags} IS NULL OR {unknown}", missing),
    )


def _refuse_rows(table: LogTable) -> None:
    """Refuse rows of one list that disagree, repeated items and wrong positions."""

    def other(name: str) -> Rule:
        return Rule(
            name,
            f"{name} <> head_{name}",
            lambda wrong: (
                f"list {wrong['rec']!r} has another {name} here than in row {wrong['head'] + 1}."
            ),
            value=f"{{'rec': rec_id, 'head': head % {2**40}}}",
        )

    def position(wrong: Mapping[str, Any]) -> str:
        return (
            "the positions of a list must be 1, 2, 3 and so on, each once, but list "
            f"{wrong['rec']!r} has {wrong['got']} where {wrong['expected']} should be."
        )

    shared = [n for n in ("user", "arm", "time", "model_version") if n in table]
    heads = ", ".join(f"first_value({n}) OVER of_list AS head_{n}" for n in shared)
    got = "{'rec': rec_id, 'got': position, 'expected': expected}"
    table.refuse(
        [
            *map(other, shared),
            Rule("item", "repeats > 1", REPEATED),
            Rule("position", "position <> expected", position, value=got),
        ],
        f"(SELECT *, min({PLACE}) OVER (PARTITION BY rec_id) AS head, {heads}, "
        "row_number() OVER (PARTITION BY rec_id, item ORDER BY log_file, log_row) AS repeats, "
        "row_number() OVER (PARTITION BY rec_id ORDER BY position, log_file, log_row) AS expected "
        "FROM shown WINDOW of_list AS (PARTITION BY rec_id ORDER BY log_file, log_row))",
    )


def _read_events(
    table: LogTable, rename: Mapping[str, str] | None, span: tuple[int, int]
) -> dict[str, int]:
    """Make the view ``events``, of types with a name; count the interactions that are set aside."""
    table.require("time", "user", "item", "type")
    begin, end = span[0] - DAYS_AROUND * DAY, span[1] + DAYS_AROUND * DAY

    def near(table: LogTable, name: str) -> Kind:
        kind = time_column(table, name)
        broken = f"{kind.expression} < {begin} OR {kind.expression} > {end}"
        finding = (
            f"an interaction must be within {DAYS_AROUND:,} days of the recommendations, which "
            f"are from {span[0]} to {span[1]} ms, got {{}} ms."
        )
        rule = Rule(name, broken, finding, value=kind.expression)
        return kind._replace(rules=[*kind.rules, rule])

    kinds = {**dict.fromkeys(("user", "item", "type"), id_column), "time": near}
    if "rec_id" in table:
        kinds["rec_id"] = optional_id_column
    table.view("all_events", kinds)
    cases = " ".join(
        f"WHEN {literal(old)} THEN {literal(new)}" for old, new in (rename or {}).items()
    )
    renamed = f"CASE type {cases} ELSE type END" if cases else "type"
    table.database.run(
        f"CREATE TEMP VIEW events AS SELECT * REPLACE ({renamed} AS type) FROM all_events "
        f"WHERE {renamed} <> ''"
    )
    (unnamed,) = table.database.row(
        "SELECT (SELECT count(*) FROM all_events) - (SELECT count(*) FROM events)"
    )
    counts = {UNNAMED: unnamed}
    if "rec_id" in table:
        filters = [f"count(*) FILTER (WHERE {broken})" for broken in WRONG_CLICKS.values()]
        found = table.database.row(
            f"SELECT {', '.join(filters)} FROM (SELECT e.*, l.list, l.user AS owner, l.items "
            "FROM all_events e LEFT JOIN lists l ON l.rec_id = e.rec_id "
            "WHERE e.rec_id IS NOT NULL)"
        )
        counts |= dict(zip(WRONG_CLICKS, found, strict=True))
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
    tables["interactions"].database.run(
        f"CREATE TEMP TABLE accepted AS SELECT DISTINCT list FROM ({found})"
    )


def _counts(database: LogDatabase, span: tuple[int, int]) -> dict[str, Any]:
    """Count the rows of both tables, and how far they fit together."""
    places, users = database.row("SELECT sum(len(items)), count(DISTINCT user) FROM lists")
    events, inside = database.row(
        f"SELECT count(*), count(*) FILTER (WHERE time BETWEEN {span[0]} AND {span[1]}) FROM events"
    )
    (known_users,) = database.row(
        "SELECT count(DISTINCT user) FROM events WHERE user IN (SELECT user FROM lists)"
    )
    (known_items,) = database.row(
        "SELECT avg((id IN (SELECT DISTINCT item FROM events))::INTEGER) "
        "FROM (SELECT DISTINCT unnest(items) AS id FROM lists)"
    )
    # Only interactions whose hash another has are compared in full.
    database.run(
        "CREATE TEMP TABLE suspects AS SELECT hash(user, item, type, time) AS code FROM events "
        "GROUP BY code HAVING count(*) > 1"
    )
    (repeated,) = database.row(
        "SELECT coalesce(sum(n - 1), 0)::BIGINT FROM (SELECT count(*) AS n FROM events "
        "WHERE hash(user, item, type, time) IN (FROM suspects) GROUP BY user, item, type, time)"
    )
    return {
        "places": int(places),
        "users": users,
        "events": events,
        "first_time": span[0],
        "last_time": span[1],
        "known_users": known_users / users,
        "known_items": known_items,
        "events_in_span": inside / events if events else 0.0,
        "repeated_events": int(repeated),
    }


def _read_models(table: LogTable, arms: Numbering) -> Models:
    """Read the versions of the models, which must not overlap in an arm."""
    ends = ("valid_from", "valid_to")
    kinds: dict[str, Any] = {
        "arm": partial(_arm_column, arms=arms.ids.tolist()),
        "model_version": id_column,
        **dict.fromkeys(ends, time_column),
    }
    columns = table.read(kinds)
    (own, arm), (versions, version) = columns["arm"], columns["model_version"]
    names = versions.ids[version]
    arm, begin, end = arms.numbers(own.ids)[arm], *(columns[name] for name in ends)
    if (end <= begin).any():
        row = int((end <= begin).argmax())
        finding = f"version {str(names[row])!r} must end after it begins."
        raise table.error("valid_to", finding, row=row)
    order = np.lexsort((begin, arm))
    overlaps = (np.diff(arm[order]) == 0) & (begin[order][1:] < end[order][:-1])
    if overlaps.any():
        before, row = (int(order[int(overlaps.argmax()) + place]) for place in (0, 1))
        finding = (
            f"version {str(names[row])!r} begins before version {str(names[before])!r} of the same "
            f"arm ends, in row {before + 1}."
        )
        raise table.error("valid_from", finding, row=row)
    return Models(names[order], arm[order].astype(np.int32), begin[order], end[order])
