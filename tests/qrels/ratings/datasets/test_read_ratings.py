import gzip
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from qrels import Ratings
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_file import recognise_ratings
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.rating_table import RatingTable, _read_carefully, _read_whole
from qrels.ratings.datasets.recognition import read_recognised
from runs import InputError, InputWarning
from runs.tables.layouts import LAYOUTS
from runs.tables.roles import Role
from runs.tables.rows import DelimitedRows, NotPlain
from runs.tables.source import Source, open_source

SHARED = Path(__file__).parents[4].parent / "shared"
LATEST_SMALL = SHARED / "data" / "ml-latest-small"

# The same three ratings in every format: (user, item, rating, time).
TEXTS = {
    "movielens-u.data": ("u.data", "7\t50\t3\t20\n7\t6\t5\t10\n08\t50\t1\t-5\n"),
    "movielens-dat": ("ratings.dat", "7::50::3::20\n7::6::5::10\n08::50::1::-5\n"),
    "movielens-csv": (
        "ratings.csv",
        "userId,movieId,rating,timestamp\n7,50,3.0,20\n7,6,5.0,10\n08,50,1.0,-5\n",
    ),
    "csv": ("log.csv", "time,item,user,rating\n20,50,7,3\n10,6,7,5\n-5,50,08,1\n"),
    "tsv": ("log.tsv", "user\titem\trating\ttime\n7\t50\t3\t20\n7\t6\t5\t10\n08\t50\t1\t-5\n"),
    "inter": (
        "small.inter",
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
        "7\t50\t3\t20\n7\t6\t5\t10.0\n08\t50\t1\t-5\n",
    ),
}
THREE = [("08", "50", 1.0, -5), ("7", "50", 3.0, 20), ("7", "6", 5.0, 10)]

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def rows(ratings: Ratings) -> list[tuple[str, str, float, int | None]]:
    time = [None] * len(ratings) if ratings.time is None else ratings.time.tolist()
    users = ratings.users.ids[ratings.user].tolist()
    items = ratings.items.ids[ratings.item].tolist()
    return list(zip(users, items, ratings.rating.tolist(), time, strict=True))


