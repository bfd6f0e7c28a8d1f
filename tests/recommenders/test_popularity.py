import numpy as np

import recommenders
from qrels import Ratings


def test_an_items_score_is_its_number_of_training_ratings(ratings: Ratings) -> None:
    scorer = recommenders.train("popularity", {}, ratings, seed=1)
    scores = scorer.score_batch(np.array([0, 5], dtype=np.int32))
    np.testing.assert_array_equal(scores, np.tile(ratings.item_counts(), (2, 1)))
