"""Popularity, ItemKNN, EASE, SLIM and RP3beta, against their definitions."""

import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.ease import EASESettings, ease_memory_need
from recommenders.item_knn import ItemKNNSettings, item_knn_component
from recommenders.shared.scorers import LinearItemScorer
from recommenders.slim import SLIMSettings, slim_component
from runs import InputError, Numbering


def test_an_items_score_is_its_number_of_training_ratings(ratings: Ratings) -> None:
    scorer = recommenders.train("popularity", {}, ratings, seed=1)
    scores = scorer.score_batch(np.array([0, 5], dtype=np.int32))
    np.testing.assert_array_equal(scores, np.tile(ratings.item_counts(), (2, 1)))


@pytest.mark.slow
def test_scores_sum_the_cosines_of_nearest_neighbours() -> None:
    """Items a and b share 2 users, b and c 1; with one neighbour each, c brings b, b brings a."""
    rated = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]])
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    users, items = Numbering.of(["u", "v", "w"]), Numbering.of(["a", "b", "c"])
    ratings = Ratings(users, items, user, item, np.full(len(user), 3.0))
    scorer = recommenders.train("item-knn", {"neighbours": 1}, ratings, seed=1)
    scores = scorer.score_batch(np.array([0, 2], dtype=np.int32))
    near, far = 2 / np.sqrt(2 * 3), 1 / np.sqrt(3 * 1)
    np.testing.assert_allclose(scores, [[near, near, np.nan], [near, far, np.nan]], rtol=1e-6)


