"""Test users and robots."""

import numpy as np
import pytest

from qrels.interactions.held_out_users import DAY, draw_test_users, filter_robots, split_users
from qrels.interactions.interactions import Interactions
from runs import InputError, Numbering


def _people(n_users: int, *, n_items: int = 3, start: int = 0) -> Interactions:
    """Everybody has every item once."""
    users = Numbering.of(f"u{number:05d}" for number in range(start, start + n_users))
    items = Numbering.of(f"i{number}" for number in range(n_items))
    user, item = np.divmod(np.arange(n_users * n_items), n_items)
    return Interactions.of(users, items, user=user, item=item, time=item)


def _timed(*times: list[int]) -> Interactions:
    """Give each user events at these times, on one item."""
    users = Numbering.of(f"u{number}" for number in range(len(times)))
    user = [number for number, of_user in enumerate(times) for _ in of_user]
    return Interactions.of(
        users,
        Numbering.of("x"),
        user=user,
        item=[0] * len(user),
        time=[time for of_user in times for time in of_user],
    )


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


@pytest.mark.parametrize("share", [0, 1.5])
def test_a_share_is_above_0_and_at_most_1(share: float) -> None:
    with pytest.raises(InputError, match=f"above 0 and at most 1, got {share}"):
        draw_test_users(_people(5), share=share, seed=1)


def test_users_who_join_later_train() -> None:
    drawn = draw_test_users(_people(100), share=0.3, seed=1)
    everybody = _people(250)
    train, test = split_users(everybody, drawn)
    assert everybody.users.ids[np.unique(test.user)].tolist() == drawn.ids.tolist()
    assert len(train) + len(test) == len(everybody)


@pytest.mark.parametrize(
    ("times", "robot"), [([0, 1, DAY], False), ([0, 1, DAY - 1], True), ([-2, -1, 0, 1], False)]
)
def test_robots_have_too_many_events_on_a_day(times: list[int], robot: bool) -> None:
    found = filter_robots(_timed([5], times), most_per_day=2)
    assert found.robots.tolist() == [False, robot]
