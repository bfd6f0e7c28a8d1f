"""Sampled ranks straight from scores."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.sampled.samples.from_scores import sample_ranks_from_scores
from qrels.ranks.ties import Ties
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering

N_USERS, N_ITEMS = 300, 12
USERS = Numbering.of([f"u{number:03}" for number in range(N_USERS)])
ITEMS = Numbering.of([f"i{number:02}" for number in range(N_ITEMS)])


def _ratings(items: list[int]) -> Ratings:
    """Let every user rate these items."""
    user = np.repeat(np.arange(N_USERS, dtype=np.int32), len(items))
    item = np.tile(np.array(items, dtype=np.int32), N_USERS)
    return Ratings(USERS, ITEMS, user, item, np.ones(len(user)))


def _all_score(scores: list[float]) -> Callable[[NDArray[np.int32]], NDArray[np.float32]]:
    """Give every user the same scores."""
    return lambda users: np.tile(np.array(scores, dtype=np.float32), (len(users), 1))


FALLING = _all_score([float(-item) for item in range(N_ITEMS)])
EVERY = np.ones(N_ITEMS, dtype=bool)
TRAIN, RELEVANT = _ratings([0, 7]), _ratings([3, 5])


@pytest.mark.parametrize("ties", ["item", "min", "max", "random"])
def test_a_sample_of_all_negatives_has_the_full_ranks(ties: Ties) -> None:
    # Items 0 and 7 are known; of 1, 2, 3, 4, 5, 6, 8, .. items 3 and 5 are third and fifth.
    sampled = sample_ranks_from_scores(
        FALLING,
        RELEVANT,
        train=TRAIN,
        candidates=EVERY,
        m=8,
        seed=1,
        replace=False,
        ties=ties,
    )
    assert Counter(sampled.rank.tolist()) == {3: N_USERS, 5: N_USERS}
    assert set(sampled.n_candidates) == {10}


@pytest.mark.parametrize("replace", [True, False])
def test_samples_have_the_mean_of_their_law(replace: bool) -> None:
    sampled = sample_ranks_from_scores(
        FALLING, RELEVANT, train=TRAIN, candidates=EVERY, m=4, seed=1, replace=replace
    )
    above = sampled.above.reshape(-1, 2)
    error = above.std(axis=0) / np.sqrt(N_USERS)
    assert (np.abs(above.mean(axis=0) - 4 * np.array([2, 3]) / 8) < 4 * error).all()


@pytest.mark.parametrize(("ties", "rank"), [("item", 4), ("min", 1), ("max", 9)])
def test_equal_scores_follow_the_rule(ties: Ties, rank: int) -> None:
    # All of 11 candidates tie; 3 of the 10 negatives have lower numbers than item 4.
    sampled = sample_ranks_from_scores(
        _all_score([0.0] * N_ITEMS),
        _ratings([4]),
        train=_ratings([0, 7, 9]),
        candidates=EVERY,
        m=8,
        seed=1,
        replace=False,
        ties=ties,
    )
    assert set(sampled.rank) == {rank}


def test_random_ties_spread_over_all_ranks() -> None:
    sampled = sample_ranks_from_scores(
        _all_score([0.0] * N_ITEMS),
        _ratings([4]),
        train=_ratings([0]),
        candidates=EVERY,
        m=10,
        seed=1,
        replace=False,
        ties="random",
    )
    assert set(sampled.rank) == set(range(1, 12))


def test_items_without_a_score_are_last() -> None:
    scores = [float(-item) for item in range(N_ITEMS)]
    scores[4] = np.nan
    sampled = sample_ranks_from_scores(
        _all_score(scores),
        _ratings([4]),
        train=_ratings([0]),
        candidates=EVERY,
        m=10,
        seed=1,
        replace=False,
    )
    assert set(sampled.rank) == {11}


def test_a_user_is_sampled_alike_among_any_others() -> None:
    few = RELEVANT.select(RELEVANT.user % 7 == 3)
    alone, among = (
        sample_ranks_from_scores(FALLING, relevant, train=TRAIN, candidates=EVERY, m=4, seed=1)
        for relevant in (few, RELEVANT)
    )
    np.testing.assert_array_equal(alone.rank, among.rank[RELEVANT.user % 7 == 3])


def test_items_that_are_no_candidates_are_last() -> None:
    candidates = np.isin(np.arange(N_ITEMS), [1, 2, 5, 6])
    asked = {"train": TRAIN, "candidates": candidates, "m": 2, "seed": 1}
    sampled = sample_ranks_from_scores(FALLING, RELEVANT, **asked)  # type: ignore[arg-type]
    assert set(sampled.above[sampled.orders == 2]) == {2}
    assert set(sampled.n_candidates) == {5}


def _weighted(proposal: list[float], m: int) -> NDArray[np.float64]:
    """Sample among items 1 to 4 for item 6, which is above item 2 only."""
    scores = np.zeros(N_ITEMS)
    scores[[1, 3, 4]] = 1.0
    sampled = sample_ranks_from_scores(
        _all_score(scores.tolist()),
        _ratings([6]),
        train=_ratings([0]),
        candidates=np.isin(np.arange(N_ITEMS), [1, 2, 3, 4, 6]),
        m=m,
        seed=1,
        proposal=np.array(proposal),
        ties="min",
    )
    assert sampled.inverse_mass_above is not None
    return sampled.inverse_mass_above


def test_inverse_chances_of_one_draw_give_the_rank_on_average() -> None:
    # Chances .1, .2, .3, .4: the estimate 1 + 1/q has mean 4 and variance 41/6.
    weights = [0.0, 0.1, 0.2, 0.3, 0.4, 0.0, 1.0, *[0.0] * 5]
    estimates = 1 + _weighted(weights, m=1)
    np.testing.assert_allclose(sorted(set(estimates)), [1.0, 1 + 1 / 0.4, 1 + 1 / 0.3, 11.0])
    assert abs(estimates.mean() - 4) < 4 * np.sqrt(41 / 6 / N_USERS)


def test_inverse_chances_are_summed_over_draws() -> None:
    weights = [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, *[0.0] * 5]
    assert set(_weighted(weights, m=2) / 4) == {0.0, 1.0, 2.0}


def test_a_proposal_gives_every_candidate_a_chance() -> None:
    with pytest.raises(InputError, match=r"`proposal`, got 0\.0 for item number 2"):
        _weighted([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, *[0.0] * 5], m=1)


def test_a_proposal_has_a_weight_for_each_item() -> None:
    with pytest.raises(InputError, match=r"each of the 12 items, got shape \(2,\)"):
        _weighted([1.0, 1.0], m=1)


def test_a_proposal_needs_replacement() -> None:
    with pytest.raises(InputError, match="needs sampling with replacement"):
        sample_ranks_from_scores(
            FALLING, RELEVANT, train=TRAIN, m=1, seed=1, replace=False, proposal=np.ones(N_ITEMS)
        )


@pytest.mark.parametrize("m", [0, 9])
def test_impossible_numbers_of_negatives_are_refused(m: int) -> None:
    with pytest.raises(InputError, match=f"got {m}"):
        sample_ranks_from_scores(FALLING, RELEVANT, train=TRAIN, candidates=EVERY, m=m, seed=1)


def test_half_ranks_are_refused() -> None:
    with pytest.raises(InputError, match="as half ranks cannot be sampled, got 'mid'"):
        sample_ranks_from_scores(FALLING, RELEVANT, train=TRAIN, m=1, seed=1, ties="mid")  # type: ignore[arg-type]
