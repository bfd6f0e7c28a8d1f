import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Ratings, Split
from qrels.ratings.splits.uniform_items import Settings, uniform_items
from runs import InputError
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, table_of, tables

CROSSED = {(f"u{user}", f"i{item}"): 0 for user in range(4) for item in range(3)}
"""Four users rated each of three items."""


def split_of(table: Table, settings: Settings, seed: int) -> Split | None:
    try:
        return uniform_items(ratings_of(table), settings, seed=seed)
    except InputError:
        return None


@given(table=tables, seed=seeds, n=st.integers(1, 2), share=st.sampled_from([0.3, 0.5, 0.9]))
def test_every_tested_item_has_as_many_test_ratings_and_was_rated_enough(
    table: Table, seed: int, n: int, share: float
) -> None:
    split = split_of(table, Settings(item_ratings=n, item_share=share), seed)
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
    split = split_of(table, Settings(item_ratings=1, item_share=0.5), seed)
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
    split = split_of(table, Settings(item_ratings=n, item_share=0.5), seed)
    assert spare <= (set() if split is None else {item for _, item in table_of(split.test)})


def test_every_rating_of_an_item_is_tested_about_as_often() -> None:
    crossed = {(f"u{user}", f"i{item}"): 0 for user in range(8) for item in range(10)}
    ratings, tested = ratings_of(crossed), np.zeros((8, 10))
    settings = Settings(item_ratings=2, item_share=0.25)
    for seed in range(200):
        test = uniform_items(ratings, settings, seed=seed).test
        tested[test.user, test.item] += 1
    # 200 draws at 1/4: mean 50, standard deviation 6.1.
    assert np.abs(tested - 50).max() < 4.5 * 6.1


def test_a_share_means_what_is_written_not_its_nearest_float() -> None:
    # 0.07 * 100 is 7.000000000000001 in floating point, 0.29 * 100 is 28.999999999999996.
    rated = ratings_of({(f"u{user}", item): 0 for user in range(100) for item in "ab"})
    test = uniform_items(rated, Settings(item_ratings=29, item_share=0.29), seed=1).test
    assert test.item_counts().max() == 29


@given(table=tables, seed=seeds)
def test_by_default_no_other_number_could_make_more_test_ratings(table: Table, seed: int) -> None:
    counts = ratings_of(table).item_counts()
    allowed = (counts // 2).tolist()
    totals = {n: n * sum(a >= n for a in allowed) for n in range(1, max(allowed) + 1)}
    split = split_of(table, Settings(item_share=0.5), seed)
    if split is None:
        return
    n_test = split.test.item_counts().max()
    assert totals[n_test] == max(totals.values())
    assert all(total < totals[n_test] for n, total in totals.items() if n < n_test)


def test_equal_seeds_agree_and_others_do_not(large: Ratings) -> None:
    one, same, other = (
        table_of(uniform_items(large, Settings(item_ratings=3, item_share=0.5), seed=seed).test)
        for seed in (5, 5, 6)
    )
    assert one == same
    assert one != other


def test_items_with_too_few_ratings_are_refused_in_a_sentence() -> None:
    sentence = "no item has enough ratings to test 1 of them, .* the most rated item has 4"
    with pytest.raises(InputError, match=sentence):
        uniform_items(ratings_of(CROSSED), seed=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"item_ratings": 0}, "greater than or equal to 1"),
        ({"item_share": 0}, "greater than 0"),
        ({"item_share": 1}, "less than 1"),
        ({"item_share": float("nan")}, "less than 1"),
    ],
)
def test_settings_that_leave_nothing_to_test_or_to_train_are_refused(
    options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Settings.model_validate(options)
