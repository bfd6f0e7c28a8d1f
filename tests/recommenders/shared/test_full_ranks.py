"""Full ranks of held-out items."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from qrels.ratings.splits.user_random import user_random
from recommenders.shared.train_and_rank import recommend
from runs import InputError, Numbering

USERS = Numbering.of(["u", "v"])
ITEMS = Numbering.of(["a", "b", "c", "d", "e", "f"])


@dataclass(frozen=True)
class Given:
    """Scores as they are given, of shape (n_users, n_items)."""

    scores: NDArray[np.float32]
    users: Numbering = USERS
    items: Numbering = ITEMS

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        return self.scores[user_numbers]


def _ratings(*pairs: tuple[int, int]) -> Ratings:
    user, item = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return Ratings(USERS, ITEMS, user, item, np.ones(len(user)))


# u rated a; v rated all but a and b; f has no training rating.
TRAIN = _ratings((0, 0), (0, 1), (1, 2), (1, 3), (1, 4))


def _scorer(*scores: float) -> Given:
    """Give both users these scores."""
    return Given(np.array([scores, scores], dtype=np.float32))


def test_ranks_are_among_trained_items_that_the_user_has_not_rated() -> None:
    ranks = recommenders.full_ranks(_scorer(9, 8, 3, 2, 1, 7), TRAIN, _ratings((0, 3), (1, 1)))
    assert ranks.rank.tolist() == [2, 2]
    assert ranks.n_candidates.tolist() == [3, 2]


def test_held_out_items_that_are_no_candidates_are_last() -> None:
    ranks = recommenders.full_ranks(_scorer(9, 8, 3, 2, 1, 7), TRAIN, _ratings((0, 3), (0, 5)))
    assert (ranks.rank.tolist(), ranks.n_candidates.tolist()) == ([2, 4], [4, 4])
    assert ranks.above.tolist() == [1, 2]


def test_candidates_may_be_fewer() -> None:
    mask = np.array([True, True, False, True, True, True])
    ranks = recommenders.full_ranks(
        _scorer(9, 8, 3, 2, 1, 7), TRAIN, _ratings((0, 3)), candidates=mask
    )
    assert (ranks.rank.tolist(), ranks.n_candidates.tolist()) == ([1], [2])


def test_items_without_a_score_come_last() -> None:
    ranks = recommenders.full_ranks(
        _scorer(0, 0, np.nan, -np.inf, -5, 0), TRAIN, _ratings((0, 2), (0, 3), (0, 4))
    )
    assert ranks.rank.tolist() == [2, 3, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["popularity", "krichene-z", "puresvd", "item-knn"])
def test_ranks_are_places_in_the_run(name: str, ratings: Ratings) -> None:
    split = user_random(ratings, seed=3)
    scorer = recommenders.train(name, {}, split.train, seed=1)
    ranks = recommenders.full_ranks(scorer, split.train, split.test)
    run = recommend(
        scorer, split.train, split.test_users, system=name, depth=len(split.train.items)
    )
    items = run.items[np.searchsorted(split.test_users, ranks.user)]
    assert ranks.item is not None
    found = items == ranks.item[:, np.newaxis]
    listed = found.any(axis=1)
    assert listed.mean() > 0.5
    np.testing.assert_array_equal(ranks.rank[listed], found.argmax(axis=1)[listed] + 1)


def test_ranks_do_not_depend_on_blocks(ratings: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    split = user_random(ratings, seed=3)
    scorer = recommenders.train("popularity", {}, split.train, seed=1)
    whole = recommenders.full_ranks(scorer, split.train, split.test)
    monkeypatch.setattr("recommenders.shared.scorers.BLOCK_ROWS", 7)
    cut = recommenders.full_ranks(scorer, split.train, split.test)
    np.testing.assert_array_equal(whole.rank, cut.rank)


def test_ranks_of_all_candidates_are_the_full_ranks_of_each() -> None:
    scorer = _scorer(9, 8, np.nan, 2, 2, 7)
    every = recommenders.candidate_ranks(
        scorer, TRAIN, np.array([0, 1], dtype=np.int32), topic=np.array([0, 1]), candidates=None
    )
    for user in (0, 1):
        for item in np.flatnonzero(every.rank[user]).tolist():
            alone = recommenders.full_ranks(scorer, TRAIN, _ratings((user, item)))
            assert alone.rank.item() == every.rank[user, item]
            assert alone.n_candidates.item() == (every.rank[user] > 0).sum()
    assert (every.rank > 0).sum(axis=1).tolist() == [3, 2]


def test_ties_above_and_below_are_counted_and_can_be_in_any_order() -> None:
    scorer = _scorer(9, 5, 5, 5, 5, 7)
    ranks = recommenders.full_ranks(scorer, TRAIN, _ratings((0, 3), (1, 1)))
    assert ranks.ties is not None
    assert ranks.rank.tolist() == [2, 2]
    assert ranks.ties.tolist() == [[1, 1], [0, 0]]
    found = [ranks.with_ties_by(np.full(2, u)).rank.tolist() for u in (0.0, 0.5, 0.99)]
    assert found == [[1, 2], [2, 2], [3, 2]]


def test_ties_of_several_relevant_items_are_not_put_in_random_order() -> None:
    ranks = recommenders.full_ranks(_scorer(9, 5, 5, 5, 5, 7), TRAIN, _ratings((0, 3), (0, 4)))
    with pytest.raises(ValueError, match="one relevant item each"):
        ranks.with_ties_by(np.zeros(2))


def test_users_have_as_many_numbers_in_the_result() -> None:
    users = np.array([0, 1], dtype=np.int32)
    with pytest.raises(InputError, match=r"numbers of users .* \(2,\), got \(1,\)"):
        recommenders.candidate_ranks(
            _scorer(9, 8, 3, 2, 1, 7), TRAIN, users, topic=np.array([0]), candidates=None
        )
