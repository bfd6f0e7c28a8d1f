"""A simulated experiment: arms serve lists, users click by known chances, models learn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from harness.online.arm_models import Model, Recommender, recommended
from harness.online.click_world import (
    DAY,
    MINUTE,
    NOW,
    TYPES,
    ClickWorld,
    ClickWorldSettings,
    action_table,
    action_values,
    draw_types,
    make_click_world,
)
from qrels.interactions.held_out_users import split_users
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Longs, Masks, Sparse
from runs.shared.files import parquet_bytes
from runs.shared.parallel import Task, delayed, run_in_threads
from runs.shared.settings import Section
from runs.shared.streams import id_hashes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from qrels.interactions.interactions import Interactions

VIEWS_PER_LIST = 0.5
"""Mean of a user's interactions without a list, for each list."""

ASSIGNMENT = "assignment "
"""Key of the hash that assigns users to arms."""


class SimulationSettings(Section):
    """How an experiment runs; equal settings, worlds and models give equal experiments."""

    periods: int = Field(4, ge=1, le=1000, description="Number of periods.")
    period_days: float = Field(3.0, gt=0.0, le=365.0, description="Days in a period.")
    depth: int = Field(5, ge=1, le=100, description="Number of items in a list.")
    lists: float = Field(
        3.0, gt=0.0, le=100.0, description="Mean number of lists per user and period."
    )
    seed: int = Field(1, ge=0, description="Random seed of the experiment.")

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Where periods begin and the last ends, in milliseconds since 1970 in UTC."""
        length = round(self.period_days * DAY)
        return tuple(NOW + number * length for number in range(self.periods + 1))


@dataclass(frozen=True)
class Arm:
    """A model that serves a share of the users; all arms have equal shares."""

    name: str
    model: Model


@dataclass(frozen=True, eq=False)
class SimulatedExperiment:
    """The log of an experiment, and the truth behind it.

    Parameters
    ----------
    tables
        By name, as `analyses.online.logs.Logs` describes them: recommendations, interactions (with
        the history) and models.
    truth
        What the rates of the log estimate: the expected click-through rate of the lists that were
        shown. Columns arm, period (from 1), users, lists and expected_rate. It is not the rate of a
        model that serves everybody.
    recommenders
        By arm: the models that were live, one for each period.
    """

    tables: Mapping[str, pa.Table]
    truth: pd.DataFrame
    recommenders: Mapping[str, Sequence[Recommender]]

    def files(self) -> dict[str, bytes]:
        """Write the tables as Parquet files: contents by name of the file."""
        return {f"{name}.parquet": parquet_bytes(table) for name, table in self.tables.items()}


@dataclass(frozen=True, eq=False)
class _ShownLists:
    """Lists that an arm showed in a period.

    Parameters
    ----------
    arm, period
        Numbers from 0.
    users, times
        Who asked for each list, by number, and when, in milliseconds; of shape (n_lists,).
    items, clicked, chances
        Items, which were clicked, and the chance of each click; of shape (n_lists, depth).
    """

    arm: int
    period: int
    users: Longs
    times: Longs
    items: Ints
    clicked: Masks
    chances: Floats


class _Requests(NamedTuple):
    """Requests for lists: numbers of the users, rising, and times, both of shape (n_requests,)."""

    users: Longs
    times: Longs


class _Service(NamedTuple):
    """What an arm did in a period: its model, the lists it showed, and a table of the clicks."""

    model: Recommender
    lists: _ShownLists
    clicks: pd.DataFrame


def simulate(
    world: ClickWorld,
    arms: Sequence[Arm],
    settings: SimulationSettings | None = None,
    *,
    test_users: Numbering | None = None,
    n_jobs: int = 1,
) -> SimulatedExperiment:
    """Run an experiment.

    At the beginning of each period all models learn from everything before, but for test users.
    Users ask for lists at any time of a period, and get those of their arm's model for their
    profile at that moment: what they have interacted with is never shown. They click by the world's
    exact chances, within a minute; clicks enter their profile, as do items that they choose
    unasked. The same users come at the same times whatever the arms are.

    Parameters
    ----------
    world
        The items, the users and what they like.
    arms
        The models, one for each arm.
    settings
        How the experiment runs; None for the defaults.
    test_users
        Users whom no model learns from; None without.
    n_jobs
        Number of threads, on which results do not depend.

    Raises
    ------
    InputError
        If there are no arms, or two of one name; if a model lists what it may not; or if no user
        asked for a list.
    """
    import pandas as pd

    settings = settings or SimulationSettings()
    arms = sorted(arms, key=lambda arm: arm.name)
    names = [arm.name for arm in arms]
    if not names or len({*names}) < len(names):
        raise InputError(f"an experiment needs arms of different names, got {names}.")
    # The number of the arm of each user, by a hash of the id.
    arm_of_user = assign(world.users, len(arms))
    log = world.history()
    n_lists = 0
    shown: list[_ShownLists] = []
    recommenders: dict[str, list[Recommender]] = {name: [] for name in names}
    for period in range(settings.periods):
        # Of lists at the end of a period, clicks come after the models of the next have learnt.
        before = log[log["time"] < settings.boundaries[period]]
        history = world.interactions(before)
        if test_users is not None:
            history, _ = split_users(history, test_users)
        requests, views = _plan_period(world, settings, period)
        log = pd.concat([log, views], ignore_index=True)
        arm_periods = [
            _ArmPeriod(world, settings, arm, number, period) for number, arm in enumerate(arms)
        ]
        tasks = _serving_tasks(arm_periods, arm_of_user, history, log, requests)
        for model, lists, clicks in run_in_threads(tasks, n_jobs=n_jobs):
            recommenders[names[lists.arm]].append(model)
            shown.append(lists)
            clicks["led_by"] += n_lists
            log = pd.concat([log, clicks], ignore_index=True)
            n_lists += len(lists.users)
    if n_lists == 0:
        raise InputError("no user came to the experiment; it needs more users, lists or days.")
    return SimulatedExperiment(
        tables={
            "recommendations": _recommendation_table(world, names, settings, shown),
            "interactions": _interaction_table(world, log, n_lists),
            "models": _model_table(names, settings),
        },
        truth=_truth(names, shown),
        recommenders=recommenders,
    )


def assign(users: Numbering, n_arms: int) -> Longs:
    """Put users into arms by a hash of the id, which is the same on every machine.

    The result has the number of each user's arm, from 0, of shape (n_users,). Arms have about equal
    shares of the users.
    """
    # Hashes are 64 bits: the quotients are uniform from 0 to 1, and 1 only by rounding.
    shares = id_hashes(users.ids, ASSIGNMENT) * 2.0**-64
    numbers = (shares * n_arms).astype(np.int64)
    return np.minimum(numbers, n_arms - 1)


def _plan_period(
    world: ClickWorld, settings: SimulationSettings, period: int
) -> tuple[_Requests, pd.DataFrame]:
    """Draw the requests for lists in a period, and what users look at without a list.

    Numbers of requests and of views are Poisson, with means of ``settings.lists`` and half of it
    for each user; times are uniform in the period, which counts from 0. Requests are sorted by
    user, then by time; for the columns of the table see `action_table`.
    """
    rng = np.random.default_rng([settings.seed, 1, period])
    start, end = settings.boundaries[period : period + 2]
    all_users = np.arange(world.settings.n_users)

    def draw_visits(mean: float) -> _Requests:
        """Draw visits of all users, so many of each on average, at any time of the period."""
        users = np.repeat(all_users, rng.poisson(mean, len(all_users)))
        return _Requests(users, rng.integers(start, end, len(users)))

    requests = draw_visits(settings.lists)
    visits = draw_visits(settings.lists * VIEWS_PER_LIST)
    items = world.choose(world.tastes(visits.users), rng)
    types = draw_types(len(visits.users), rng)
    views = action_table(visits.users, items, visits.times, types)
    order = np.lexsort((requests.times, requests.users))
    return _Requests(requests.users[order], requests.times[order]), views


@dataclass(frozen=True, eq=False)
class _ArmPeriod:
    """An arm in a period; ``number`` is that of the arm, and both count from 0."""

    world: ClickWorld
    settings: SimulationSettings
    arm: Arm
    number: int
    period: int

    def serve(self, history: Interactions, log: pd.DataFrame, requests: _Requests) -> _Service:
        """Let the arm learn, and answer the first request of every user, then the second, ...

        Clicks on earlier lists are in the profile of a later request. ``self.number`` is that of
        the arm, from 0. Raises InputError if the model lists what it may not.

        Parameters
        ----------
        history
            What the model learns from.
        log
            What the users of the arm did before, and without its lists in this period.
        requests
            Their requests for lists, sorted by user and time.

        Returns
        -------
        The model that has learnt; the lists, in the order of the requests; and a table of the
        clicks, whose ``led_by`` is the row of the list, from 0.
        """
        import pandas as pd

        rng = np.random.default_rng([self.settings.seed, 2, self.period, self.number])
        model = self.arm.model.fit(history)
        users, times = requests
        depth = self.settings.depth
        items = np.zeros((len(users), depth), dtype=np.int32)
        clicked = np.zeros(items.shape, dtype=np.bool_)
        chances = np.zeros(items.shape)
        tables = [log[:0]]
        # How many requests of the same user come before each.
        turns = np.arange(len(users)) - np.searchsorted(users, users)
        for turn in range(int(turns.max(initial=-1)) + 1):
            rows = np.flatnonzero(turns == turn)
            asking = users[rows]
            log = log[log["user"].isin(asking)]
            profiles = profiles_before(log, asking, times[rows], n_items=len(self.world.items))
            lists = recommended(model, profiles, depth=depth, arm=self.arm.name)
            items[rows] = lists
            chances[rows] = self.world.click_chance(asking, lists)
            clicked[rows] = rng.random(lists.shape) < chances[rows]
            askers, columns = np.nonzero(clicked[rows])
            clicked_rows = rows[askers]
            click_times = times[clicked_rows] + rng.integers(1, MINUTE, len(askers))
            types = draw_types(len(askers), rng)
            clicked_items = lists[askers, columns].astype(np.int64)
            clicks = action_table(
                users[clicked_rows], clicked_items, click_times, types, led_by=clicked_rows
            )
            tables.append(clicks)
            log = pd.concat([log, clicks], ignore_index=True)
        shown = _ShownLists(self.number, self.period, users, times, items, clicked, chances)
        return _Service(model, shown, pd.concat(tables, ignore_index=True))


def _serving_tasks(
    arm_periods: Sequence[_ArmPeriod],
    arm_of_user: Longs,
    history: Interactions,
    log: pd.DataFrame,
    requests: _Requests,
) -> list[Task]:
    """Make the tasks of all arms in a period: each serves its own users.

    ``arm_of_user`` has the number of each user's arm, of shape (n_users,). ``history`` is what all
    models learn from; the log (what users did) and the requests for lists are those of all users.
    The result of a task is that of `_ArmPeriod.serve`: model, lists and clicks.
    """
    arm_of_action = arm_of_user[log["user"]]
    arm_of_request = arm_of_user[requests.users]
    tasks = []
    for arm_period in arm_periods:
        is_asking = arm_of_request == arm_period.number
        arm_requests = _Requests(requests.users[is_asking], requests.times[is_asking])
        arm_log = log[arm_of_action == arm_period.number]
        tasks.append(delayed(arm_period.serve)(history, arm_log, arm_requests))
    return tasks


def profiles_before(log: pd.DataFrame, users: Longs, before: Longs, *, n_items: int) -> Sparse:
    """Collect the distinct items that users had before a time, itself excluded, as rows of ones.

    Parameters
    ----------
    log
        What users did: columns user, item, time.
    users
        Numbers of the users, strictly rising, of shape (n,).
    before
        A time for each, in milliseconds, of shape (n,).
    n_items
        Number of all items.

    Returns
    -------
    Sparse rows of shape (n, n_items).

    Raises
    ------
    ValueError
        If there is not one time for each user.
    """
    from scipy.sparse import csr_array

    if before.shape != users.shape:
        raise ValueError(f"times of shape {before.shape} do not fit {len(users):,} users.")
    places = np.searchsorted(users, log.user)
    rows = np.minimum(places, len(users) - 1)
    is_user = users[rows] == log.user
    is_before = is_user & (log.time < before[rows])
    pairs = np.unique(rows[is_before] * n_items + log.item[is_before])
    first_pairs = np.arange(len(users) + 1) * n_items
    offsets = np.searchsorted(pairs, first_pairs)
    ones = np.ones(len(pairs))
    return csr_array((ones, pairs % n_items, offsets), shape=(len(users), n_items))


def _truth(names: Sequence[str], shown: Sequence[_ShownLists]) -> pd.DataFrame:
    """Tabulate users, lists and the mean chance of a click or more, of each arm and period.

    ``names`` are those of the arms. The chance of a list is 1 minus the product, over its items, of
    1 minus their chances; the mean is over lists, NaN where there are none. Rows are sorted by arm,
    then by period, which counts from 1.
    """
    import pandas as pd

    rows = []
    for lists in shown:
        expected_rate = np.nan
        if len(lists.users):
            chance_of_no_click = (1 - lists.chances).prod(axis=1)
            expected_rate = (1 - chance_of_no_click).mean()
        row = {
            "arm": names[lists.arm],
            "period": lists.period + 1,
            "users": len(np.unique(lists.users)),
            "lists": len(lists.users),
            "expected_rate": expected_rate,
        }
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["arm", "period"], ignore_index=True)


def _recommendation_ids(n_lists: int) -> NDArray[np.str_]:
    """Name lists in the order in which they were shown, of shape (n_lists,)."""
    return np.array([f"r{number:09}" for number in range(n_lists)])


def _recommendation_table(
    world: ClickWorld,
    names: Sequence[str],
    settings: SimulationSettings,
    shown: Sequence[_ShownLists],
) -> pa.Table:
    """Tabulate the lists of all arms and periods, and what was clicked of them.

    ``names`` are those of the arms. A row for each list, in the order of ``shown``: its id, time in
    milliseconds, user, arm, version of the model, ids of the items (rank 1 first), and a truth
    value for each item.
    """
    import pyarrow as pa

    n_lists = [len(lists.users) for lists in shown]
    arms = [names[lists.arm] for lists in shown]
    versions = [_version_name(lists.period) for lists in shown]
    users = np.concatenate([lists.users for lists in shown])
    times = np.concatenate([lists.times for lists in shown])
    items = np.concatenate([lists.items for lists in shown])
    clicked = np.concatenate([lists.clicked for lists in shown])
    offsets = pa.array(np.arange(len(users) + 1) * settings.depth)
    item_ids = pa.array(world.items.ids[items.ravel()])
    columns: dict[str, Any] = {"rec_id": _recommendation_ids(len(users)), "time": times}
    columns["user"] = world.users.ids[users]
    columns["arm"] = np.repeat(arms, n_lists)
    columns["model_version"] = np.repeat(versions, n_lists)
    columns["items"] = pa.LargeListArray.from_arrays(offsets, item_ids)
    columns["clicked"] = pa.LargeListArray.from_arrays(offsets, pa.array(clicked.ravel()))
    return pa.table(columns)


def _interaction_table(world: ClickWorld, log: pd.DataFrame, n_lists: int) -> pa.Table:
    """Tabulate what users did, by user and time, with the id of the list that led to it, or null.

    ``log`` has numbers in place of ids, -1 for no list; ``n_lists`` is the number of all lists.
    """
    import pyarrow as pa

    log = log.sort_values(["user", "time"])
    led_by = log["led_by"].to_numpy()
    list_numbers = pa.array(led_by, mask=led_by < 0)
    list_ids = pa.array(_recommendation_ids(n_lists)).take(list_numbers)
    return pa.table({**_action_columns(world, log), "rec_id": list_ids})


def _model_table(names: Sequence[str], settings: SimulationSettings) -> pa.Table:
    """Tabulate the version of each arm's model in each period, and when it was live.

    ``names`` are those of the arms; times are milliseconds since 1970 in UTC, the end excluded.
    """
    import pyarrow as pa

    arms = []
    periods = []
    for name in names:
        for period in range(settings.periods):
            arms.append(name)
            periods.append(period)
    boundaries = settings.boundaries
    columns: dict[str, Any] = {"arm": arms}
    columns["model_version"] = [_version_name(period) for period in periods]
    columns["valid_from"] = [boundaries[period] for period in periods]
    columns["valid_to"] = [boundaries[period + 1] for period in periods]
    return pa.table(columns)


def _version_name(period: int) -> str:
    """Name the version of a model in a period, which counts from 0."""
    return f"v{period + 1:03}"


def _action_columns(world: ClickWorld, log: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """Write ids and names in place of numbers: columns time, user, item, type and value."""
    columns: dict[str, NDArray[Any]] = {"time": log["time"].to_numpy()}
    columns["user"] = world.users.ids[log["user"]]
    columns["item"] = world.items.ids[log["item"]]
    columns["type"] = np.array(TYPES)[log["type"]]
    columns["value"] = action_values(log)
    return columns


def write_history(path: Path, settings: ClickWorldSettings) -> int:
    """Write the history of a world as a Parquet file, and return the number of its interactions.

    Rows are sorted by user and time. Columns time, user, item, type and value.
    """
    import pyarrow as pa

    world = make_click_world(settings)
    history = world.history().sort_values(["user", "time"])
    path.write_bytes(parquet_bytes(pa.table(_action_columns(world, history))))
    return len(history)
