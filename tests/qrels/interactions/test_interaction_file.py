"""Interactions read block after block."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from qrels.interactions.blocks import encoded_ids
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from runs import InputError

ROWS: dict[str, list[Any]] = {
    "user": ["zoe", "ann", "zoe", "bob", "ann"],
    "item": ["b", "a", "b", "ü", "c"],
    "time": [5, 9, 3, 4, 7],
    "type": ["view", "purchase", "cart", "view", "view"],
}


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


@given(rows=st.integers(1, 6), row_group=st.integers(1, 6))
def test_blocks_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: int, row_group: int
) -> None:
    path = written(tmp_path_factory.mktemp("log"), ROWS, row_group=row_group)
    in_blocks, whole = read_interactions(path, block_rows=rows), read_interactions(path)
    assert as_rows(in_blocks) == as_rows(whole)
    np.testing.assert_array_equal(in_blocks.users.ids, whole.users.ids)


def test_whole_numbers_are_ids_in_the_order_of_text(tmp_path: Path) -> None:
    columns = {"user": [10, 9], "item": ["a", "a"], "time": [1, 2]}
    assert read_interactions(written(tmp_path, columns)).users.ids.tolist() == ["10", "9"]


def test_an_id_of_a_dictionary_without_a_row_is_no_item(tmp_path: Path) -> None:
    items = pa.DictionaryArray.from_arrays([2, 0], ["c", "never", "a"])
    path = written(tmp_path, {"user": ["u", "u"], "item": items, "time": [1, 2]})
    assert read_interactions(path).items.ids.tolist() == ["a", "c"]


def test_values_of_the_file_count_before_types(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS | {"value": [0.0, 0.5, 3.0, 4.0, 5.0]})
    assert sorted(read_interactions(path).value.tolist()) == [0, 0.5, 3, 4, 5]


def test_without_value_and_type_every_row_counts_one(tmp_path: Path) -> None:
    path = written(tmp_path, {name: ROWS[name] for name in ("user", "item", "time")})
    assert read_interactions(path).value.tolist() == [1.0] * 5


def test_types_may_be_given_values(tmp_path: Path) -> None:
    values = {"view": 1.0, "cart": 2.0, "purchase": 3.0}
    events = read_interactions(written(tmp_path, ROWS), values=values)
    assert sorted(events.value.tolist()) == [1, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"user": ["a", "b", "c", None, "e"]}, "row 4, column 'user': an id must not be empty."),
        ({"item": ["a", "b", "c", "d", ""]}, "row 5, column 'item': an id must not be empty."),
        ({"item": [0.5] * 5}, "row 1, column 'item': ids must be text or whole numbers"),
        ({"time": [1, 2, None, 4, 5]}, "row 3, column 'time': a time must be given."),
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
        read_interactions(path, block_rows=2)
    assert finding in str(error.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"user": ["u"], "items": ["i"], "time": [1]})
    with pytest.raises(InputError, match=r"no column 'item' among .* 'items'\?"):
        read_interactions(path)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,time\n")
    with pytest.raises(InputError, match="a heading but no interactions"):
        read_interactions(tmp_path / "log.csv")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {name: column * 500 for name, column in ROWS.items()}, row_group=2500)
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_interactions(path)


def test_no_text_is_made_of_rows_whose_ids_stand_in_a_dictionary() -> None:
    ids = pa.DictionaryArray.from_arrays(np.zeros(1000, dtype=np.int32), ["x"])

    def fail(row: int, finding: str) -> InputError:
        return InputError(finding)

    assert len(encoded_ids(ids, fail).dictionary) == 1
