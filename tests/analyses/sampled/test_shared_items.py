"""Negatives that all systems rank."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.sampled.samples import Negatives, SampleDesign, top_items, weighted_auc
from qrels import FullRanks, qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks

N_USERS, N_ITEMS = 200, 30
JUDGED = qrels_from_columns(
    np.repeat(np.arange(N_USERS), 2),
    np.tile([3, 8], N_USERS),
    np.ones(2 * N_USERS, np.int32),
    n_users=N_USERS,
    relevance_level=1,
)


ONE = qrels_from_columns(
    np.arange(N_USERS),
    np.full(N_USERS, 3),
    np.ones(N_USERS, np.int32),
    n_users=N_USERS,
    relevance_level=1,
)


def _ranks(seed: int, *, known: int = 5) -> CandidateRanks:
    """Rank in another random order for every user; the last items are no candidates."""
    orders = np.random.default_rng(seed).permuted(
        np.tile(np.arange(1, N_ITEMS - known + 1), (N_USERS, 1)), axis=1
    )
    ranks = np.zeros((N_USERS, N_ITEMS), dtype=np.uint16)
    ranks[:, : N_ITEMS - known] = orders
    return CandidateRanks(np.arange(N_USERS), ranks)


RANKS = _ranks(1)
RELEVANT = RANKS.of_relevant(JUDGED)


def _items(drawn: Negatives, m: int, *, n_users: int = N_USERS) -> NDArray[np.intp]:
    rows = (np.flatnonzero(drawn.relevant.user == user) for user in range(n_users))
    return np.array([drawn.of(user, own, m)[0] for user, own in enumerate(rows)])


def _of_system(ranks: CandidateRanks) -> FullRanks:
    return ranks.of_relevant(JUDGED)


def test_systems_rank_the_same_items() -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=2, seed=1)
    other = _ranks(2)
    shared = Negatives(other, _of_system(other), repeats=2, seed=1)
    assert (_items(drawn, 4) == _items(shared, 4)).all()
    (first, _), items = drawn.rank(RANKS, RELEVANT, [4]), _items(drawn, 4)[0, 0]
    above = (RANKS.rank[0, items] < RELEVANT.rank[0]).sum()
    assert first.rank[0] == above + RELEVANT.order[0]


@pytest.mark.parametrize("replace", [True, False])
def test_equal_chances_have_the_law_of_samples_from_full_ranks(replace: bool) -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=200, seed=1, replace=replace)
    above = np.array([sample.above for sample in drawn.rank(RANKS, RELEVANT, [6])])
    n, chances = RELEVANT.n_irrelevant, RELEVANT.above / RELEVANT.n_irrelevant
    variances = 6 * chances * (1 - chances) * (1 if replace else (n - 6) / (n - 1))
    assert (np.abs(above.mean(axis=0) - 6 * chances) <= 5 * np.sqrt(variances / 200)).all()
    assert above.var(axis=0).sum() == pytest.approx(variances.sum(), rel=0.03)


def test_without_replacement_all_candidates_can_be_drawn_and_none_twice() -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=3, seed=1, replace=False)
    assert (np.sort(_items(drawn, 23)) == np.setdiff1d(np.arange(25), [3, 8])).all()
    every = drawn.rank(RANKS, RELEVANT, [23])
    assert (every[2].rank == RELEVANT.rank).all()


def test_adaptive_samples_grow_while_nothing_is_above() -> None:
    full = RANKS.of_relevant(ONE)
    (sample,) = Negatives(RANKS, full, repeats=1, seed=1).rank(
        RANKS, full, SampleDesign.growing(3, 12).sizes
    )
    assert set(sample.n_negatives) == {2, 5, 11}
    assert (sample.above[sample.n_negatives < 11] > 0).all()
    n, mean = full.n_irrelevant, sample.n_negatives.mean()
    below = 1 - full.above / n
    assert mean == pytest.approx((2 + 3 * below**2 + 6 * below**5).mean(), rel=0.1)


def test_what_adaptive_samples_had_below_is_kept() -> None:
    full = RANKS.of_relevant(ONE)
    samples = Negatives(RANKS, full, repeats=20, seed=1).rank(RANKS, full, [2, 5])
    added = np.concatenate([sample.above[sample.n_negatives == 5] for sample in samples])
    assert set(added) == {0, 1, 2, 3}


def test_known_chances_repair_what_negatives_of_a_likeness_do() -> None:
    """The lower an item is ranked, the more often it is drawn."""
    weights = RANKS.rank.astype(np.float64)
    drawn = Negatives(
        RANKS, RELEVANT, repeats=60, seed=2, weigh=lambda user, items: weights[user, items]
    )
    samples = drawn.rank(RANKS, RELEVANT, [10])
    found = np.array([weighted_auc(sample).mean() for sample in samples])
    exact = (1 - RELEVANT.above / RELEVANT.n_irrelevant).mean()
    assert abs(found.mean() - exact) < 4 * found.std(ddof=1) / np.sqrt(60)
    plain = np.mean([1 - sample.above.mean() / 10 for sample in samples])
    assert plain > exact + 0.1


def test_the_top_of_a_system_keeps_its_own_first_ranks() -> None:
    top = top_items(RANKS, RELEVANT, m=7)
    (hard,) = Negatives(RANKS, RELEVANT, repeats=1, seed=0, fixed=top).rank(RANKS, RELEVANT, [7])
    assert (hard.above == np.minimum(RELEVANT.above, 7)).all()


def test_relevant_items_that_are_no_candidates_are_last() -> None:
    ranks = _ranks(1, known=24)
    full = _of_system(ranks)
    assert full.item is not None
    cold = full.item == 8
    assert set(full.rank[cold]) == set(full.n_candidates) == {7}
    (sampled,) = Negatives(ranks, full, repeats=1, seed=1).rank(ranks, full, [4])
    assert set(sampled.above[cold]) == {4}
