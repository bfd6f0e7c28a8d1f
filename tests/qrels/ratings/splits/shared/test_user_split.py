from pathlib import Path

import pytest

from qrels import Split, find_split
from runs import InputError
from tests.qrels.ratings.splits.tables import ratings_of

RATINGS = ratings_of({("ann", "a"): 1, ("ann", "b"): 2, ("bob", "a"): 3})
HEAD = "from qrels import Ratings, Split, SplitSettings, split\n\n"
DECLARED = (
    HEAD
    + """@split("mine", source="-")
def mine(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    tested = ratings.item == 1
"""
)


def divided(text: str, folder: Path) -> Split:
    path = folder / "my_split.py"
    path.write_text(text)
    return find_split(str(path))(RATINGS, seed=1)


def test_a_file_of_a_user_is_a_split(tmp_path: Path) -> None:
    split = divided(
        DECLARED + "    return Split(ratings.select(~tested), ratings.select(tested))\n", tmp_path
    )
    assert split.test.items.ids[split.test.item].tolist() == ["b"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD, r"my_split\.py: one function must be declared with @split"),
        (DECLARED.replace(": SplitSettings", ""), "its argument `settings` annotated with a class"),
        ("1 / 0", r"my_split\.py: the file of the split fails with ZeroDivisionError"),
        (DECLARED + "    return ratings\n", "the split 'mine' must return a Split, got Ratings"),
        (DECLARED + "    return tested.no\n", r"'mine' fails in .*my_split\.py, line 6: Attr"),
        (
            DECLARED + "    return Split(ratings, ratings.select(tested))\n",
            "the split 'mine' tests 1 of the ratings that it trains on",
        ),
        (
            DECLARED + "    from qrels import k_core\n    small = k_core(ratings, user_min=2)\n"
            "    return Split(small, small.select(small.item > 9))\n",
            "the split 'mine' must keep the numbers of users and items",
        ),
    ],
)
def test_a_file_that_does_not_split_is_answered(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        divided(text, tmp_path)


def test_a_file_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.py: the file of the split does not exist"):
        find_split(str(tmp_path / "no.py"))
