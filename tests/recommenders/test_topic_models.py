"""LDA and PLSA."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from recommenders import plsa
from recommenders.plsa import distributions, em_step, likelihoods
from recommenders.shared.scorers import FactorScorer
from runs import Numbering


def two_clubs(*, members: int, items: int) -> Ratings:
    """Every member of a club rated all its items but one, and none of the other club's."""
    club = np.kron(np.eye(2, dtype=bool), np.ones((members, items), dtype=bool))
    club[np.arange(2 * members), np.arange(2 * members) % (2 * items)] = False
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(club))
    users, names = (Numbering.of(f"{k:03}" for k in range(n)) for n in club.shape)
    return Ratings(users, names, user, item, np.full(len(user), 4.0))


@pytest.mark.slow
def test_a_topic_is_what_goes_together() -> None:
    clubs = two_clubs(members=30, items=12)
    scorer = recommenders.train("lda", {"topics": 2, "passes": 20}, clubs, seed=1)
    scores = scorer.score_batch(np.arange(60, dtype=np.int32)).reshape(2, 30, 2, 12)
    for club in (0, 1):
        assert scores[club, :, club].min() > 2 * scores[club, :, 1 - club].max()


@pytest.mark.slow
def test_scores_are_the_probabilities_of_items(ratings: Ratings) -> None:
    scorer = recommenders.train("lda", {}, ratings, seed=1)
    scores = scorer.score_batch(np.arange(len(ratings.users), dtype=np.int32))
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    assert (scores > 0).all()


Floats = NDArray[np.float64]


@pytest.fixture
def small() -> Ratings:
    """Four users, five items, eight ratings."""
    user = np.array([0, 0, 1, 1, 2, 2, 2, 3], dtype=np.int32)
    item = np.array([0, 1, 0, 2, 2, 3, 4, 4], dtype=np.int32)
    users, items = Numbering.of("uvwx"), Numbering.of("abcde")
    return Ratings(users, items, user, item, np.array([4.0, 2, 5, 1, 3, 3, 5, 2]))


def start(ratings: Ratings, *, topics: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(4)
    of_users, of_items = rng.random((len(ratings.users), topics)), rng.random((5, topics))
    return distributions(of_users, axis=1), distributions(of_items, axis=0)


def step_by_posteriors(ratings: Ratings, of_users: Floats, of_items: Floats) -> list[Floats]:
    """Deal each rating out among topics, and count: EM as the paper writes it."""
    user_counts, item_counts = np.zeros_like(of_users), np.zeros_like(of_items)
    for user, item, rating in zip(ratings.user, ratings.item, ratings.rating, strict=True):
        posterior = of_users[user] * of_items[item]
        posterior /= posterior.sum()
        user_counts[user] += rating * posterior
        item_counts[item] += rating * posterior
    return [user_counts / user_counts.sum(axis=1, keepdims=True), item_counts / item_counts.sum(0)]


def test_a_step_deals_ratings_out_among_topics(small: Ratings) -> None:
    of_users, of_items = start(small, topics=3)
    expected = step_by_posteriors(small, of_users, of_items)
    for found, wanted in zip(em_step(small, of_users, of_items), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_ratings_of_zero_are_no_observations(ratings: Ratings) -> None:
    zeroed = replace(ratings, rating=np.where(ratings.item % 3 == 0, 0.0, ratings.rating))
    left_out = ratings.select(ratings.item % 3 != 0)
    users = np.unique(left_out.user)
    first, second = (recommenders.train("plsa", {}, r, seed=1) for r in (zeroed, left_out))
    np.testing.assert_array_equal(first.score_batch(users), second.score_batch(users))


def test_topics_are_those_of_scikit_learn_by_batches_of_128_users(ratings: Ratings) -> None:
    """At most 20 steps fit the topics of a user; five passes; priors of 0.1 and 1."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_components=4,
        doc_topic_prior=0.1,
        topic_word_prior=1.0,
        learning_method="online",
        batch_size=128,
        max_iter=5,
        max_doc_update_iter=20,
        random_state=np.random.RandomState(np.random.MT19937(3)),
    )
    # 90 users three times, so that there are batches.
    user = np.concatenate([ratings.user + 90 * time for time in range(3)]).astype(np.int32)
    item, rating = np.tile(ratings.item, 3), np.tile(ratings.rating, 3)
    names = Numbering.of(f"{number:03}" for number in range(270))
    many = Ratings(names, ratings.items, user, item, rating)
    shares = model.fit_transform(many.matrix().toarray())
    words = model.components_ / model.components_.sum(axis=1, keepdims=True)
    scorer = recommenders.train("lda", {"topics": 4}, many, seed=3)
    scores = scorer.score_batch(np.arange(270, dtype=np.int32))
    np.testing.assert_allclose(scores, shares @ words, rtol=1e-4)


def test_plsa_takes_as_many_steps_as_it_is_told_from_weights_between_1_and_3_halves(
    small: Ratings,
) -> None:
    rng = np.random.default_rng(9)
    of_users = distributions(rng.random((4, 3)) + 0.5, axis=1)
    of_items = distributions(rng.random((5, 3)) + 0.5, axis=0)
    for _ in range(2):
        of_users, of_items = step_by_posteriors(small, of_users, of_items)
    scorer = recommenders.train("plsa", {"topics": 3, "steps": 2}, small, seed=9)
    assert isinstance(scorer, FactorScorer)
    np.testing.assert_allclose(scorer.user_factors, of_users, rtol=1e-9)
    np.testing.assert_allclose(scorer.item_factors, of_items, rtol=1e-9)


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_likelihoods_are_sums_over_topics(
    small: Ratings, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_users, of_items = start(small, topics=3)
    monkeypatch.setattr(plsa, "BLOCK_RATINGS", at_once)
    expected = (of_users @ of_items.T)[small.user, small.item]
    np.testing.assert_allclose(likelihoods(small, of_users, of_items), expected, rtol=1e-12)


def test_weights_become_shares_and_zeros_equal_ones() -> None:
    weights = np.array([[1.0, 3.0], [0.0, 0.0]])
    assert distributions(weights, axis=1).tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert distributions(np.array([[0.0, 1], [0, 1], [0, 2]]), axis=0).tolist() == [
        [1 / 3, 0.25],
        [1 / 3, 0.25],
        [1 / 3, 0.5],
    ]
