import pytest

from qrels.ratings.splits.given import Settings, given
from runs import InputError
from tests.qrels.ratings.splits.tables import ratings_of


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
