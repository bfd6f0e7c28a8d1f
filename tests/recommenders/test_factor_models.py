"""PureSVD, SVD, WRMF, BPRMF and Krichene's X, against what they minimise."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import recommenders
from qrels import Ratings
from recommenders.kernels import pairwise
from recommenders.puresvd import right_singular_vectors
from recommenders.shared.scorers import FactorScorer, HistoriesScorer
from runs import InputError, Numbering


@pytest.mark.slow
@pytest.mark.parametrize("factors", [1, 7, 90])
def test_scores_are_the_best_approximation_of_low_rank(ratings: Ratings, factors: int) -> None:
    """Eckart and Young: the projection on the leading singular vectors is U S V' cut off."""
    scorer = recommenders.train("puresvd", {"factors": factors}, ratings, seed=1)
    left, values, right = np.linalg.svd(ratings.matrix().toarray(), full_matrices=False)
    expected = (left[:, :factors] * values[:factors]) @ right[:factors]
    users = np.arange(len(ratings.users), dtype=np.int32)
    np.testing.assert_allclose(scorer.score_batch(users), expected, atol=1e-5)


def test_ratings_that_are_all_zero_have_no_singular_vectors(ratings: Ratings) -> None:
    zero = Ratings(ratings.users, ratings.items, ratings.user, ratings.item, np.zeros(len(ratings)))
    with pytest.raises(InputError, match="'puresvd' cannot be trained: every training rating"):
        recommenders.train("puresvd", {}, zero, seed=1)


def test_scores_are_on_the_scale_of_the_ratings(ratings: Ratings) -> None:
    """A known rating is met more closely than by the mean of all."""
    scorer = recommenders.train("svd", {}, ratings, seed=1)
    scores = scorer.score_batch(np.arange(len(ratings.users), dtype=np.int32))
    errors = scores[ratings.user, ratings.item] - ratings.rating
    assert np.mean(errors**2) < np.var(ratings.rating) / 2


def test_item_factors_solve_the_weighted_least_squares_of_the_paper(ratings: Ratings) -> None:
    """The last half sweep solves the items, given the users."""
    settings = {"factors": 5, "weight": 4.0, "regularization": 3.0}
    scorer = recommenders.train("wrmf", settings, ratings, seed=1)
    assert isinstance(scorer, FactorScorer)
    of_users = scorer.user_factors.astype(float)
    for item, rated in enumerate(ratings.matrix().toarray().T > 0):
        weighted = of_users.T * np.where(rated, 1 + 4.0, 1.0)
        solution = np.linalg.solve(weighted @ of_users + 3.0 * np.eye(5), weighted @ rated)
        np.testing.assert_allclose(scorer.item_factors[item], solution, atol=1e-4)


EVERYBODY = np.arange(90, dtype=np.int32)


@pytest.mark.slow
def test_rated_items_score_above_the_others(ratings: Ratings) -> None:
    """The area under the curve of the training ratings, user by user."""
    scores = recommenders.train("bprmf", {"epochs": 100}, ratings, seed=1).score_batch(EVERYBODY)
    rated = ratings.matrix().toarray() > 0
    above = [
        (row[own][:, np.newaxis] > row[~own]).mean() for row, own in zip(scores, rated, strict=True)
    ]
    assert np.mean(above) > 0.75


def test_steps_that_diverge_are_an_error(ratings: Ratings) -> None:
    with pytest.raises(InputError, match=r"'bprmf' cannot be trained: .* smaller 'learning_rate'"):
        recommenders.train("bprmf", {"learning_rate": 100.0}, ratings, seed=1)


@pytest.mark.parametrize("name", ["als-knn", "bprmf", "wrmf"])
def test_threads_do_not_change_lists(name: str, ratings: Ratings) -> None:
    def lists(n_threads: int) -> NDArray[np.int32]:
        with threadpool_limits(n_threads):
            trained = recommenders.train(name, {}, ratings, seed=1)
        return recommenders.recommend(trained, ratings, EVERYBODY, system=name, depth=20).items

    np.testing.assert_array_equal(lists(1), lists(2))


def test_a_user_who_rated_everything_can_be_trained_on() -> None:
    """There is no unrated item to draw for u."""
    users, items = Numbering.of(["u", "v"]), Numbering.of(["a", "b", "c"])
    user, item = np.array([[0, 0, 0, 1], [0, 1, 2, 1]], dtype=np.int32)
    full = Ratings(users, items, user, item, np.full(4, 4.0))
    scorer = recommenders.train("bprmf", {}, full, seed=1)
    scores = scorer.score_batch(np.arange(2, dtype=np.int32))
    assert np.isfinite(scores).all()


SETTINGS = {"factors": 4, "regularization": 2.0, "background": 0.3}


@pytest.fixture
def scorer(ratings: Ratings) -> FactorScorer:
    trained = recommenders.train("krichene-x", SETTINGS, ratings, seed=1)
    assert isinstance(trained, FactorScorer)
    return trained


