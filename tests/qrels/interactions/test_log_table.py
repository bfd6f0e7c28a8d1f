"""Tables of logs: kinds of columns, places of what is wrong, and what is read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from qrels.interactions import log_table
from qrels.interactions.log_table import (
    ColumnQuery,
    LogDatabase,
    LogTable,
    Rule,
    id_column,
    log_database,
    number_column,
    quote_name,
    quote_text,
    time_column,
)
from runs import InputError


@pytest.fixture
def database() -> Iterator[LogDatabase]:
    with log_database(n_jobs=1) as opened:
        yield opened


def table_of(database: LogDatabase, folder: Path, columns: Any, *, name: str = "a") -> LogTable:
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table(columns), path)
    return database.open(path)


def csv_of(database: LogDatabase, folder: Path, text: str | bytes, *, name: str = "a") -> LogTable:
    path = folder / f"{name}.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return database.open(path)


def optional_id(table: LogTable, name: str) -> ColumnQuery:
    return id_column(table, name, optional=True)


def optional_number(table: LogTable, name: str) -> ColumnQuery:
    return number_column(table, name, optional=True)


def test_names_and_texts_are_quoted_for_sql() -> None:
    assert quote_name('a"b') == '"a""b"'
    assert quote_text("a'b") == "'a''b'"


def test_columns_are_read_in_an_order_and_then_that_of_the_file(
    database: LogDatabase, tmp_path: Path
) -> None:
    columns = {"user": ["v", "u", "v", "é"], "item": [7, None, 10, 7], "n": [1.0, 2.0, 1.0, 0.5]}
    table = table_of(database, tmp_path, columns)
    kinds = {"user": id_column, "item": optional_id, "n": number_column}
    read = table.read(kinds, order=("n",))
    users, user = read["user"]
    items, item = read["item"]
    assert users.ids.tolist() == ["u", "v", "é"]
    assert users.ids[user].tolist() == ["é", "v", "v", "u"]
    assert items.ids.tolist() == ["10", "7"]
    assert item.tolist() == [1, 1, 0, -1]
    assert item.dtype == np.int32
    assert read["n"].tolist() == [0.5, 1, 1, 2]
    assert table.read({"n": number_column})["n"].tolist() == [1, 2, 1, 0.5]
    by_user = table.read({"user": id_column, "n": number_column}, order=("user", "n"))
    assert by_user["n"].tolist() == [2, 1, 1, 0.5]


def test_rows_are_read_in_parts(
    database: LogDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2,048 rows, where two fill three."""
    monkeypatch.setattr(log_table, "VECTORS_AT_ONCE", 1)
    numbers = np.arange(5000)
    table = table_of(database, tmp_path, {"id": numbers.astype(str), "n": numbers})
    read = table.read({"id": id_column, "n": number_column})
    ids, id = read["id"]
    assert ids.ids[id].tolist() == [str(number) for number in range(5000)]
    assert read["n"].tolist() == [*range(5000)]
    view = "SELECT n FROM log_columns ORDER BY n"
    assert database.fetch_arrays(view)[0].tolist() == [*range(5000)]


def test_missing_numbers_are_nan_where_they_may_be(database: LogDatabase, tmp_path: Path) -> None:
    table = csv_of(database, tmp_path, "n\n1\n\n-2.5\n")
    np.testing.assert_array_equal(table.read({"n": optional_number})["n"], [1, np.nan, -2.5])
    with pytest.raises(InputError, match=r"a\.csv, row 2, column 'n': a number must be given, got"):
        table.read({"n": number_column})


@pytest.mark.parametrize("kind", [number_column, optional_number])
def test_numbers_are_finite(kind: Any, database: LogDatabase, tmp_path: Path) -> None:
    table = table_of(database, tmp_path, {"n": [1.0, 2.0, np.inf]})
    with pytest.raises(InputError, match=r"row 3, column 'n': a number must be finite"):
        table.read({"n": kind})


def test_what_is_wrong_is_placed_in_its_file(database: LogDatabase, tmp_path: Path) -> None:
    """Files are those of all folders within, by path; the first row in that order is named."""
    (tmp_path / "b").mkdir()
    table_of(database, tmp_path, {"n": [1, 2]}, name="a")
    table_of(database, tmp_path / "b", {"n": [3, -4, -5]}, name="a")
    table_of(database, tmp_path, {"n": [-6]}, name="c")
    table = database.open(tmp_path)
    assert [file.name for file in table.files] == ["a.parquet", "a.parquet", "c.parquet"]
    rules = [Rule("n", "n > 7", "no {}."), Rule("n", "n < 0", "got {}, or so.")]
    with pytest.raises(InputError, match=r"b/a\.parquet, row 2, column 'n': got -4, or so\."):
        table.check_rules(rules)
    table.check_rules([])
    table.check_rules(rules[:1])
    assert table.read({"n": number_column})["n"].tolist() == [1, 2, 3, -4, -5, -6]
    assert table.read({"n": number_column}, order=("n",))["n"].tolist() == [-6, -5, -4, 1, 2, 3]


def test_an_error_names_the_first_row_of_the_first_file_by_default(
    database: LogDatabase, tmp_path: Path
) -> None:
    table = table_of(database, tmp_path, {"n": [1]})
    assert str(table.error("n", "odd.")) == f"{tmp_path}/a.parquet, row 1, column 'n': odd."


