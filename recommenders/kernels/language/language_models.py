"""Language models of users or items: ratings as word counts, smoothed by the collection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.kernels.amounts import require_amounts
from recommenders.shared.sparse import row_of_entry, row_sums, with_data
from recommenders.shared.system import Positive, Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Smoothing: TypeAlias = Literal["jelinek-mercer", "dirichlet", "absolute-discounting"]
BackgroundWeight: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description="Share of the collection under Jelinek-Mercer smoothing (the paper's "
        "lambda): between 0 and 1.",
    ),
]


class SmoothedSettings(Settings):
    """What systems on smoothed models have in common; each has its own neighbours and weight."""

    neighbours: int
    smoothing: Smoothing = Field(
        "jelinek-mercer",
        description="How a model is mixed with the collection: by a fixed share "
        "(`background_weight`), by ratings added (`pseudo_ratings`) or by a part of each "
        "rating (`discount`).",
    )
    background_weight: BackgroundWeight
    pseudo_ratings: Positive = Field(
        500.0,
        description="Sum of ratings that the collection adds under Dirichlet smoothing (the "
        "paper's mu): above 0.",
    )
    discount: Positive = Field(
        0.5,
        description="What absolute discounting takes from each rating (the paper's delta): above "
        "0; a smaller rating is taken whole.",
    )


@dataclass(frozen=True, eq=False)
class LanguageModels:
    r"""A smoothed distribution over the columns for every row of a matrix.

    .. math:: p_v(j) = s_{vj} + \beta_v \, p_C(j)

    What was seen, :math:`s`, is of shape (n_rows, n_columns), with entries where there are ratings;
    the shares :math:`\beta`, in (0, 1], are of shape (n_rows,), and the collection :math:`p_C`, 0
    for a column without ratings, of shape (n_columns,).
    """

    seen: csr_array[Any]
    background_shares: NDArray[np.float64]
    collection: NDArray[np.float64]

    def ratios(self) -> csr_array[Any]:
        """Divide what was seen by the collection: 0 or more, one for each entry."""
        return with_data(self.seen, self.seen.data / self.collection[self.seen.indices])

    def gains(self) -> csr_array[Any]:
        r"""Give :math:`\log(p_v(j) / (\beta_v p_C(j)))`: what a rating adds to the logarithm."""
        shares = self.background_shares[row_of_entry(self.seen)]
        return with_data(self.seen, np.log1p(self.ratios().data / shares))

    @cached_property
    def gains_by_column(self) -> csr_array[Any]:
        """Give the gains with columns as rows, of shape (n_columns, n_rows)."""
        return self.gains().T.tocsr()


def smoothed(matrix: csr_array[Any], settings: SmoothedSettings) -> LanguageModels:
    r"""Estimate the model of each row, smoothed.

    With :math:`d_v` the sum of a row, :math:`p_v(j)` is

    .. math::

        (1 - \lambda) r_{vj} / d_v + \lambda p_C(j), \quad
        \frac{r_{vj} + \mu p_C(j)}{d_v + \mu}, \quad
        \frac{\max(r_{vj} - \delta, 0)}{d_v} + \frac{\sum_k \min(r_{vk}, \delta)}{d_v} p_C(j)

    for Jelinek-Mercer, Dirichlet and absolute discounting, with :math:`\lambda` the
    ``background_weight``, :math:`\mu` the ``pseudo_ratings`` and :math:`\delta` the ``discount``.
    Ratings are not below 0 and not all 0; a row without any is the collection.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ratings = csr_array([[3.0, 1.0], [0.0, 4.0]])
    >>> models = smoothed(ratings, SmoothedSettings(neighbours=1, background_weight=0.5))
    >>> models.seen.toarray()
    array([[0.375, 0.125],
           [0.   , 0.5  ]])
    >>> models.background_shares, models.collection
    (array([0.5, 0.5]), array([0.375, 0.625]))
    """
    sums = row_sums(matrix)
    divisors = np.where(sums > 0, sums, 1.0)[row_of_entry(matrix)]
    if settings.smoothing == "jelinek-mercer":
        seen = (1 - settings.background_weight) * matrix.data / divisors
        shares = np.full(len(sums), settings.background_weight)
    elif settings.smoothing == "dirichlet":
        seen = matrix.data / (divisors + settings.pseudo_ratings)
        shares = settings.pseudo_ratings / (sums + settings.pseudo_ratings)
    else:
        taken = np.minimum(matrix.data, settings.discount)
        seen = (matrix.data - taken) / divisors
        shares = row_sums(with_data(matrix, taken / divisors))
    shares = np.where(sums > 0, shares, 1.0)
    return LanguageModels(with_data(matrix, seen), shares, matrix.sum(axis=0) / sums.sum())


def counts(ratings: Ratings, *, system: str) -> csr_array[Any]:
    """Read ratings as counts of words, of shape (n_users, n_items), those of 0 left out.

    Ratings are refused as by `require_amounts`.
    """
    require_amounts(ratings, system=system)
    matrix = ratings.matrix()
    matrix.eliminate_zeros()
    return matrix