def complaint(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_ratings(path, **options)
    return str(caught.value).replace(str(path), path.name)


def format_of(source: Source) -> str:
    return recognise_ratings(source, RatingOptions()).format


# Formats


@pytest.mark.parametrize("format", TEXTS)
def test_every_text_format_is_guessed_and_gives_the_same_ratings(format: str, write: Write) -> None:
    path = write(*TEXTS[format])
    assert format_of(open_source(path)) == format
    assert rows(read_ratings(path, format=format)) == THREE


@pytest.mark.parametrize("format", ["movielens-u.data", "movielens-dat", "movielens-csv", "inter"])
def test_a_format_is_guessed_from_the_content_alone(format: str, write: Write) -> None:
    assert format_of(open_source(write("renamed.txt", TEXTS[format][1]))) == format


@pytest.mark.parametrize("format", TEXTS)
def test_line_ends_of_windows_and_blank_lines_change_nothing(format: str, write: Write) -> None:
    name, text = TEXTS[format]
    assert rows(read_ratings(write(name, text.replace("\n", "\r\n")))) == THREE
    assert rows(read_ratings(write(name, "\n" + text.replace("\n", "\n\n").rstrip()))) == THREE


def test_gzip_is_read_in_place(write: Write) -> None:
    name, text = TEXTS["movielens-dat"]
    assert rows(read_ratings(write(f"{name}.gz", gzip.compress(text.encode())))) == THREE


def test_a_byte_order_mark_is_no_part_of_the_header(write: Write) -> None:
    name, text = TEXTS["movielens-csv"]
    assert rows(read_ratings(write(name, b"\xef\xbb\xbf" + text.encode()))) == THREE


def test_a_folder_as_downloaded_is_searched(write: Write) -> None:
    write("ml/README.txt", "Read me, first.")
    path = write("ml/ratings.dat", TEXTS["movielens-dat"][1])
    assert rows(read_ratings(path.parent)) == rows(read_ratings(path.parents[1])) == THREE


def test_a_zip_as_downloaded_is_read_in_place(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ml-100k.zip", "w") as archive:
        archive.writestr("ml-100k/u.item", "1|Toy Story (1995)")
        archive.writestr("ml-100k/u.data", TEXTS["movielens-u.data"][1])
    assert rows(read_ratings(tmp_path / "ml-100k.zip")) == THREE
    assert format_of(open_source(tmp_path / "ml-100k.zip")) == "movielens-u.data"


def test_columns_may_be_numbered_and_then_there_is_no_header(write: Write) -> None:
    path = write("log.csv", "4.5;ann;007\n3;bob;7\n")
    columns = {"rating": 0, "user": 1, "item": 2}
    ratings = read_ratings(path, format="csv", columns=columns, separator=";")
    assert rows(ratings) == [("ann", "007", 4.5, None), ("bob", "7", 3.0, None)]


def test_times_are_rounded_down_to_seconds(write: Write) -> None:
    path = write("log.csv", "user,item,rating,time\na,x,1,10.9\na,y,1,-0.5\n")
    assert [time for *_, time in rows(read_ratings(path))] == [10, -1]


def test_fields_of_csv_may_be_quoted(write: Write) -> None:
    text = 'user,title,item,rating\n"ann","A ""b"", c\nd","x,1","4"\n'
    assert rows(read_ratings(write("log.csv", text))) == [("ann", "x,1", 4.0, None)]


def test_quotes_mean_nothing_in_movielens_dat(write: Write) -> None:
    assert rows(read_ratings(write("ratings.dat", '"a::x::1::0\n')))[0][0] == '"a'


# Ids, times, numbers


@pytest.mark.parametrize("id", ["a,b", "日本 🎬", "a ", "x" * 1000])
def test_ids_may_be_anything_up_to_a_thousand_characters(id: str, write: Write) -> None:
    path = write("log.csv", f'user,item,rating\n"{id}",x,1\nann,"{id}",2\n')
    # Blanks around an id are no part of it: no TREC file could carry them.
    name = id.strip()
    assert [row[:2] for row in rows(read_ratings(path))] == sorted([(name, "x"), ("ann", name)])


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["1970-01-02", "1969-12-31"], [86400, -86400]),
        (["1970-01-01T00:00:10Z", "1970-01-01T01:00:10+01:00"], [10, 10]),
        (["1970-01-01T00:00:10.123456789", "1970-01-01T02:00:00+0200"], [10, 0]),
        (["1600000000000", "1600000001999"], [1600000000, 1600000001]),
        (["1600000000000000", "0"], [1600000000, 0]),
    ],
)
def test_times_are_seconds_finer_units_or_iso_dates(
    texts: list[str], seconds: list[int], write: Write
) -> None:
    lines = "".join(f"a,{number},1,{text}\n" for number, text in enumerate(texts))
    ratings = read_ratings(write("log.csv", "user,item,rating,time\n" + lines))
    assert [time for *_, time in rows(ratings)] == seconds


def test_numbers_may_have_a_decimal_comma(write: Write) -> None:
    path = write("log.csv", "user;item;rating;time\na;x;73,5;10,9\na;y;8;0\n")
    ratings = read_ratings(path, separator=";", decimal=",")
    assert rows(ratings) == [("a", "x", 73.5, 10), ("a", "y", 8.0, 0)]


GAPS = "user,item,rating,time\na,x,4,1\n,x,4,1\na,y,NA,1\nb,,4,1\nNA,z,5,2\nb,x,3,\n"


@pytest.mark.parametrize("spoiled", [False, True])
def test_ratings_that_miss_a_value_are_left_out_and_counted(spoiled: bool, write: Write) -> None:
    # A quote in the file makes the reader read line by line.
    text = GAPS.replace("a,x", '"a",x') if spoiled else GAPS
    with pytest.warns(InputWarning, match=r"log\.csv: 4 of 6 ratings are left out"):
        ratings = read_ratings(write("log.csv", text), missing="drop")
    assert rows(ratings) == [("NA", "z", 5.0, 2), ("a", "x", 4.0, 1)]
    assert ratings.users.ids.tolist() == ["NA", "a"]


@pytest.mark.parametrize("text", ["NAN", "-nan", "inf", "1e999"])
def test_what_only_some_parsers_take_for_no_number_is_refused(text: str, write: Write) -> None:
    path = write("log.csv", f"user,item,rating\na,x,1\nb,x,{text}\n")
    assert f"line 3: the rating must be a finite number, got '{text}'" in complaint(
        path, missing="drop"
    )


def test_null_and_nan_of_parquet_are_missing(tmp_path: Path) -> None:
    columns = {"user": ["a", None, "b"], "item": [1, 2, 3], "rating": [1.0, 2.0, float("nan")]}
    with pytest.warns(InputWarning, match="2 of 3 ratings are left out"):
        assert len(read_ratings(write_parquet(tmp_path, **columns), missing="drop")) == 1


