"""How a log is cut into shards of its users."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from qrels.interactions.interaction_file import COLUMNS, read_interactions
from qrels.interactions.shards import BYTES_PER_VALUE, SHARE_OF_MEMORY, Reading, cut_in_shards
from qrels.interactions.table import LogTable
from runs import InputError

N_USERS = 50


def log(folder: Path, **columns: Sequence[object]) -> LogTable:
    """Two files of one event for each of fifty users, whose ids are text in one of them."""
    folder.mkdir()
    for name, users in (("a", [*range(N_USERS)]), ("b", [str(one) for one in range(N_USERS)])):
        rows = {"time": [10**12] * N_USERS, "user": users, "item": ["x"] * N_USERS} | columns
        parquet.write_table(pa.table(rows), folder / f"{name}.parquet")
    return LogTable.open(folder)


def cut(table: LogTable, folder: Path, *, shards: int) -> list[Path]:
    return cut_in_shards(table, COLUMNS, folder, shards=shards, n_jobs=1)


def test_every_user_is_whole_in_one_shard(tmp_path: Path) -> None:
    paths = cut(log(tmp_path / "log"), tmp_path / "shards", shards=4)
    users = [read_interactions(path).users.ids.tolist() for path in paths]
    assert len(paths) == 4
    assert sorted(user for shard in users for user in shard) == sorted(map(str, range(N_USERS)))
    assert sum(len(read_interactions(path)) for path in paths) == 2 * N_USERS


def test_people_are_whole_in_one_shard(tmp_path: Path) -> None:
    people = {str(user): "everyone" for user in range(N_USERS)}
    table, place = log(tmp_path / "log"), tmp_path / "shards"
    paths = cut_in_shards(table, COLUMNS, place, shards=4, people=people, n_jobs=1)
    rows = [parquet.read_table(path).num_rows for path in paths]
    assert sorted(rows) == [0, 0, 0, 2 * N_USERS]


def test_a_row_of_a_shard_is_named_as_in_the_log(tmp_path: Path) -> None:
    types = ["view"] * (N_USERS - 1) + ["dance"]
    paths = cut(log(tmp_path / "log", type=types), tmp_path / "shards", shards=4)
    with pytest.raises(InputError, match=rf"/log/a\.parquet, row {N_USERS}, column 'type'"):
        [*map(read_interactions, paths)]


def test_a_user_without_an_id_is_named_as_in_the_log(tmp_path: Path) -> None:
    table = log(tmp_path / "log", user=["u"] * 7 + [""] + ["v"] * (N_USERS - 8))
    with pytest.raises(InputError, match=r"/log/a\.parquet, row 8, column 'user'"):
        cut(table, tmp_path / "shards", shards=4)


def test_a_log_that_memory_holds_is_one_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = log(tmp_path / "log")
    need = BYTES_PER_VALUE * 2 * N_USERS
    for room, expected in ((need, 1), (need // 4, 8)):
        free = SimpleNamespace(available=SHARE_OF_MEMORY * room)
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=free: free)
        assert Reading(n_jobs=2).n_shards(table) == expected


def test_there_are_no_more_shards_than_rows(tmp_path: Path) -> None:
    assert Reading(shards=1000).n_shards(log(tmp_path / "log")) == 2 * N_USERS


def test_a_cluster_needs_a_folder_that_its_workers_see(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="say --scratch"), Reading(dask="tcp://10.0.0.5:1").apart():
        pass
    absent = Reading(scratch=tmp_path / "absent").apart()
    with pytest.raises(InputError, match="absent: there is no such folder"), absent:
        pass
