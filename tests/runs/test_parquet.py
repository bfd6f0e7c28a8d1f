"""Runs in Parquet: they say what TREC's lines say, and bad ones are refused by row."""

import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from runs import InputError, Numbering, Run
from runs.formats import format_run, is_own, parse_runs, read_run, run_to_parquet, runs_from_parquet
from runs.run_file import RunFile

IDS = st.text(st.sampled_from("aé7#~𝄞"), min_size=1, max_size=4).filter(lambda id: id[0] != "#")
ROWS: dict[str, Any] = {
    "system": ["s", "s", "s"],
    "user": ["u", "u", "v"],
    "item": ["a", "b", "a"],
    "score": [2.0, 1.0, 2.0],
}


@st.composite
def written(draw: st.DrawFn) -> tuple[Run, Numbering, Numbering]:
    users = Numbering.of(draw(st.lists(IDS, min_size=1, max_size=5)))
    items = Numbering.of(draw(st.lists(IDS, min_size=1, max_size=6)))
    depth = len(items) + draw(st.integers(0, 2))
    lists = np.full((len(users), depth), -1, dtype=np.int32)
    for row in lists:
        listed = draw(st.permutations(range(len(items))))[: draw(st.integers(1, len(items)))]
        row[: len(listed)] = listed
    return Run(draw(IDS), lists), users, items


def columns_of(file: RunFile) -> list[list[Any]]:
    users, items = file.users.ids[file.user], file.items.ids[file.item]
    return [users.tolist(), items.tolist(), file.score.tolist()]


@given(written())
def test_parquet_says_what_lines_say(made: tuple[Run, Numbering, Numbering]) -> None:
    by_line = parse_runs(Path("a.run"), format_run(*made))[0]
    by_row = runs_from_parquet("a.parquet", run_to_parquet(*made))[0]
    assert by_row.system == by_line.system
    assert by_row.users.ids.tolist() == by_line.users.ids.tolist()
    assert by_row.items.ids.tolist() == by_line.items.ids.tolist()
    assert columns_of(by_row) == columns_of(by_line)


@given(written())
def test_a_run_comes_back(made: tuple[Run, Numbering, Numbering]) -> None:
    run, users, items = made
    file = runs_from_parquet("a.parquet", run_to_parquet(run, users, items))[0]
    assert np.array_equal(file.to_run(users, items, depth=run.depth).items, run.items)


def parquet_of(rows: Mapping[str, Any] | pd.DataFrame) -> bytes:
    stream = BytesIO()
    pd.DataFrame(rows).to_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "other",
    [
        {"user": [7, 7, 8], "score": [2, 1, 2]},
        {"item": pd.Categorical(["a", "b", "a"], categories=["z", "b", "a"])},
        {"score": np.array([2, 1, 2], dtype=np.float32), "more": [None, 1, 2]},
    ],
)
def test_columns_of_other_kinds_are_taken(other: dict[str, Any]) -> None:
    rows = ROWS | other
    expected = [[str(name) for name in rows["user"]], [*rows["item"]], [*rows["score"]]]
    assert columns_of(runs_from_parquet("a.parquet", parquet_of(rows))[0]) == expected


def test_a_run_is_known_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "als.run"
    path.write_bytes(parquet_of(ROWS))
    assert columns_of(read_run(path)) == [[*ROWS[name]] for name in ("user", "item", "score")]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"item": ["a", "a", "a"]}, "row 2: item a is duplicated for user u, first in row 1."),
        ({"user": ["u", None, "v"]}, "row 2: the user is missing."),
        (
            {"system": ["s", "s", "t"]},
            "row 3: the tag 't' after 's' in row 1",
        ),
        (
            {"item": ["a", "new york", "a"]},
            "row 2: no run can have the item 'new york': it has a space",
        ),
        ({"user": ["u", "u", ""]}, "row 3: no run can have the user '': it is empty."),
        ({"score": [2.0, 1.0, None]}, "row 3: the score is missing."),
        ({"user": [True, True, False]}, ": the column user must hold text or integers, found bool"),
        ({"item": [1.5, 2.5, 1.5]}, ": the column item must hold text or integers, found double."),
        ({"score": ["2", "1", "2"]}, ": the column score must hold numbers, found"),
    ],
)
def test_bad_rows_are_refused(change: dict[str, Any], finding: str) -> None:
    with pytest.raises(InputError, match=re.escape(finding)) as refused:
        runs_from_parquet("als.parquet", parquet_of(ROWS | change))[0]
    assert str(refused.value).startswith("als.parquet")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["user", "item", "score"], "found user, item, score."),
        (["system", "item", "score"], "found system, item, score."),
        (["system", "user", "item"], "found system, user, item."),
        (["system", "user", "user", "item", "score"], "found system, user, user, item, score."),
    ],
)
def test_columns_that_are_missing_or_duplicated_are_refused(names: list[str], found: str) -> None:
    stream = BytesIO()
    parquet.write_table(pa.table([pa.array(ROWS[name]) for name in names], names=names), stream)
    with pytest.raises(InputError, match=rf"has the columns system, user, item, score, {found}"):
        runs_from_parquet("als.parquet", stream.getvalue())[0]


