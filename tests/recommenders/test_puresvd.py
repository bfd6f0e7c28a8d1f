import numpy as np
import pytest

import recommenders
from qrels import Ratings
from runs import InputError


@pytest.mark.slow
@pytest.mark.parametrize("factors", [1, 7, 90])
def test_scores_are_the_best_approximation_of_low_rank(ratings: Ratings, factors: int) -> None:
    """Eckart and Young: the projection on the leading singular vectors is U S V' cut off."""
    scorer = recommenders.train("puresvd", {"factors": factors}, ratings, seed=1)
    left, values, right = np.linalg.svd(ratings.matrix().toarray(), full_matrices=False)
    expected = (left[:, :factors] * values[:factors]) @ right[:factors]
    users = np.arange(len(ratings.users), dtype=np.int32)
    np.testing.assert_allclose(scorer.score_batch(users), expected, atol=1e-5)


def test_ratings_that_are_all_zero_have_no_singular_vectors(ratings: Ratings) -> None:
    zero = Ratings(ratings.users, ratings.items, ratings.user, ratings.item, np.zeros(len(ratings)))
    with pytest.raises(InputError, match="'puresvd' cannot be trained: every training rating"):
        recommenders.train("puresvd", {}, zero, seed=1)
