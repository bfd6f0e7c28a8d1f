from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from recommenders.ht import HittingTimes, TruncatedHittingTimes
from runs import Numbering, top_items

TRUNCATED = {"max_gigabytes": 1e-9}


def ratings_of(table: list[list[float]]) -> Ratings:
    matrix = np.array(table)
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(matrix))
    users, items = (Numbering.of(f"{k}" for k in range(n)) for n in matrix.shape)
    return Ratings(users, items, user, item, matrix[user, item])


def users_of(ratings: Ratings) -> NDArray[np.int32]:
    return np.arange(len(ratings.users), dtype=np.int32)


def hitting_times_of_items(ratings: Ratings, user: int) -> NDArray[np.float64]:
    """Solve the equations of the definition, for users and items together."""
    matrix = ratings.matrix().toarray()
    n_users, n_items = matrix.shape
    steps = np.block(
        [[np.zeros((n_users, n_users)), matrix], [matrix.T, np.zeros((n_items, n_items))]]
    )
    steps /= steps.sum(axis=1, keepdims=True)
    others = np.delete(np.arange(n_users + n_items), user)
    system = np.eye(len(others)) - steps[np.ix_(others, others)]
    return np.linalg.solve(system, np.ones(len(others)))[n_users - 1 :]


@pytest.fixture
def chain() -> Ratings:
    """A path: item 0 - user 0 - item 1 - user 1 - item 2 - user 2 - item 3."""
    return ratings_of([[4, 4, 0, 0], [0, 4, 4, 0], [0, 0, 4, 4]])


def test_truncated_times_count_the_chance_of_meeting_in_time(chain: Ratings) -> None:
    """By hand, 3 steps: from item 1 user 0 is met at step 1 or 3, with chances 1/2 and 1/8.

    Met at step 1, 2 of the 3 steps are saved; met at the last, none. Item 0 is met at step 1.
    """
    settings = TRUNCATED | {"steps": 3}
    scores = recommenders.train("ht", settings, chain, seed=1).score_batch(users_of(chain))
    np.testing.assert_allclose(scores[0], [2, 1, 0, 0], atol=1e-6)


def test_exact_times_solve_the_definition(ratings: Ratings) -> None:
    scores = recommenders.train("ht", {}, ratings, seed=1).score_batch(users_of(ratings))
    for user in (0, 41):
        expected = hitting_times_of_items(ratings, user)
        np.testing.assert_allclose(scores[user], expected.min() - expected, rtol=1e-5, atol=1e-5)


def test_long_walks_rank_as_exact_times_do(ratings: Ratings) -> None:
    exact = recommenders.train("ht", {}, ratings, seed=1)
    truncated = recommenders.train("ht", TRUNCATED | {"steps": 2001}, ratings, seed=1)
    assert isinstance(exact, HittingTimes)
    assert isinstance(truncated, TruncatedHittingTimes)
    first, second = (scorer.score_batch(users_of(ratings)[:5]) for scorer in (exact, truncated))
    np.testing.assert_array_equal(top_items(first, depth=50), top_items(second, depth=50))


@pytest.mark.parametrize("settings", [{}, TRUNCATED])
def test_what_no_walk_reaches_cannot_be_scored(settings: dict[str, float]) -> None:
    """Two islands, and an item without ratings; a rating of zero is no bridge."""
    islands = ratings_of([[5, 3, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 1, 4, 0]])
    bridged = Ratings(
        islands.users,
        islands.items,
        np.insert(islands.user, 3, 1),
        np.insert(islands.item, 3, 2),
        np.insert(islands.rating, 3, 0.0),
    )
    scores = recommenders.train("ht", settings, bridged, seed=1).score_batch(users_of(bridged))
    expected = [[True, True, False, False, False]] * 2 + [[False, False, True, True, False]]
    np.testing.assert_array_equal(np.isfinite(scores), expected)


@pytest.mark.parametrize("settings", [{}, TRUNCATED])
def test_a_user_whose_ratings_are_all_zero_is_met_by_nobody(settings: dict[str, float]) -> None:
    some = ratings_of([[5, 3, 1], [4, 0, 2]])
    zeroed = replace(some, rating=np.where(some.user == 1, 0.0, some.rating))
    scores = recommenders.train("ht", settings, zeroed, seed=1).score_batch(users_of(zeroed))
    assert np.isnan(scores[1]).all()
    assert np.isfinite(scores[0]).all()


def test_truncated_scores_do_not_depend_on_the_other_users(ratings: Ratings) -> None:
    scorer = recommenders.train("ht", TRUNCATED, ratings, seed=1)
    together = scorer.score_batch(users_of(ratings))
    apart = [scorer.score_batch(users_of(ratings)[[user]])[0] for user in users_of(ratings)]
    np.testing.assert_array_equal(together, apart)
