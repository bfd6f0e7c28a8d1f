"""Doubts about ratings that can be read."""

import warnings

import pytest

from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.doubts import named_otherwise
from qrels.ratings.datasets.rating_file import recognise_ratings
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.split_files import read_two_parts
from runs import InputWarning
from runs.tables.source import Source

HEADING = "Kunde-Nr,Artikelnummer,VK-Preis\n"


def doubts(**columns: str) -> list[str]:
    source = Source("shop.csv", (HEADING + "1,7,3\n1,8,4\n2,7,5\n").encode())
    return named_otherwise(recognise_ratings(source, RatingOptions(columns=columns)).columns)


def test_a_column_that_is_called_otherwise_than_it_is_named_is_told() -> None:
    assert doubts(item="Kunde-Nr", user="Artikelnummer", rating="VK-Preis") == [
        "The column 'Kunde-Nr' is named for the items, but is called as users are.",
        "The column 'Artikelnummer' is named for the users, but is called as items are.",
        "The column 'VK-Preis' is named for the ratings, but is called as prices, texts and other "
        "attributes are.",
    ]
    assert doubts(user="Kunde-Nr", item="Artikelnummer") == []


def test_items_that_never_come_again_and_ratings_like_ids_are_told() -> None:
    lines = [f"{n % 40},{n},{40_000 + n % 150}" for n in range(400)]
    source = Source("receipts.csv", "\n".join(["user,item,rating", *lines]).encode())
    with pytest.warns(InputWarning) as told:
        read_ratings(source)
    sentences = " ".join(str(warning.message) for warning in told)
    assert "Every item has one rating" in sentences
    assert "150 distinct values from 40000 to 40149: they may be ids" in sentences


def test_a_scale_of_many_points_is_no_doubt() -> None:
    lines = [f"{n % 40},{n // 40},{1 + n % 99}" for n in range(400)]
    source = Source("jester.csv", "\n".join(["user,item,rating", *lines]).encode())
    assert len(read_ratings(source)) == 400


def test_a_test_part_may_have_one_rating_of_each_user() -> None:
    """Leave-one-out, as the test files of He et al. (2017)."""
    heading = "user,item,rating"
    train_lines = [f"{n // 4},{n % 4},5" for n in range(800)]
    test_lines = [f"{user},4,5" for user in range(200)]
    train = Source("train.csv", "\n".join([heading, *train_lines]).encode())
    test = Source("test.csv", "\n".join([heading, *test_lines]).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = read_two_parts(train, test)
    assert ratings.held_out is not None
    assert ratings.held_out.sum() == 200
