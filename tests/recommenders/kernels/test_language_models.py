"""Smoothed models and their likelihoods, against their definitions."""

from math import log
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.sparse import csr_array

import recommenders
from qrels import Ratings
from recommenders.kernels.language_models import (
    ExpansionSettings,
    LanguageModels,
    RelevanceModelScorer,
    SmoothedSettings,
    expansion_scorer,
    log_odds_of_neighbours,
    nearest_by_likelihood,
    smoothed_models,
    term_counts,
)
from recommenders.kernels.neighbours import nearest_by_cosine
from recommenders.shared.scorers import BestScorer
from runs import Numbering, top_items
from tests.described import described

RATINGS = csr_array(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]))
SETTINGS = SmoothedSettings(neighbours=10, background_weight=0.4)


def test_what_was_seen_is_mixed_with_the_collection() -> None:
    """Ratings 3 and 1, sum 4; the collection has 3, 3 and 2 of 8."""
    models = smoothed_models(RATINGS, background_weight=0.25)
    np.testing.assert_allclose(models.foreground.toarray()[0], [0.75 * 3 / 4, 0.75 * 1 / 4, 0])
    np.testing.assert_allclose(models.background_shares, [0.25, 0.25, 1])
    np.testing.assert_allclose(models.collection, [3 / 8, 3 / 8, 2 / 8])


def log_odds_by_loops(table: np.ndarray, models: LanguageModels) -> np.ndarray:
    """Give log p(u|v) - log p_C(u) for any two rows that share a column, else -inf."""
    background = models.background_shares[:, np.newaxis] * models.collection
    ratios = (models.foreground.toarray() + background) / models.collection
    odds = np.full((len(table), len(table)), -np.inf)
    for u, first in enumerate(table):
        for v, second in enumerate(table):
            if u != v and (first * second).any():
                odds[u, v] = sum(first[j] * np.log(ratios[v, j]) for j in np.flatnonzero(first))
    return odds


@pytest.mark.slow
def test_the_neighbours_have_the_highest_likelihoods(ratings: Ratings) -> None:
    matrix = ratings.matrix()
    odds = log_odds_by_loops(matrix.toarray(), smoothed_models(matrix, background_weight=0.4))
    means = odds / matrix.toarray().sum(axis=1, keepdims=True)
    expected = np.exp(means - means.max(axis=1, keepdims=True))
    tenth = np.sort(odds, axis=1)[:, [-10]]
    graph = nearest_by_likelihood(matrix, SETTINGS)
    np.testing.assert_allclose(graph.toarray(), np.where(odds >= tenth, expected, 0), rtol=1e-9)


@pytest.mark.slow
def test_log_odds_are_those_of_the_loops(ratings: Ratings) -> None:
    matrix = ratings.matrix()
    models = smoothed_models(matrix, background_weight=0.4)
    graph = nearest_by_likelihood(matrix, SETTINGS)
    odds = log_odds_of_neighbours(matrix, models, graph)
    row, column = graph.nonzero()
    expected = log_odds_by_loops(matrix.toarray(), models)[row, column]
    np.testing.assert_allclose(odds, expected, rtol=1e-9, atol=1e-9)


def collection_share(neighbourhood: np.ndarray, collection: np.ndarray) -> np.ndarray:
    """Weigh items by their probability in the collection alone."""
    return collection


def neighbourhood_share(neighbourhood: np.ndarray, collection: np.ndarray) -> np.ndarray:
    """Weigh items by their probability in the neighbourhood alone."""
    return neighbourhood


def three_of_four_users() -> Ratings:
    """User 0 rates items 0 and 1, user 1 items 0 and 2, user 2 items 1 and 2; user 3 none."""
    return Ratings(
        Numbering(np.array(["u0", "u1", "u2", "u3"])),
        Numbering(np.array(["i0", "i1", "i2"])),
        np.array([0, 0, 1, 1, 2, 2], dtype=np.int32),
        np.array([0, 1, 0, 2, 1, 2], dtype=np.int32),
        np.array([1.0, 2.0, 3.0, 4.0, 5.0, 5.0]),
    )


def test_the_collection_is_that_of_users_with_ratings() -> None:
    """Items have 4, 7 and 9 of 20 stars, over the 3 users who rated."""
    scorer = expansion_scorer(three_of_four_users(), collection_share, ExpansionSettings())
    (scores,) = scorer.score_batch(np.array([0], dtype=np.int32))
    np.testing.assert_allclose(scores, np.array([4, 7, 9]) / 20 / 3, rtol=1e-6)


def test_the_neighbourhood_is_normalised_by_its_stars_and_its_length() -> None:
    """Users 1 and 2 gave 3, 5 and 9 of 17 stars."""
    scorer = expansion_scorer(three_of_four_users(), neighbourhood_share, ExpansionSettings())
    (scores,) = scorer.score_batch(np.array([0], dtype=np.int32))
    np.testing.assert_allclose(scores, np.array([3, 5, 9]) / 17 / 2, rtol=1e-6)


def test_settings_are_bounded() -> None:
    assert described(ExpansionSettings) == {"neighbours": "200; >= 1; searched in 25 to 1000, log"}
    for weight in (0.0, 1.0):
        with pytest.raises(ValidationError, match="background_weight"):
            SmoothedSettings(neighbours=1, background_weight=weight)


