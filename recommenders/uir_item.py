"""UIR-Item: user-item relevance model, which ranks items by the likelihood of the history."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer, dense_if_faster, pattern
from recommenders.shared.system import Gigabytes, MemoryNeed, Range, Settings, searched, system
from runs.shared.arrays import Sparse

BYTES_PER_PAIR = 36
"""Peak memory of training, in bytes, for each pair of items that a user rated both.

A sparse matrix takes 12 of them, and a dense one up to 24.
"""

SAMPLED_ITEMS = 200
"""Number of items whose pairs are counted, to estimate the number of all pairs."""


class UIRItemSettings(Settings):
    """Settings of UIR-Item."""

    smoothing: float = searched(
        0.001,
        Range(0.00001, 0.1, log=True),
        "Weight of the collection in the probability of an item (the paper's "
        "lambda): above 0, below 1. Values up to 0.01 give equal results; values close to 1 rank "
        "by popularity; values between rank rare items first on small data.",
        gt=0,
        lt=1,
    )
    max_gigabytes: Gigabytes = 4.0


def uir_item_memory_need(ratings: Ratings, settings: UIRItemSettings) -> MemoryNeed:
    """Estimate the bytes of training, in proportion to the pairs of items that a user rated both.

    The pairs are counted for up to 200 items, evenly spread over the item numbers.
    """
    rated = pattern(ratings.matrix())
    n_items = len(ratings.items)
    spread_items = np.linspace(0, n_items - 1, SAMPLED_ITEMS, dtype=np.intp)
    sampled_items = np.unique(spread_items)
    sampled_pairs = rated.T.tocsr()[sampled_items] @ rated
    n_pairs = sampled_pairs.nnz * n_items // len(sampled_items)
    return MemoryNeed(BYTES_PER_PAIR * n_pairs, f"about {n_pairs} pairs of items rated together")


@system(
    "uir-item",
    family="relevance models",
    source="Wang, de Vries & Reinders (2006), A user-item relevance model for log-based "
    "collaborative filtering, ECIR",
    memory_need=uir_item_memory_need,
)
def uir_item(ratings: Ratings, settings: UIRItemSettings, *, seed: int) -> LinearItemScorer:
    r"""Rank items by the likelihood of the user's history, given the item.

    .. math:: \log P(i) + \sum_{b \in I_u} \log ((1 - \lambda) P(b \mid i) + \lambda P(b)),
              \quad P(b \mid i) = \frac{n_{bi}}{\sum_{b' \ne i} n_{b'i}},
              \quad P(i) = \frac{c_i}{\sum_j c_j}

    less :math:`\sum_{b} \log \lambda P(b)`, which is the same for all items; :math:`n_{bi}`
    users rated both, :math:`c_i` rated i. The values of ratings do not matter.

    Notes
    -----
    The model and its linear smoothing are the paper's, from memory. That :math:`P(b \mid i)` is
    a multinomial over the other items is inferred: :math:`n_{bi} / c_i` puts rare items first.
    """
    rated = pattern(ratings.matrix())
    item_counts = ratings.item_counts()
    has_ratings = item_counts > 0
    log_priors = np.full(len(item_counts), np.nan)
    log_priors[has_ratings] = np.log(item_counts[has_ratings] / item_counts.sum())
    weights = gain_weights(rated, smoothing=settings.smoothing)
    return LinearItemScorer(ratings, dense_if_faster(weights), item_offsets=log_priors)


def gain_weights(rated: Sparse, *, smoothing: float) -> Sparse:
    r"""Compute what each rated item b adds to the score of i, relative to the collection.

    .. math:: \log \bigl(1 + (1 - \lambda) P(b \mid i) / (\lambda P(b))\bigr)

    at row b and column i, which is 0 where nobody rated both, so that the matrix, of shape
    (n_items, n_items), is sparse; :math:`\lambda` is the smoothing. ``rated``, of shape (n_users,
    n_items), holds 1.0 for rated items.
    """
    weights = rated.T.tocsr() @ rated  # Users who rated both items.
    weights.setdiag(0)
    weights.eliminate_zeros()
    item_counts = rated.sum(axis=0)
    item_shares = item_counts / item_counts.sum()
    background = np.repeat(item_shares, np.diff(weights.indptr))
    weights.data /= weights.sum(axis=0)[weights.indices]
    weights.data *= (1 - smoothing) / (smoothing * background)
    np.log1p(weights.data, out=weights.data)
    return weights
