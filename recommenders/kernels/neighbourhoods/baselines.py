"""Baseline predictions of ratings: the mean, and how far an item and a user lie off it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recommenders.shared.search_space import Range
from recommenders.shared.sparse import row_of_entry, with_data
from recommenders.shared.system import NotNegative, Settings, searched

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class BaselineSettings(Settings):
    """What systems on baselines have in common."""

    item_damping: NotNegative = searched(
        25.0,
        Range(1.0, 100.0, log=True),
        description="Ratings at the mean added to each item's baseline: 0 or more.",
    )
    user_damping: NotNegative = searched(
        10.0,
        Range(1.0, 100.0, log=True),
        description="Ratings as expected added to each user's baseline: 0 or more.",
    )
    denominator: bool = Field(
        False,
        description="Whether the sum is divided by its weights, which predicts ratings and "
        "ranks badly.",
    )


@dataclass(frozen=True, eq=False)
class Baselines:
    r"""Predicts ratings without regard to taste.

    .. math::

        b_{ui} = \mu + b_u + b_i, \quad
        b_i = \frac{\sum_u (r_{ui} - \mu)}{n_i + \lambda_i}, \quad
        b_u = \frac{\sum_i (r_{ui} - \mu - b_i)}{n_u + \lambda_u}

    with :math:`n_i` and :math:`n_u` the numbers of ratings of item and user.

    Held are :math:`\mu + b_i`, of shape (n_items,), and :math:`\lambda_u`, above 0 or 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ratings = csr_array([[5.0, 3.0], [1.0, 0.0]])
    >>> baselines = Baselines.fit(ratings, BaselineSettings(item_damping=0.0, user_damping=1.0))
    >>> baselines.of_items
    array([3., 3.])
    >>> baselines.of_users(ratings)
    array([ 0.66666667, -1.        ])
    """

    of_items: NDArray[np.float64]
    user_damping: float

    @classmethod
    def fit(cls, matrix: csr_array[Any], settings: BaselineSettings) -> Baselines:
        """Learn the items' baselines from ratings of shape (n_users, n_items)."""
        mean = matrix.data.mean()
        n_items = matrix.shape[1]
        offsets = np.bincount(matrix.indices, matrix.data - mean, minlength=n_items)
        counts = np.bincount(matrix.indices, minlength=n_items)
        divisors = np.maximum(counts + settings.item_damping, 1)
        return cls(mean + offsets / divisors, settings.user_damping)

    def of_users(self, histories: csr_array[Any]) -> NDArray[np.float64]:
        """Give :math:`b_u` of the owners of these rows of ratings."""
        offsets = with_data(histories, histories.data - self.of_items[histories.indices])
        counts = np.diff(histories.indptr)
        return offsets.sum(axis=1) / np.maximum(counts + self.user_damping, 1)

    def residuals(self, histories: csr_array[Any]) -> csr_array[Any]:
        """Take the baselines off the ratings."""
        expected = self.of_users(histories)[row_of_entry(histories)]
        expected += self.of_items[histories.indices]
        return with_data(histories, histories.data - expected)
