from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.rates import OverTime
from analyses.online.tables.rate_table import RateRow, average, read_rate_tables
from runs import InputError
from tests.analyses.online.tables.tables import RATES, write

PERIODS = (
    "arm,period,rate,users,recommendations,accepted\n"
    "a,1,0.1,30,100,10\n"
    "a,2,0.3,10,900,270\n"
    "b,1,0.2,5,10,2\n"
)


def rates(path: Path, over_time: OverTime = "thesis") -> dict[str, float]:
    (table,) = read_rate_tables(path, over_time=over_time)
    return dict(table.rates)


def test_a_plain_table_is_taken_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", RATES)
    assert rates(path) == {"a": 0.01, "b": 0.02, "c": 0.03}


def test_a_rate_may_be_known_without_error(tmp_path: Path) -> None:
    (table,) = read_rate_tables(write(tmp_path, "rates.csv", "model,rate,error\na,0.1,0\n"))
    assert table.errors == {"a": 0.0}


def test_periods_weigh_as_much_as_their_users(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", PERIODS)
    assert rates(path) == pytest.approx({"a": (30 * 0.1 + 10 * 0.3) / 40, "b": 0.2})


def test_periods_of_unknown_users_weigh_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", "model,period,rate\na,1,0.1\na,2,0.3\n")
    assert rates(path) == pytest.approx({"a": 0.2})


def test_pooled_rates_are_all_accepted_over_all_recommendations(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", PERIODS)
    assert rates(path, "pooled") == pytest.approx({"a": 280 / 1000, "b": 0.2})


def test_counts_may_stand_for_the_rate(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", "model,recommendations,accepted\na,200,3\n")
    assert rates(path) == {"a": 3 / 200}


@given(st.floats(0, 1), st.lists(st.integers(1, 1000), min_size=1, max_size=6))
def test_a_rate_that_never_changes_is_the_mean(rate: float, users: list[int]) -> None:
    rows = [RateRow(1, rate, weight, 0, 0) for weight in users]
    assert average(rows, over_time="thesis")[0] == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "rates.csv: the file is empty."),
        ("model,rate\n", "line 1: the table has a heading but no rates."),
        ("rate,model\n0.1,a\n", "line 1: the first column must be model or arm or system, found"),
        ("model,rate,user\na,0.1,5\n", "no column 'user'; did you mean 'users'?"),
        ("model,users\na,5\n", "line 1: a column rate is needed, or both recommendations and"),
        ("model,rate\na,0.1\na,0.2\n", "line 3: model 'a' has a second rate, after line 2; peri"),
        ("model,rate,period\na,0.1,1\na,1,1\n", "a second rate, after line 2 for period '1'."),
        ("model,rate\na,high\n", "line 2: column 'rate': a number expected, found 'high'."),
        ("model,rate,users\na,0.1,0\n", "column 'users': a whole number from 1 expected, found"),
        ("model,recommendations,accepted\na,5,6\n", "6 recommendations were accepted, of 5."),
        ("model,recommendations,accepted\na,5,-1\n", "a whole number from 0 expected, found '-1'"),
        ("model,rate,error\na,0.1,-1\n", "line 2: column 'error': at least 0 expected, found -1."),
        ("model,rate,experiment\na,0.1,\n", "line 2: column 'experiment': a name is missing."),
    ],
)
def test_a_mistake_is_answered_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, "rates.csv", text)
    with pytest.raises(InputError) as error:
        read_rate_tables(path)
    assert str(error.value).startswith(str(path))
    assert sentence in str(error.value)


def test_pooling_needs_counts(tmp_path: Path) -> None:
    path = write(tmp_path, "rates.csv", RATES)
    with pytest.raises(InputError, match="line 1: pooled rates need the columns recommendations"):
        read_rate_tables(path, over_time="pooled")
