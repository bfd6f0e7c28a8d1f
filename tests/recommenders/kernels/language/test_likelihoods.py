import numpy as np
import pytest

from qrels import Ratings
from recommenders.kernels.language_models import (
    LanguageModels,
    LikelihoodNeighbours,
    LikelihoodSettings,
    Smoothing,
    Weights,
    log_odds_of_neighbours,
    smoothed,
)
from recommenders.kernels.neighbours import all_neighbours

every_smoothing = pytest.mark.parametrize(
    "smoothing", ["jelinek-mercer", "dirichlet", "absolute-discounting"]
)


def settings_of(smoothing: Smoothing, weights: Weights = "uniform") -> LikelihoodSettings:
    amounts = {"background_weight": 0.4, "pseudo_ratings": 20.0, "discount": 0.5}
    return LikelihoodSettings(neighbours=10, smoothing=smoothing, weights=weights, **amounts)


def models_of(ratings: Ratings, smoothing: Smoothing) -> LanguageModels:
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
    table, models = ratings.matrix().toarray(), models_of(ratings, smoothing)
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
    matrix, models = ratings.matrix(), models_of(ratings, smoothing)
    graph = all_neighbours(LikelihoodNeighbours(matrix, settings_of(smoothing)))
    odds = log_odds_of_neighbours(matrix, models, graph)
    row, column = graph.nonzero()
    expected = log_odds_by_loops(matrix.toarray(), models)[row, column]
    np.testing.assert_allclose(odds, expected, rtol=1e-9, atol=1e-9)