def test_ratios_and_gains_are_those_of_the_model_to_the_collection() -> None:
    """The first row has 3 of 4 on column 0, which has 3 of 8: half of each is seen."""
    models = smoothed_models(RATINGS, background_weight=0.5)
    assert models.ratios().toarray()[0, 0] == pytest.approx(0.5 * (3 / 4) / (3 / 8))
    gain = models.gains_by_column.toarray()[0, 0]
    assert gain == pytest.approx(log((0.5 * 3 / 4 + 0.5 * 3 / 8) / (0.5 * 3 / 8)))
    assert models.gains_by_column.shape == (3, 3)


def test_likelihoods_found_by_hand() -> None:
    """Rows 0 and 1 share column 1, and explain each other; row 2 has neither."""
    graph = nearest_by_likelihood(RATINGS, SETTINGS)
    assert graph.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_counts_have_no_entries_of_zero() -> None:
    ratings = three_of_four_users()
    zeroed = Ratings(
        ratings.users, ratings.items, ratings.user, ratings.item, np.array([0.0, 2, 3, 0, 5, 5])
    )
    assert term_counts(zeroed).nnz == 4


def test_a_user_without_neighbours_has_no_scores_and_the_best_unrated_item_scores_zero() -> None:
    """User 2 is alone; users 0 and 1 have each other."""
    table = np.array([[3.0, 1, 0, 0], [2, 0, 2, 0], [0, 0, 0, 5]])
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(table))
    ratings = Ratings(Numbering.of("uvw"), Numbering.of("abcd"), user, item, table[user, item])
    scorer = recommenders.train("rm2", {"background_weight": 0.5}, ratings, seed=1)
    assert isinstance(scorer, RelevanceModelScorer)
    scores = scorer.score_batch(np.arange(3, dtype=np.int32))
    assert np.isnan(scores[2]).all()
    assert scores[0, 2:].max() == 0
    assert scores[1, [1, 3]].max() == 0


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_products_may_be_taken_apart(ratings: Ratings, at_once: int) -> None:
    scorer: Any = recommenders.train("rm2", {"neighbours": 8}, ratings, seed=1)
    users = np.array([0, 7], dtype=np.int32)
    whole = scorer.score_batch(users)
    vars(scorer)["_factors_at_once"] = at_once
    np.testing.assert_allclose(scorer.score_batch(users), whole, atol=1e-4)


def test_so_many_factors_are_multiplied_as_a_double_holds() -> None:
    """The model of one row is the collection's: factors are 1 + 1, and 1023 of them below 2^1024.

    Some room is left: 99 % of the logarithm of the largest double.
    """
    models = LanguageModels(
        csr_array(np.array([[0.25, 0.25]])), np.array([0.5]), np.array([0.5, 0.5])
    )
    scorer = RelevanceModelScorer(three_of_four_users(), csr_array((1, 1)), models)
    assert scorer._factors_at_once == int(0.99 * 1024)


@pytest.mark.slow
def test_scores_are_those_of_loops(ratings: Ratings) -> None:
    settings = {"neighbours": 8, "background_weight": 0.3}
    scorer = recommenders.train("rm2", settings, ratings, seed=1)
    matrix = ratings.matrix()
    table = matrix.toarray()
    models = smoothed_models(matrix, background_weight=0.3)
    p = models.foreground.toarray() + models.background_shares[:, np.newaxis] * models.collection
    near = nearest_by_cosine(matrix, count=8).toarray() > 0
    users = np.array([0, 7, 33], dtype=np.int32)
    for user, scores in zip(users, scorer.score_batch(users), strict=True):
        expected = np.zeros(table.shape[1])
        for j in np.flatnonzero(table[user]):
            for i in range(table.shape[1]):
                expected[i] += log(sum(p[v, i] * p[v, j] for v in np.flatnonzero(near[user])))
        np.testing.assert_allclose(scores, expected - expected[table[user] == 0].max(), atol=2e-4)


@pytest.mark.parametrize("depth", [1, 5, 20, 1000])
@pytest.mark.parametrize("settings", [{}, {"neighbours": 3}])
def test_looking_for_the_best_gives_the_lists_of_all_scores(
    ratings: Ratings, depth: int, settings: dict[str, Any]
) -> None:
    scorer = recommenders.train("rm2", settings, ratings, seed=1)
    assert isinstance(scorer, BestScorer)
    users = np.arange(len(ratings.users), dtype=np.int32)
    scores = scorer.score_batch(users)
    scores[ratings.user, ratings.item] = -np.inf
    found = recommenders.recommend(scorer, ratings, users, system="rm2", depth=depth)
    np.testing.assert_array_equal(found.items, top_items(scores, depth=depth))


def test_the_best_of_some_candidates_are_found(ratings: Ratings) -> None:
    scorer = recommenders.train("rm2", {}, ratings, seed=1)
    users = np.arange(len(ratings.users), dtype=np.int32)
    few = np.arange(len(ratings.items)) % 7 == 0
    scores = scorer.score_batch(users)
    scores[ratings.user, ratings.item] = -np.inf
    scores[:, ~few] = -np.inf
    found = recommenders.recommend(scorer, ratings, users, system="rm2", depth=4, candidates=few)
    np.testing.assert_array_equal(found.items, top_items(scores, depth=4))
