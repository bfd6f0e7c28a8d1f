"""Parts that are given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.splits.given import Settings, given
from runs import InputError
from tests.qrels.ratings.splits.tables import ratings_of, table_of


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"train": "a.csv"}, "needs `train` and `test`, or a `folder`"),
        ({"folder": "x", "test": "a.csv"}, "`folder` replaces `train`, `test`"),
        ({"train": "a.csv", "test": "b.csv", "fold": 1}, "`fold` needs a `folder`"),
    ],
)
def test_options_that_do_not_say_where_the_parts_are_are_refused(
    options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        Settings(**options)


def test_ratings_in_one_part_cannot_be_split_as_given() -> None:
    settings = Settings(train="a.csv", test="b.csv")
    with pytest.raises(InputError, match="needs training and test ratings in separate"):
        given(ratings_of({("ann", "a"): 1}), settings, seed=1)


def test_without_a_validation_part_there_is_nothing_to_choose_by() -> None:
    settings = Settings(train="a.csv", test="b.csv")
    with pytest.raises(InputError, match="given without validation ratings"):
        settings.within_training()


def test_where_the_parts_are_is_said_or_found(tmp_path: Path) -> None:
    for name in ("u1.base", "u1.test", "u2.base", "u2.test"):
        (tmp_path / name).touch()
    found = Settings(folder=tmp_path, fold=2).find_parts()
    assert found == SplitFiles(tmp_path / "u2.base", tmp_path / "u2.test")
    named = Settings(train=Path("a"), test=Path("b"), validation=Path("c"))
    assert named.find_parts() == SplitFiles(Path("a"), Path("b"), Path("c"))
    assert named.within_training() == Settings(train=Path("a"), test=Path("c"))


@pytest.mark.parametrize("part", ["train", "test", "validation"])
def test_a_folder_has_all_parts_or_none_is_a_folder(part: str) -> None:
    with pytest.raises(ValueError, match="`folder` replaces"):
        Settings(folder=Path("x"), **{part: Path("a.csv")})
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        Settings(folder=Path("x"), fold=-1)
    assert Settings(folder=Path("x"), fold=0).fold == 0


def test_what_is_held_out_is_tested() -> None:
    ratings = ratings_of({("ann", "a"): 1, ("ann", "b"): 2})
    parted = replace(ratings, held_out=np.array([True, False]))
    parts = given(parted, Settings(train=Path("a"), test=Path("b")), seed=1)
    assert (table_of(parts.train), table_of(parts.test)) == ({("ann", "b"): 2}, {("ann", "a"): 1})
