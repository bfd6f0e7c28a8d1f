from math import log
from typing import Any

import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders.kernels.language_models import smoothed
from recommenders.kernels.neighbours import nearest_by_cosine
from recommenders.rm2 import RM2Settings
from recommenders.shared.scorers import BestScorer
from runs import top_items

ALL_STARS = np.array([9, 7, 2, 5, 1]) / 24
SECOND = (np.array([4, 0, 2, 0, 0]) / 6 + ALL_STARS) / 2
THIRD = (np.array([0, 4, 0, 5, 0]) / 9 + ALL_STARS) / 2


def test_scores_multiply_the_chances_of_meeting_the_users_items(four_users: Ratings) -> None:
    """User u1 rated a and b; the neighbours are u2 and u3; the best item of c, d, e scores 0."""
    scorer = recommenders.train("rm2", {"background_weight": 0.5}, four_users, seed=1)
    with_a = SECOND * SECOND[0] + THIRD * THIRD[0]
    with_b = SECOND * SECOND[1] + THIRD * THIRD[1]
    expected = np.log(with_a * with_b)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))[0]
    np.testing.assert_allclose(scores, expected - expected[2:].max(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", ["jelinek-mercer", "dirichlet", "absolute-discounting"])
@pytest.mark.parametrize(
    ("user_prior", "item_prior"), [("uniform", "linear"), ("linear", "uniform")]
)
def test_scores_are_those_of_loops(
    smoothing: str, user_prior: str, item_prior: str, ratings: Ratings
) -> None:
    amounts = {"background_weight": 0.3, "pseudo_ratings": 30.0, "discount": 0.5}
    priors = {"user_prior": user_prior, "item_prior": item_prior}
    settings = {"neighbours": 8, "smoothing": smoothing, **amounts, **priors}
    scorer = recommenders.train("rm2", settings, ratings, seed=1)
    matrix = ratings.matrix()
    table = matrix.toarray()
    models = smoothed(matrix, RM2Settings(neighbours=8, smoothing=smoothing, **amounts))  # type: ignore[arg-type]
    shares = models.background_shares[:, np.newaxis]
    p = models.seen.toarray() + shares * models.collection
    p_user = table.sum(axis=1) if user_prior == "linear" else np.ones(len(table))
    p_item = models.collection if item_prior == "linear" else np.ones(table.shape[1])
    near = nearest_by_cosine(matrix, count=8).toarray() > 0
    users = np.array([0, 7, 33], dtype=np.int32)
    for user, scores in zip(users, scorer.score_batch(users), strict=True):
        expected = np.log(p_item)
        for j in np.flatnonzero(table[user]):
            for i in range(table.shape[1]):
                meetings = sum(p_user[v] * p[v, i] * p[v, j] for v in np.flatnonzero(near[user]))
                expected[i] += log(meetings / p_item[i])
        np.testing.assert_allclose(scores, expected - expected[table[user] == 0].max(), atol=2e-4)


@pytest.mark.parametrize("depth", [1, 5, 20, 1000])
@pytest.mark.parametrize("settings", [{}, {"item_prior": "linear", "neighbours": 3}])
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
