"""Scores of other ratings than those of training, of systems that learn about each user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.special import digamma

import recommenders
from qrels import Ratings
from recommenders.kernels.factorisation import ImplicitFoldIn, PairwiseFoldIn, RatingFoldIn
from recommenders.shared.scorers import FoldInScorer, HistoriesScorer

USER = 5
OWNER = np.array([USER], dtype=np.int32)
BY_NEIGHBOURS = ["chi2", "kld", "lm-wsr-ub", "nncosngbr-ub", "rm1", "rm2", "rsv", "rw"]
TRUNCATED = {"max_gigabytes": 1e-9, "steps": 8}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def trained(name: str, ratings: Ratings, **settings: Any) -> HistoriesScorer:
    scorer = recommenders.train(name, settings, ratings, seed=1)
    assert isinstance(scorer, HistoriesScorer)
    return scorer


def folded(name: str, ratings: Ratings, **settings: Any) -> FoldInScorer:
    scorer = trained(name, ratings, **settings)
    assert isinstance(scorer, FoldInScorer)
    return scorer


def everybody(ratings: Ratings) -> NDArray[np.int32]:
    return np.arange(len(ratings.users), dtype=np.int32)


def changed(ratings: Ratings) -> csr_array[Any]:
    """Hide the first item of the user, and add one that was not rated, with 2."""
    row = ratings.matrix()[[USER]].toarray()
    unrated = np.flatnonzero(row[0] == 0)[0]
    row[0, ratings.matrix()[[USER]].indices[0]] = 0
    row[0, unrated] = 2.0
    return csr_array(row)


def with_row(ratings: Ratings, row: csr_array[Any]) -> Ratings:
    """Put these ratings in place of the user's."""
    matrix = ratings.matrix()
    new = vstack([matrix[:USER], row, matrix[USER + 1 :]], format="csr")
    user, item = new.nonzero()
    columns = user.astype(np.int32), item.astype(np.int32), new[user, item]
    return Ratings(ratings.users, ratings.items, *columns)


EXACT: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in (*BY_NEIGHBOURS, "ht", "lda")] + [
    ("ht", TRUNCATED)
]


@pytest.mark.parametrize(("name", "settings"), EXACT)
def test_ratings_of_training_are_scored_as_their_owner_is(
    name: str, settings: dict[str, Any], ratings: Ratings
) -> None:
    scorer, users = trained(name, ratings, **settings), everybody(ratings)
    again = scorer.score_histories(ratings.matrix(), users)
    np.testing.assert_array_equal(again, scorer.score_batch(users))


SETTLED = [
    ("wrmf", {"epochs": 200, "factors": 5}, 1e-3),
    ("krichene-x", {"epochs": 200, "factors": 5}, 1e-3),
    ("svd", {"epochs": 500, "factors": 3}, 0.02),
]


@pytest.mark.parametrize(("name", "settings", "tolerance"), SETTLED)
def test_ratings_of_training_lead_to_the_factors_of_training_once_these_have_settled(
    name: str, settings: dict[str, Any], tolerance: float, ratings: Ratings
) -> None:
    scorer, users = folded(name, ratings, **settings), everybody(ratings)
    again, before = scorer.score_histories(ratings.matrix()), scorer.score_batch(users)
    np.testing.assert_allclose(again, before, atol=tolerance * float(np.ptp(before)))


def test_topics_explain_the_ratings_of_training_as_those_of_training_do(ratings: Ratings) -> None:
    """To 0.0001 in the mean log-likelihood, or better: shares that once were 0 may come back."""
    scorer, users = folded("plsa", ratings, topics=3, steps=1000), everybody(ratings)
    again, before = scorer.score_histories(ratings.matrix()), scorer.score_batch(users)
    agreement = [np.corrcoef(one, other)[0, 1] for one, other in zip(again, before, strict=True)]
    assert np.median(agreement) > 0.99999
    assert min(agreement) > 0.99
    explained, explained_before = (
        np.bincount(ratings.user, ratings.rating * np.log(scores[ratings.user, ratings.item]))
        / np.bincount(ratings.user, ratings.rating)
        for scores in (again, before)
    )
    assert (explained > explained_before - 1e-4).all()


def test_pairs_lead_towards_the_factors_of_training(ratings: Ratings) -> None:
    """They do not lead there: training ends on the way to the maximum."""
    scorer, users = folded("bprmf", ratings), everybody(ratings)
    again, before = scorer.score_histories(ratings.matrix()), scorer.score_batch(users)
    agreement = [np.corrcoef(one, other)[0, 1] for one, other in zip(again, before, strict=True)]
    assert np.median(agreement) > 0.8


