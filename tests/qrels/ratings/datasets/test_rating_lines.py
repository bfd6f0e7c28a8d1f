from pathlib import Path

import numpy as np
import pytest

from qrels import Ratings
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_tables import format_rating_lines
from runs import Numbering


def made(*ids: str, time: list[int] | None = None) -> Ratings:
    """Every user rates the item of the same id."""
    numbering, number = Numbering.of(ids), np.arange(len(ids), dtype=np.int32)
    rating = 1 / (3.0 + number)
    times = None if time is None else np.array(time, dtype=np.int64)
    return Ratings(numbering, numbering, number, number, rating, times)


@pytest.mark.parametrize("ids", [["07", "7"], ["a,b", "c"], ['"', "d"], ["ü", "東京"]])
@pytest.mark.parametrize("time", [None, [-5, 2**35]])
def test_what_is_written_is_read_back(tmp_path: Path, ids: list[str], time: list[int]) -> None:
    written = made(*ids, time=time)
    (tmp_path / "x.csv").write_bytes(format_rating_lines(written))
    read = read_ratings(tmp_path / "x.csv", format="csv")
    assert read.users.ids.tolist() == written.users.ids.tolist()
    assert read.rating.tolist() == written.rating.tolist()
    assert (read.time is None) == (time is None)
    assert read.time is None or read.time.tolist() == time


def test_plain_ids_stand_without_quotes() -> None:
    assert format_rating_lines(made("a", "b")).startswith(b"user,item,rating\na,a,0.333")
