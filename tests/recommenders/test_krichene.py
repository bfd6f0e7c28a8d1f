"""Krichene's Y and Z, by hand."""

import numpy as np

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


def test_scores_without_a_limit_by_hand() -> None:
    """User x rated only d. With q = 2: s_bd = 1/6, s_cd = 1/4, s_dd = 1; a and e share nobody."""
    scorer = recommenders.train("krichene-y", {"q": 2.0}, four_users(), seed=1)
    norm_b = np.sqrt(4 / 9 + 1 + 4 / 9 + 1 / 36)
    norm_c = np.sqrt(1 / 16 + 4 / 9 + 1 + 1 / 16)
    norm_d = np.sqrt(1 / 36 + 1 / 16 + 1)
    scores = scorer.score_batch(np.array([3], dtype=np.int32))
    expected = [[0, 1 / 6 / norm_b, 1 / 4 / norm_c, 1 / norm_d, 0]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
