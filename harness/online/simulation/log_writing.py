"""Logs as Parquet files, in the layouts that `analyses.online.logs` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from harness.online.simulation.click_world import ClickWorldSettings, make_click_world, user_ids

if TYPE_CHECKING:
    from analyses.online.logs.events import Events
    from harness.online.simulation.simulated import SimulatedExperiment


class LogFiles(TypedDict):
    """The files of a log by table, as `analyses.online.logs.read_logs` takes them."""

    recommendations: Path
    interactions: Path
    models: Path
    assignment: Path


def write_logs(folder: Path, experiment: SimulatedExperiment) -> LogFiles:
    """Write recommendations, interactions, models and assignment.

    Robots stand among the users, as in any log. The truth is not written.

    Parameters
    ----------
    folder
        Where to; it is made if it is missing.
    experiment
        What to write: of the interactions, the history too.

    Examples
    --------
    >>> from analyses.online.logs import read_logs
    >>> logs = read_logs(**write_logs(folder, experiment))  # doctest: +SKIP
    """
    folder.mkdir(parents=True, exist_ok=True)
    return LogFiles(
        recommendations=_write(folder, "recommendations", _recommendations(experiment)),
        interactions=_write(folder, "interactions", _interactions(experiment)),
        models=_write(folder, "models", _models(experiment)),
        assignment=_write(folder, "assignment", _assignment(experiment)),
    )


def write_history(path: Path, settings: ClickWorldSettings) -> int:
    """Write the history of a world that need not fit in memory, block of users after block.

    Rows are sorted by user and time: columns time, user, item and type.

    Parameters
    ----------
    path
        The file.
    settings
        Of the world.

    Returns
    -------
    The number of interactions.
    """
    from pyarrow import parquet

    world = make_click_world(settings)
    item_ids = _strings(world.items.ids)
    schema = _history_table(item_ids, user_ids(0, 1), 0, world.history(slice(0, 0))).schema
    n_events = 0
    with parquet.ParquetWriter(path, schema, **_OPTIONS) as writer:
        for users, events in world.history_blocks():
            ids = user_ids(users.start, users.stop)
            writer.write_table(_history_table(item_ids, ids, users.start, events))
            n_events += len(events)
    return n_events


_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": ["user", "item", "type", "arm", "model_version"],
    # Within a user times rise, and most differences are small.
    "column_encoding": {"time": "DELTA_BINARY_PACKED"},
}


def _write(folder: Path, name: str, table: Any) -> Path:
    from pyarrow import parquet

    path = folder / f"{name}.parquet"
    options = _OPTIONS if "time" in table.column_names else {"compression": "zstd"}
    parquet.write_table(table, path, **options)
    return path


def _history_table(item_ids: Any, ids: NDArray[np.str_], start: int, events: Events) -> Any:
    import pyarrow as pa

    user = pa.DictionaryArray.from_arrays(events.user - start, _strings(ids))
    item = pa.DictionaryArray.from_arrays(events.item, item_ids)
    types = pa.DictionaryArray.from_arrays(events.type, pa.array(events.types))
    columns = {"time": pa.array(events.time), "user": user, "item": item, "type": types}
    # As plain text: each block has a dictionary of its own.
    return pa.table({name: _plain(column) for name, column in columns.items()})


def _recommendations(experiment: SimulatedExperiment) -> Any:
    import pyarrow as pa

    slates = experiment.slates
    arms, versions = np.array(slates.arms), np.array(slates.versions)
    columns = {
        "rec_id": _strings(slates.ids),
        "time": pa.array(slates.time),
        "user": _strings(slates.users.ids[slates.user]),
        "arm": _strings(arms[slates.arm]),
        "model_version": _strings(versions[slates.version]),
        "items": _lists(slates.first, _strings(slates.items.ids[slates.item])),
        "clicked": _lists(slates.first, pa.array(slates.clicked)),
    }
    if slates.propensity is not None:
        columns["propensity"] = _lists(slates.first, pa.array(slates.propensity))
    return pa.table(columns)


def _interactions(experiment: SimulatedExperiment) -> Any:
    import pyarrow as pa

    events, ids = experiment.events, experiment.slates.ids.tolist()
    named = [None if number < 0 else ids[number] for number in experiment.clicked_slates.tolist()]
    return pa.table(
        {
            "time": pa.array(events.time),
            "user": _strings(events.users.ids[events.user]),
            "item": _strings(events.items.ids[events.item]),
            "type": _strings(np.array(events.types)[events.type]),
            "value": pa.array(events.value),
            "rec_id": pa.array(named, pa.string()),
        }
    )


def _models(experiment: SimulatedExperiment) -> Any:
    import pyarrow as pa

    models = experiment.models
    return pa.table(
        {
            "arm": _strings(models.arms.ids[models.arm]),
            "model_version": _strings(models.names),
            "valid_from": pa.array(models.valid_from),
            "valid_to": pa.array(models.valid_to),
        }
    )


def _assignment(experiment: SimulatedExperiment) -> Any:
    import pyarrow as pa

    users = np.flatnonzero(experiment.assigned >= 0)
    arms = np.array(experiment.arms)[experiment.assigned[users]]
    begin = np.full(len(users), experiment.boundaries[0])
    return pa.table(
        {
            "user": _strings(experiment.slates.users.ids[users]),
            "arm": _strings(arms),
            "time": pa.array(begin),
        }
    )


def _lists(first: NDArray[np.int64], values: Any) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(first), values)


def _strings(ids: NDArray[np.str_]) -> Any:
    import pyarrow as pa

    return pa.array(ids.tolist(), pa.string())


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
