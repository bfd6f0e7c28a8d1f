import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import InputError


def test_scores_follow_the_closed_form(ratings: Ratings) -> None:
    scorer = recommenders.train("ease", {"regularization": 50.0}, ratings, seed=1)
    rated = (ratings.matrix().toarray() > 0).astype(float)
    inverse = np.linalg.inv(rated.T @ rated + 50.0 * np.eye(len(ratings.items)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    users = np.arange(len(ratings.users), dtype=np.int32)
    np.testing.assert_allclose(scorer.score_batch(users), rated @ weights, atol=1e-5)


def test_ease_states_its_memory_before_it_starts(ratings: Ratings) -> None:
    with pytest.raises(InputError, match=r"'ease' needs about .* GB \(3 dense matrices of 130 x"):
        recommenders.train("ease", {"max_gigabytes": 1e-6}, ratings, seed=1)
