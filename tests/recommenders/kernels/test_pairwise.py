"""Steps of BPR, against plain loops over the same draws."""

import numpy as np

from qrels import Ratings
from recommenders.kernels.pairwise import descend, draw_triples
from runs.shared.arrays import Numbers


def drawn(ratings: Ratings, luck: np.ndarray, places: Numbers) -> np.ndarray:
    ends = np.concatenate([[0], np.cumsum(ratings.user_counts())])
    triples = np.empty((len(ratings), 3), dtype=np.int32)
    draw_triples(ends, ratings.item, luck, places, len(ratings.items), triples)
    return triples


def test_luck_chooses_one_of_the_unrated_items(ratings: Ratings) -> None:
    rng = np.random.default_rng(1)
    luck, places = rng.random(len(ratings)), rng.permutation(len(ratings))
    luck[:2] = 0, np.nextafter(1, 0)
    rated = ratings.matrix().toarray() > 0
    for number, triple in enumerate(drawn(ratings, luck, places)[places]):
        user, item = ratings.user[number], ratings.item[number]
        unrated = np.flatnonzero(~rated[user])
        assert triple.tolist() == [user, item, unrated[int(luck[number] * len(unrated))]]


def test_steps_follow_the_gradient_of_each_triple(ratings: Ratings) -> None:
    """LearnBPR of Rendle et al. (2009), in double precision."""
    rng = np.random.default_rng(1)
    triples = drawn(ratings, rng.random(len(ratings)), rng.permutation(len(ratings)))
    p, q = (rng.normal(size=(n, 5)) for n in (len(ratings.users), len(ratings.items)))
    of_users, of_items = p.astype(np.float32), q.astype(np.float32)
    descend(triples, of_users, of_items, np.float32(0.1), np.float32(0.05))
    for u, i, j in triples:
        user, difference = p[u].copy(), q[i] - q[j]
        slope = 1 / (1 + np.exp(user @ difference))
        p[u] += 0.1 * (slope * difference - 0.05 * user)
        q[i] += 0.1 * (slope * user - 0.05 * q[i])
        q[j] += 0.1 * (-slope * user - 0.05 * q[j])
    np.testing.assert_allclose(of_users, p, atol=1e-4)
    np.testing.assert_allclose(of_items, q, atol=1e-4)


def test_a_triple_without_an_unrated_item_teaches_nothing() -> None:
    """Of two items the number 2 stands for none; the second triple is learned from."""
    of_users, of_items = np.ones((2, 1), dtype=np.float32), np.ones((2, 1), dtype=np.float32)
    triples = np.array([[0, 0, 2], [1, 0, 1]], dtype=np.int32)
    descend(triples, of_users, of_items, np.float32(0.1), np.float32(0))
    assert of_users[:, 0].tolist() == [1, 1]
    np.testing.assert_allclose(of_items[:, 0], [1.05, 0.95], rtol=1e-6)


def test_a_user_who_rated_all_has_no_unrated_item() -> None:
    triples = np.full((3, 3), -1, dtype=np.int32)
    ends, items = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32)
    draw_triples(ends, items, np.array([0.0, 0.9, 0.9]), np.array([2, 1, 0]), 2, triples)
    assert triples.tolist() == [[1, 1, 0], [0, 1, 2], [0, 0, 2]]