def test_a_header_of_users_items_and_times_alone_says_that_nothing_is_rated(write: Write) -> None:
    text = "user_id:token\titem_id:token\ttimestamp:float\n7\t50\t20\n"
    assert rows(read_ratings(write("small.inter", text))) == [("7", "50", 1.0, 20)]


def test_an_implicit_file_may_have_other_columns(write: Write) -> None:
    path = write("log.csv", "user,item,colour\na,x,3\n")
    assert rows(read_ratings(path, implicit=True)) == [("a", "x", 1.0, None)]


LOG = "event,user,item,time\nview,a,x,1\nbuy,a,y,2\nview,b,x,3\nbuy,b,x,4\nview,b,x,5\n"


def test_events_may_be_chosen_and_others_are_dropped(write: Write) -> None:
    path = write("log.csv", LOG)
    assert rows(read_ratings(path, events=["buy"])) == [("a", "y", 1.0, 2), ("b", "x", 1.0, 4)]
    with pytest.warns(InputWarning, match="2 of 5 lines are of pairs that come again"):
        every = read_ratings(path, duplicates="last")
    assert rows(every) == [("a", "x", 1.0, 1), ("a", "y", 1.0, 2), ("b", "x", 1.0, 5)]


def test_repeated_pairs_of_chosen_events_are_named_with_their_line(write: Write) -> None:
    path = write("log.csv", LOG)
    assert "line 6: user 'b' rates item 'x' a second time" in complaint(path, events=["view"])


def test_an_event_that_no_line_has_is_refused(write: Write) -> None:
    path = write("log.csv", LOG)
    assert "of the events ['cart']; there are buy, view" in complaint(path, events=["cart"])
    bare = write("bare.csv", "user,item\na,x\n")
    assert "`--column event=NAME`" in complaint(bare, events=["buy"])


def test_that_events_count_alike_is_said_only_where_there_are_several() -> None:
    def notes(text: str) -> str:
        return " ".join(read_recognised(Source("log.csv", text.encode()), RatingOptions()).notes)

    assert "view (60%), buy (40%) of the first 5 events" in notes(LOG)
    assert "`--event buy`" in notes(LOG)
    assert "whatever" not in notes("user,item,event\na,x,\nb,y,\n")
    assert "whatever" not in notes("user,item,event\na,x,buy\nb,y,buy\n")


def test_lists_of_items_and_of_ratings_are_read_in_one_order(write: Write) -> None:
    path = write("lists.csv", "user;items;ratings\na;7,8,9;1,2,3\nb;9,7;5,4\n")
    pairs = [(user, item, rating) for user, item, rating, _ in rows(read_ratings(path))]
    assert pairs == [("a", "7", 1), ("a", "8", 2), ("a", "9", 3), ("b", "7", 4), ("b", "9", 5)]
    shorter = write("shorter.csv", "user;items;ratings\na;7,8,9;1,2\nb;9,7;5,4\n")
    assert "user 'a' has 3 items in a list, but 2 ratings" in complaint(shorter)


def test_arrow_and_json_hold_what_a_text_holds(tmp_path: Path, write: Write) -> None:
    text = write("text.csv", "user,item,rating\n1,7,3\n1,8,4\n2,7,5\n")
    records = [("1", 7, 3.0), ("1", 8, 4.0), ("2", 7, 5.0)]
    named = [dict(zip(("user", "item", "rating"), record, strict=True)) for record in records]
    feather.write_feather(pa.Table.from_pylist(named), tmp_path / "r.feather")
    lines = write("r.jsonl", "\n".join(map(json.dumps, named)))
    whole = write("r.json", json.dumps(named, indent=1))
    for path in (tmp_path / "r.feather", lines, whole):
        assert rows(read_ratings(path)) == rows(read_ratings(text))


def test_broken_json_is_named(write: Write) -> None:
    assert "not a JSON file that can be read" in complaint(write("r.json", '{"user": 1, '))
    nested = write("deep.json", '{"user":' * 100_000)
    assert "not a JSON file that can be read" in complaint(nested)


def test_a_column_of_no_times_is_not_read_and_that_is_said(write: Write) -> None:
    path = write("log.csv", "user,item,rating,time\na,x,1,noon\n")
    with pytest.warns(InputWarning, match="the column 'time' is not read: 'noon' is no time"):
        assert rows(read_ratings(path)) == [("a", "x", 1.0, None)]


