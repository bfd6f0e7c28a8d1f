import numpy as np
import pytest

import recommenders
from qrels import Ratings

# Of u1's neighbours' 15 stars 4, 4, 2, 5 go to a, b, c, d; of all 24 stars 9, 7, 2, 5.
NEAR = np.array([4, 4, 2, 5]) / 15
IN_ALL = np.array([9, 7, 2, 5]) / 24


@pytest.mark.parametrize(
    ("estimator", "near", "in_all"), [("mle", NEAR, IN_ALL), ("nln", NEAR / 2, IN_ALL / 4)]
)
def test_scores_are_terms_of_the_divergence(
    estimator: str, near: np.ndarray, in_all: np.ndarray, four_users: Ratings
) -> None:
    """Length normalisation divides by 2 neighbours and by 4 users."""
    settings = {"neighbours": 2, "estimator": estimator}
    scorer = recommenders.train("kld", settings, four_users, seed=1)
    scores = scorer.score_batch(np.array([0], dtype=np.int32))
    np.testing.assert_allclose(scores[0, :4], near * np.log(near / in_all), rtol=1e-6)
    assert np.isnan(scores[0, 4])