def test_a_nested_column_is_refused_by_its_path() -> None:
    with pytest.raises(InputError, match=r"found system, user\.list\.element, item, score"):
        runs_from_parquet("als.parquet", parquet_of(ROWS | {"user": [["u"], ["u"], ["v"]]}))[0]


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 and more PAR1", parquet_of(ROWS)[:-20]])
def test_what_is_no_parquet_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"als\.parquet: not a Parquet file that can be read"):
        runs_from_parquet("als.parquet", content)[0]


def test_an_id_may_have_a_thousand_characters_and_no_more() -> None:
    run = runs_from_parquet("als.parquet", parquet_of(ROWS | {"item": ["x" * 1000, "b", "a"]}))[0]
    assert "x" * 1000 in run.items.ids
    with pytest.raises(InputError, match="at most 1,000 characters, found one of 1,001"):
        runs_from_parquet("als.parquet", parquet_of(ROWS | {"item": ["x" * 1001, "b", "a"]}))[0]


def test_more_rows_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.formats.BYTES_PER_ROW", 2**60)
    with pytest.raises(InputError, match=r"als\.parquet: it has 3 rows, which free memory cannot"):
        runs_from_parquet("als.parquet", parquet_of(ROWS))[0]


def test_a_score_that_is_not_a_number_is_refused() -> None:
    stream = BytesIO()
    scores = pa.array([2.0, float("nan"), float("nan")])
    parquet.write_table(pa.table({**ROWS, "score": scores}), stream)
    with pytest.raises(InputError, match=r"als\.parquet, row 2: the score is not a number\."):
        runs_from_parquet("als.parquet", stream.getvalue())[0]


def test_a_row_takes_100_bytes_of_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet_of(ROWS)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=300))
    assert len(runs_from_parquet("als.parquet", content)[0].user) == 3
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=299))
    with pytest.raises(InputError, match="it has 3 rows, which free memory cannot hold"):
        runs_from_parquet("als.parquet", content)[0]


def test_a_run_without_recommendations_has_no_row() -> None:
    nobody = Run("s", np.full((1, 2), -1, dtype=np.int32))
    content = run_to_parquet(nobody, Numbering.of("u"), Numbering.of("a"))
    with pytest.raises(
        InputError, match=r"als\.parquet: the file has no row with a recommendation"
    ):
        runs_from_parquet("als.parquet", content)[0]


def test_long_ids_are_written_once() -> None:
    """Two users have the same 1,500 items, whose ids have 1,000 characters: 1.5 MB in all."""
    items = Numbering.of([f"{number:01000}" for number in range(1500)])
    run = Run("s", np.tile(np.arange(1500, dtype=np.int32), (2, 1)))
    content = run_to_parquet(run, Numbering.of("uv"), items)
    (group,) = parquet.read_metadata(BytesIO(content)).to_dict()["row_groups"]
    sizes = {
        column["path_in_schema"]: column["total_uncompressed_size"] for column in group["columns"]
    }
    assert 1_500_000 < sizes["item"] < 1_600_000


@pytest.mark.parametrize(
    ("content", "own"),
    [
        (parquet_of(ROWS), True),
        (parquet_of({**ROWS, "more": [1, 2, 3]}), True),
        (parquet_of({name: ROWS[name] for name in ("system", "user", "item")}), False),
        (b"PAR1 and more PAR1", True),
    ],
)
def test_a_file_with_the_columns_of_a_run_is_ours_and_so_is_one_that_cannot_be_read(
    content: bytes, own: bool
) -> None:
    assert is_own(content) == own
