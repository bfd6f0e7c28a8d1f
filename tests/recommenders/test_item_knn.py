import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import Numbering


@pytest.mark.slow
def test_scores_sum_the_cosines_of_nearest_neighbours() -> None:
    """Items a and b share 2 users, b and c 1; with one neighbour each, c brings b, b brings a."""
    rated = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]])
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    users, items = Numbering.of(["u", "v", "w"]), Numbering.of(["a", "b", "c"])
    ratings = Ratings(users, items, user, item, np.full(len(user), 3.0))
    scorer = recommenders.train("item-knn", {"neighbours": 1}, ratings, seed=1)
    scores = scorer.score_batch(np.array([0, 2], dtype=np.int32))
    near, far = 2 / np.sqrt(2 * 3), 1 / np.sqrt(3 * 1)
    np.testing.assert_allclose(scores, [[near, near, np.nan], [near, far, np.nan]], rtol=1e-6)
