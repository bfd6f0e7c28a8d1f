"""Splits by time, by popularity and by item."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Split
from qrels.ratings.splits.global_time import global_time
from qrels.ratings.splits.popularity_percentile import percentile_of_items, popularity_percentile
from qrels.ratings.splits.uniform_items import uniform_items
from qrels.ratings.splits.user_random import user_random
from runs import InputError
from tests.qrels.ratings.splits.tables import Table, divide, ratings_of, seeds, table_of, tables


@given(table=tables, cut=st.integers(0, 6))
def test_a_global_cut_is_the_first_second_of_the_test(table: Table, cut: int) -> None:
    times = list(table.values())
    if not min(times) < cut <= max(times):
        with pytest.raises(InputError, match="before and after its cut"):
            divide(global_time, ratings_of(table), seed=1, cut=cut)
        return
    split = divide(global_time, ratings_of(table), seed=1, cut=cut, cold_users="keep")
    assert table_of(split.train) == {cell: time for cell, time in table.items() if time < cut}
    assert table_of(split.test) == {cell: time for cell, time in table.items() if time >= cut}


def test_a_global_share_keeps_equal_times_together() -> None:
    ratings = ratings_of({("ann", f"i{item}"): time for item, time in enumerate([1, 2, 3, 3, 3])})
    split = divide(global_time, ratings, seed=1, test_share=0.2)
    assert sorted(table_of(split.test).values()) == [3, 3, 3]


@pytest.mark.parametrize("options", [{"test_share": None}, {"cut": 1, "test_share": 0.2}])
def test_a_share_or_a_cut_is_needed(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="either `test_share` or `cut`"):
        global_time.settings.model_validate(options)


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


@given(table=tables, seed=seeds, n=st.integers(2, 4))
def test_percentiles_share_the_training_part_and_divide_the_test_part_of_the_random_split(
    table: Table, seed: int, n: int
) -> None:
    ratings = ratings_of(table)
    tested: Table = {}
    whole = divide(user_random, ratings, seed=seed, test_share=0.4)
    group = by_hand(table, n)
    for percentile in range(1, n + 1):
        settings = popularity_percentile.settings(
            percentiles=n, percentile=percentile, test_share=0.4
        )
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
    sentence = "percentile 1 of 4 has 0 items, and none of their ratings is held out"
    with pytest.raises(InputError, match=sentence):
        divide(popularity_percentile, ratings_of(popular), seed=1, percentiles=4, percentile=1)


def test_a_percentile_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be at most 3, got 4"):
        popularity_percentile.settings(percentiles=3, percentile=4)


CROSSED = {(f"u{user}", f"i{item}"): 0 for user in range(4) for item in range(3)}
"""Four users rated each of three items."""


def split_of(table: Table, settings: Any, seed: int) -> Split | None:
    try:
        return uniform_items(ratings_of(table), settings, seed=seed)
    except InputError:
        return None


@given(table=tables, seed=seeds, n=st.integers(1, 2), share=st.sampled_from([0.3, 0.5, 0.9]))
def test_every_tested_item_has_as_many_test_ratings_and_was_rated_enough(
    table: Table, seed: int, n: int, share: float
) -> None:
    split = split_of(table, uniform_items.settings(item_ratings=n, item_share=share), seed)
    if split is None:
        return
    tested = [item for _, item in table_of(split.test)]
    rated = [item for _, item in table]
    assert {tested.count(item) for item in tested} == {n}
    assert all(rated.count(item) * share >= n for item in tested)


@given(table=tables, seed=seeds)
def test_parts_are_disjoint_and_complete_and_test_users_keep_a_training_rating(
    table: Table, seed: int
) -> None:
    split = split_of(table, uniform_items.settings(item_ratings=1, item_share=0.5), seed)
    if split is None:
        return
    train, test = table_of(split.train), table_of(split.test)
    assert train.keys().isdisjoint(test)
    assert train | test == table
    assert {user for user, _ in test} <= {user for user, _ in train}


@given(table=tables, seed=seeds, n=st.integers(1, 2))
def test_an_item_with_enough_ratings_is_left_out_only_for_what_users_must_keep(
    table: Table, seed: int, n: int
) -> None:
    rated = [item for _, item in table]
    spare = {
        item
        for item in rated
        if rated.count(item) >= 2 * n and rated.count(item) - n >= len({u for u, _ in table})
    }
    split = split_of(table, uniform_items.settings(item_ratings=n, item_share=0.5), seed)
    assert spare <= (set() if split is None else {item for _, item in table_of(split.test)})


def test_every_rating_of_an_item_is_tested_about_as_often() -> None:
    crossed = {(f"u{user}", f"i{item}"): 0 for user in range(8) for item in range(10)}
    ratings, tested = ratings_of(crossed), np.zeros((8, 10))
    settings = uniform_items.settings(item_ratings=2, item_share=0.25)
    for seed in range(200):
        test = uniform_items(ratings, settings, seed=seed).test
        tested[test.user, test.item] += 1
    # 200 draws at 1/4: mean 50, standard deviation 6.1.
    assert np.abs(tested - 50).max() < 4.5 * 6.1


def test_a_share_means_what_is_written_not_its_nearest_float() -> None:
    # 0.07 * 100 is 7.000000000000001 in floating point, 0.29 * 100 is 28.999999999999996.
    rated = ratings_of({(f"u{user}", item): 0 for user in range(100) for item in "ab"})
    test = divide(uniform_items, rated, seed=1, item_ratings=29, item_share=0.29).test
    assert test.item_counts().max() == 29


@given(table=tables, seed=seeds)
def test_by_default_no_other_number_could_make_more_test_ratings(table: Table, seed: int) -> None:
    counts = ratings_of(table).item_counts()
    allowed = (counts // 2).tolist()
    totals = {n: n * sum(a >= n for a in allowed) for n in range(1, max(allowed) + 1)}
    split = split_of(table, uniform_items.settings(item_share=0.5), seed)
    if split is None:
        return
    n_test = split.test.item_counts().max()
    assert totals[n_test] == max(totals.values())
    assert all(total < totals[n_test] for n, total in totals.items() if n < n_test)


def test_items_with_too_few_ratings_are_refused_in_a_sentence() -> None:
    sentence = "no item has enough ratings to test 1 of them, .* the most rated item has 4"
    with pytest.raises(InputError, match=sentence):
        uniform_items(ratings_of(CROSSED), seed=1)
