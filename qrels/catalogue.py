"""What is known of items and users, for metrics that ask which items are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WANTING = {
    "popularity": "how often items are rated in training: begin with [ratings], or write "
    'popularity = "counts.csv" in [items]',
    "n_raters": "how many users rate in training: begin with [ratings]",
    "features": 'the features of items: write features = "features.csv" in [items]',
    "propensities": "the chance of every item to be observed: write "
    'propensities = "propensities.csv" in [items]',
    "profiles": "what users rated in training: begin with [ratings]",
}
"""What to do where something that a metric asks for is not known."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What is known of the items of a collection, and of what its users rated in training.

    Parameters
    ----------
    n_items
        Number of items.
    popularity
        Training ratings of every item, int64 of shape (n_items,).
    n_raters
        Number of users with training ratings.
    features
        Numbers that describe the items, float64 of shape (n_items, n_features): 0 in all where
        nothing is known of an item. Categories are columns of 0 and 1.
    feature_names
        Names of the columns of ``features``.
    propensities
        Chance of every item to be observed, above 0 and up to 1, of shape (n_items,).
    profiles
        What every user rated in training, of shape (n_users, n_items).

    What is not known is None.
    """

    n_items: int
    popularity: NDArray[np.int64] | None = None
    n_raters: int | None = None
    features: NDArray[np.float64] | None = None
    feature_names: Sequence[str] = ()
    propensities: NDArray[np.float64] | None = None
    profiles: csr_array[Any] | None = None

    def known(self, what: str) -> Any:
        """Give what is known of items by its name.

        Raises
        ------
        InputError
            If it is not known; the sentence says what to write.

        Examples
        --------
        >>> Catalogue(2, popularity=np.array([3, 1])).known("popularity")
        array([3, 1])
        >>> Catalogue(2).known("popularity")
        Traceback (most recent call last):
        runs.InputError: nothing says how often items are rated in training: begin with [ratings],\
 or write popularity = "counts.csv" in [items].
        """
        value = getattr(self, what)
        if value is None:
            raise InputError(f"nothing says {WANTING[what]}.")
        return value

    def of_users(self, users: NDArray[np.integer]) -> Catalogue:
        """Know the profiles of some users, numbered anew in this order."""
        return replace(self, profiles=None if self.profiles is None else self.profiles[users])


@dataclass(frozen=True, eq=False)
class ItemsSeen:
    """Which items lists hold, and which their users' judgements are about.

    Parameters
    ----------
    catalogue
        What is known of them.
    users
        Numbers of the users, of shape (n_lists,).
    listed
        Item at each rank, int32 of shape (n_ranks, n_lists), -1 where there is none.
    judged
        Item of each judgement, int32 of shape (n, n_lists), -1 where there is none.
    """

    catalogue: Catalogue
    users: NDArray[np.integer]
    listed: NDArray[np.integer]
    judged: NDArray[np.integer]
