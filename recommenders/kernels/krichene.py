"""Y and Z of Krichene & Rendle, section 9: what their two files share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from qrels import Ratings
from recommenders.kernels.neighbours import BYTES_PER_PAIR, cosines, nearest_of, pairs_at_most
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import Gigabytes, Need, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# From this share of non-zero weights on, a dense matrix is multiplied faster.
DENSE_FROM = 0.1

Power: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=20,
        description="Power that similarities are raised to (the paper's q): above 0, up to 20.",
    ),
]
Nearest: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Item j counts for item i if i is among the k nearest to j (the paper's k): "
        "0 for no limit, or at least 1.",
    ),
]
KeepSelf: TypeAlias = Annotated[
    bool,
    Field(
        description="Whether an item is similar to itself: a part of the norm, and one of its "
        "own nearest."
    ),
]


class NeighbourSettings(Settings):
    """Settings of krichene-y and krichene-z; their own defaults are those of "published"."""

    as_printed: ClassVar[Mapping[str, Any]] = {}

    variant: Literal["published", "as_printed"] = Field(
        "published",
        description="Reading of the paper, which gives the defaults of the settings below: "
        "'published' comes out at its exact metrics, 'as_printed' follows its equations to the "
        "letter.",
    )
    q: Power = 1.0
    k: Nearest = 0
    k_prime: int = Field(
        0,
        ge=0,
        description="... and if j is among the k' nearest to i (the paper's k'): 0 for no limit, "
        "or at least 1.",
    )
    norm: Literal["euclidean", "sum", "none"] = Field(
        "euclidean", description="Norm of an item's similarities that divides them (equation 29)."
    )
    keep_self: KeepSelf = True
    denominator: bool = Field(
        False,
        description="Whether scores are divided by the sum of all similarities of the item "
        "(equation 30), which cancels the norm.",
    )
    max_gigabytes: Gigabytes = 4.0

    @model_validator(mode="before")
    @classmethod
    def _follow_the_variant(cls, given: Any) -> Any:
        """Let the equations as printed fill in what is not given."""
        if isinstance(given, dict) and given.get("variant") == "as_printed":
            return {**cls.as_printed, **given}
        return given


def similarities_need(ratings: Ratings, settings: NeighbourSettings) -> Need:
    """Count the pairs of items that may be similar."""
    pairs = pairs_at_most(ratings)
    return Need(BYTES_PER_PAIR * pairs, f"similarities of up to {pairs:,} pairs of items")


def neighbour_scorer(ratings: Ratings, settings: NeighbourSettings) -> LinearItemScorer:
    r"""Score by sums of similarities, equations 27 to 30."""
    similarities = cosines(ratings)
    similarities.data **= settings.q
    kept = _both_near(similarities, settings)
    return LinearItemScorer(ratings, _fast(_normalised(kept, settings)), unlinked=0.0)


def _both_near(similarities: csr_array[Any], settings: NeighbourSettings) -> csr_array[Any]:
    """Keep, at row j and column i, what equation 28 keeps of the similarity of i and j."""
    kept = _nearest(similarities, settings.k, keep_self=settings.keep_self)
    if settings.k_prime == 0:
        return kept
    near = _nearest(similarities, settings.k_prime, keep_self=settings.keep_self).T.tocsr()
    near.data[:] = 1
    return kept.multiply(near).tocsr()


def _nearest(similarities: csr_array[Any], limit: int, *, keep_self: bool) -> csr_array[Any]:
    if limit > 0:
        return nearest_of(similarities, neighbours=limit, keep_self=keep_self)
    return similarities if keep_self else _without_diagonal(similarities)


def _without_diagonal(matrix: csr_array[Any]) -> csr_array[Any]:
    hollow = matrix.copy()
    hollow.setdiag(0)
    hollow.eliminate_zeros()
    return hollow


def _normalised(kept: csr_array[Any], settings: NeighbourSettings) -> csr_array[Any]:
    """Divide the similarities of every item i, which are in column i."""
    values = kept.data
    if settings.norm == "euclidean":
        values = values / np.sqrt(_column_sums(kept, values**2))[kept.indices]
    elif settings.norm == "sum":
        values = values / _column_sums(kept, values)[kept.indices]
    if settings.denominator:
        values = values / _column_sums(kept, values)[kept.indices]
    return type(kept)((values, kept.indices, kept.indptr), shape=kept.shape)


def _column_sums(matrix: csr_array[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.bincount(matrix.indices, weights=values, minlength=matrix.shape[1])
    return sums.astype(np.float64, copy=False)


def _fast(weights: csr_array[Any]) -> csr_array[Any] | NDArray[np.float32]:
    """Take the form that is multiplied faster."""
    dense = weights.nnz > DENSE_FROM * weights.shape[0] ** 2
    return weights.astype(np.float32).toarray() if dense else weights
