"""Readers of ratings: matrices, lines, split files, and what a file seems to be."""

import re
from pathlib import Path

import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.recognition import RecognisedRatings, read_recognised
from qrels.ratings.datasets.split_files import find_split_files
from runs import InputError, InputWarning, Numbering
from runs.tables.source import Source

COAT = "0 0 4 \n5 0 0\n\n0 0 0\n1 2 3\n"
JESTER = "2,99,-8.5,0\n1,99,99,3.25\n0,99,99,99\n"
KUAIREC = (
    "user_id,video_id,play_duration,video_duration,time,date,timestamp,watch_ratio\n"
    "14,148,4381,6067,2020-07-05 05:27:48.378,20200705,1593898068.378,0.7221\n"
    "14,183,11635,6100,,,,1.9074\n"
)
YAHOO = "1\t268\t5\n1\t57\t2\n"


def rows(ratings: Ratings) -> list[tuple[str, str, float]]:
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    columns = (users.tolist(), items.tolist(), ratings.rating.tolist())
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        (
            "coat",
            COAT,
            [("1", "3", 4.0), ("2", "1", 5.0), ("4", "1", 1.0), ("4", "2", 2.0), ("4", "3", 3.0)],
        ),
        ("jester", JESTER, [("1", "2", -8.5), ("1", "3", 0.0), ("2", "3", 3.25)]),
        ("kuairec", KUAIREC, [("14", "148", 0.7221), ("14", "183", 1.9074)]),
        ("yahoo-r3", YAHOO, [("1", "268", 5.0), ("1", "57", 2.0)]),
    ],
)
def test_a_data_set_is_read_as_it_is_published(
    format: str, text: str, expected: list[tuple[str, str, float]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text(text)
    assert rows(read_ratings(tmp_path / "file", format=format)) == expected


def test_a_matrix_may_have_another_separator_and_a_decimal_comma(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("0;4,5\n1;0\n")
    ratings = read_ratings(tmp_path / "file", format="coat", separator=";", decimal=",")
    assert rows(ratings) == [("1", "2", 4.5), ("2", "1", 1.0)]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("0 4\n1\n", "line 2: 2 fields between white space expected, found 1."),
        ("0 4\n1 good\n", "line 2: the rating must be a finite number, got 'good'"),
        ("0 0\n0 0\n", "there are no ratings in the file."),
    ],
)
def test_a_broken_matrix_is_refused_with_its_line(text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError) as caught:
        read_ratings(tmp_path / "file", format="coat")
    assert finding in str(caught.value)


def made(*ids: str, time: list[int] | None = None) -> Ratings:
    """Every user rates the item of the same id."""
    numbering, number = Numbering.of(ids), np.arange(len(ids), dtype=np.int32)
    rating = 1 / (3.0 + number)
    times = None if time is None else np.array(time, dtype=np.int64)
    return Ratings(numbering, numbering, number, number, rating, times)


@pytest.mark.parametrize("ids", [["07", "7"], ['"', "d"], ["ü", "東京"]])
@pytest.mark.parametrize("time", [None, [-5, 2**35]])
def test_what_is_written_is_read_back(tmp_path: Path, ids: list[str], time: list[int]) -> None:
    written = made(*ids, time=time)
    (tmp_path / "x.csv").write_bytes(format_rating_lines(written))
    read = read_ratings(tmp_path / "x.csv", format="csv")
    assert read.users.ids.tolist() == written.users.ids.tolist()
    assert read.rating.tolist() == written.rating.tolist()
    assert (read.time is None) == (time is None)
    assert read.time is None or read.time.tolist() == time


RECBOLE = ["x.part1.inter", "x.part2.inter", "x.part3.inter", "x.item"]
NCF = ["x.train.rating", "x.test.rating", "x.test.negative"]
MOVIELENS = [*(f"u{fold}.{part}" for fold in range(1, 6) for part in ("base", "test")), "ua.base"]
FOLDERS = [f"fold{fold}/{part}.csv" for fold in (1, 2, 12) for part in ("train", "test")]
PADDED = [f"{fold}/{part}.tsv.gz" for fold in ("01", "02") for part in ("Train", "valid", "Test")]


def found(folder: Path, names: list[str], *, fold: int | None = None) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    files = find_split_files(folder, fold=fold)
    chosen = [files.train, files.validation, files.test]
    return [path.relative_to(folder).as_posix() for path in chosen if path is not None]


@pytest.mark.parametrize(
    ("names", "fold", "expected"),
    [
        (RECBOLE, None, RECBOLE[:3]),
        (["train.csv", "test.csv", ".train.csv.swp", "items.csv"], None, ["train.csv", "test.csv"]),
        (MOVIELENS, 3, ["u3.base", "u3.test"]),
        (FOLDERS, 12, ["fold12/train.csv", "fold12/test.csv"]),
        (PADDED, 2, ["02/Train.tsv.gz", "02/valid.tsv.gz", "02/Test.tsv.gz"]),
    ],
)
def test_names_tell_what_files_hold(
    tmp_path: Path, names: list[str], fold: int | None, expected: list[str]
) -> None:
    assert found(tmp_path, names, fold=fold) == expected


@pytest.mark.parametrize(
    ("names", "fold", "sentence"),
    [
        (["train.csv"], None, r"no file of test ratings; no name has the word test or testing or"),
        (FOLDERS, None, r"several files of train ratings; .* or `fold`: .*fold1"),
        (FOLDERS, 3, r", fold 3: no file of train ratings"),
    ],
)
def test_a_folder_without_one_split_is_refused(
    tmp_path: Path, names: list[str], fold: int | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        found(tmp_path, names, fold=fold)


def recognised(text: str, name: str = "log.csv", **said: object) -> RecognisedRatings:
    return read_recognised(Source(name, text.encode()), RatingOptions.model_validate(said))


@pytest.mark.parametrize("separator", [";", "::", "\t"])
def test_the_separator_is_that_of_a_header_with_usual_names(separator: str) -> None:
    lines = ["user,item,rating", "a,x,4", "b,y,5"]
    found = recognised("\n".join(lines).replace(",", separator))
    assert (found.options.separator, found.format) in [(separator, "csv"), (None, "tsv")]
    assert found.ratings.rating.tolist() == [4.0, 5.0]


def test_without_a_header_columns_are_in_the_usual_order() -> None:
    found = recognised("ann,007,4.5,2024-01-01\nbob,7,3,2024-01-02\n")
    assert found.options.header is False
    assert found.options.columns == {"user": 0, "item": 1, "rating": 2, "time": 3}


def test_columns_of_unknown_names_are_taken_by_what_they_hold_and_that_is_said() -> None:
    found = recognised("reader,title,points,day\nann,x,70,2024-01-01\nbob,y,3,2024-01-02\n")
    assert found.options.columns == {
        "user": "reader", "item": "title", "rating": "points", "time": "day"
    }  # fmt: skip
    assert "No column is called rating; by its values, 'points' is used." in found.notes


def test_what_the_user_says_is_kept() -> None:
    columns = {"user": "item", "item": "user", "rating": "b"}
    found = recognised("user,item,a,b\nann,x,1,5\n", columns=columns, duplicates="last")
    assert found.options.columns == columns
    assert found.options.duplicates == "last"
    assert found.ratings.users.ids.tolist() == ["x"]


def test_one_rating_without_a_header_is_recognised() -> None:
    assert recognised("1,2,3\n").ratings.rating.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("user,item,rating\n", "log.csv: there are no ratings in the file."),
        ("user,item,rating\na,x\nb,y,3\n", "line 2: 3 fields between ',' expected, found 2."),
        ("reader,title\na,x,3\nb,y,4\n", "line 2: 2 fields between ',' expected, found 3."),
    ],
)
def test_files_without_ratings_or_with_lines_of_other_lengths_are_refused(
    text: str, finding: str
) -> None:
    with pytest.raises(InputError, match=re.escape(finding)):
        recognised(text)


