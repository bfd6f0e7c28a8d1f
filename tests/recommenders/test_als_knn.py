"""ALS-kNN: what is factorised, and the neighbours of what comes out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.als_knn import ALSKNNSettings
from recommenders.kernels import least_squares
from recommenders.kernels.embeddings import cosine_neighbours
from recommenders.shared.scorers import LinearItemScorer
from tests.described import described
from tests.recommenders.test_krichene import four_users

DIRECTIONS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, -0.6], [0.0, 0.0]])


def test_scores_sum_the_cosines_of_nearest_neighbours() -> None:
    """Cosines: ab .6, ac 0, ad .8, bc .8, bd 0, cd -.6; with K = 1 a and d are mutual, b and c.

    So u, who rated a and b, gets a, b of neither and d .8, c .8; x, who rated d, gets a .8.
    """
    scorer = LinearItemScorer(four_users(), cosine_neighbours(DIRECTIONS, count=1))
    scores = scorer.score_batch(np.array([0, 3], dtype=np.int32))
    nan = np.nan
    expected = [[nan, nan, 0.8, 0.8, nan], [0.8, nan, nan, nan, nan]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


@pytest.mark.slow
def test_bm25_can_be_trained_on(ratings: Ratings) -> None:
    scorer = recommenders.train("als-knn", {"weighting": "bm25"}, ratings, seed=1)
    assert np.isfinite(scorer.score_batch(np.array([0], dtype=np.int32))).any()


def test_settings_are_in_the_ranges_of_the_thesis() -> None:
    assert described(ALSKNNSettings) == {
        "factors": "64; >= 1; <= 2000; searched in 16 to 128, log",
        "regularization": "1.0; > 0; searched in 0.1 to 10.0, log",
        "weight": "3.0; > 0; searched in 0.1 to 20.0, log",
        "epochs": "10; >= 1",
        "neighbours": "100; >= 1; searched in 10 to 200, log",
        "weighting": "rating; searched in rating, bm25",
        "b": "0.75; >= 0; <= 1; searched in 0.0 to 1.0",
    }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, dict[str, Any]]]:
    """What is asked of least squares, which gives directions that are known."""
    calls: list[tuple[np.ndarray, dict[str, Any]]] = []

    def least_squares_of(weights: Any, **options: Any) -> tuple[None, np.ndarray]:
        calls.append((weights.toarray(), options))
        return None, DIRECTIONS

    monkeypatch.setattr(least_squares, "least_squares", least_squares_of)
    return calls


def test_ratings_are_weighed_and_factorised_as_the_settings_say(
    asked: list[tuple[np.ndarray, dict[str, Any]]],
) -> None:
    settings = {"factors": 7, "regularization": 0.3, "weight": 2.5, "epochs": 4, "neighbours": 1}
    scorer = recommenders.train("als-knn", settings, four_users(), seed=9)
    ((weights, options),) = asked
    np.testing.assert_allclose(weights, 2.5 * four_users().matrix().toarray())
    assert options == {"factors": 7, "regularization": 0.3, "sweeps": 4, "seed": 9}
    scores = scorer.score_batch(np.array([3], dtype=np.int32))
    np.testing.assert_allclose(scores, [[0.8, np.nan, np.nan, np.nan, np.nan]], rtol=1e-6)


def test_bm25_takes_items_for_documents_with_k1_of_1_2_and_b_of_3_quarters(
    asked: list[tuple[np.ndarray, dict[str, Any]]],
) -> None:
    """Item a has the ratings 1 and 3, of u and v; items have 4, 7, 7 and 7 stars, 25 in all.

    Users u, v, w and x rated 2, 3, 3 and 1 of the 4 items.
    """
    recommenders.train("als-knn", {"weighting": "bm25", "weight": 2.0}, four_users(), seed=1)
    ((weights, _),) = asked
    norm = 1.2 * (0.25 + 0.75 * 4 / (25 / 4))
    of_u = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5)) * 2.2 * 1 / (norm + 1)
    of_v = np.log(1 + (4 - 3 + 0.5) / (3 + 0.5)) * 2.2 * 3 / (norm + 3)
    np.testing.assert_allclose(weights[:, 0], [2 * of_u, 2 * of_v, 0, 0])


def test_bm25_without_normalisation_does_not_count_the_ratings_of_an_item(
    asked: list[tuple[np.ndarray, dict[str, Any]]],
) -> None:
    """With b = 0 the denominator is k1 plus the rating, whatever the length of the item."""
    settings = {"weighting": "bm25", "weight": 1.0, "b": 0.0}
    recommenders.train("als-knn", settings, four_users(), seed=1)
    ((weights, _),) = asked
    of_u = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5)) * 2.2 * 1 / (1.2 + 1)
    np.testing.assert_allclose(weights[0, 0], of_u)


def test_the_values_of_ratings_do_not_weigh_in_the_scores() -> None:
    scorer = LinearItemScorer(four_users(), cosine_neighbours(DIRECTIONS, count=1))
    doubled = replace(four_users(), rating=2 * four_users().rating)
    other = LinearItemScorer(doubled, cosine_neighbours(DIRECTIONS, count=1))
    everybody = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(scorer.score_batch(everybody), other.score_batch(everybody))
