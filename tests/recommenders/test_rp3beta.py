import numpy as np

import recommenders
from qrels import Ratings
from runs import Numbering


def three_users() -> Ratings:
    """User u rated a and b, v a, b and c, w c alone; ratings themselves do not matter."""
    rated = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(rated))
    users, items = Numbering.of("uvw"), Numbering.of("abc")
    return Ratings(users, items, user, item, np.arange(1.0, 1 + len(user)))


def scores(user: int, **settings: float) -> np.ndarray:
    scorer = recommenders.train("rp3beta", settings, three_users(), seed=1)
    return scorer.score_batch(np.array([user], dtype=np.int32))[0]


def test_scores_are_chances_of_a_walk_of_three_steps() -> None:
    """From a to b: by u with 1/2 and to b with 1/2, by v with 1/2 and 1/3: 5/12; to c by v, 1/6."""
    near, far = 1 / 2 * 1 / 2 + 1 / 2 * 1 / 3, 1 / 2 * 1 / 3
    np.testing.assert_allclose(scores(0, beta=0.0), [near, near, 2 * far], rtol=1e-6)


def test_alpha_is_a_power_of_every_step() -> None:
    near = (1 / 2 * 1 / 2) ** 2 + (1 / 2 * 1 / 3) ** 2
    np.testing.assert_allclose(scores(0, alpha=2.0, beta=0.0)[0], near, rtol=1e-6)


def test_beta_divides_by_the_users_of_the_item_that_is_reached() -> None:
    plain = scores(1, beta=0.0)
    np.testing.assert_allclose(scores(1, beta=1.0), plain / 2, rtol=1e-6)  # All have two users.


def test_an_item_leads_to_its_nearest_alone() -> None:
    assert np.isnan(scores(0, neighbours=1)).tolist() == [False, False, True]


def test_discounted_popularity_brings_up_the_long_tail(ratings: Ratings) -> None:
    """The mean popularity of what is listed falls with beta."""
    users, counts = np.arange(len(ratings.users), dtype=np.int32), ratings.item_counts()
    popularity = []
    for beta in (0.0, 0.5, 1.0):
        scorer = recommenders.train("rp3beta", {"beta": beta}, ratings, seed=1)
        run = recommenders.recommend(scorer, ratings, users, system="x", depth=5)
        popularity.append(counts[run.items[run.items >= 0]].mean())
    assert popularity == sorted(popularity, reverse=True)
    assert popularity[0] > popularity[-1]
