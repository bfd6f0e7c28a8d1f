import numpy as np

import recommenders
from qrels import Ratings


def test_scores_are_on_the_scale_of_the_ratings(ratings: Ratings) -> None:
    """A known rating is met more closely than by the mean of all."""
    scorer = recommenders.train("svd", {}, ratings, seed=1)
    scores = scorer.score_batch(np.arange(len(ratings.users), dtype=np.int32))
    errors = scores[ratings.user, ratings.item] - ratings.rating
    assert np.mean(errors**2) < np.var(ratings.rating) / 2
