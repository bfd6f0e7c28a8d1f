"""A simulated experiment: arms serve lists, users click by known chances, models learn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    actions_of,
    draw_types,
    make_click_world,
    values_of,
)
from qrels.interactions.held_out_users import split_users
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Longs, Masks, Sparse
from runs.shared.files import parquet_bytes
from runs.shared.parallel import delayed, run_in_threads
from runs.shared.settings import Section
from runs.shared.streams import id_hashes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

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
    """What some of the users are served, as many as by each other arm."""

    name: str
    model: Model


@dataclass(frozen=True, eq=False)
class SimulatedExperiment:
    """The log of an experiment, and the truth behind it.

    The tables are as `analyses.online.logs.Logs` describes them: recommendations, interactions
    (with the history) and models. ``recommenders[arm][period]`` was live. The truth, what the rates
    of the log estimate, is the expected click-through rate of the lists that were shown: arm,
    period (from 1), users, lists and expected_rate. It is not the rate of a model that serves
    everybody.
    """

    tables: Mapping[str, pa.Table]
    truth: pd.DataFrame
    recommenders: Mapping[str, Sequence[Recommender]]

    def files(self) -> dict[str, bytes]:
        """Give the tables as Parquet files, by name."""
        return {f"{name}.parquet": parquet_bytes(table) for name, table in self.tables.items()}


@dataclass(frozen=True, eq=False)
class _Shown:
    """Lists that an arm showed in a period: columns of shape (n,), and (n, depth)."""

    user: Longs
    time: Longs
    items: Ints
    clicked: Masks
    chances: Floats


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
    """
    import pandas as pd

    settings = settings or SimulationSettings()
    arms = sorted(arms, key=lambda arm: arm.name)
    names = [arm.name for arm in arms]
    if not names or len({*names}) < len(names):
        raise InputError(f"an experiment needs arms of different names, got {names}.")
    assigned = assign(world.users, len(arms))
    log, n_lists = world.history(), 0
    shown: list[tuple[int, int, _Shown]] = []
    recommenders: list[list[Recommender]] = [[] for _ in arms]
    for period in range(settings.periods):
        # Of lists at the end of a period, clicks come after the models of the next have learnt.
        before = log[log["time"] < settings.boundaries[period]]
        learnt = world.interactions(before)
        if test_users is not None:
            learnt, _ = split_users(learnt, test_users)
        user, time, views = _plan_period(world, settings, period)
        known = pd.concat([log, views], ignore_index=True)
        tasks = [
            delayed(_serve)(
                world,
                (arm.name, arm.model),
                settings,
                learnt,
                known[assigned[known["user"]] == number],
                (user[assigned[user] == number], time[assigned[user] == number]),
                np.random.default_rng([settings.seed, 2, period, number]),
            )
            for number, arm in enumerate(arms)
        ]
        served = run_in_threads(tasks, n_jobs=n_jobs)
        log = known
        for number, (model, lists, clicks) in enumerate(served):
            recommenders[number].append(model)
            shown.append((number, period, lists))
            clicks["led_by"] += n_lists
            log = pd.concat([log, clicks], ignore_index=True)
            n_lists += len(lists.user)
    if n_lists == 0:
        raise InputError("no user came to the experiment; it needs more users, lists or days.")
    return SimulatedExperiment(
        tables=_tables(world, names, settings, shown, log),
        truth=_truth(names, shown),
        recommenders=dict(zip(names, recommenders, strict=True)),
    )


def assign(users: Numbering, n_arms: int) -> Longs:
    """Put users into arms by a hash of the id, which is the same on every machine."""
    luck = id_hashes(users.ids, ASSIGNMENT) * 2.0**-64
    return np.minimum((luck * n_arms).astype(np.int64), n_arms - 1)


def _plan_period(
    world: ClickWorld, settings: SimulationSettings, period: int
) -> tuple[Longs, Longs, pd.DataFrame]:
    """Draw who asks for a list when, sorted by both, and what users look at without a list."""
    rng = np.random.default_rng([settings.seed, 1, period])
    start, end = settings.boundaries[period : period + 2]
    everybody = np.arange(world.settings.n_users)

    def times(mean: float) -> tuple[Longs, Longs]:
        user = np.repeat(everybody, rng.poisson(mean, len(everybody)))
        return user, rng.integers(start, end, len(user))

    asking, asked = times(settings.lists)
    user, time = times(settings.lists * VIEWS_PER_LIST)
    item, types = world.choose(world.tastes(user), rng), draw_types(len(user), rng)
    order = np.lexsort((asked, asking))
    return asking[order], asked[order], actions_of(user, item, time, types, np.full(len(user), -1))