# Parquet


def write_parquet(folder: Path, **columns: object) -> Path:
    path = folder / "log.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_holds_numbers_or_text_as_ids(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path,
        user=pa.array(["7", "7", "08"]).dictionary_encode(),
        item=pa.array([50, 6, 50], pa.int32()),
        rating=pa.array([3.0, 5.0, 1.0], pa.float32()),
        time=[20, 10, -5],
    )
    assert rows(read_ratings(path)) == THREE


def test_timestamps_of_parquet_become_seconds_rounded_down(tmp_path: Path) -> None:
    times = [datetime(1970, 1, 2, 0, 0, 0, 9, UTC), datetime(1969, 12, 31, 23, 59, 59, 1, UTC)]
    for unit in ("us", "ns"):
        column = pa.array(times, pa.timestamp(unit, tz="Europe/Paris"))
        path = write_parquet(tmp_path, user=["a", "b"], item=["x", "y"], rating=[1, 2], time=column)
        assert [time for *_, time in rows(read_ratings(path))] == [86400, -1]


@pytest.mark.parametrize(
    ("columns", "finding"),
    [
        ({"user": ["a", None]}, "row 2: an id must not be empty; missing='drop' leaves such"),
        ({"time": [1, None]}, "row 2: the time must be a number of seconds or milliseconds"),
        ({"user": ["a", "a"], "item": [1, 1]}, "row 2: user 'a' rates item '1' a second time, "
         "after row 1"),
        ({"rating": [True, False]}, "the rating column must hold numbers, found bool."),
    ],
)  # fmt: skip
def test_a_fault_of_parquet_is_found(
    columns: dict[str, list[object]], finding: str, tmp_path: Path
) -> None:
    good = {"user": ["a", "b"], "item": [1, 2], "rating": [1.0, 2.0], "time": [1, 2]}
    assert finding in complaint(write_parquet(tmp_path, **(good | columns)))


def test_a_broken_parquet_file_is_named(write: Write) -> None:
    assert complaint(write("log.parquet", b"PAR1 no more")).startswith(
        "log.parquet: not a Parquet file that can be read"
    )


# Faults