def test_decimal_commas_are_recognised_in_quotes_too() -> None:
    found = recognised('user,item,rating\nann,x,"4,5"\nbob,y,"3"\n')
    assert found.options.decimal == ","
    assert found.ratings.rating.tolist() == [4.5, 3.0]


def test_gaps_and_repetitions_are_counted() -> None:
    found = recognised("user,item,rating\na,x,1\na,x,2\nb,,3\n")
    assert (found.options.missing, found.options.duplicates) == ("drop", "last")
    assert found.ratings.rating.tolist() == [2.0]
    assert found.notes == (
        "1 of 3 ratings miss a value and are left out.",
        "1 of 2 lines are of pairs that come again: the last is kept, with its date.",
    )


SOLD = "customer,sku,qty\na,x,1\nb,x,2\na,x,4\na,y,1\na,x,3\n"


def test_repeated_amounts_are_added_up() -> None:
    found = recognised(SOLD)
    assert found.options.duplicates == "sum"
    assert found.ratings.rating.tolist() == [8.0, 1.0, 2.0]
    assert found.notes == (
        "2 of 5 lines are of pairs that occur again: their amounts are added up.",
    )


def test_amounts_are_not_added_up_where_a_person_keeps_the_last() -> None:
    found = recognised(SOLD, duplicates="last")
    assert found.options.duplicates == "last"
    assert found.ratings.rating.tolist() == [3.0, 1.0, 2.0]


def test_repeated_ratings_are_not_added_up() -> None:
    stars = SOLD.replace("qty", "stars")
    assert recognised(stars).options.duplicates == "last"


def test_what_was_returned_is_left_out_of_sums() -> None:
    text = "customer,sku,qty\na,x,2\na,x,-2\nb,x,-1\nb,y,3\nb,y,-1\na,y,1\n"
    found = recognised(text)
    assert found.ratings.rating.tolist() == [1.0, 2.0]
    assert found.ratings.items.ids.tolist() == ["y"]
    assert "amounts of 2 pairs of user and item come to 0 or less" in found.notes[-1]
    with pytest.warns(InputWarning, match="goods that were returned: these are left out"):
        ratings = read_ratings(Source("sold.csv", text.encode()), duplicates="sum")
    assert ratings.rating.tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="of every pair of user and item are 0 or less"):
        recognised("customer,sku,qty\na,x,2\na,x,-2\n")


def test_a_sum_has_the_latest_time() -> None:
    text = "user,item,count,time\na,x,1,30\na,x,4,10\nb,x,2,20\n"
    ratings = read_ratings(Source("sold.csv", text.encode()), duplicates="sum")
    assert ratings.rating.tolist() == [5.0, 2.0]
    assert ratings.time is not None
    assert ratings.time.tolist() == [30, 20]


def test_times_that_cannot_be_read_are_left_out_and_that_is_said() -> None:
    found = recognised("user,item,rating,date\na,x,1,5 May\n")
    assert found.ratings.time is None
    (note,) = found.notes
    assert note.startswith("The column 'date' is left out: '5 May' is no time")


def test_counts_are_implicit() -> None:
    assert recognised("user,item,plays\na,x,12\n").options.implicit
