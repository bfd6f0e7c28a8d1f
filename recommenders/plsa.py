"""PLSA: every rating comes from a latent topic of its user."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import AtLeastOne, Factors, Range, Settings, searched, system
from runs.shared.arrays import Floats

BLOCK_RATINGS = 8192


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
    amounts=True,
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
    of_users = distributions(rng.random((len(ratings.users), settings.topics)) + 0.5, axis=1)
    of_items = distributions(rng.random((len(ratings.items), settings.topics)) + 0.5, axis=0)
    observed = ratings.select(ratings.rating > 0)
    for _ in range(settings.steps):
        of_users, of_items = em_step(observed, of_users, of_items)
    return FactorScorer(ratings, of_users, of_items)


def em_step(ratings: Ratings, of_users: Floats, of_items: Floats) -> tuple[Floats, Floats]:
    r"""Take one step of EM, from ratings above 0.

    It changes :math:`P(z \mid u)`, of shape (n_users, n_topics), rows summing to 1, and
    :math:`P(i \mid z)`, of shape (n_items, n_topics), columns summing to 1.
    """
    quotients = ratings.matrix()
    quotients.data = quotients.data / likelihoods(ratings, of_users, of_items)
    return (
        distributions(of_users * (quotients @ of_items), axis=1),
        distributions(of_items * (quotients.T @ of_users), axis=0),
    )


def likelihoods(ratings: Ratings, of_users: Floats, of_items: Floats) -> Floats:
    r"""Give :math:`P(i \mid u)` for every rating, of shape (n_ratings,)."""
    found = np.empty(len(ratings))
    for start in range(0, len(ratings), BLOCK_RATINGS):
        block = slice(start, start + BLOCK_RATINGS)
        users, items = of_users[ratings.user[block]], of_items[ratings.item[block]]
        found[block] = np.einsum("nz,nz->n", users, items)
    return found


def distributions(weights: Floats, *, axis: int) -> Floats:
    """Scale weights to sums of 1 along an axis; all zeros become equal shares."""
    sums = weights.sum(axis=axis, keepdims=True)
    shares = np.full_like(weights, 1 / weights.shape[axis])
    return np.divide(weights, sums, out=shares, where=sums > 0)
