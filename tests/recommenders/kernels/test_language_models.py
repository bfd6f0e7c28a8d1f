"""Smoothed models and their likelihoods, against their definitions."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.language_models import (
    LanguageModels,
    LikelihoodNeighbours,
    LikelihoodSettings,
    SmoothedSettings,
    Smoothing,
    Weights,
    log_odds_of_neighbours,
    smoothed,
)
from recommenders.kernels.neighbours import all_neighbours

every_smoothing = pytest.mark.parametrize(
    "smoothing", ["jelinek-mercer", "dirichlet", "absolute-discounting"]
)
RATINGS = csr_array(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]))


def probabilities(models: LanguageModels) -> np.ndarray:
    background = models.background_shares[:, np.newaxis] * models.collection
    return models.seen.toarray() + background


def models_of(matrix: csr_array, smoothing: Smoothing) -> LanguageModels:
    amounts = {"background_weight": 0.25, "pseudo_ratings": 4.0, "discount": 1.5}
    return smoothed(matrix, SmoothedSettings(neighbours=1, smoothing=smoothing, **amounts))


@every_smoothing
def test_every_model_is_a_distribution(smoothing: Smoothing, ratings: Ratings) -> None:
    models = models_of(ratings.matrix(), smoothing)
    np.testing.assert_allclose(probabilities(models).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("smoothing", "seen", "share"),
    [
        ("jelinek-mercer", [0.75 * 3 / 4, 0.75 * 1 / 4, 0], 0.25),
        ("dirichlet", [3 / 8, 1 / 8, 0], 4 / 8),
        ("absolute-discounting", [1.5 / 4, 0, 0], 2.5 / 4),
    ],
)
def test_what_was_seen_is_mixed_with_the_collection(
    smoothing: Smoothing, seen: list[float], share: float
) -> None:
    """Ratings 3 and 1, sum 4; the collection has 3, 3 and 2 of 8."""
    models = models_of(RATINGS, smoothing)
    np.testing.assert_allclose(models.seen.toarray()[0], seen)
    np.testing.assert_allclose(models.background_shares[0], share)
    np.testing.assert_allclose(models.collection, [3 / 8, 3 / 8, 2 / 8])


def settings_of(smoothing: Smoothing, weights: Weights = "uniform") -> LikelihoodSettings:
    amounts = {"background_weight": 0.4, "pseudo_ratings": 20.0, "discount": 0.5}
    return LikelihoodSettings(neighbours=10, smoothing=smoothing, weights=weights, **amounts)


def user_models(ratings: Ratings, smoothing: Smoothing) -> LanguageModels:
    return smoothed(ratings.matrix(), settings_of(smoothing))


def log_odds_by_loops(table: np.ndarray, models: LanguageModels) -> np.ndarray:
    """Give log p(u|v) - log p_C(u) for any two rows that share a column, else -inf."""
    background = models.background_shares[:, np.newaxis] * models.collection
    ratios = (models.seen.toarray() + background) / models.collection
    odds = np.full((len(table), len(table)), -np.inf)
    for u, first in enumerate(table):
        for v, second in enumerate(table):
            if u != v and (first * second).any():
                odds[u, v] = sum(first[j] * np.log(ratios[v, j]) for j in np.flatnonzero(first))
    return odds


@pytest.mark.slow
@every_smoothing
@pytest.mark.parametrize("weights", ["likelihood", "gain", "uniform"])
def test_the_neighbours_have_the_highest_likelihoods(
    smoothing: Smoothing, weights: Weights, ratings: Ratings
) -> None:
    table, models = ratings.matrix().toarray(), user_models(ratings, smoothing)
    odds = log_odds_by_loops(table, models)
    means = odds / table.sum(axis=1, keepdims=True)
    expected = {
        "likelihood": np.exp(means - means.max(axis=1, keepdims=True)),
        "gain": means - np.log(models.background_shares),
        "uniform": np.ones(means.shape),
    }[weights]
    tenth = np.sort(odds, axis=1)[:, [-10]]
    graph = all_neighbours(LikelihoodNeighbours(ratings.matrix(), settings_of(smoothing, weights)))
    np.testing.assert_allclose(graph.toarray(), np.where(odds >= tenth, expected, 0), rtol=1e-9)


@pytest.mark.slow
@every_smoothing
def test_log_odds_are_those_of_the_loops(smoothing: Smoothing, ratings: Ratings) -> None:
    matrix, models = ratings.matrix(), user_models(ratings, smoothing)
    graph = all_neighbours(LikelihoodNeighbours(matrix, settings_of(smoothing)))
    odds = log_odds_of_neighbours(matrix, models, graph)
    row, column = graph.nonzero()
    expected = log_odds_by_loops(matrix.toarray(), models)[row, column]
    np.testing.assert_allclose(odds, expected, rtol=1e-9, atol=1e-9)
