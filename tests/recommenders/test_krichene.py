"""Krichene's Y and Z, by hand and by the letter."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from runs import Numbering


def four_users() -> Ratings:
    """u rated a b; v: a b c; w: b c d; x: d; nobody e."""
    user = np.array([0, 0, 1, 1, 1, 2, 2, 2, 3], dtype=np.int32)
    item = np.array([0, 1, 0, 1, 2, 1, 2, 3, 3], dtype=np.int32)
    users, items = Numbering.of("uvwx"), Numbering.of("abcde")
    return Ratings(users, items, user, item, np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 4]))


def test_scores_by_hand() -> None:
    """With k = 1: a brings b, b brings a (as near as c, but lower), c brings b, d brings c.

    Item b has two equal similarities in its row, so each is divided to 1 / sqrt(2).
    """
    scorer = recommenders.train("krichene-z", {"k": 1}, four_users(), seed=1)
    half = 1 / np.sqrt(2)
    expected = [[1, half, 0, 0, 0], [1, 2 * half, 0, 0, 0], [1, half, 1, 0, 0], [0, 0, 1, 0, 0]]
    scores = scorer.score_batch(np.arange(4, dtype=np.int32))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def by_the_letter(ratings: Ratings, *, q: float, k: int) -> NDArray[np.float64]:
    """Equations 27 to 29, one similarity at a time; without a limit items are near themselves."""
    rated = ratings.matrix().toarray() > 0
    counts, n_items = rated.sum(axis=0), rated.shape[1]
    s = np.zeros((n_items, n_items))
    for i, j in itertools.product(range(n_items), repeat=2):
        both = (rated[:, i] & rated[:, j]).sum()
        s[i, j] = (both / np.sqrt(counts[i] * counts[j])) ** q if both else 0
    kept = np.zeros(s.shape) if k else s
    for j in range(n_items if k else 0):
        others = (i for i in range(n_items) if s[j, i] > 0 and i != j)
        nearest = sorted(others, key=lambda i: (-np.float32(s[j, i]), i))[:k]
        kept[nearest, j] = s[nearest, j]
    norms = np.sqrt((kept**2).sum(axis=1))
    return rated @ (kept / np.where(norms > 0, norms, 1)[:, np.newaxis]).T


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "equations"),
    [
        ("krichene-y", {}, {"q": 3.0, "k": 0}),
        ("krichene-z", {}, {"q": 1.0, "k": 10}),
        ("krichene-z", {"q": 0.5, "k": 4}, {"q": 0.5, "k": 4}),
    ],
)
def test_scores_equal_a_literal_loop(
    name: str, settings: dict[str, Any], equations: dict[str, Any], ratings: Ratings
) -> None:
    few = ratings.select((ratings.item < 40) & (ratings.user < 30))
    scorer = recommenders.train(name, settings, few, seed=1)
    users = np.unique(few.user)
    expected = by_the_letter(few, **equations)[users]
    np.testing.assert_allclose(scorer.score_batch(users), expected, rtol=1e-5, atol=1e-7)


def test_scores_without_a_limit_by_hand() -> None:
    """User x rated only d. With q = 2: s_bd = 1/6, s_cd = 1/4, s_dd = 1; a and e share nobody."""
    scorer = recommenders.train("krichene-y", {"q": 2.0}, four_users(), seed=1)
    norm_b = np.sqrt(4 / 9 + 1 + 4 / 9 + 1 / 36)
    norm_c = np.sqrt(1 / 16 + 4 / 9 + 1 + 1 / 16)
    norm_d = np.sqrt(1 / 36 + 1 / 16 + 1)
    scores = scorer.score_batch(np.array([3], dtype=np.int32))
    expected = [[0, 1 / 6 / norm_b, 1 / 4 / norm_c, 1 / norm_d, 0]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_sparse_and_dense_weights_score_alike(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = np.arange(len(ratings.users), dtype=np.int32)
    dense = recommenders.train("krichene-y", {}, ratings, seed=1).score_batch(users)
    monkeypatch.setattr("recommenders.kernels.krichene.DENSE_FROM", 2.0)
    sparse = recommenders.train("krichene-y", {}, ratings, seed=1).score_batch(users)
    np.testing.assert_allclose(dense, sparse, rtol=1e-5)
