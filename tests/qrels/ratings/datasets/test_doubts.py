"""Doubts about ratings that can be read."""

import pytest

from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.doubts import named_otherwise
from qrels.ratings.datasets.rating_file import recognise_ratings
from qrels.ratings.datasets.rating_options import RatingOptions
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
    with pytest.warns(InputWarning) as warnings:
        read_ratings(source)
    sentences = " ".join(str(warning.message) for warning in warnings)
    assert "Every item has one rating" in sentences
    assert "150 distinct values from 40000 to 40149: they may be ids" in sentences


def test_a_scale_of_many_points_is_no_doubt() -> None:
    lines = [f"{n % 40},{n // 40},{1 + n % 99}" for n in range(400)]
    source = Source("jester.csv", "\n".join(["user,item,rating", *lines]).encode())
    assert len(read_ratings(source)) == 400
