"""Interactions read from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from runs import InputError

ROWS: dict[str, list[Any]] = {
    "user": ["zoe", "ann", "zoe", "bob", "ann"],
    "item": ["b", "a", "b", "ü", "c"],
    "time": [5, 9, 3, 4, 7],
    "type": ["view", "purchase", "cart", "view", "view"],
}


@pytest.fixture(autouse=True)
def _small_times(logs_of_1970: None) -> None:
    pass


def written(folder: Path, columns: dict[str, Any], *, row_group: int = 2) -> Path:
    path = folder / "log.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=row_group)
    return path


def as_rows(events: Interactions) -> list[tuple[str, str, int, float]]:
    users, items = events.users.ids[events.user], events.items.ids[events.item]
    columns = (users.tolist(), items.tolist(), events.time.tolist(), events.value.tolist())
    return list(zip(*columns, strict=True))


def test_rows_are_sorted_and_types_have_values(tmp_path: Path) -> None:
    assert as_rows(read_interactions(written(tmp_path, ROWS))) == [
        ("ann", "c", 7, 0.25),
        ("ann", "a", 9, 1.0),
        ("bob", "ü", 4, 0.25),
        ("zoe", "b", 3, 0.5),
        ("zoe", "b", 5, 0.25),
    ]


def test_csv_is_read_as_parquet_is(tmp_path: Path) -> None:
    lines = zip(*ROWS.values(), strict=True)
    text = "\n".join([",".join(ROWS), *(",".join(map(str, line)) for line in lines)])
    (tmp_path / "log.csv").write_text(text + "\n", encoding="utf-8")
    of_text = read_interactions(tmp_path / "log.csv")
    assert as_rows(of_text) == as_rows(read_interactions(written(tmp_path, ROWS)))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_path_with_brackets_is_no_pattern(tmp_path: Path, ending: str) -> None:
    for name, user in (("log[1]", "asked for"), ("log1", "beside it")):
        table = pa.table({"user": [user], "item": ["a"], "time": [1]})
        write = csv.write_csv if ending == "csv" else parquet.write_table
        write(table, tmp_path / f"{name}.{ending}")
    found = read_interactions(tmp_path / f"log[1].{ending}")
    assert found.users.ids.tolist() == ["asked for"]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_neither_threads_nor_row_groups_nor_files_change_anything(
    tmp_path: Path, n_jobs: int
) -> None:
    rng = np.random.default_rng(1)
    n = 5000
    columns: dict[str, Any] = {
        "user": rng.integers(0, 300, n),
        "item": rng.integers(0, 20, n),
        "time": rng.integers(0, 50, n),
        "value": rng.random(n),
    }
    whole = read_interactions(written(tmp_path, columns, row_group=n), n_jobs=1)
    (tmp_path / "parts").mkdir()
    for first in range(0, n, 1000):
        part = {name: column[first : first + 1000] for name, column in columns.items()}
        place = tmp_path / f"parts/{first:04}.parquet"
        parquet.write_table(pa.table(part), place, row_group_size=300)
    assert as_rows(read_interactions(tmp_path / "parts", n_jobs=n_jobs)) == as_rows(whole)


def test_what_memory_does_not_hold_lies_in_a_folder_that_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.permutation(100_000) for name in ("user", "item", "time")}
    path = written(tmp_path, columns, row_group=10_000)
    whole = read_interactions(path)
    monkeypatch.setattr("qrels.interactions.log_table.MEMORY", "24MB")
    (tmp_path / "output").mkdir()
    spilled = read_interactions(path, folder=tmp_path / "output", n_jobs=1)
    np.testing.assert_array_equal(spilled.time, whole.time)
    assert not [*(tmp_path / "output").iterdir()]


@pytest.mark.parametrize(
    "time",
    [
        ["2026-01-05T08:00:00Z", "2026-01-05 09:30:00.0019+01:30"],
        pa.array([1767600000000, 1767600000001], pa.timestamp("ms", tz="UTC")),
        pa.array([1767600000000000000, 1767600000001999999], pa.timestamp("ns", tz="UTC")),
        pa.array([1767600000000, 1767600000001], pa.uint64()),
    ],
)
def test_times_are_milliseconds_rounded_down(tmp_path: Path, time: Any) -> None:
    path = written(tmp_path, {"user": ["u", "u"], "item": ["a", "b"], "time": time})
    assert read_interactions(path, first_year=2000).time.tolist() == [1767600000000, 1767600000001]


def test_types_are_renamed_or_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS | {"type": ["click", "view", "cart", "impression", "view"]})
    events = read_interactions(path, rename={"click": "purchase", "impression": ""})
    assert [row[3] for row in as_rows(events)] == [0.25, 0.25, 0.5, 1.0]


def test_times_in_seconds_are_refused_unless_their_year_is_given(tmp_path: Path) -> None:
    seconds = {"user": ["u", "u"], "item": ["a", "b"], "time": [1767600000000, 1767600000]}
    path = written(tmp_path, seconds)
    with pytest.raises(InputError, match=r"row 2, column 'time': .* 1767600000 ms: seconds"):
        read_interactions(path, first_year=2000)
    assert read_interactions(path, first_year=1970).time.tolist() == [1767600000, 1767600000000]


def test_values_of_the_file_count_before_types(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS | {"value": [0.0, 0.5, 3.0, 4.0, 5.0]})
    assert sorted(read_interactions(path).value.tolist()) == [0, 0.5, 3, 4, 5]


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"user": ["a", "b", "c", None, "e"]}, "row 4, column 'user': an id must not be empty."),
        ({"item": ["a", "b", "c", "d", ""]}, "row 5, column 'item': an id must not be empty."),
        ({"item": [0.5] * 5}, "row 1, column 'item': ids must be text or whole numbers"),
        ({"time": [1, 2, None, 4, 5]}, "row 3, column 'time': a time must be given."),
        ({"time": ["1", "2", "3", "x", "5"]}, "row 4, column 'time': a time must be whole milli"),
        ({"time": ["2026-02-30T20:15Z"] * 5}, "row 1, column 'time': a time must be whole milli"),
        ({"time": ["2026-01-31T20:15"] * 5}, "row 1, column 'time': a time must be whole milli"),
        ({"type": ["view"] * 4 + ["like"]}, "row 5, column 'type': values are set for view, cart"),
        ({"value": [1.0, 1.0, 1.0, -2.0, 1.0]}, "row 4, column 'value': a value must not be neg"),
        ({"value": [1.0, float("nan"), 1.0, 1.0, 1.0]}, "row 2, column 'value': a number must be"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(
    tmp_path: Path, changes: dict[str, Any], finding: str
) -> None:
    path = written(tmp_path, ROWS | changes)
    with pytest.raises(InputError, match=r"log\.parquet, ") as error:
        read_interactions(path)
    assert finding in str(error.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"user": ["u"], "items": ["i"], "time": [1]})
    with pytest.raises(InputError, match=r"no column 'item' among .* 'items'\?"):
        read_interactions(path)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,time\n")
    with pytest.raises(InputError, match="a heading but no interactions"):
        read_interactions(tmp_path / "log.csv")


def test_a_line_of_another_width_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,time\nu,a,1\nu,b\n")
    with pytest.raises(InputError, match=r"log\.csv, row 2: 3 fields expected, found 2"):
        read_interactions(tmp_path / "log.csv")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {name: column * 500 for name, column in ROWS.items()}, row_group=2500)
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_interactions(path)
