from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Ratings
from qrels.ratings.splits.popularity_percentile import (
    Settings,
    percentile_of_items,
    popularity_percentile,
)
from qrels.ratings.splits.user_random import Settings as RandomShare
from qrels.ratings.splits.user_random import user_random
from runs import InputError
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, table_of, tables


def by_hand(table: Table, n: int) -> dict[str, int]:
    """Walk down the items by popularity; the middle rating of an item says where it belongs."""
    rated = [item for _, item in table]
    found, before = {}, 0
    for item in sorted(set(rated), key=lambda item: (-rated.count(item), item)):
        middle = Fraction(2 * before + rated.count(item), 2 * len(rated))
        found[item] = next(k for k in range(n) if middle < Fraction(k + 1, n))
        before += rated.count(item)
    return found


@given(table=tables, n=st.integers(2, 7))
def test_items_are_cut_by_popularity_where_the_ratings_are_equally_many(
    table: Table, n: int
) -> None:
    ratings = ratings_of(table)
    found = percentile_of_items(ratings, n)
    assert dict(zip(ratings.items.ids.tolist(), found.tolist(), strict=True)) == by_hand(table, n)


def test_percentiles_have_equally_many_ratings_but_for_one_item(large: Ratings) -> None:
    counts, percentile = large.item_counts(), percentile_of_items(large, 4)
    sizes = [counts[percentile == k].sum() for k in range(4)]
    assert max(sizes) - min(sizes) <= counts.max()


@given(table=tables, seed=seeds, n=st.integers(2, 4))
def test_percentiles_share_the_training_part_and_divide_the_test_part_of_the_random_split(
    table: Table, seed: int, n: int
) -> None:
    ratings = ratings_of(table)
    tested: Table = {}
    whole = user_random(ratings, RandomShare(test_share=0.4), seed=seed)
    group = by_hand(table, n)
    for percentile in range(1, n + 1):
        settings = Settings(percentiles=n, percentile=percentile, test_share=0.4)
        try:
            split = popularity_percentile(ratings, settings, seed=seed)
        except InputError:
            continue
        part = table_of(split.test)
        assert table_of(split.train) == table_of(whole.train)
        assert {group[item] for _, item in part} == {percentile - 1}
        assert tested.keys().isdisjoint(part)
        tested |= part
    assert tested == table_of(whole.test)


def test_a_percentile_without_a_held_out_rating_is_refused_in_a_sentence() -> None:
    popular = {(user, "a"): 0 for user in ("ann", "bob", "cid")} | {("ann", "b"): 0}
    sentence = "percentile 1 of 4 has 0 items, and no rating of them is held out"
    with pytest.raises(InputError, match=sentence):
        popularity_percentile(ratings_of(popular), Settings(percentiles=4, percentile=1), seed=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"percentiles": 1}, "greater than or equal to 2"),
        ({"percentile": 0}, "greater than or equal to 1"),
        ({"percentile": 11}, "must be at most 10, got 11"),
        ({"percentiles": 3, "percentile": 4}, "must be at most 3, got 4"),
        ({"test_share": 1.0}, "less than 1"),
    ],
)
def test_a_percentile_that_there_is_not_is_refused(
    options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Settings.model_validate(options)
