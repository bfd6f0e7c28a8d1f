"""Test users and robots."""

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
    fewer = draw_test_users(people, share=0.5, most=len(smaller), seed=1).ids.tolist()
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
