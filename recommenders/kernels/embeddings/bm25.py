"""BM25: ratings weighed as the words of documents are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings

Floats = NDArray[np.float64]

Rows: TypeAlias = Literal["users", "items"]
Idf: TypeAlias = Literal["clipped", "smooth"]


def clipped_rarity(counts: Floats, n_documents: int) -> Floats:
    r"""Give :math:`\max(\ln N - \ln(1 + n), 0)`, of the package implicit, which does not clip.

    Examples
    --------
    A term of every document would weigh less than nothing, and be read as a dislike:

    >>> clipped_rarity(np.array([1.0, 2.0, 3.0]), 3).round(3)
    array([0.405, 0.   , 0.   ])
    """
    return np.maximum(np.log(n_documents) - np.log1p(counts), 0.0)


def smooth_rarity(counts: Floats, n_documents: int) -> Floats:
    r"""Give :math:`\ln(1 + (N - n + 1/2) / (n + 1/2))`, of Lucene, which is above 0.

    Examples
    --------
    >>> smooth_rarity(np.array([1.0, 2.0, 3.0]), 3).round(3)
    array([0.981, 0.47 , 0.134])
    """
    return np.log1p((n_documents - counts + 0.5) / (counts + 0.5))


# From how many documents each term occurs in, and how many there are, to the weights of terms.
RARITIES: Mapping[Idf, Callable[[Floats, int], Floats]] = MappingProxyType(
    {"clipped": clipped_rarity, "smooth": smooth_rarity}
)


def bm25(ratings: Ratings, *, rows: Rows, k1: float, b: float, idf: Idf = "clipped") -> Floats:
    r"""Weigh ratings as BM25 weighs terms.

    .. math:: w_{dt} = \frac{(k_1 + 1)\, r_{dt}}{k_1 (1 - b + b \, l_d / \bar l) + r_{dt}}
              \, \mathrm{idf}_t

    with :math:`l_d` the sum of a document's ratings, of mean :math:`\bar l` over the documents
    that have any. Where documents are users, long histories are held against their users and
    popular items weigh less; where they are items, the other way round; Kasalický (2021) does not
    say which. For :math:`k_1` implicit has 100 and Lucene 1.2; b, from 0 to 1, is 0.75 in Kasalický
    (2021). Ratings are not below 0, and neither are the weights, of shape (n_ratings,).

    References
    ----------
    Robertson & Zaragoza (2009), The probabilistic relevance framework: BM25 and beyond.

    Examples
    --------
    Of three users all rated a, v alone b. With b = 0 and k1 = 1 the rating of b is
    2 * 3 / (1 + 3) * ln(3 / 2):

    >>> from runs import Numbering
    >>> ratings = Ratings(
    ...     Numbering.of("uvw"), Numbering.of("ab"), np.array([0, 1, 1, 2]),
    ...     np.array([0, 0, 1, 0]), np.array([1.0, 1.0, 3.0, 1.0]),
    ... )
    >>> bm25(ratings, rows="users", k1=1.0, b=0.0).round(3)
    array([0.   , 0.   , 0.608, 0.   ])
    """
    document, term = ratings.user, ratings.item
    if rows == "items":
        document, term = term, document
    lengths = np.bincount(document, ratings.rating)
    n_documents = int(np.count_nonzero(np.bincount(document)))
    mean_length = lengths.sum() / n_documents or 1.0
    occurrences = np.bincount(term).astype(np.float64)
    rarity = RARITIES[idf](occurrences, n_documents)
    relative = lengths[document] / mean_length
    saturated = (k1 + 1) * ratings.rating / (k1 * (1 - b + b * relative) + ratings.rating)
    return saturated * rarity[term]
