"""Test users: who is drawn, and how many."""

from hashlib import blake2b
from inspect import signature

import numpy as np
import pytest

from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering


def _people(n_users: int, *, n_items: int = 3, start: int = 0) -> Interactions:
    """Everybody has every item once."""
    users = Numbering.of(f"u{number:05d}" for number in range(start, start + n_users))
    items = Numbering.of(f"i{number}" for number in range(n_items))
    user, item = np.divmod(np.arange(n_users * n_items), n_items)
    return Interactions.of(users, items, user=user, item=item, time=item)


def test_about_the_share_of_the_users_is_drawn() -> None:
    drawn = draw_test_users(_people(4000), share=0.1, seed=1)
    assert abs(len(drawn) - 400) < 4 * np.sqrt(4000 * 0.1 * 0.9)


def test_who_is_drawn_does_not_depend_on_who_joins() -> None:
    before = draw_test_users(_people(100), share=0.3, seed=1)
    after = draw_test_users(_people(250), share=0.3, seed=1)
    assert after.ids[: len(before)].tolist() == before.ids.tolist()


def test_the_most_are_those_whom_a_smaller_share_would_draw() -> None:
    people = _people(300)
    smaller = draw_test_users(people, share=0.05, seed=1).ids.tolist()
    fewer = draw_test_users(people, share=0.5, max_users=len(smaller), seed=1).ids.tolist()
    assert fewer == smaller


def test_users_with_few_items_are_not_drawn() -> None:
    with pytest.raises(InputError, match="of 50 users 0 have at least 2 distinct items"):
        draw_test_users(_people(50, n_items=1), share=1, seed=1)


def test_users_who_join_later_train() -> None:
    drawn = draw_test_users(_people(100), share=0.3, seed=1)
    everybody = _people(250)
    train, test = split_users(everybody, drawn)
    assert everybody.users.ids[np.unique(test.user)].tolist() == drawn.ids.tolist()
    assert len(train) + len(test) == len(everybody)


def test_numbers_are_hashes_of_seed_and_id() -> None:
    """By hand: the first 64 bits of a hash, over 2 to the power of 64."""
    people = _people(50)
    numbers = {
        id: int.from_bytes(
            blake2b(f"test users 7\n{id}".encode(), digest_size=8).digest(), "little"
        )
        / 2**64
        for id in people.users.ids.tolist()
    }
    drawn = draw_test_users(people, share=0.3, seed=7).ids.tolist()
    assert drawn == [id for id, number in numbers.items() if number < 0.3]
    lowest = sorted(numbers, key=lambda id: numbers[id])[:4]
    assert draw_test_users(people, share=1.0, max_users=4, seed=7).ids.tolist() == sorted(lowest)


def test_a_tenth_of_the_users_and_100000_at_the_most_are_drawn_by_default() -> None:
    defaults = {name: of.default for name, of in signature(draw_test_users).parameters.items()}
    assert (defaults["share"], defaults["max_users"], defaults["min_items"]) == (0.1, 100_000, 2)


def test_two_distinct_items_are_enough() -> None:
    assert len(draw_test_users(_people(50, n_items=2), share=1, seed=1)) == 50
    with pytest.raises(InputError, match="at least 3 distinct items, of whom a share of 1 was"):
        draw_test_users(_people(50, n_items=2), share=1, min_items=3, seed=1)


def test_everybody_else_is_trained_on() -> None:
    train, test = split_users(_people(4), Numbering.of(["u00000", "u00002", "u00009"]))
    assert np.unique(train.user).tolist() == [1, 3]
    assert np.unique(test.user).tolist() == [0, 2]