def _serve(
    world: ClickWorld,
    arm: tuple[str, Model],
    settings: SimulationSettings,
    learnt: Any,
    known: pd.DataFrame,
    requests: tuple[Longs, Longs],
    rng: np.random.Generator,
) -> tuple[Recommender, _Shown, pd.DataFrame]:
    """Let an arm learn, and answer the first request of every user, then the second, ..."""
    import pandas as pd

    model = arm[1].fit(learnt)
    user, time = requests
    turn = np.arange(len(user)) - np.searchsorted(user, user)
    items = np.zeros((len(user), settings.depth), dtype=np.int32)
    clicked, chances = np.zeros(items.shape, dtype=np.bool_), np.zeros(items.shape)
    made = [known[:0]]
    for number in range(int(turn.max(initial=-1)) + 1):
        rows = np.flatnonzero(turn == number)
        asking = user[rows]
        known = known[known["user"].isin(asking)]
        profiles = profiles_before(known, asking, time[rows], n_items=len(world.items))
        lists = recommended(model, profiles, depth=settings.depth, arm=arm[0])
        items[rows], chances[rows] = lists, world.click_chance(asking, lists)
        clicked[rows] = rng.random(lists.shape) < chances[rows]
        row, column = np.nonzero(clicked[rows])
        later = time[rows][row] + rng.integers(1, MINUTE, len(row))
        types = draw_types(len(row), rng)
        taken = lists[row, column].astype(np.int64)
        clicks = actions_of(asking[row], taken, later, types, rows[row])
        made.append(clicks)
        known = pd.concat([known, clicks], ignore_index=True)
    return model, _Shown(user, time, items, clicked, chances), pd.concat(made, ignore_index=True)


def profiles_before(log: pd.DataFrame, users: Longs, before: Longs, *, n_items: int) -> Sparse:
    """Give the distinct items that users had before a time, itself excluded, as rows of ones.

    Users rise strictly, and like times are of shape (n,); the rows are of shape (n, n_items).
    """
    from scipy.sparse import csr_array

    row = np.minimum(np.searchsorted(users, log.user), len(users) - 1)
    kept = (users[row] == log.user) & (log.time < before[row])
    pairs = np.unique(row[kept] * n_items + log.item[kept])
    starts = np.searchsorted(pairs, np.arange(len(users) + 1) * n_items)
    return csr_array((np.ones(len(pairs)), pairs % n_items, starts), shape=(len(users), n_items))


def _truth(names: Sequence[str], shown: Sequence[tuple[int, int, _Shown]]) -> pd.DataFrame:
    """Give users, lists and the mean chance of a click or more, of each arm and period."""
    import pandas as pd

    rows = [
        {
            "arm": names[arm],
            "period": period + 1,
            "users": len(np.unique(of.user)),
            "lists": len(of.user),
            "expected_rate": (1 - (1 - of.chances).prod(axis=1)).mean() if len(of.user) else np.nan,
        }
        for arm, period, of in shown
    ]
    return pd.DataFrame(rows).sort_values(["arm", "period"], ignore_index=True)


def _tables(
    world: ClickWorld,
    names: Sequence[str],
    settings: SimulationSettings,
    shown: Sequence[tuple[int, int, _Shown]],
    log: pd.DataFrame,
) -> dict[str, pa.Table]:
    """Make the tables of the log."""
    import pyarrow as pa

    def joined(column: str) -> NDArray[Any]:
        return np.concatenate([getattr(of, column) for _, _, of in shown])

    def of_each(values: Sequence[str]) -> Any:
        return np.repeat(values, [len(of.user) for _, _, of in shown])

    n_lists = len(joined("user"))
    rec_ids = np.array([f"r{number:09}" for number in range(n_lists)])
    ends = pa.array(np.arange(n_lists + 1) * settings.depth)
    items = pa.array(world.items.ids[joined("items").ravel()])
    recommendations = {
        "rec_id": rec_ids,
        "time": joined("time"),
        "user": world.users.ids[joined("user")],
        "arm": of_each([names[arm] for arm, _, _ in shown]),
        "model_version": of_each([f"v{period + 1:03}" for _, period, _ in shown]),
        "items": pa.LargeListArray.from_arrays(ends, items),
        "clicked": pa.LargeListArray.from_arrays(ends, pa.array(joined("clicked").ravel())),
    }
    versions = [(name, number) for name in names for number in range(settings.periods)]
    models = {
        "arm": [name for name, _ in versions],
        "model_version": [f"v{number + 1:03}" for _, number in versions],
        "valid_from": [settings.boundaries[number] for _, number in versions],
        "valid_to": [settings.boundaries[number + 1] for _, number in versions],
    }
    log = log.sort_values(["user", "time"])
    led_by = log["led_by"].to_numpy()
    led_by = pa.array(rec_ids).take(pa.array(led_by, mask=led_by < 0))
    interactions = {**_columns_of(world, log), "rec_id": led_by}
    return {
        "recommendations": pa.table(recommendations),
        "interactions": pa.table(interactions),
        "models": pa.table(models),
    }


def _columns_of(world: ClickWorld, log: pd.DataFrame) -> dict[str, NDArray[Any]]:
    return {
        "time": log["time"].to_numpy(),
        "user": world.users.ids[log["user"]],
        "item": world.items.ids[log["item"]],
        "type": np.array(TYPES)[log["type"]],
        "value": values_of(log),
    }


def write_history(path: Path, settings: ClickWorldSettings) -> int:
    """Write the history of a world by user and time, and count its interactions.

    Columns time, user, item, type and value.
    """
    import pyarrow as pa

    world = make_click_world(settings)
    history = world.history().sort_values(["user", "time"])
    path.write_bytes(parquet_bytes(pa.table(_columns_of(world, history))))
    return len(history)
