import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels.ratings.splits.global_time import Settings, global_time
from runs import InputError
from tests.qrels.ratings.splits.tables import Table, ratings_of, table_of, tables


@given(table=tables, cut=st.integers(0, 6))
def test_a_global_cut_is_the_first_second_of_the_test(table: Table, cut: int) -> None:
    times = list(table.values())
    if not min(times) < cut <= max(times):
        with pytest.raises(InputError, match="before and after its cut"):
            global_time(ratings_of(table), Settings(cut=cut), seed=1)
        return
    split = global_time(ratings_of(table), Settings(cut=cut, cold_users="keep"), seed=1)
    assert table_of(split.train) == {cell: time for cell, time in table.items() if time < cut}
    assert table_of(split.test) == {cell: time for cell, time in table.items() if time >= cut}


def test_a_global_share_keeps_equal_times_together() -> None:
    ratings = ratings_of({("ann", f"i{item}"): time for item, time in enumerate([1, 2, 3, 3, 3])})
    split = global_time(ratings, Settings(test_share=0.2), seed=1)
    assert sorted(table_of(split.test).values()) == [3, 3, 3]


def test_a_cut_in_time_replaces_the_share() -> None:
    assert Settings(cut=7).test_share is None


def test_a_fifth_is_the_default() -> None:
    assert Settings().test_share == 0.2


@pytest.mark.parametrize("options", [{"test_share": None}, {"cut": 1, "test_share": 0.2}])
def test_a_share_or_a_cut_is_needed(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="`test_share` or `cut`, and not both"):
        Settings.model_validate(options)