@pytest.mark.parametrize(
    ("name", "text", "complaint_expected"),
    [
        ("log.csv", "", "log.csv: the file is empty."),
        ("log.csv", "user,item,rating\n", "log.csv: there are no ratings in the file."),
        (
            "log.csv",
            "user,item,rating\na,x,1\na,y\n",
            "log.csv, line 3: 3 fields between ',' expected, found 2.",
        ),
        (
            "ratings.csv",
            "userId,movieId,ratngs\n1,2,3\n",
            "ratings.csv: The column 'ratngs' may be the rating: name it, `--column "
            "rating=ratngs`.",
        ),
        (
            "log.csv",
            "user,item,item,rating\na,x,x,1\n",
            "log.csv: Several columns may be the item: 'item', 'item'.",
        ),
        (
            "log.csv",
            'user,item,rating\na,"x,1\n',
            "log.csv, line 2: the line is not valid CSV (unexpected end of data); is a q",
        ),
        ("ratings.dat", "a::\0x::1::0\n", "line 1: an id must have no NUL, got '\\x00x'."),
        ("log.csv", f"user,item,rating\na,{'x' * 1001},1\n", "log.csv, line 2: an id must have at "
         "most 1,000 characters, found one of 1,001"),
        ("log.csv", "user,item,rating,time\na,x,1,60\na,y,1,1600000000000\n", "log.csv, line 3: "
         "times must all be in seconds, or all in milli- or microseconds, since 1970 and before "
         "the year 10000, got 1600000000000."),
        ("log.csv", "user,item,rating,note\na,x,,fine\n", "log.csv, line 2: the rating must be a "
         "finite number, got ''. missing='drop' leaves such ratings out."),
        ("log.csv", "user,item,a,b\na,x,3,4\n", "It cannot be told which column holds the "
         "ratings: 'a' (3), 'b' (4). Name it: `--column rating=NAME`, or, for "
        "amounts such as quantities, `--column count=NAME`; if nothing is rated: "
         "`--implicit`."),
        ("log.csv", "user,item,rating\na,x,1\n\nb,x,1\na,x,2\n", "log.csv, line 5: user 'a' rates "
         "item 'x' a second time, after line 2; duplicates='last' keeps the last, 'sum' "
         "adds amounts up."),
        ("log.txt", "a\nb\n", "log.txt, line 1: the separator cannot be recognised from 'a'; give "
         "it: `--separator`, or `separator` in [ratings]."),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_place_rule_and_value(
    name: str, text: str, complaint_expected: str, write: Write
) -> None:
    assert complaint_expected in complaint(write(name, text))


@pytest.mark.parametrize("rating", ["1_0", "inf", "1e999", "٣"])
def test_a_rating_must_be_a_finite_number_in_plain_digits(rating: str, write: Write) -> None:
    path = write("ratings.dat", f"1::1::4::0\n1::2::{rating}::0\n")
    expected = f"ratings.dat, line 2: the rating must be a finite number, got {rating!r}."
    assert complaint(path, format="movielens-dat").startswith(expected)


@pytest.mark.parametrize("rating", ["+4", "40E-1", "004"])
def test_ordinary_notations_of_a_number_are_read(rating: str, write: Write) -> None:
    assert rows(read_ratings(write("ratings.dat", f"1::1::{rating}::0\n")))[0][2] == 4.0


def test_bytes_that_are_not_utf8_are_placed(write: Write) -> None:
    path = write("log.csv", b"user,item,rating\na,x,1\na,\xe9,1\n")
    assert "log.csv, line 3: byte 3 of the line, 0xE9, is not UTF-8." in complaint(path)


@pytest.mark.slow
def test_the_first_fault_of_a_long_file_is_told(write: Write) -> None:
    lines = [f"{number}::1::5::0\n" for number in range(1, 50_001)]
    lines[40_000] = "x::1::five::0\n"
    lines[45_000] = "x::1::six::0\n"
    assert "line 40001: the rating" in complaint(write("ratings.dat", "".join(lines)))


def test_a_wrong_format_shows_what_the_line_holds(write: Write) -> None:
    path = write("ratings.csv", TEXTS["movielens-csv"][1])
    assert complaint(path, format="movielens-dat") == (
        "ratings.csv, line 1: 4 fields between '::' expected, found 1; is the separator ','?"
    )


def test_a_guessed_format_is_told_when_reading_fails(write: Write) -> None:
    path = write("log.csv", "user,item,rating\na,x,many\n")
    assert complaint(path).endswith(" (The format 'csv' was recognised.)")
    assert not complaint(path, format="csv").endswith("recognised.)")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.csv") == "none.csv: there is no such file or folder."


def test_a_folder_without_ratings_says_what_was_looked_for(write: Write) -> None:
    folder = write("ml/README.txt", "none").parent
    assert complaint(folder) == (
        "ml: no ratings file inside; looked for u.data, ratings.dat, ratings.csv, "
        "ratings.parquet, *.inter."
    )


def test_a_folder_with_several_ratings_files_names_them(write: Write) -> None:
    write("ml/ratings.dat", "")
    folder = write("ml/ratings.csv", "").parent
    assert complaint(folder) == (
        "ml: several ratings files inside, give one: ratings.csv, ratings.dat."
    )


def test_a_member_of_a_zip_is_named_behind_the_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("ml/ratings.dat", "1::1::bad::0\n")
    assert complaint(tmp_path / "ml.zip").startswith("ml.zip/ml/ratings.dat, line 1: the rating")


def test_a_cut_off_gzip_file_is_refused(write: Write) -> None:
    path = write("ratings.dat.gz", gzip.compress(b"1::1::1::1\n")[:-9])
    assert complaint(path).startswith("ratings.dat.gz: cannot be read (")


# Memory


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave too little for thirty ratings."""
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=3000))


MUCH = TEXTS["movielens-dat"][1].encode() * 30


@pytest.mark.usefixtures("little_memory")
def test_a_zip_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml/ratings.dat", MUCH)
    unpack, unpacked = zipfile.ZipExtFile.read, []

    def read(stream: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        unpacked.append(n)
        return unpack(stream, n)

    monkeypatch.setattr("zipfile.ZipExtFile.read", read)
    assert complaint(tmp_path / "ml.zip").startswith("ml.zip/ml/ratings.dat: a file may have")
    assert unpacked == []


@pytest.mark.usefixtures("little_memory")
def test_a_gzip_file_is_refused_before_it_is_unpacked(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("ratings.dat.gz", gzip.compress(MUCH))
    monkeypatch.delattr("gzip.open")
    assert complaint(path).startswith("ratings.dat.gz: a file may have")


@pytest.mark.usefixtures("little_memory")
def test_a_gzip_file_of_two_parts_is_refused_while_it_is_unpacked(write: Write) -> None:
    path = write("ratings.dat.gz", gzip.compress(MUCH) + gzip.compress(b"1::1::1::1\n"))
    assert complaint(path).startswith("ratings.dat.gz: a file may have")


def test_a_file_at_which_memory_runs_out_is_named_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object) -> bytes:
        raise MemoryError

    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml/ratings.dat", MUCH)
    monkeypatch.setattr("zipfile.ZipExtFile.read", run_out)
    text = complaint(tmp_path / "ml.zip")
    assert text.startswith("ml.zip/ml/ratings.dat: memory ran out")
    assert "may have at most" in text


# Options


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ({"format": "movielens-dta"}, "got 'movielens-dta'; did you mean 'movielens-dat'?"),
        ({"columns": {"usr": 0}}, "no column of ratings is called 'usr'; did you mean 'user'?"),
        ({"columns": {"user": 0, "item": 0, "rating": 2}}, "`columns` must be different"),
        ({"columns": {"user": 0, "item": 1, "rating": 7}}, "no column 7 for the rating: there are "
         "4, counted from 0."),
        ({"columns": {"user": "usr"}}, "no column is called 'usr'; did you mean 'user'?"),
        ({"format": "parquet", "separator": ","}, "a table in columns, such as Parquet, takes no"),
    ],
)  # fmt: skip
def test_options_that_contradict_are_refused(
    options: dict[str, object], finding: str, write: Write
) -> None:
    assert finding in complaint(write(*TEXTS["csv"]), **options)


# Duplicates

TWICE = "user,item,rating,time\na,x,1,20\nb,y,5,0\na,x,2,30\na,x,3,30\na,x,4,10\n"


def test_of_duplicates_the_last_in_time_then_in_the_file_is_kept(write: Write) -> None:
    path = write("log.csv", TWICE)
    with pytest.warns(InputWarning, match="3 of 5 lines are of pairs that come again"):
        ratings = read_ratings(path, duplicates="last")
    assert rows(ratings) == [("a", "x", 3.0, 30), ("b", "y", 5.0, 0)]


# The two roads

good_lines = st.tuples(
    st.sampled_from(["a", "7", "é"]), st.sampled_from(["x", "07"]), st.just("4.5"), st.just("9")
).map(",".join)
oddities = st.sampled_from(
    ["", ",", "::", ":", "\n", "\r\n", "\r", "\x1f", "\0", " ", "#", '"', "1", "nan", "\ufeff"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Good lines with two odd pieces somewhere."""
    text = "\n".join(draw(st.lists(good_lines, min_size=1, max_size=4)))
    for _ in range(2):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(oddities) + text[place:]
    return text


def contents(table: RatingTable) -> list[tuple[object, ...]]:
    users, items = table.users.ids[table.user], table.items.ids[table.item]
    columns = [users, items, table.rating, table.time]
    return list(zip(*(column.tolist() for column in columns if column is not None), strict=True))


PLACES = {Role.USER: 0, Role.ITEM: 1, Role.RATING: 2, Role.TIME: 3}


@given(texts(), st.sampled_from(["csv", "movielens-dat"]))
def test_what_is_read_fast_is_what_is_read_carefully(text: str, format: str) -> None:
    if format == "csv":
        data = f"user,item,rating,time\n{text}"
    else:
        data = f"a::x::1::2\n{text.replace(',', '::')}"
    lines = DelimitedRows(Source("log", data.encode()), LAYOUTS[format])
    options = RatingOptions()
    try:
        fast = contents(_read_whole(lines, PLACES, options, complete=True))
    except NotPlain:
        return
    careful = _read_carefully(lines, PLACES, options, unique=False, complete=True)
    assert fast == contents(careful)


def test_the_fast_road_is_taken_for_plain_text(write: Write) -> None:
    for format, (name, text) in TEXTS.items():
        DelimitedRows(Source(name, text.encode()), LAYOUTS[format]).columns(PLACES)


# Real ratings

real = pytest.mark.skipif(not LATEST_SMALL.exists(), reason=f"{LATEST_SMALL} is not there")


@pytest.mark.slow
@real
def test_movielens_latest_small_has_its_published_size() -> None:
    ratings = read_ratings(LATEST_SMALL)
    assert (len(ratings.users), len(ratings.items), len(ratings)) == (610, 9724, 100836)