def test_scores_follow_the_closed_form(ratings: Ratings) -> None:
    scorer = recommenders.train("ease", {"regularization": 50.0}, ratings, seed=1)
    rated = (ratings.matrix().toarray() > 0).astype(float)
    inverse = np.linalg.inv(rated.T @ rated + 50.0 * np.eye(len(ratings.items)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    users = np.arange(len(ratings.users), dtype=np.int32)
    np.testing.assert_allclose(scorer.score_batch(users), rated @ weights, atol=1e-5)


def test_ease_names_the_setting_that_single_precision_cannot_hold() -> None:
    """One user who rated three items: without a penalty the matrix has rank 1."""
    user = np.zeros(3, dtype=np.int32)
    item = np.arange(3, dtype=np.int32)
    ratings = Ratings(Numbering.of(["u"]), Numbering.of(["a", "b", "c"]), user, item, np.ones(3))
    with pytest.raises(InputError, match="regularization, 1e-12, is too small"):
        recommenders.train("ease", {"regularization": 1e-12}, ratings, seed=1)


def test_ease_states_its_memory_before_it_starts(ratings: Ratings) -> None:
    with pytest.raises(InputError, match=r"'ease' needs about .* GB \(3 dense matrices of 130 x"):
        recommenders.train("ease", {"max_gigabytes": 1e-6}, ratings, seed=1)


CONVERGED = {"l1_regularization": 2.0, "l2_regularization": 20.0, "iterations": 500}


def weights_of(ratings: Ratings, settings: dict[str, float]) -> np.ndarray:
    scorer = recommenders.train("slim", settings, ratings, seed=1)
    assert isinstance(scorer, LinearItemScorer)
    assert not isinstance(scorer.weights, np.ndarray)
    return scorer.weights.toarray()


def test_weights_solve_the_elastic_net_of_the_paper(ratings: Ratings) -> None:
    """Karush, Kuhn, Tucker: no slope at a weight above 0, none upwards at a weight of 0.

    Within what LensKit calls converged: slopes begin at up to 14.
    """
    weights = weights_of(ratings, CONVERGED | {"neighbours": 0})
    rated = (ratings.matrix().toarray() > 0).astype(float)
    slopes = rated.T @ (rated - rated @ weights) - 20.0 * weights - 2.0
    np.fill_diagonal(slopes, -1.0)
    assert (weights >= 0).all()
    assert (np.diag(weights) == 0).all()
    assert np.count_nonzero(weights) > 100
    np.testing.assert_allclose(slopes[weights > 0], 0, atol=0.1)
    assert slopes[weights == 0].max() < 0.1


@pytest.mark.parametrize("neighbours", [1, 4])
def test_an_item_is_predicted_by_so_many_neighbours(ratings: Ratings, neighbours: int) -> None:
    weights = weights_of(ratings, CONVERGED | {"neighbours": neighbours})
    assert (weights > 0).sum(axis=0).max() == neighbours


def test_an_item_that_nothing_links_to_the_user_scores_zero() -> None:
    """As in LensKit: a and b are rated by u and v, c by w alone."""
    users, items = Numbering.of(["u", "v", "w"]), Numbering.of(["a", "b", "c"])
    user, item = np.array([[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]], dtype=np.int32)
    apart = Ratings(users, items, user, item, np.full(5, 4.0))
    settings = {"l1_regularization": 0.5, "l2_regularization": 1.0}
    scorer = recommenders.train("slim", settings, apart, seed=1)
    scores = scorer.score_batch(np.arange(3, dtype=np.int32))
    # By hand: 2 users rated both, and with weight w the slope is 2 - 2 w - w - 1/2.
    expected = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def walkers() -> Ratings:
    """User u rated a and b, v a, b and c, w c alone; ratings themselves do not matter."""
    rated = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    users, items = Numbering.of("uvw"), Numbering.of("abc")
    return Ratings(users, items, user, item, np.arange(1.0, 1 + len(user)))


def scores(user: int, **settings: float) -> np.ndarray:
    scorer = recommenders.train("rp3beta", settings, walkers(), seed=1)
    return scorer.score_batch(np.array([user], dtype=np.int32))[0]


def test_scores_are_chances_of_a_walk_of_three_steps() -> None:
    """From a to b: by u with 1/2 and to b with 1/2, by v with 1/2 and 1/3: 5/12; to c by v, 1/6."""
    near, far = 1 / 2 * 1 / 2 + 1 / 2 * 1 / 3, 1 / 2 * 1 / 3
    np.testing.assert_allclose(scores(0, beta=0.0), [near, near, 2 * far], rtol=1e-6)


def test_alpha_is_a_power_of_every_step() -> None:
    near = (1 / 2 * 1 / 2) ** 2 + (1 / 2 * 1 / 3) ** 2
    np.testing.assert_allclose(scores(0, alpha=2.0, beta=0.0)[0], near, rtol=1e-6)


def test_beta_divides_by_the_users_of_the_item_that_is_reached() -> None:
    plain = scores(1, beta=0.0)
    np.testing.assert_allclose(scores(1, beta=1.0), plain / 2, rtol=1e-6)  # All have two users.


def test_an_item_leads_to_its_nearest_alone() -> None:
    assert np.isnan(scores(0, neighbours=1)).tolist() == [False, False, True]


def test_discounted_popularity_brings_up_the_long_tail(ratings: Ratings) -> None:
    """The mean popularity of what is listed falls with beta."""
    users, counts = np.arange(len(ratings.users), dtype=np.int32), ratings.item_counts()
    popularity = []
    for beta in (0.0, 0.5, 1.0):
        scorer = recommenders.train("rp3beta", {"beta": beta}, ratings, seed=1)
        run = recommenders.recommend(scorer, ratings, users, system="x", depth=5)
        popularity.append(counts[run.items[run.items >= 0]].mean())
    assert popularity == sorted(popularity, reverse=True)
    assert popularity[0] > popularity[-1]


def test_ease_holds_three_matrices_in_single_precision(ratings: Ratings) -> None:
    """Of 130 items: 3 times 4 bytes times 16,900."""
    assert ease_memory_need(ratings, EASESettings()).n_bytes == 202_800


def test_neighbours_are_bounded_in_training_and_not_in_scoring() -> None:
    config = item_knn_component(ItemKNNSettings(neighbours=7)).config
    assert (config.save_nbrs, config.max_nbrs, config.min_nbrs) == (7, 2**31 - 1, 1)
    assert config.feedback == "implicit"


def test_slim_looks_at_all_items_for_zero_neighbours() -> None:
    settings = SLIMSettings(
        l1_regularization=0.5, l2_regularization=3.0, iterations=6, neighbours=4
    )
    config = slim_component(settings).config
    assert (config.l1_reg, config.l2_reg, config.max_iters, config.max_nbrs) == (0.5, 3.0, 6, 4)
    assert slim_component(SLIMSettings(neighbours=0)).config.max_nbrs is None


def test_a_walk_from_nobody_and_to_nobody_does_no_harm() -> None:
    """An item without ratings, and a user without any."""
    fewer = walkers().select(walkers().item < 2)
    scorer = recommenders.train("rp3beta", {}, fewer, seed=1)
    found = scorer.score_batch(np.arange(3, dtype=np.int32))
    # From a to b: by u and v alike, 1/2 each, and then 1/2; both have two users.
    np.testing.assert_allclose(found[0], [0.5 / 2**0.5, 0.5 / 2**0.5, np.nan], rtol=1e-6)
    assert np.isnan(found[2]).all()


def test_popularity_is_the_same_for_any_history(ratings: Ratings) -> None:
    scorer = recommenders.train("popularity", {}, ratings, seed=1)
    found = scorer.score_histories(ratings.matrix()[:2])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found, np.tile(ratings.item_counts(), (2, 1)))
