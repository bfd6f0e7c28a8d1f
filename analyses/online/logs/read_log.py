"""Logs from files: read the tables, check them one by one and against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs import interactions as interacting
from analyses.online.logs import models as modelling
from analyses.online.logs import recommendations as recommending
from analyses.online.logs.interactions import AS_IT_IS, Intake
from analyses.online.logs.log_facts import Fit, LogFacts, facts_of
from analyses.online.logs.models import Models
from analyses.online.logs.slates import MILLISECONDS_PER_DAY, Events, Shown, Slates
from qrels.interactions.columns import Ids, read_ids
from qrels.interactions.table import LogTable
from runs import InputError, Numbering

DAYS_AROUND: Final = 3660
"""How far from the lists an interaction may be: ten years, beyond which the unit is wrong."""

KNOWN: Final[Mapping[str, Sequence[str]]] = {
    "recommendations": recommending.KNOWN,
    "interactions": interacting.KNOWN,
    "models": modelling.KNOWN,
    "assignment": ("user", "arm", "time"),
}


@dataclass(frozen=True, eq=False)
class Logs:
    """The log of an experiment.

    What was recommended, what users did, when which version of a model was live, if the log says,
    and how far the tables fit together. Assigned are numbers of the arms of all users of the
    numbering, int32 of shape (n_users,), -1 where the log does not say; None without such a table.
    """

    slates: Slates
    events: Events
    models: Models | None
    assigned: NDArray[np.int32] | None
    facts: LogFacts

    @property
    def shown(self) -> Shown:
        """The lists without their items."""
        return self.slates.shown


def read_logs(
    recommendations: str | Path,
    interactions: str | Path,
    *,
    models: str | Path | None = None,
    assignment: str | Path | None = None,
    intake: Intake = AS_IT_IS,
) -> Logs:
    r"""Read the log of an experiment from Parquet or CSV files, or folders of Parquet files.

    A CSV file has one row for each item of a list, with ``rec_id``, ``position`` and ``item``; a
    Parquet file may have one row for each list instead, with lists in ``items``, ``propensity`` and
    ``clicked``. Columns are read one at a time; those without a meaning are named in the facts.

    Parameters
    ----------
    recommendations
        ``rec_id, time, user, arm``, the items as above, and optionally ``model_version``,
        ``propensity`` and ``clicked``.
    interactions
        ``time, user, item, type``, and optionally ``rec_id`` (the list that was clicked) and
        ``value``.
    models
        ``arm, model_version, valid_from, valid_to``.
    assignment
        ``user, arm``, and optionally ``time``.
    intake
        How rows are taken in.

    Raises
    ------
    InputError
        If the files break a rule: it names file, row (from 1, the header not counted), column, the
        rule and the value.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     lists, clicks = Path(folder, "lists.csv"), Path(folder, "clicks.csv")
    ...     _ = lists.write_text("rec_id,time,user,arm,position,item\n"
    ...                          "r1,2026-01-05T08:00Z,ann,A,1,x\nr1,2026-01-05T08:00Z,ann,A,2,y\n"
    ...                          "r2,2026-01-05T09:00Z,bob,B,1,x\n")
    ...     _ = clicks.write_text("time,user,item,type\n2026-01-05T08:01Z,ann,y,view\n")
    ...     logs = read_logs(lists, clicks)
    >>> logs.slates.lengths.tolist(), logs.events.time.tolist(), logs.facts.known_users
    ([2, 1], [1767600060000], 0.5)
    """
    tables = open_tables(recommendations, interactions, models=models, assignment=assignment)
    own = read_users(tables["recommendations"], tables["interactions"], intake)
    live, assigned, facts = read_beside(tables, own.slates.shown, own.fit)
    return Logs(own.slates, own.events, live, assigned, facts)


def open_tables(
    recommendations: str | Path,
    interactions: str | Path,
    *,
    models: str | Path | None,
    assignment: str | Path | None,
) -> Mapping[str, LogTable]:
    """Open the tables of a log that there are."""
    paths = {
        "recommendations": recommendations,
        "interactions": interactions,
        "models": models,
        "assignment": assignment,
    }
    return {name: LogTable.open(path) for name, path in paths.items() if path is not None}


class OfUsers(NamedTuple):
    """What users were shown and did, how far both fit, and lists that clicks name in vain."""

    slates: Slates
    events: Events
    fit: Fit
    lost: NDArray[np.str_]


def read_users(
    lists: LogTable,
    interactions: LogTable,
    intake: Intake,
    *,
    span: tuple[int, int] | None = None,
) -> OfUsers:
    """Read both tables of a log, see `read_logs`, or of a shard of its users.

    Of a shard, which may have no lists, the span is that of the lists of all users.
    """
    shown = recommending.read_recommendations(lists, strict=intake.strict)
    if len(shown.time) == 0 and span is None:
        raise InputError(f"{lists.path}: there are no recommendations in the file.")
    done = interacting.read_interactions(interactions, intake)
    if intake.merged is not None:
        people = read_people(intake.merged)
        shown = replace(shown, user=shown.user.renamed(people))
        done = replace(done, user=done.user.renamed(people))
    users, items = _numbering(shown.user, done.user), _numbering(shown.item, done.item)
    slates = shown.slates(users, items, intake.arms)
    events, lost = done.events(slates)
    span = span or (int(slates.time.min()), int(slates.time.max()))
    _require_near(interactions, done.time, span)
    set_aside = {"lists whose id stands before": shown.n_repeated, **done.set_aside}
    return OfUsers(slates, events, Fit.of(slates, events, span, set_aside), lost)


def read_beside(
    tables: Mapping[str, LogTable], shown: Shown, fit: Fit
) -> tuple[Models | None, NDArray[np.int32] | None, LogFacts]:
    """Read models and assignments, if there are any, and say how far all tables fit together."""
    arms = Numbering.of(shown.arms)
    live = assigned = None
    if "models" in tables:
        live = modelling.read_models(tables["models"], arms)
    if "assignment" in tables:
        assigned = read_assignment(tables["assignment"], shown.users, arms)
    further = {name: table.further(KNOWN[name]) for name, table in tables.items()}
    return live, assigned, facts_of(shown, fit, live, assigned, further=further)


def read_people(path: str | Path) -> Mapping[str, str]:
    """Read which ids of users are one person, who has no id of another person."""
    table = LogTable.open(path)
    table.require("user", "person")
    user, person = (read_ids(table.column(name), table.fail(name)) for name in ("user", "person"))
    table.require_once("user", user)
    return {user[row]: person[row] for row in range(len(user.places))}


def read_assignment(table: LogTable, users: Numbering, arms: Numbering) -> NDArray[np.int32]:
    """Give the arm of each user of the numbering, of shape (n_users,); -1 where it is not said.

    Raises
    ------
    InputError
        If a column is missing, an arm is unknown, or a user is duplicated.
    """
    table.require("user", "arm")
    user = read_ids(table.column("user"), table.fail("user"))
    arm = recommending.known_arms(table, read_ids(table.column("arm"), table.fail("arm")), arms)
    table.require_once("user", user)
    numbers = user.numbers(users)
    assigned = np.full(len(users), -1, dtype=np.int32)
    assigned[numbers[numbers >= 0]] = arm[numbers >= 0]
    return assigned


def _numbering(*columns: Ids) -> Numbering:
    return Numbering.of(np.concatenate([column.ids for column in columns]))


def _require_near(table: LogTable, times: NDArray[np.int64], span: tuple[int, int]) -> None:
    """Refuse interactions so far from all lists that their times must have another unit."""
    reach = DAYS_AROUND * MILLISECONDS_PER_DAY
    begin, end = span[0] - reach, span[1] + reach
    far = (times < begin) | (times > end)
    if far.any():
        row = int(far.argmax())
        raise table.error(
            "time",
            row,
            f"an interaction must be within {DAYS_AROUND:,} days of the recommendations, which are "
            f"from {span[0]} to {span[1]} ms, got {times[row]} ms.",
        )
