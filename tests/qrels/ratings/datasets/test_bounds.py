"""Reading of ratings at its bounds: times, repetitions, columns of numbers, parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qrels.ratings.datasets import FORMATS, read_ratings
from qrels.ratings.datasets.fields import Table, from_iso, whole_seconds
from qrels.ratings.datasets.layouts import (
    LAYOUTS,
    FileOptions,
    adapted_layout,
    locate,
    positions_of,
    separator_hint,
)
from qrels.ratings.datasets.rating_tables import MatrixRows, format_rating_lines
from qrels.ratings.datasets.ratings_file import guess, place_of
from qrels.ratings.datasets.recognition import (
    LOOKED_AT,
    _holds_numbers,
    _in_order,
    _separator_of,
    recognise,
)
from qrels.ratings.datasets.source import Source, open_source
from qrels.ratings.datasets.split_files import read_two_parts
from runs import InputError, Numbering
from tests.described import described

LATEST, EARLIEST = 253_402_300_799, -62_135_596_800


@pytest.mark.parametrize(
    ("numbers", "seconds"),
    [
        ([LATEST, 0.0], [LATEST, 0]),
        ([EARLIEST, 5.9], [EARLIEST, 5]),
        ([LATEST + 1.0], [253_402_300]),
        ([EARLIEST - 1.0], [-62_135_597]),
        ([LATEST + 1.0, 1e10, 0.0], [253_402_300, 10_000_000, 0]),
        ([LATEST + 1.0, 1e10 - 1], None),
        ([LATEST * 1000.0 + 999], [LATEST]),
        ([LATEST * 1000.0 + 1000], [253_402_300]),
        ([1e18, 1e13 - 1], None),
        ([1e18], None),
        ([-1e13], [-10_000_000_000]),
    ],
)
def test_times_are_in_the_first_unit_in_which_all_make_sense(
    numbers: list[float], seconds: list[int] | None
) -> None:
    """From the year 1 to 9999; finer units from April 1970 on, ten million seconds."""
    found = whole_seconds(np.array(numbers))
    assert (None if found is None else found.tolist()) == seconds


def test_one_moment_is_read_down_to_seconds() -> None:
    assert from_iso("1970-01-02") == 86_400
    assert from_iso("1970-01-01T00:00:01.9+00:00") == 1
    assert from_iso("1969-12-31T23:59:58.1Z") == -2
    with pytest.raises(InputError, match="the time '2026-02-30' does not exist"):
        from_iso("2026-02-30")


def test_pairs_that_repeat_are_counted_and_the_last_is_kept() -> None:
    user, item = np.array([1, 0, 1, 1, 0], np.int32), np.array([2, 0, 2, 2, 2], np.int32)
    names, rating = Numbering.of("abc"), np.arange(5.0)
    table = Table(names, names, user, item, rating, None)
    assert table.n_repeated == 2
    assert table.ratings().rating.tolist() == [1, 4, 3]
    timed = Table(names, names, user, item, rating, np.array([9, 0, 9, 7, 0]))
    ratings = timed.ratings()
    assert ratings.rating.tolist() == [1, 4, 2]
    assert ratings.time is not None
    assert ratings.time.tolist() == [0, 0, 9]


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
    assert _holds_numbers(["1,5"] * n_numbers + ["odd"] * n_odd + ["", "NA"]) == holds


def test_a_column_without_values_holds_no_numbers() -> None:
    assert not _holds_numbers(["", "NA"])


@pytest.mark.parametrize(
    ("columns", "places"),
    [
        ([["a"], ["b"]], {"user": 0, "item": 1}),
        ([["a"], ["b"], ["3"]], {"user": 0, "item": 1, "rating": 2}),
        ([["a"], ["b"], ["3"], ["9"]], {"user": 0, "item": 1, "rating": 2, "time": 3}),
        ([["a"], ["b"], ["2024-01-01"]], {"user": 0, "item": 1, "time": 2}),
        ([["a"], ["b"], ["c"], ["9"]], {"user": 0, "item": 1}),
        ([["a"], ["b"], ["3"], ["x"]], {"user": 0, "item": 1, "rating": 2}),
    ],
)
def test_without_names_columns_are_user_item_rating_and_time(
    columns: list[list[str]], places: dict[str, int]
) -> None:
    assert _in_order(columns) == places


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("a,b", None),
        ("a,b,c", ","),
        ("a;b,c;d", ";"),
        ("a b c", " "),
        ("a|b|c", "|"),
        ("user,b", ","),
        ("a;b;c,Item", ","),
        ('"user";b', ";"),
        ("a::b::c", "::"),
    ],
)
def test_a_separator_parts_usual_names_or_three_fields(line: str, separator: str | None) -> None:
    assert _separator_of(line) == separator


def test_two_hundred_ratings_are_looked_at() -> None:
    """A comma in the 201st rating comes too late to be taken for a decimal sign."""
    assert LOOKED_AT == 200
    for n_before, decimal in ((199, ","), (200, ".")):
        lines = "".join(f"u{n};i;1\n" for n in range(n_before))
        source = Source("log.csv", f"user;item;rating\n{lines}a;b;1,5\n".encode())
        if decimal == ",":
            assert recognise(source, FileOptions()).options.decimal == ","
        else:
            with pytest.raises(InputError, match="line 202: the rating must be a finite number"):
                recognise(source, FileOptions())


def recognised(text: str, **said: Any) -> FileOptions:
    return recognise(Source("log.csv", text.encode()), FileOptions.model_validate(said)).options


def test_columns_are_left_as_they_are_where_they_are_not_clear() -> None:
    """Two columns of numbers may both be the rating; one of names may be user or item."""
    with pytest.raises(InputError, match="no column for the rating"):
        recognised("user,item,a,b\nx,y,1,2\n")
    assert recognised("user,item,a,b\nx,y,1,2\n", implicit=True).columns == {
        "user": "user",
        "item": "item",
    }
    assert recognised("user,item,colour\nx,y,red\n").columns == {"user": "user", "item": "item"}
    with pytest.raises(InputError, match="no column for the item"):
        recognised("user,a,b\nx,y,z\n")


def test_a_header_is_said_to_be_one_where_there_is_a_usual_name() -> None:
    assert recognised("1,2,3\n4,5,6\n").header is False
    assert recognised("user,item,3\nu,i,6\n").header is None


def test_formats_have_their_columns() -> None:
    assert (
        *("movielens-u.data", "movielens-dat", "movielens-csv", "csv", "tsv", "inter", "parquet"),
        *("yahoo-r3", "kuairec", "coat", "jester"),
    ) == FORMATS
    assert [LAYOUTS[name].is_matrix for name in ("csv", "coat", "jester")] == [False, True, True]


def fail(finding: str) -> InputError:
    return InputError(finding)


def test_columns_are_found_by_name_or_place() -> None:
    assert positions_of(("Ab", "c"), ["x", "aB", "C"]) == [1, 2]
    assert [positions_of(at, ["x", "y"]) for at in (0, 1, 2)] == [[0], [1], []]
    names = ["time", "ITEM", "user", "Stars"]
    assert locate(names, LAYOUTS["csv"], fail=fail) == {
        "user": 2,
        "item": 1,
        "rating": 3,
        "time": 0,
    }
    assert locate(["user", "item"], LAYOUTS["csv"], fail=fail) == {"user": 0, "item": 1}
    for names in (["user", "item", "x"], ["user", "rating"], ["item", "rating", "time"]):
        with pytest.raises(InputError, match="no column for the"):
            locate(names, LAYOUTS["csv"], fail=fail)


def test_another_separator_is_proposed_only_where_the_own_is_missing() -> None:
    comma = LAYOUTS["csv"]
    assert separator_hint("a;b|c", comma) == "; is the separator ';'?"
    assert separator_hint("a,b;c", comma) == "."
    assert separator_hint("abc", comma) == "."
    assert separator_hint("a;b", LAYOUTS["parquet"]) == "."


def test_options_have_the_defaults_that_are_stated() -> None:
    assert described(FileOptions) == {
        **dict.fromkeys(("format", "columns", "separator", "header", "implicit"), "None"),
        "decimal": ".",
        "missing": "error",
        "duplicates": "error",
    }
    assert [*FileOptions().of_file] == [*FileOptions.model_fields]


@pytest.mark.parametrize(
    ("format", "options", "finding"),
    [
        ("parquet", {"header": True}, "takes no `separator` and no `header`"),
        ("coat", {"header": True}, "takes no `columns` and no `header`"),
        ("coat", {"columns": {"user": 0, "item": 1}}, "takes no `columns` and no `header`"),
        ("csv", {"columns": {"user": -1, "item": 0}}, "numbered from 0, got -1 for the user"),
        ("csv", {"columns": {"usr": 1}}, "`columns` must be one of user, item, rating, time"),
        ("csv", {"separator": ""}, "`separator` must be one or more characters"),
        ("csv", {"separator": 'a"'}, "`separator` must be one or more characters"),
    ],
)
def test_options_that_do_not_fit_a_format_are_refused(
    format: str, options: dict[str, Any], finding: str
) -> None:
    with pytest.raises(InputError, match=finding):
        adapted_layout(format, FileOptions.model_validate(options))


def test_a_format_is_changed_as_it_is_told() -> None:
    layout = adapted_layout(
        "csv", FileOptions(columns={"user": 0, "item": 2}, separator="||", decimal=",")
    )
    assert (layout.columns, layout.header, layout.quoted) == ({"user": 0, "item": 2}, False, False)
    assert (layout.separator, layout.decimal, layout.optional) == ("||", ",", ())
    named = adapted_layout("csv", FileOptions(columns={"user": "a", "item": 2}, implicit=True))
    assert (named.header, named.quoted) == (True, True)
    assert adapted_layout("csv", FileOptions(implicit=True)).optional == ("time", "rating")
    assert adapted_layout("coat", FileOptions(separator=";")).separator == ";"


def test_places_of_a_matrix_begin_with_1() -> None:
    rows = MatrixRows(Source("m", b"2 9 0 4\n0 8 7 0\n"), LAYOUTS["coat"])
    assert rows.names() == ["1", "2", "3", "4"]
    assert rows.beginning(1) == [["2", "9", "0", "4"]]
    first, *_, last = rows.records()
    assert first == (1, {"user": "1", "item": "1", "rating": "2"})
    assert last == (2, {"user": "2", "item": "3", "rating": "7"})


@pytest.mark.parametrize(
    ("name", "line", "format"),
    [
        ("log", "1\t2\t3\t4", "movielens-u.data"),
        ("log", "1\t2\tx\t4", "tsv"),
        ("log", "1\t2\t3", "tsv"),
        ("log.tsv", "1,2", "tsv"),
        ("log", "a,b", "csv"),
        ("log.csv.gz", "a;b", "csv"),
        ("log.dat", "movieId,x,userId", "movielens-csv"),
        ("log.PQ", "", "parquet"),
        ("log", "PAR1", "parquet"),
    ],
)
def test_formats_are_guessed_by_ending_and_first_line(name: str, line: str, format: str) -> None:
    assert guess(Source(name, line.encode())) == format


def test_ratings_are_written_with_quotes_only_where_they_are_needed() -> None:
    names, number = Numbering.of(["a", "b"]), np.arange(2, dtype=np.int32)
    ratings = read_two_parts(
        Source("a.csv", b"user,item,rating\na,b,1\n"), Source("b.csv", b"user,item,rating\na,a,2\n")
    )
    assert format_rating_lines(ratings) == b"user,item,rating\na,a,2\na,b,1\n"
    assert names.ids[number].tolist() == ["a", "b"]


def part(text: str, name: str) -> Source:
    return Source(name, f"user,item,rating,time\n{text}".encode())


def test_two_parts_become_one_set_that_knows_what_is_held_out() -> None:
    ratings = read_two_parts(
        part("b,x,1,5\na,y,2,6\n", "train"), part("b,w,3,7\nc,x,4,8\n", "test"), format="csv"
    )
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    assert users.tolist() == ["a", "b", "b", "c"]
    assert items.tolist() == ["y", "w", "x", "x"]
    assert ratings.rating.tolist() == [2, 3, 1, 4]
    assert ratings.time is not None
    assert ratings.time.tolist() == [6, 7, 5, 8]
    assert ratings.held_out is not None
    assert ratings.held_out.tolist() == [False, True, False, True]
    timeless = Source("test", b"user,item,rating\nb,w,3\n")
    assert read_two_parts(part("b,x,1,5\n", "train"), timeless, format="csv").time is None


def test_a_pair_in_both_parts_is_refused_with_both_places() -> None:
    train, test = (
        part("a,x,1,1\na,y,1,1\nb,x,1,1\n", "train"),
        part("c,x,1,1\nb,x,1,1\na,y,1,1\n", "test"),
    )
    with pytest.raises(InputError) as refused:
        read_two_parts(train, test, format="csv")
    message = str(refused.value)
    assert message.startswith("test, line 4: user 'a' and item 'y' are in train, line 3, too.")
    assert message.endswith("Test ratings of this kind: 2.")
    assert place_of(train, "a", "y", format="csv") == "train, line 3"


def test_a_source_is_called_by_its_path_without_the_ending_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "Log.CSV.GZ"
    path.write_bytes(b"\n\nuser,item\n")
    source = open_source(path)
    assert (source.name, source.is_parquet) == ("log.csv", False)
    assert source.first_line() == "user,item"
    with pytest.raises(InputError, match="the file is empty"):
        Source("a", b"\n\r\n").first_line()
    (tmp_path / "a.csv").write_text("user,item,rating\na,x,1\n")
    assert len(read_ratings(str(tmp_path / "a.csv"))) == 1
