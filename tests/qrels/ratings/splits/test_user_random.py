from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qrels import Ratings
from qrels.ratings.splits.user_random import Settings, user_random
from tests.qrels.ratings.splits.tables import Table, ratings_of, seeds, tables


@given(table=tables, seed=seeds, share=st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.9]))
def test_users_test_the_rounded_share_but_never_all(table: Table, seed: int, share: float) -> None:
    ratings = ratings_of(table)
    exact = Fraction(str(share))
    expected = [min(int(exact * n + Fraction(1, 2)), n - 1) for n in ratings.user_counts().tolist()]
    split = user_random(ratings, Settings(test_share=share), seed=seed)
    assert split.test.user_counts().tolist() == expected


def test_every_rating_is_equally_likely_to_be_tested(large: Ratings) -> None:
    tested = np.zeros(len(large.items))
    for seed in range(50):
        tested += user_random(large, Settings(test_share=0.25), seed=seed).test.item_counts()
    # 5,000 draws at 1/4: mean 1,250, standard deviation 31.
    assert np.abs(tested - 1250).max() < 5 * 31


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_share_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(ValidationError, match=r"test_share\n.*(greater than 0|less than 1)"):
        Settings(test_share=share)
