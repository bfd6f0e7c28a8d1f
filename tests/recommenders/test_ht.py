"""Hitting times, exact and truncated, against their definition."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.ht import (
    HittingTimes,
    HTSettings,
    TruncatedHittingTimes,
    connected_components,
    connected_items,
    ht_memory_need,
    inverse_laplacian,
    row_shares,
)
from runs import InputError, Numbering, top_items
from tests.described import described

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


@pytest.mark.parametrize(
    ("steps", "of_first"),
    [(2, [1, 1 / 2, 0, 0]), (4, [3, 3 / 2 + 1 / 8, 1 / 8, 0]), (5, [4, 4 / 2 + 2 / 8, 2 / 8, 0])],
)
def test_a_walk_that_meets_the_user_early_saves_what_is_left_of_its_steps(
    chain: Ratings, steps: int, of_first: list[float]
) -> None:
    """Items meet user 0 at odd steps: item 1 at step 1 with 1/2 and at step 3 with 1/8, and so on.

    With 5 steps item 1 is met at step 5, too, and so is item 3: nothing is saved there.
    """
    settings = TRUNCATED | {"steps": steps}
    scores = recommenders.train("ht", settings, chain, seed=1).score_batch(users_of(chain))
    np.testing.assert_allclose(scores[0], of_first, atol=1e-6)


def test_settings_are_bounded() -> None:
    assert described(HTSettings) == {"max_gigabytes": "4.0; > 0", "steps": "15; >= 2"}


def test_three_dense_matrices_in_double_precision_are_needed_where_they_fit() -> None:
    """Of 25,000 items: 3 times 8 bytes times 625 million."""
    items = Numbering.of(f"{number:05}" for number in range(25_000))
    nobody = np.empty(0, dtype=np.int32)
    ratings = Ratings(Numbering.of("u"), items, nobody, nobody, np.empty(0))
    assert ht_memory_need(ratings, HTSettings(max_gigabytes=15.0)).n_bytes == 15_000_000_000
    assert ht_memory_need(ratings, HTSettings(max_gigabytes=14.9)).n_bytes == 0
    assert "3 dense matrices of 25000 x 25000" in ht_memory_need(ratings, HTSettings()).purpose


def test_times_are_multiples_of_the_resolution(chain: Ratings) -> None:
    """A trillionth of the sum of degrees, which is twice that of ratings: 2 times 24."""
    scorer = recommenders.train("ht", {}, chain, seed=1)
    assert isinstance(scorer, HittingTimes)
    assert scorer.resolution == pytest.approx(48e-12, rel=1e-12)
    coarse = replace(scorer, resolution=5.0)
    exact = scorer.score_batch(users_of(chain))
    np.testing.assert_array_equal(coarse.score_batch(users_of(chain)), 5 * np.round(exact / 5))


def test_the_lifted_laplacian_is_inverted() -> None:
    """On two islands: the inverse times the Laplacian is what is not constant on an island."""
    matrix = csr_array(np.array([[4.0, 2, 0, 0, 0], [0, 1, 5, 0, 0], [0, 0, 0, 3, 0]]))
    users, components = connected_components(matrix)
    assert (users == components[[0, 1, 3]]).all()
    dense = matrix.toarray()
    shares = dense / dense.sum(axis=1, keepdims=True)
    laplacian = np.diag(dense.sum(axis=0)) - dense.T @ shares
    same = components[:, np.newaxis] == components
    centred = np.eye(5) - same / same.sum(axis=1)
    inverse = inverse_laplacian(matrix, components)
    np.testing.assert_allclose((inverse @ laplacian)[:4, :4], centred[:4, :4], atol=1e-12)
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)


def test_an_inverse_is_the_same_for_every_size_of_block(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = ratings.matrix()
    components = connected_components(matrix)[1]
    whole = inverse_laplacian(matrix, components)
    monkeypatch.setattr("recommenders.shared.scorers.BLOCK_ROWS", 7)
    np.testing.assert_allclose(inverse_laplacian(matrix, components), whole, rtol=1e-9)


def test_ratings_that_differ_too_much_are_refused() -> None:
    with pytest.raises(InputError, match="'ht' cannot be trained: the ratings differ too much"):
        recommenders.train(
            "ht", {}, ratings_of([[1, 1e-18, 0], [0, 1, 1e-18], [1e-18, 0, 1]]), seed=1
        )


def test_items_of_a_component_are_reached_from_a_rating_above_zero() -> None:
    components = np.array([0, 1, 0, 2], dtype=np.int32)
    histories = csr_array(([2.0, 0.5, 0.0], ([0, 1, 1], [0, 1, 3])), shape=(3, 4))
    assert connected_items(histories, components).tolist() == [
        [True, False, True, False],
        [False, True, False, False],
        [False] * 4,
    ]


def test_a_row_is_shared_out_and_one_of_zeros_stays() -> None:
    matrix = csr_array(([3.0, 1.0, 0.0], ([0, 0, 1], [0, 2, 1])), shape=(3, 3))
    assert row_shares(matrix).toarray().tolist() == [[0.75, 0, 0.25], [0, 0, 0], [0, 0, 0]]
