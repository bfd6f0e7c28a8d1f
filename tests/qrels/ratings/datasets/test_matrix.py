"""Data sets whose ratings are a matrix, or that have a layout of their own."""

from pathlib import Path

import pytest

from qrels import Ratings
from qrels.ratings.datasets import read_ratings
from runs import InputError

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
        ("0 4\n1\n", "line 2: 2 fields between spaces expected, found 1."),
        ("0 4\n1 good\n", "line 2: the rating must be a finite number, got 'good'."),
        ("0 4\n1 1_0\n", "line 2: the rating must be a finite number, got '1_0'."),
        ("0 4\n1 inf\n", "line 2: the rating must be a finite number, got 'inf'."),
        ("0 0\n0 0\n", "there are no ratings in the file."),
        ("", "the file is empty."),
    ],
)
def test_a_broken_matrix_is_refused_with_its_line(text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError) as caught:
        read_ratings(tmp_path / "file", format="coat")
    assert finding in str(caught.value)


def test_a_matrix_takes_no_columns(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(COAT)
    with pytest.raises(InputError, match="'coat' is a matrix of users by items: it takes no `col"):
        read_ratings(tmp_path / "file", format="coat", columns={"user": 0, "item": 1})
