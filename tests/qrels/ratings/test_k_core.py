import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings, k_core
from runs import InputError, Numbering

Pairs = set[tuple[str, str]]
pairs = st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), min_size=1)


def rated(pairs: Pairs) -> Ratings:
    """Ratings of these pairs, numbered over all ids, each with a value of its own."""
    users, items = Numbering.of("abcdef"), Numbering.of("uvwxyz")
    user_ids, item_ids = zip(*sorted(pairs), strict=True)
    values = np.array([ord(user) * 1000.0 + ord(item) for user, item in sorted(pairs)])
    time = values.astype(np.int64)
    return Ratings(users, items, users.numbers(user_ids), items.numbers(item_ids), values, time)


def pairs_of(ratings: Ratings) -> Pairs:
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    return set(zip(users.tolist(), items.tolist(), strict=True))


def peeled(pairs: Pairs, user_min: int, item_min: int) -> Pairs:
    """Take one user or item away at a time."""
    for user, item in sorted(pairs):
        of_user = {pair for pair in pairs if pair[0] == user}
        of_item = {pair for pair in pairs if pair[1] == item}
        if len(of_user) < user_min:
            return peeled(pairs - of_user, user_min, item_min)
        if len(of_item) < item_min:
            return peeled(pairs - of_item, user_min, item_min)
    return pairs


@given(pairs, st.integers(0, 3), st.integers(0, 3))
def test_a_core_is_what_peeling_one_at_a_time_leaves(
    pairs: Pairs, user_min: int, item_min: int
) -> None:
    expected = peeled(pairs, user_min, item_min)
    if expected:
        core = k_core(rated(pairs), user_min=user_min, item_min=item_min)
        assert pairs_of(core) == expected
    else:
        with pytest.raises(InputError, match=f"at least {user_min} and every item at least"):
            k_core(rated(pairs), user_min=user_min, item_min=item_min)


@given(pairs)
def test_only_users_and_items_that_remain_are_numbered(pairs: Pairs) -> None:
    core = k_core(rated(pairs))
    assert set(core.users.ids) == {user for user, _ in pairs}
    assert set(core.items.ids) == {item for _, item in pairs}


@given(pairs)
def test_ratings_and_times_stay_with_their_pairs(pairs: Pairs) -> None:
    core = k_core(rated(pairs), user_min=1)
    users, items = core.users.ids[core.user], core.items.ids[core.item]
    expected = [ord(user) * 1000 + ord(item) for user, item in zip(users, items, strict=True)]
    assert core.rating.tolist() == expected
    assert core.time is not None
    assert core.time.tolist() == expected
