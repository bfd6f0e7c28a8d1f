"""Negatives that all systems rank."""

import numpy as np
import pytest

from analyses.sampled.estimators import ht_plugin
from analyses.sampled.samples.from_candidates import draw_negatives, top_negatives
from qrels import FullRanks, qrels_from_columns
from qrels.ranks.candidate_ranks import CandidateRanks
from runs import InputError

N_USERS, N_ITEMS = 200, 30
JUDGED = qrels_from_columns(
    np.repeat(np.arange(N_USERS), 2),
    np.tile([3, 8], N_USERS),
    np.ones(2 * N_USERS, np.int32),
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


def _of_system(ranks: CandidateRanks) -> FullRanks:
    return ranks.of_relevant(JUDGED)


def test_negatives_are_irrelevant_candidates() -> None:
    drawn = draw_negatives(RANKS, RELEVANT, m=20, repeats=2, seed=1)
    assert set(np.unique(drawn.items)) == set(range(N_ITEMS - 5)) - {3, 8}


def test_systems_rank_the_same_items() -> None:
    drawn = draw_negatives(RANKS, RELEVANT, m=4, repeats=2, seed=1)
    other = _ranks(2)
    shared = draw_negatives(other, _of_system(other), m=4, repeats=2, seed=1)
    assert (drawn.items == shared.items).all()
    (first, _), items = drawn.rank(RANKS, RELEVANT), drawn.items[0, 0]
    above = (RANKS.rank[0, items] < RELEVANT.rank[0]).sum()
    assert first.rank[0] == above + RELEVANT.order[0]


def test_equal_chances_have_the_law_of_samples_from_full_ranks() -> None:
    drawn = draw_negatives(RANKS, RELEVANT, m=6, repeats=50, seed=1)
    above = np.array([sample.above for sample in drawn.rank(RANKS, RELEVANT)])
    chances = RELEVANT.above / RELEVANT.n_irrelevant
    error = np.sqrt(6 * (chances * (1 - chances)).sum() / 50)
    assert abs(above.mean(axis=0).sum() - 6 * chances.sum()) < 4 * error


def test_known_chances_repair_what_negatives_of_a_likeness_do() -> None:
    """The lower an item is ranked, the more often it is drawn."""
    weights = RANKS.rank.astype(np.float64)
    drawn = draw_negatives(
        RANKS, RELEVANT, m=10, repeats=60, seed=2, weigh=lambda user, items: weights[user, items]
    )
    samples = drawn.rank(RANKS, RELEVANT)
    found = ht_plugin().fit_repeats(samples).estimate("AUC")
    exact = (1 - RELEVANT.above / RELEVANT.n_irrelevant).mean()
    assert abs(found.mean() - exact) < 4 * found.std(ddof=1) / np.sqrt(60)
    plain = np.mean([1 - sample.above.mean() / 10 for sample in samples])
    assert plain > exact + 0.1


def test_the_top_of_a_system_keeps_its_own_first_ranks() -> None:
    hard = top_negatives(RANKS, RELEVANT, m=7, repeats=1).rank(RANKS, RELEVANT)[0]
    assert (hard.above == np.minimum(RELEVANT.above, 7)).all()


def test_a_user_is_sampled_alike_among_any_others() -> None:
    few = CandidateRanks(RANKS.topic[:3], RANKS.rank[:3])
    some = draw_negatives(few, few.of_relevant(JUDGED), m=4, repeats=2, seed=1)
    every = draw_negatives(RANKS, RELEVANT, m=4, repeats=2, seed=1)
    assert (some.items == every.items[:3]).all()


def test_relevant_items_that_are_no_candidates_are_last() -> None:
    ranks = _ranks(1, known=24)
    full = _of_system(ranks)
    assert full.item is not None
    cold = full.item == 8
    assert set(full.rank[cold]) == set(full.n_candidates) == {7}
    sampled = draw_negatives(ranks, full, m=4, repeats=1, seed=1).rank(ranks, full)[0]
    assert set(sampled.above[cold]) == {4}


def test_too_many_negatives_are_refused() -> None:
    with pytest.raises(InputError, match="must not be above the irrelevant candidates, 23"):
        draw_negatives(RANKS, RELEVANT, m=24, repeats=1, seed=1)
