from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from analyses.online.logs import Logs, read_logs
from harness.online.simulation import (
    ClickWorldSettings,
    SimulatedExperiment,
    log_files,
    write_history,
)
from tests.harness.online.simulation.worlds import small_experiment, small_world


@pytest.fixture(scope="module")
def experiment() -> SimulatedExperiment:
    return small_experiment(small_world(n_users=150), periods=2)


@pytest.fixture(scope="module")
def logs(experiment: SimulatedExperiment, tmp_path_factory: pytest.TempPathFactory) -> Logs:
    folder = tmp_path_factory.mktemp("logs")
    for name, content in log_files(experiment).items():
        (folder / name).write_bytes(content)
    return read_logs(
        folder / "recommendations.parquet",
        folder / "interactions.parquet",
        models=folder / "models.parquet",
        assignment=folder / "assignment.parquet",
    )


def test_lists_are_read_back(experiment: SimulatedExperiment, logs: Logs) -> None:
    written, read = experiment.slates, logs.slates
    assert np.array_equal(written.ids, read.ids)
    assert np.array_equal(written.users.ids[written.user], read.users.ids[read.user])
    assert np.array_equal(written.items.ids[written.item], read.items.ids[read.item])
    assert np.array_equal(written.time, read.time)


def test_arms_and_versions_are_read_back(experiment: SimulatedExperiment, logs: Logs) -> None:
    written, read = experiment.slates, logs.slates
    assert written.version is not None
    assert read.version is not None
    assert (written.arms, written.versions) == (read.arms, read.versions)
    assert np.array_equal(written.arm, read.arm)
    assert np.array_equal(written.version, read.version)


@pytest.mark.parametrize("column", ["clicked", "propensity", "first"])
def test_places_are_read_back(experiment: SimulatedExperiment, logs: Logs, column: str) -> None:
    assert np.array_equal(getattr(experiment.slates, column), getattr(logs.slates, column))


def test_interactions_are_read_back(experiment: SimulatedExperiment, logs: Logs) -> None:
    written, read = experiment.events, logs.events

    def texts(ids: NDArray[np.str_], numbers: NDArray[np.int32]) -> list[str]:
        return list(ids[numbers].tolist())

    assert texts(written.users.ids, written.user) == texts(read.users.ids, read.user)
    assert texts(np.array(written.types), written.type) == texts(np.array(read.types), read.type)
    assert np.array_equal(written.time, read.time)
    assert np.array_equal(written.value, read.value)


def test_clicks_still_name_their_list(experiment: SimulatedExperiment, logs: Logs) -> None:
    assert logs.events.slate is not None
    assert np.array_equal(experiment.clicked_slates, logs.events.slate)


def test_models_are_read_back(experiment: SimulatedExperiment, logs: Logs) -> None:
    assert logs.models is not None
    assert all(
        np.array_equal(getattr(experiment.models, name), getattr(logs.models, name))
        for name in ("names", "arm", "valid_from", "valid_to")
    )


def test_the_tables_fit_together(logs: Logs) -> None:
    facts = logs.facts
    assert (facts.gaps, facts.without_version) == (0, 0)
    assert (facts.without_arm, facts.against_assignment) == (0, 0)


def test_a_history_is_written_as_it_is(tmp_path: Path) -> None:
    settings = ClickWorldSettings(n_users=150, n_items=600)
    n_events = write_history(tmp_path / "history.parquet", settings)
    table = parquet.read_table(tmp_path / "history.parquet")
    world = small_world(**settings.model_dump())
    events = world.history()
    assert table.num_rows == n_events == len(events)
    assert table["time"].to_numpy().tolist() == events.time.tolist()
    assert table["user"].to_pylist() == world.users.ids[events.user].tolist()
    assert table["item"].to_pylist() == world.items.ids[events.item].tolist()
    assert table["type"].to_pylist() == np.array(events.types)[events.type].tolist()