def test_the_last_half_sweep_minimises_the_loss_of_the_paper(
    scorer: FactorScorer, ratings: Ratings
) -> None:
    """Given the users, an item solves (sum over its users of v v' + 0.3 V'V + 2 I) x = sum of v."""
    of_users = scorer.user_factors.astype(float) / np.sqrt(1.3)
    background = 0.3 * of_users.T @ of_users + 2.0 * np.eye(4)
    for item, rated in enumerate(ratings.matrix().toarray().T > 0):
        raters = of_users[rated]
        solution = np.linalg.solve(raters.T @ raters + background, raters.sum(axis=0))
        found = scorer.item_factors[item] / np.sqrt(1.3)
        np.testing.assert_allclose(found, solution, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("multivae", {"hidden": 40, "batch_users": 30, "learning_rate": 0.005, "dropout": 0.3}),
        ("neumf", {"factors": 8, "regularization": 0.1, "batch_ratings": 256}),
    ],
)
def test_networks_learn_which_items_were_rated(
    name: str, settings: dict[str, float], ratings: Ratings
) -> None:
    """Above chance for the items trained on, and the more the longer they are trained."""
    rated = ratings.matrix().toarray() > 0
    areas = []
    for epochs in (1, 50):
        trained = recommenders.train(name, settings | {"epochs": epochs}, ratings, seed=1)
        scores = trained.score_batch(EVERYBODY)
        above = [
            (row[own][:, np.newaxis] > row[~own]).mean()
            for row, own in zip(scores, rated, strict=True)
        ]
        areas.append(np.mean(above))
    assert areas[1] > max(0.7, areas[0] + 0.1)


@pytest.mark.slow
def test_an_autoencoder_scores_anybody_s_items(ratings: Ratings) -> None:
    scorer = recommenders.train("multivae", {"hidden": 20, "epochs": 3}, ratings, seed=1)
    assert isinstance(scorer, HistoriesScorer)
    histories = ratings.matrix()[[3, 5]]
    np.testing.assert_allclose(
        scorer.score_histories(histories), scorer.score_batch(EVERYBODY[[3, 5]]), rtol=1e-6
    )


def test_the_learning_rate_of_bprmf_falls_by_the_epoch_in_equal_steps(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Factors begin with a standard deviation of 0.1; each rating is a triple of each epoch."""
    seen: list[Any] = []

    def descend(triples: Any, of_users: Any, of_items: Any, rate: Any, penalty: Any) -> None:
        seen.append((triples.copy(), float(rate), float(penalty)))
        assert of_users.shape == (90, 64)
        assert of_items.shape == (130, 64)
        assert of_users.std() == pytest.approx(0.1, rel=0.05)
        assert of_items.std() == pytest.approx(0.1, rel=0.05)

    monkeypatch.setattr(pairwise, "descend", descend)
    recommenders.train("bprmf", {"epochs": 4, "learning_rate": 0.4}, ratings, seed=1)
    assert [rate for _, rate, _ in seen] == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert {penalty for _, _, penalty in seen} == {float(np.float32(0.01))}
    pairs = np.column_stack([ratings.user, ratings.item]).tolist()
    assert [sorted(triples[:, :2].tolist()) for triples, _, _ in seen] == [pairs] * 4
    assert not np.array_equal(seen[0][0], seen[1][0])


@pytest.mark.parametrize("count", [1, 5, 6, 7])
def test_singular_vectors_are_orthonormal_and_no_more_than_there_are(count: int) -> None:
    from scipy.sparse import csr_array

    matrix = csr_array(np.random.default_rng(1).random((6, 8)))
    basis = right_singular_vectors(matrix, count=count, seed=1)
    assert basis.shape == (8, min(count, 6))
    np.testing.assert_allclose(basis.T @ basis, np.eye(min(count, 6)), atol=1e-9)


def test_svd_adds_up_mean_biases_and_factors(ratings: Ratings) -> None:
    """As LensKit's own component does, item by item."""
    from lenskit.data import ItemList

    from recommenders.shared.lenskit_bridge import train_component

    settings = {"factors": 3, "regularization": 0.2, "damping": 2.0, "epochs": 2}
    scorer = recommenders.train("svd", settings, ratings, seed=1)
    component: Any = recommenders.component("svd", settings)
    assert (component.config.embedding_size, component.config.epochs) == (3, 2)
    assert (component.config.regularization, component.config.damping) == (0.2, 2.0)
    theirs = train_component(component, ratings, seed=1)(
        str(ratings.users.ids[4]), ItemList(ratings.items.ids)
    )
    scores = scorer.score_batch(np.array([4], dtype=np.int32))[0]
    np.testing.assert_allclose(scores, theirs.scores(), rtol=1e-4)


def test_wrmf_takes_as_many_sweeps_and_factors_as_it_is_told(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def least_squares(weights: Any, **options: Any) -> Any:
        asked.append((set(weights.data.tolist()), weights.nnz, options))
        return np.ones((90, 1)), np.ones((130, 1))

    monkeypatch.setattr("recommenders.kernels.least_squares.least_squares", least_squares)
    recommenders.train("wrmf", {}, ratings, seed=6)
    options = {"factors": 64, "regularization": 30.0, "sweeps": 15, "seed": 6}
    assert asked == [({2.0}, len(ratings), options)]


def test_krichene_x_keeps_the_users_of_training_and_solves_for_others(
    scorer: FactorScorer, ratings: Ratings
) -> None:
    """A weight of 1 / 0.3, and a penalty of 2 (1 + 0.3) / 0.3."""
    assert isinstance(scorer, HistoriesScorer)
    histories = ratings.matrix()[[3]]
    rated = histories.toarray()[0] > 0
    items = scorer.item_factors.astype(float)
    confidence = np.where(rated, 1 + 1 / 0.3, 1.0)
    normal = (items.T * confidence) @ items + 2.0 * 1.3 / 0.3 * np.eye(4)
    factors = np.linalg.solve(normal, items.T @ (confidence * rated))
    np.testing.assert_allclose(scorer.score_histories(histories)[0], items @ factors, rtol=1e-4)
    empty = type(histories)((1, len(ratings.items)))
    assert np.isnan(scorer.score_histories(empty)).all()