def plain_sums(near: NDArray[np.float64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = near.sum(axis=0)
    return np.where(sums > 0, sums, np.nan)


def plain_probabilities(
    near: NDArray[np.float64], table: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give length-normalised probabilities of items among the neighbours, and in all."""
    among = plain_sums(near) / near.sum() / len(near)
    return among, table.sum(axis=0) / table.sum() / len(table)


def plain_kld(near: Any, table: Any, row: Any, cosines: Any) -> Any:
    among, in_all = plain_probabilities(near, table)
    return among * np.log(among / in_all)


def plain_chi2(near: Any, table: Any, row: Any, cosines: Any) -> Any:
    among, in_all = plain_probabilities(near, table)
    return (among - in_all) ** 2 / in_all


def plain_models(near: Any, table: Any, share: float) -> Any:
    background = table.sum(axis=0) / table.sum()
    return (1 - share) * near / near.sum(axis=1, keepdims=True) + share * background


def plain_rm1(near: Any, table: Any, row: Any, cosines: Any) -> Any:
    models = plain_models(near, table, 0.8)
    weights = models[:, row > 0].prod(axis=1)
    return weights @ models / weights.sum()


def plain_rm2(near: Any, table: Any, row: Any, cosines: Any) -> Any:
    models = plain_models(near, table, 0.1)
    logarithms = np.log(models.T @ models[:, row > 0]).sum(axis=1)
    return logarithms - logarithms[row == 0].max()


def plain_nncosngbr(near: Any, table: Any, row: Any, cosines: Any) -> Any:
    """Work the baselines out, with dampings of 25 for items and 10 for users."""
    rated, mean = table > 0, table[table > 0].mean()
    of_items = mean + ((table - mean) * rated).sum(axis=0) / (rated.sum(axis=0) + 25)

    def of_user(row: Any) -> Any:
        above = (row - of_items) * (row > 0)
        return above.sum(axis=-1, keepdims=True) / ((row > 0).sum(axis=-1, keepdims=True) + 10)

    return of_user(row) + of_items + cosines @ ((near - of_items - of_user(near)) * (near > 0))


PLAIN: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "rw": lambda near, table, row, cosines: plain_sums(near) / len(near),
    "rsv": lambda near, table, row, cosines: plain_sums(near) ** 2 / near.sum() / len(near),
    "kld": plain_kld,
    "chi2": plain_chi2,
    "rm1": plain_rm1,
    "rm2": plain_rm2,
    "nncosngbr-ub": plain_nncosngbr,
}


@pytest.mark.parametrize("name", PLAIN)
def test_neighbours_of_changed_ratings_are_other_users_as_they_were_in_training(
    name: str, ratings: Ratings
) -> None:
    table, row = ratings.matrix().toarray(), changed(ratings).toarray()[0]
    cosines = table @ row / np.linalg.norm(table, axis=1) / np.linalg.norm(row)
    assert cosines.argmax() == USER
    cosines[USER] = 0
    chosen = np.argsort(-cosines)[:10]
    expected = PLAIN[name](table[chosen], table, row, cosines[chosen])
    scorer = trained(name, ratings, neighbours=10)
    scores = scorer.score_histories(csr_array(row[np.newaxis]), OWNER)[0]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_the_likeliest_for_changed_ratings_are_other_users(ratings: Ratings) -> None:
    table, row = ratings.matrix().toarray(), changed(ratings).toarray()[0]
    likelihoods = np.log(plain_models(table, table, 0.9)) @ row / row.sum()
    assert likelihoods.argmax() == USER
    likelihoods[((table > 0) @ (row > 0)) == 0] = -np.inf
    likelihoods[USER] = -np.inf
    chosen = np.argsort(-likelihoods)[:10]
    weights = np.exp(likelihoods[chosen] - likelihoods.max())
    scorer = trained("lm-wsr-ub", ratings, neighbours=10)
    scores = scorer.score_histories(csr_array(row[np.newaxis]), OWNER)[0]
    expected = weights @ table[chosen]
    np.testing.assert_allclose(scores, np.where(expected > 0, expected, np.nan), rtol=1e-5)


def test_a_stranger_may_be_a_neighbour_of_a_twin(four_users: Ratings) -> None:
    scorer, twin = trained("rw", four_users, neighbours=1), four_users.matrix()[[0]]
    expected = [5.0, 3.0, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(scorer.score_histories(twin)[0], expected)
    np.testing.assert_array_equal(scorer.score_histories(twin, np.array([-1]))[0], expected)


def test_no_ratings_no_scores(ratings: Ratings) -> None:
    nothing = csr_array((1, len(ratings.items)))
    for name in (*BY_NEIGHBOURS, "ht", "plsa", "lda", "svd", "wrmf", "bprmf"):
        assert np.isnan(trained(name, ratings).score_histories(nothing, OWNER)).all(), name


def test_implicit_factors_solve_the_weighted_least_squares(rng: np.random.Generator) -> None:
    items, row = rng.normal(size=(7, 3)), np.array([5.0, 0, 1, 0, 0, 2, 0])
    weights = np.where(row > 0, 1 + 4.0, 1.0)
    expected = np.linalg.solve(
        (items.T * weights) @ items + 3.0 * np.eye(3), (items.T * weights) @ (row > 0)
    )
    factors, _ = ImplicitFoldIn(items, weight=4.0, regularization=3.0)(csr_array(row[np.newaxis]))
    np.testing.assert_allclose(factors, expected[np.newaxis])


def test_rating_factors_solve_the_least_squares_of_what_the_offset_leaves(
    rng: np.random.Generator,
) -> None:
    items, row = rng.normal(size=(7, 3)), np.array([5.0, 0, 1, 0, 0, 2, 0])
    above, rated = row - 3.0 - rng.normal(size=7), row > 0
    offset = above[rated].sum() / (3 + 2.0)

    def loss(factors: NDArray[np.float64]) -> float:
        errors = above[rated] - offset - items[rated] @ factors
        return float(errors @ errors + 0.1 * 3 * factors @ factors)

    fold_in = RatingFoldIn(items, row - 3.0 - above, 3.0, damping=2.0, regularization=0.1)
    factors, offsets = fold_in(csr_array(row[np.newaxis]))
    np.testing.assert_allclose(offsets, [3.0 + offset])
    np.testing.assert_allclose(factors[0], minimize(loss, np.zeros(3)).x, atol=1e-5)


def test_pairs_are_at_the_maximum_of_the_criterion(rng: np.random.Generator) -> None:
    items, row = rng.normal(size=(7, 3)), np.array([5.0, 0, 1, 0, 0, 2, 0])
    rated = row > 0

    def loss(factors: NDArray[np.float64]) -> float:
        scores = items @ factors
        behind = scores[~rated] - scores[rated][:, np.newaxis]
        return float(np.log1p(np.exp(behind)).mean() + 0.2 / 2 * factors @ factors)

    factors, _ = PairwiseFoldIn(items, np.arange(7), penalty=0.2)(csr_array(row[np.newaxis]))
    np.testing.assert_allclose(factors[0], minimize(loss, np.ones(3)).x, atol=1e-4)


def test_topics_are_at_the_maximum_of_the_likelihood(ratings: Ratings) -> None:
    scorer, row = folded("plsa", ratings, topics=3), changed(ratings)
    topics = scorer.item_factors[row.indices]

    def loss(logits: NDArray[np.float64]) -> float:
        shares = np.exp(logits) / np.exp(logits).sum()
        return float(-row.data @ np.log(topics @ shares) / row.data.sum())

    shares = scorer.fold_in(row)[0][0]
    assert shares.sum() == pytest.approx(1)
    least = min(minimize(loss, start).fun for start in np.eye(3))
    assert loss(np.log(shares)) - least == pytest.approx(0, abs=1e-4)


def test_topics_under_a_prior_settle_where_variational_bayes_does(ratings: Ratings) -> None:
    scorer, row = folded("lda", ratings, topics=3, user_steps=1000), changed(ratings)
    amounts, prior = row.data, 0.1
    words = scorer.fold_in.model.exp_dirichlet_component_[:, row.indices]  # type: ignore[attr-defined]
    gamma = np.ones(3)
    for _ in range(3000):
        topics = np.exp(digamma(gamma) - digamma(gamma.sum()))[:, np.newaxis] * words
        gamma = prior + (topics / topics.sum(axis=0)) @ amounts
    np.testing.assert_allclose(scorer.fold_in(row)[0][0], gamma / gamma.sum(), atol=0.01)


def test_exact_walks_meet_an_owner_who_hangs_on_the_graph_by_little(ratings: Ratings) -> None:
    row = changed(ratings)
    matrix = vstack([ratings.matrix(), 1e-6 * row], format="csr").toarray()
    steps = np.block([[np.zeros((91, 91)), matrix], [matrix.T, np.zeros((130, 130))]])
    steps /= steps.sum(axis=1, keepdims=True)
    others = np.delete(np.arange(221), 90)
    times = np.linalg.solve(np.eye(220) - steps[np.ix_(others, others)], np.ones(220))[90:]
    scores = trained("ht", ratings).score_histories(row, OWNER)[0]
    np.testing.assert_allclose(scores, times.min() - times, rtol=1e-3, atol=0.1)


@pytest.mark.parametrize("settings", [TRUNCATED, TRUNCATED | {"steps": 7}])
def test_cut_off_walks_go_along_the_changed_ratings(
    settings: dict[str, Any], ratings: Ratings
) -> None:
    row = changed(ratings)
    scores = trained("ht", ratings, **settings).score_histories(row, OWNER)
    anew = trained("ht", with_row(ratings, row), **settings).score_batch(OWNER)
    np.testing.assert_allclose(scores, anew, rtol=1e-6)
