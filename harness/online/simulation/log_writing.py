"""Logs as Parquet files, in the layouts that `analyses.online.logs` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.online.simulation.click_world import (
    ClickWorldSettings,
    make_click_world,
)

if TYPE_CHECKING:
    from analyses.online.logs.slates import Events

    from harness.online.simulation.simulation import SimulatedExperiment


def log_files(experiment: SimulatedExperiment) -> dict[str, bytes]:
    """Give the tables of the log as files by name: what `analyses.online.logs.read_logs` takes.

    Recommendations, interactions (the history, too), models, assignment; not the truth.
    """
    import pyarrow as pa
    from pyarrow import parquet

    files = {}
    for name, columns in _columns(experiment).items():
        table = pa.table({column: _array(values) for column, values in columns.items()})
        options = _OPTIONS if "time" in columns else {"compression": "zstd"}
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, **options)
        files[f"{name}.parquet"] = sink.getvalue().to_pybytes()
    return files


def write_history(path: Path, settings: ClickWorldSettings) -> int:
    """Write the history of a world, and count its interactions.

    Rows are sorted by user and time: columns time, user, item and type.
    """
    import pyarrow as pa
    from pyarrow import parquet

    events = make_click_world(settings).history()
    parquet.write_table(pa.table(_of_events(events)), path, **_OPTIONS)
    return len(events)


_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": ["user", "item", "type", "arm", "model_version"],
    # Within a user times rise, and most differences are small.
    "column_encoding": {"time": "DELTA_BINARY_PACKED"},
}


def _of_events(events: Events) -> dict[str, Any]:
    import pyarrow as pa

    named = {"user": events.users.ids, "item": events.items.ids, "type": np.array(events.types)}
    columns = {
        name: _array(ids).take(pa.array(getattr(events, name))) for name, ids in named.items()
    }
    return {"time": events.time, **columns}


def _columns(experiment: SimulatedExperiment) -> dict[str, dict[str, Any]]:
    """Give the columns of every table."""
    import pyarrow as pa

    slates, events, models = experiment.slates, experiment.events, experiment.models
    first, led_by = pa.array(slates.first), experiment.clicked_slates

    def lists(values: Any) -> Any:
        return pa.LargeListArray.from_arrays(first, _array(values))

    recommendations = {
        "rec_id": slates.ids,
        "time": slates.time,
        "user": slates.users.ids[slates.user],
        "arm": np.array(slates.arms)[slates.arm],
        "model_version": np.array(slates.versions)[slates.version],
        "items": lists(slates.items.ids[slates.item]),
        "clicked": lists(slates.clicked),
    }
    interactions = {
        **_of_events(events),
        "value": events.value,
        "rec_id": _array(slates.ids).take(pa.array(led_by, mask=led_by < 0)),
    }
    versions = {
        "arm": models.arms.ids[models.arm],
        "model_version": models.names,
        "valid_from": models.valid_from,
        "valid_to": models.valid_to,
    }
    assignment = {
        "user": slates.users.ids,
        "arm": np.array(experiment.arms)[experiment.assigned],
        "time": np.full(len(slates.users), experiment.boundaries[0]),
    }
    return {
        "assignment": assignment,
        "interactions": interactions,
        "models": versions,
        "recommendations": recommendations,
    }


def _array(values: Any) -> Any:
    """Make a column of Arrow, of numbers or text."""
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        return pa.array(values.tolist(), pa.string())
    return values if isinstance(values, pa.Array) else pa.array(values)
