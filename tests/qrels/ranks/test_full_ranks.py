"""Full ranks."""

import pytest

from qrels.ranks.full_ranks import FullRanks
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
