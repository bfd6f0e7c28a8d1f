"""Smoothed models and their likelihoods, against their definitions."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.language_models import (
    ExpansionSettings,
    LanguageModels,
    SmoothedSettings,
    expansion_scorer,
    log_odds_of_neighbours,
    nearest_by_likelihood,
    smoothed,
)
from runs import Numbering

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
