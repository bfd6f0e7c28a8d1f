"""Reading of ratings at its bounds: times, repetitions, columns of numbers, parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_file import place_of
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.rating_table import RatingTable
from qrels.ratings.datasets.recognition import read_recognised
from qrels.ratings.datasets.split_files import read_two_parts
from runs import InputError, Numbering
from runs.tables.layouts import LAYOUTS
from runs.tables.roles import Role
from runs.tables.rows import MatrixRows
from runs.tables.source import LOOKED_AT, Source, open_source
from runs.tables.times import seconds_of_iso, whole_seconds
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
    assert seconds_of_iso("1970-01-02") == 86_400
    assert seconds_of_iso("1970-01-01T00:00:01.9+00:00") == 1
    assert seconds_of_iso("1969-12-31T23:59:58.1Z") == -2
    with pytest.raises(InputError, match="the time '2026-02-30' does not exist"):
        seconds_of_iso("2026-02-30")


def test_pairs_that_repeat_are_counted_and_the_last_is_kept() -> None:
    user, item = np.array([1, 0, 1, 1, 0], np.int32), np.array([2, 0, 2, 2, 2], np.int32)
    names, rating = Numbering.of("abc"), np.arange(5.0)
    table = RatingTable(names, names, user, item, rating, None)
    assert table.n_repeated == 2
    assert table.ratings().rating.tolist() == [1, 4, 3]
    timed = RatingTable(names, names, user, item, rating, np.array([9, 0, 9, 7, 0]))
    ratings = timed.ratings()
    assert ratings.rating.tolist() == [1, 4, 2]
    assert ratings.time is not None
    assert ratings.time.tolist() == [0, 0, 9]


def test_two_hundred_ratings_are_looked_at() -> None:
    """A comma in the 201st rating comes too late to be taken for a decimal sign."""
    assert LOOKED_AT == 200
    for n_before, decimal in ((199, ","), (200, ".")):
        lines = "".join(f"u{n};i;1\n" for n in range(n_before))
        source = Source("log.csv", f"user;item;rating\n{lines}a;b;1,5\n".encode())
        if decimal == ",":
            assert read_recognised(source, RatingOptions()).options.decimal == ","
        else:
            with pytest.raises(InputError, match="line 202: the rating must be a finite number"):
                read_recognised(source, RatingOptions())


def recognised(text: str, **said: Any) -> RatingOptions:
    return read_recognised(
        Source("log.csv", text.encode()), RatingOptions.model_validate(said)
    ).options


def test_columns_are_left_as_they_are_where_they_are_not_clear() -> None:
    """Two columns of numbers may both be the rating; one of names may be user or item."""
    with pytest.raises(InputError, match="cannot be told which column holds the ratings"):
        recognised("user,item,a,b\nx,y,1,2\n")
    assert recognised("user,item,a,b\nx,y,1,2\n", implicit=True).columns == {
        "user": "user",
        "item": "item",
    }
    assert recognised("user,item,colour\nx,y,red\n").columns == {"user": "user", "item": "item"}
    with pytest.raises(InputError, match="No column is known to hold the items"):
        recognised("user,a,b\nx,y,z\n")


def test_a_header_is_said_to_be_one_where_there_is_a_usual_name() -> None:
    assert recognised("1,2,3\n4,5,6\n").header is False
    assert recognised("user,item,3\nu,i,6\n").header is None


def test_options_have_the_defaults_that_are_stated() -> None:
    assert described(RatingOptions) == {
        **dict.fromkeys(("format", "columns", "separator", "header", "implicit", "dates"), "None"),
        "decimal": ".",
        "encoding": "utf-8",
        "missing": "error",
        "duplicates": "error",
        "events": "[]",
        "unrated": "[]",
    }
    assert [*RatingOptions().of_file] == [*RatingOptions.model_fields]


def test_places_of_a_matrix_begin_with_1() -> None:
    rows = MatrixRows(Source("m", b"2 9 0 4\n0 8 7 0\n"), LAYOUTS["coat"])
    places = {Role.USER: 0, Role.ITEM: 1, Role.RATING: 2}
    first, *_, last = rows.records(places)
    assert first == (1, {Role.USER: "1", Role.ITEM: "1", Role.RATING: "2"})
    assert last == (2, {Role.USER: "2", Role.ITEM: "3", Role.RATING: "7"})
    columns = rows.columns(places)
    assert columns[Role.ITEM].to_pylist() == ["1", "2", "4", "2", "3"]
    assert columns[Role.RATING].to_pylist() == [2.0, 9.0, 4.0, 8.0, 7.0]


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
    assert source.first_lines() == ["user,item"]
    with pytest.raises(InputError, match="the file is empty"):
        Source("a", b"\n\r\n").first_lines()
    (tmp_path / "a.csv").write_text("user,item,rating\na,x,1\n")
    assert len(read_ratings(str(tmp_path / "a.csv"))) == 1
