"""Pruning users with few items and items with few users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrels import Ratings
from recommenders.kernels.embeddings import prune
from runs import InputError
from tests.hidden_example import numbered


def _ratings(*rows: str) -> Ratings:
    """Read users' items, letters in the order of the alphabet."""
    pairs = [(user, ord(letter) - ord("a")) for user, row in enumerate(rows) for letter in row]
    user, item = np.array(pairs, dtype=np.int32).T
    return Ratings(numbered(len(rows)), numbered(26), user, item, np.ones(len(pairs)))


def _rows(kept: Ratings) -> list[str]:
    return [
        "".join(chr(ord("a") + item) for item in kept.item[kept.user == user])
        for user in range(len(kept.users))
    ]


CHAIN = ("ab", "abc", "cd", "abde")


def test_pruning_once_counts_before_anything_is_left_out() -> None:
    """Only e is rare: the user of c and d keeps both."""
    pruned = prune(_ratings(*CHAIN), min_items_per_user=2, min_users_per_item=2)
    assert _rows(pruned) == ["ab", "abc", "cd", "abd"]


def test_pruning_once_may_leave_users_with_less_than_they_need() -> None:
    pruned = prune(_ratings("ab", "ac", "ad"), min_items_per_user=2, min_users_per_item=2)
    assert _rows(pruned) == ["a", "a", "a"]


def test_pruning_to_the_fixpoint_goes_on() -> None:
    """Without e and the third user's two items nothing is short of two users or three items."""
    pruned = prune(
        _ratings("abc", "abc", "cd", "abde"),
        min_items_per_user=3,
        min_users_per_item=2,
        mode="fixpoint",
    )
    assert _rows(pruned) == ["abc", "abc", "", ""]


@given(
    rows=st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=8),
    least=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_at_the_fixpoint_all_have_enough(rows: list[set[str]], least: tuple[int, int]) -> None:
    ratings = _ratings(*("".join(sorted(row)) for row in rows))
    try:
        kept = prune(
            ratings, min_items_per_user=least[0], min_users_per_item=least[1], mode="fixpoint"
        )
    except InputError:
        return
    counts = kept.user_counts(), kept.item_counts()
    assert all((count[count > 0] >= low).all() for count, low in zip(counts, least, strict=True))


def test_nothing_left_is_refused() -> None:
    with pytest.raises(InputError, match="users with at least 9 items"):
        prune(_ratings("ab"), min_items_per_user=9, min_users_per_item=1)
