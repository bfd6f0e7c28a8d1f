import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Ratings
from recommenders.kernels.language_models import (
    LanguageModels,
    SmoothedSettings,
    Smoothing,
    smoothed,
)

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


@every_smoothing
def test_without_ratings_a_model_is_the_collection(smoothing: Smoothing) -> None:
    models = models_of(RATINGS, smoothing)
    np.testing.assert_array_equal(probabilities(models)[2], models.collection)
