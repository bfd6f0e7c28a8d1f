"""What a column can hold, judged by some of its values."""

import pytest

from runs.tables.values import Sample, date_orders, is_date, is_number


@pytest.mark.parametrize("text", ["1", "-2.5", "+4e-3", ".5", "3,75", "007"])
def test_numbers_may_have_a_decimal_comma(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "1_0", "nan", "inf", "4/5", "1.2.3", "٣", " 1"])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert not is_number(text)


@pytest.mark.parametrize(
    "text",
    ["2026-11-22", "2026-11-22T09:30:00Z", "01.01.2025 00:01", "11/22/2026", "1-2-2026 9:05"],
)
def test_dates_of_iso_and_of_shops(text: str) -> None:
    assert is_date(text)


@pytest.mark.parametrize("text", ["22 May", "2026", "1.2/2026", "1.2.26"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert not is_date(text)


@pytest.mark.parametrize(
    ("n_numbers", "n_odd", "holds"),
    [
        (2, 1, True),
        (1, 1, False),
        (0, 1, False),
        (18, 2, True),
        (17, 2, False),
        (27, 3, True),
        (26, 3, False),
    ],
)
def test_one_or_a_tenth_of_a_column_of_numbers_may_be_odd(
    n_numbers: int, n_odd: int, holds: bool
) -> None:
    assert Sample(["1,5"] * n_numbers + ["odd"] * n_odd + ["", "NA"]).is_numeric == holds


def test_a_column_without_values_holds_nothing() -> None:
    empty = Sample(["", "NA"])
    holds = [empty.is_numeric, empty.is_whole, empty.is_date, empty.is_unix_time, empty.is_time]
    holds += [empty.is_index, empty.is_list, empty.has_repeats]
    assert holds == [False] * len(holds)


@pytest.mark.parametrize(
    ("values", "is_moment"),
    [
        (["1444040000", "1593898068.378"], True),
        (["1444040000000"], True),
        (["1444040000000000"], True),
        (["631152000", "2208988800"], True),
        (["631151999"], False),
        (["2208988801"], False),
        (["5", "4"], False),
        (["1444040000", "5"], False),
    ],
)
def test_moments_are_from_1990_to_2040(values: list[str], is_moment: bool) -> None:
    assert Sample(values).is_unix_time == is_moment


@pytest.mark.parametrize(
    ("values", "counts_rows"),
    [
        (["0", "1", "2"], True),
        (["1", "2", "3"], True),
        (["2", "3", "4"], False),
        (["0", "2", "1"], False),
        (["0"], False),
        (["0", "1", "x"], False),
    ],
)
def test_an_index_counts_the_rows(values: list[str], counts_rows: bool) -> None:
    assert Sample(values).is_index == counts_rows


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        (["h1 h2", "h3 h4 h5"], True),
        (["1,2", "3"], False),
        (["1,2", "3,4", "5"], True),
        (["[12, 13]"], True),
        (["Toy Story 2", "The Matrix"], False),
        (["a b", "c d"], False),
    ],
)
def test_several_ids_in_a_field_are_told_from_titles(values: list[str], holds: bool) -> None:
    assert Sample(values).is_list == holds


def test_the_first_three_values_that_differ_are_shown() -> None:
    assert Sample(["a", "", "a", "b", "NA", "c", "d"]).examples == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("texts", "orders"),
    [
        (["01.02.2026"], {"dmy", "mdy"}),
        (["13.02.2026", "01.02.2026"], {"dmy"}),
        (["02/13/2026"], {"mdy"}),
        (["13/13/2026"], set()),
        (["2026-01-01"], {"dmy", "mdy"}),
    ],
)
def test_the_order_of_a_date_is_that_in_which_it_exists(texts: list[str], orders: set[str]) -> None:
    assert date_orders(texts) == orders
