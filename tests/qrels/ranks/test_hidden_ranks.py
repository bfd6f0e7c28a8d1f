"""Hidden items and their ranks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from qrels.ranks.hidden_ranks import (
    MISS,
    HiddenRanks,
    hidden_from_parquet,
    hidden_to_parquet,
    ranks_from_parquet,
    ranks_to_parquet,
    read_hidden_ranks,
)
from runs import InputError, Numbering
from tests.hidden_example import events_of, golden_ranks, ranked_histories


@given(ranked_histories())
def test_tables_come_back_from_parquet(ranks: HiddenRanks) -> None:
    hidden = ranks.hidden
    rows = hidden_from_parquet(hidden_to_parquet(hidden), users=hidden.users, items=hidden.items)
    back = ranks_from_parquet(ranks_to_parquet(ranks), rows)
    for column in ("user", "item", "time"):
        np.testing.assert_array_equal(getattr(back.hidden, column), getattr(hidden, column))
    np.testing.assert_array_equal(back.rank_loo, ranks.rank_loo)
    np.testing.assert_array_equal(back.rank_lloo, ranks.rank_lloo)
    assert back.deepest == ranks.deepest


def test_ranks_of_other_rows_are_refused() -> None:
    with pytest.raises(InputError, match="as many as hidden items, 2, got 9 and 9"):
        ranks_from_parquet(ranks_to_parquet(golden_ranks()), events_of([(0, 1)], n_items=6))


def test_ranks_begin_at_1() -> None:
    hidden = golden_ranks().hidden
    with pytest.raises(InputError, match="begin at 1"):
        HiddenRanks(hidden, np.zeros(9, np.uint16), np.ones(9, np.uint16), 50)


@pytest.mark.parametrize("wrong", ["loo", "lloo"])
def test_either_kind_of_ranks_begins_at_1(wrong: str) -> None:
    hidden = golden_ranks().hidden
    ranks = {name: np.full(9, int(name != wrong), np.uint16) for name in ("loo", "lloo")}
    with pytest.raises(InputError, match="begin at 1, got 0"):
        HiddenRanks(hidden, ranks["loo"], ranks["lloo"], 50)


def test_a_miss_is_the_largest_number_of_two_bytes() -> None:
    assert np.iinfo(np.uint16).max == MISS


def test_who_came_first_has_no_past() -> None:
    events = events_of([(0, 1, 2), (), (3, 4)], n_items=6, times=[(1, 1, 2), (), (5, 6)])
    ranks = HiddenRanks(events, np.ones(5, np.uint16), np.ones(5, np.uint16), 50)
    assert len(ranks) == 5
    assert ranks.has_past.tolist() == [False, False, True, False, True]


ITEMS = Numbering.of(["a", "b", "z"])
HEADING = "user,item,time,rank_loo,rank_lloo\n"
YEAR_2000 = 946_684_800_000


def read(folder: Path, rows: str) -> HiddenRanks:
    path = folder / "ranks.csv"
    path.write_text(HEADING + rows)
    return read_hidden_ranks(path, items=ITEMS, first_year=1970)


def test_rows_are_sorted_and_unknown_items_are_added(tmp_path: Path) -> None:
    """Empty ranks, and those beyond 65535, are misses; whole numbers may have a decimal point."""
    ranks = read(tmp_path, "v,c,5,1,\nu,b,7,3.0,70000\nu,a,7,65535,2\nu,z,6,,1\n")
    hidden = ranks.hidden
    assert hidden.items.ids.tolist() == ["a", "b", "c", "z"]
    assert hidden.user.tolist() == [0, 0, 0, 1]
    assert hidden.item.tolist() == [3, 0, 1, 2]
    assert hidden.time.tolist() == [6, 7, 7, 5]
    assert ranks.rank_loo.tolist() == [MISS, 65535, 3, 1]
    assert ranks.rank_lloo.tolist() == [1, 2, MISS, MISS]
    assert ranks.deepest == 65534


@pytest.mark.parametrize("rank", ["0", "-1", "1.5", "0.5"])
def test_a_rank_is_a_whole_number_from_1(tmp_path: Path, rank: str) -> None:
    with pytest.raises(InputError, match=rf"row 2, column 'rank_lloo': a rank .*, got {rank}\."):
        read(tmp_path, f"u,a,5,1,1\nu,b,6,1,{rank}\n")


def test_what_is_no_number_is_no_rank(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="row 1, column 'rank_loo': a number must be given, got 'x'"
    ):
        read(tmp_path, "u,a,5,x,1\n")


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a heading but no hidden items"):
        read(tmp_path, "")


def test_events_may_stand_beside_in_a_file_of_their_own(tmp_path: Path) -> None:
    hidden = events_of([(0, 1), (2,)], n_items=3, times=[(YEAR_2000, YEAR_2000), (YEAR_2000,)])
    ranks = HiddenRanks(
        hidden, np.array([1, 2, 3], np.uint16), np.array([4, 5, 6], np.uint16), deepest=7
    )
    (tmp_path / "hidden.parquet").write_bytes(hidden_to_parquet(hidden))
    path = tmp_path / "als.parquet"
    path.write_bytes(ranks_to_parquet(ranks))
    back = read_hidden_ranks(path, items=hidden.items, first_year=None)
    assert back.rank_loo.tolist() == [1, 2, 3]
    assert back.rank_lloo.tolist() == [4, 5, 6]
    assert back.hidden.item.tolist() == [0, 1, 2]
    assert back.deepest == 7
    parquet.write_table(pa.table({"rank_loo": [1], "rank_lloo": [1]}), path)
    with pytest.raises(InputError, match=r"als\.parquet has 1 rows, and .*hidden\.parquet 3\."):
        read_hidden_ranks(path, items=hidden.items, first_year=None)
    parquet.write_table(pa.table({"rank_loo": [1, 1, 1], "rank_lloo": [1, 1, 1]}), path)
    assert read_hidden_ranks(path, items=hidden.items, first_year=None).deepest == 65534
    (tmp_path / "hidden.parquet").unlink()
    with pytest.raises(InputError, match="there is no column 'user'"):
        read_hidden_ranks(path, items=hidden.items, first_year=None)


def test_ranks_are_written_in_columns_of_two_bytes() -> None:
    table = parquet.read_table(pa.BufferReader(ranks_to_parquet(golden_ranks())))
    assert table.schema.names == ["rank_loo", "rank_lloo"]
    assert set(table.schema.types) == {pa.uint16()}
