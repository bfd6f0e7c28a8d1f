"""UIR-Item: user-item relevance model, which ranks items by the likelihood of the history."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer, dense_if_crowded, pattern
from recommenders.shared.system import Gigabytes, Need, Range, Settings, searched, system
from runs.shared.arrays import Sparse

# At the peak 12 bytes as a sparse matrix and up to 24 as a dense one.
BYTES_PER_PAIR = 36
SAMPLED_ITEMS = 200


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


def uir_item_need(ratings: Ratings, settings: UIRItemSettings) -> Need:
    """Estimate the number of pairs of items that a user rated both, from evenly spread items."""
    rated, n_items = pattern(ratings.matrix()), len(ratings.items)
    sampled = np.unique(np.linspace(0, n_items - 1, SAMPLED_ITEMS, dtype=np.intp))
    n_pairs = (rated.T.tocsr()[sampled] @ rated).nnz * n_items // len(sampled)
    return Need(BYTES_PER_PAIR * n_pairs, f"about {n_pairs} pairs of items rated together")


@system(
    "uir-item",
    family="relevance models",
    source="Wang, de Vries & Reinders (2006), A user-item relevance model for log-based "
    "collaborative filtering, ECIR",
    need=uir_item_need,
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
    counts = ratings.item_counts()
    offsets = np.full(len(counts), np.nan)
    offsets[counts > 0] = np.log(counts[counts > 0] / counts.sum())
    weights = gain_weights(rated, smoothing=settings.smoothing)
    return LinearItemScorer(ratings, dense_if_crowded(weights), item_offsets=offsets)


def gain_weights(rated: Sparse, *, smoothing: float) -> Sparse:
    r"""Weigh what each rated item b adds to the score of i, relative to the collection.

    .. math:: \log \bigl(1 + (1 - \lambda) P(b \mid i) / (\lambda P(b))\bigr)

    at row b and column i, which is 0 where nobody rated both, so that the matrix is sparse;
    :math:`\lambda` is the smoothing.
    """
    together = rated.T.tocsr() @ rated
    together.setdiag(0)
    together.eliminate_zeros()
    counts = rated.sum(axis=0)
    background = np.repeat(counts / counts.sum(), np.diff(together.indptr))
    together.data /= together.sum(axis=0)[together.indices]
    together.data *= (1 - smoothing) / (smoothing * background)
    np.log1p(together.data, out=together.data)
    return together
