"""PLSA: every rating comes from a latent topic of its user."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import AtLeastOne, Factors, Range, Settings, searched, system
from runs.shared.arrays import Floats

BLOCK_RATINGS = 8192
"""Number of ratings whose likelihoods are computed at a time."""


class PLSASettings(Settings):
    """Settings of PLSA."""

    topics: Factors = searched(
        20,
        Range(10, 100, log=True),
        "Number of topics (the paper's k): 1 to 2000; 10 to 30 work well on MovieLens.",
    )
    steps: AtLeastOne = searched(
        60,
        Range(10, 100, log=True),
        "Iterations of the EM algorithm: at least 1; 40 or more suffice on MovieLens. "
        "With many topics, fewer iterations prevent overfitting.",
    )


@system(
    "plsa",
    family="topics",
    requires_nonnegative=True,
    source="Hofmann (2004), Latent semantic models for collaborative filtering, TOIS 22(1)",
)
def plsa(ratings: Ratings, settings: PLSASettings, *, seed: int) -> FactorScorer:
    r"""Recommend items that are likely under the user's latent topics.

    .. math:: P(i \mid u) = \sum_z P(z \mid u) \, P(i \mid z)

    maximises :math:`\sum_{u,i} r_{ui} \log P(i \mid u)`, a rating of r counting like r
    observations. One step of EM is, with :math:`q_{ui} = r_{ui} / P(i \mid u)`,

    .. math:: P(z \mid u) \propto P(z \mid u) \sum_i q_{ui} P(i \mid z), \quad
              P(i \mid z) \propto P(i \mid z) \sum_u q_{ui} P(z \mid u)

    and runs over the known ratings alone.

    Notes
    -----
    The model and EM are the paper's. Ratings as counts are the reading of the ranking
    literature; the paper models the values of ratings too, and prevents overfitting by tempered
    EM, for which the number of steps stands here.
    """
    rng = np.random.default_rng(seed)
    user_weights = rng.random((len(ratings.users), settings.topics)) + 0.5
    item_weights = rng.random((len(ratings.items), settings.topics)) + 0.5
    user_topics = distributions(user_weights, axis=1)
    topic_items = distributions(item_weights, axis=0)
    observed = ratings.select(ratings.rating > 0)
    for _ in range(settings.steps):
        user_topics, topic_items = em_step(observed, user_topics, topic_items)
    return FactorScorer(ratings, user_topics, topic_items)


def em_step(ratings: Ratings, user_topics: Floats, topic_items: Floats) -> tuple[Floats, Floats]:
    r"""Compute the distributions after one step of EM.

    Parameters
    ----------
    ratings
        Ratings above 0.
    user_topics
        :math:`P(z \mid u)`, of shape (n_users, n_topics): rows sum to 1.
    topic_items
        :math:`P(i \mid z)`, of shape (n_items, n_topics): columns sum to 1.

    Returns
    -------
    New arrays for both.
    """
    quotients = ratings.matrix()
    quotients.data = quotients.data / likelihoods(ratings, user_topics, topic_items)
    user_weights = user_topics * (quotients @ topic_items)
    item_weights = topic_items * (quotients.T @ user_topics)
    return distributions(user_weights, axis=1), distributions(item_weights, axis=0)


def likelihoods(ratings: Ratings, user_topics: Floats, topic_items: Floats) -> Floats:
    r"""Compute :math:`P(i \mid u)` of the user and item of every rating, of shape (n_ratings,).

    The arguments are :math:`P(z \mid u)`, of shape (n_users, n_topics), and :math:`P(i \mid z)`, of
    shape (n_items, n_topics).
    """
    likelihood = np.empty(len(ratings))
    for start in range(0, len(ratings), BLOCK_RATINGS):
        block = slice(start, start + BLOCK_RATINGS)
        topics_of_user = user_topics[ratings.user[block]]
        topics_of_item = topic_items[ratings.item[block]]
        likelihood[block] = np.einsum("nz,nz->n", topics_of_user, topics_of_item)
    return likelihood


def distributions(weights: Floats, *, axis: int) -> Floats:
    """Scale the weights of a matrix to sums of 1 along an axis; all zeros become equal shares."""
    sums = weights.sum(axis=axis, keepdims=True)
    equal_shares = np.full_like(weights, 1 / weights.shape[axis])
    return np.divide(weights, sums, out=equal_shares, where=sums > 0)
