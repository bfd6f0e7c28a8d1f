"""Smoothed models and their likelihoods, against their definitions."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.language_models import (
    LanguageModels,
    SmoothedSettings,
    log_odds_of_neighbours,
    nearest_by_likelihood,
    smoothed,
)

RATINGS = csr_array(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]))
SETTINGS = SmoothedSettings(neighbours=10, background_weight=0.4)


def test_what_was_seen_is_mixed_with_the_collection() -> None:
    """Ratings 3 and 1, sum 4; the collection has 3, 3 and 2 of 8."""
    models = smoothed(RATINGS, background_weight=0.25)
    np.testing.assert_allclose(models.seen.toarray()[0], [0.75 * 3 / 4, 0.75 * 1 / 4, 0])
    np.testing.assert_allclose(models.background_shares, [0.25, 0.25, 1])
    np.testing.assert_allclose(models.collection, [3 / 8, 3 / 8, 2 / 8])


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
def test_the_neighbours_have_the_highest_likelihoods(ratings: Ratings) -> None:
    matrix = ratings.matrix()
    odds = log_odds_by_loops(matrix.toarray(), smoothed(matrix, background_weight=0.4))
    means = odds / matrix.toarray().sum(axis=1, keepdims=True)
    expected = np.exp(means - means.max(axis=1, keepdims=True))
    tenth = np.sort(odds, axis=1)[:, [-10]]
    graph = nearest_by_likelihood(matrix, SETTINGS)
    np.testing.assert_allclose(graph.toarray(), np.where(odds >= tenth, expected, 0), rtol=1e-9)


@pytest.mark.slow
def test_log_odds_are_those_of_the_loops(ratings: Ratings) -> None:
    matrix = ratings.matrix()
    models = smoothed(matrix, background_weight=0.4)
    graph = nearest_by_likelihood(matrix, SETTINGS)
    odds = log_odds_of_neighbours(matrix, models, graph)
    row, column = graph.nonzero()
    expected = log_odds_by_loops(matrix.toarray(), models)[row, column]
    np.testing.assert_allclose(odds, expected, rtol=1e-9, atol=1e-9)
