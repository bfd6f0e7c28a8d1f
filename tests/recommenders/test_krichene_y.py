import numpy as np
import pytest

import recommenders
from qrels import Ratings
from tests.recommenders.test_krichene_z import four_users


def test_scores_by_hand() -> None:
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
