"""Full ranks."""

import numpy as np
import pytest

from qrels import qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks, FullRanks
from runs import InputError


@pytest.mark.parametrize("rank", [0, 8])
def test_a_rank_is_from_one_to_the_candidates(rank: int) -> None:
    with pytest.raises(InputError, match=rf"candidates, 7, got {rank} in row 1 of the ranks\."):
        FullRanks.of([1, rank], n_candidates=7)


def test_a_half_rank_is_refused() -> None:
    with pytest.raises(InputError, match=r"a rank must be a whole number, got 1\.5"):
        FullRanks.of([1.5], n_candidates=7)


def test_relevant_items_of_a_user_do_not_share_a_rank() -> None:
    with pytest.raises(InputError, match="two relevant items of user number 3 have rank 5"):
        FullRanks.of([5, 5, 5], n_candidates=7, user=[3, 2, 3])


def test_users_have_numbers_from_zero() -> None:
    with pytest.raises(InputError, match="must not be negative, got -1"):
        FullRanks.of([5], n_candidates=7, user=[-1])


def test_a_rank_may_be_the_first_and_the_last() -> None:
    assert FullRanks.of([1, 7], n_candidates=7).user.tolist() == [0, 1]
    assert len(FullRanks.of(3, n_candidates=[7])) == 1


def test_places_and_numbers_of_items_are_those_of_the_user() -> None:
    """User 4 has ranks 6, 1 and 3 of 9, user 2 has rank 2 of 5."""
    ranks = FullRanks.of([6, 2, 1, 3], n_candidates=[9, 5, 9, 9], user=[4, 2, 4, 4])
    assert ranks.by_user.tolist() == [1, 2, 3, 0]
    assert ranks.order.tolist() == [3, 1, 1, 2]
    assert ranks.n_relevant.tolist() == [3, 1, 3, 3]
    assert ranks.above.tolist() == [3, 1, 0, 1]
    assert ranks.n_irrelevant.tolist() == [6, 4, 6, 6]


@pytest.mark.parametrize(
    ("uniform", "rank"), [(0.0, 3), (0.24, 3), (0.25, 4), (0.5, 5), (0.75, 6), (0.99, 6)]
)
def test_tied_items_are_put_in_any_order(uniform: float, rank: int) -> None:
    """At rank 5 two of equal score are above, and one is below: ranks 3 to 6 are as likely."""
    ranks = FullRanks(np.array([5]), np.array([9]), np.array([0]), ties=np.array([[2, 1]]))
    assert ranks.with_ties_by(np.array([uniform])).rank.tolist() == [rank]


def test_ties_must_be_known() -> None:
    with pytest.raises(InputError, match="ties in random order need systems that are trained"):
        FullRanks.of([5], n_candidates=7).with_ties_by(np.array([0.5]))
    two = FullRanks(np.array([1, 2]), np.full(2, 9), np.zeros(2, int), ties=np.zeros((2, 2), int))
    with pytest.raises(InputError, match="users with one relevant item each"):
        two.with_ties_by(np.array([0.5, 0.5]))


def test_relevant_items_are_looked_up_among_all_candidates() -> None:
    """Topics 2 and 0 were ranked; of topic 2 items 1 and 3 are cold, and last of now five."""
    ranks = CandidateRanks(
        np.array([2, 0]), np.array([[3, 0, 1, 0, 2], [0, 1, 0, 2, 0]], np.uint16)
    )
    qrels = qrels_from_columns(
        np.array([2, 2, 2, 1, 0, 0]),
        np.array([1, 3, 0, 2, 3, 1]),
        np.array([1, 1, 1, 1, 1, 0]),
        n_users=3,
        relevance_level=1,
    )
    found = ranks.relevant_ranks(qrels)
    assert found.item is not None
    rows = zip(found.user.tolist(), found.item.tolist(), found.rank.tolist(), strict=True)
    assert list(rows) == [(1, 3, 2), (0, 0, 3), (0, 1, 4), (0, 3, 5)]
    assert found.n_candidates.tolist() == [2, 5, 5, 5]