def test_a_folder_without_tables_is_refused(database: LogDatabase, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder has no file \*\.parquet"):
        database.open(tmp_path)


def test_columns_that_are_missing_are_named(database: LogDatabase, tmp_path: Path) -> None:
    table = table_of(database, tmp_path, {"users": ["u"], "n": [1]})
    assert ("n" in table, "user" in table) == (True, False)
    table.require("users", "n")
    with pytest.raises(
        InputError, match=r"no column 'user' among users, n\. Did you mean 'users'\?"
    ):
        table.require("n", "user")
    with pytest.raises(InputError, match=r"no column 'time' among users, n\.$"):
        table.require("time")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a,b,a\n1,2,3\n", "two columns are called 'a'"),
        ("", "cannot be read as Parquet or CSV \\(the file is empty\\)"),
        (b"a\xff\n", "cannot be read as Parquet or CSV"),
        ("a,b\n1,2\n1,2\n1,2,3\n", "row 3: 2 fields expected, found 3"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    text: str | bytes, finding: str, database: LogDatabase, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"a\.csv[:,] {finding}"):
        csv_of(database, tmp_path, text)


def test_several_csv_files_are_read_as_text_with_quotes(
    database: LogDatabase, tmp_path: Path
) -> None:
    first = csv_of(database, tmp_path, '\ufeffid,n\n\'x,1\n"a,""b",2\n')
    second = csv_of(database, tmp_path, "id\n7\n", name="b")
    ids, id = first.read({"id": id_column})["id"]
    assert ids.ids[id].tolist() == ["'x", 'a,"b']
    assert second.read({"id": id_column})["id"][0].ids.tolist() == ["7"]
    assert first.types == {"id": "VARCHAR", "n": "VARCHAR"}


def test_a_query_on_what_is_no_table_is_refused(database: LogDatabase) -> None:
    with pytest.raises(InputError, match=r"^the log: cannot be read as Parquet or CSV"):
        database.run("SELECT * FROM nothing")
    with pytest.raises(InputError, match=r"^a\.parquet: cannot be read as Parquet or CSV"):
        database.run("SELECT * FROM read_parquet(['a.parquet', 'a.parquet'])")


TIMES = {
    "1767600000000": 1_767_600_000_000,
    "2026-01-05T08:00:00Z": 1_767_600_000_000,
    "2026-01-05 08:00Z": 1_767_600_000_000,
    "2026-01-05T10:00:00.0019+02:00": 1_767_600_000_001,
    "2026-01-05T10:00:00.9+02": 1_767_600_000_900,
    "2026-01-05T10:00:00.123456789+0200": 1_767_600_000_123,
}


def test_times_in_text_are_counted_or_have_a_zone(database: LogDatabase, tmp_path: Path) -> None:
    table = csv_of(database, tmp_path, "\n".join(["time", *TIMES]))
    assert table.read({"time": time_column})["time"].tolist() == [*TIMES.values()]


@pytest.mark.parametrize(
    ("column", "finding"),
    [
        (pa.array([1.5]), "found DOUBLE"),
        (pa.array([1], pa.timestamp("ms")), "the column has timestamps without one"),
        (pa.array([True]), "found BOOLEAN"),
    ],
)
def test_columns_of_other_kinds_are_no_times(
    column: Any, finding: str, database: LogDatabase, tmp_path: Path
) -> None:
    table = table_of(database, tmp_path, {"time": column})
    with pytest.raises(InputError, match=f"column 'time': a time must be whole .* {finding}"):
        table.read({"time": time_column})


@pytest.mark.parametrize(
    ("first_year", "earliest"),
    [(None, 946_684_800_000), (1970, 0), (1969, -31_536_000_000), (2026, 1_767_225_600_000)],
)
def test_times_begin_with_a_year_2000_if_nothing_is_said(
    first_year: int | None, earliest: int, tmp_path: Path
) -> None:
    with log_database(first_year=first_year) as database:
        table = table_of(database, tmp_path, {"time": [earliest]})
        assert table.read({"time": time_column})["time"].tolist() == [earliest]
        early = table_of(database, tmp_path, {"time": [earliest, earliest - 1]})
        with pytest.raises(InputError, match=rf"row 2, .* year {first_year or 2000} or later, got"):
            early.read({"time": time_column})


def test_ids_are_text_or_whole_numbers(database: LogDatabase, tmp_path: Path) -> None:
    for kind in (pa.int8(), pa.uint64(), pa.int64()):
        table = table_of(database, tmp_path, {"id": pa.array([7, 10], kind)})
        assert table.read({"id": id_column})["id"][0].ids.tolist() == ["10", "7"]
    with pytest.raises(InputError, match="ids must be text or whole numbers, found DATE"):
        table_of(database, tmp_path, {"id": pa.array([7], pa.date32())}).read({"id": id_column})


def test_the_database_works_with_as_many_threads_and_as_much_memory_as_it_may(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "made" / "anew"
    with log_database(folder, n_jobs=2) as database:
        row = database.fetch_row(
            "SELECT current_setting('threads'), current_setting('memory_limit'), "
            "current_setting('autoinstall_known_extensions'), current_setting('temp_directory')"
        )
        assert row[:3] == (2, "953.6 MiB", False)
        assert Path(row[3]).parent == folder
    assert list(folder.iterdir()) == []
