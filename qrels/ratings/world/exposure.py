"""What users meet before interest and liking have a say: popular items, each in a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings

FURTHEST_CUT = 1.0
"""How far a cut is from the key that it is nearest to, at most."""


@dataclass(frozen=True)
class Bands:
    """Items in bands of popularity, each band twice as often rated as the one before.

    Parameters
    ----------
    of_items
        How often each item is rated, of shape (n_items,).
    band
        The band of each item, of shape (n_items,).
    rated
        How many items of each band every user rates, of shape (n_users, n_bands).
    """

    of_items: NDArray[np.intp]
    band: NDArray[np.intp]
    rated: NDArray[np.intp]

    @classmethod
    def of(cls, ratings: Ratings) -> Self:
        """Count ratings of which each item has one at least."""
        of_items = ratings.item_counts()
        doublings = np.log2(of_items).astype(np.intp)
        band = np.unique(doublings, return_inverse=True)[1]
        rated = np.zeros((len(ratings.users), int(band.max()) + 1), dtype=np.intp)
        np.add.at(rated, (ratings.user, band[ratings.item]), 1)
        return cls(of_items, band, rated)


@dataclass(frozen=True)
class Exposure:
    """What users meet before interest and liking have a say.

    Parameters
    ----------
    popularity
        Of each item, of shape (n_items,).
    leaning
        Of each user to each band of popularity, of shape (n_users, n_bands) and mean 0 over users.
    """

    popularity: NDArray[np.float64]
    leaning: NDArray[np.float64]

    @classmethod
    def none(cls, bands: Bands) -> Self:
        """Let users meet all items alike."""
        return cls(np.zeros(len(bands.of_items)), np.zeros(bands.rated.shape))

    @classmethod
    def fitted(
        cls,
        appeal: NDArray[np.float64],
        bands: Bands,
        popularity: NDArray[np.float64],
        *,
        sweeps: int,
    ) -> Self:
        """Find with what exposure users and items have the ratings that they have, by alternation.

        Parameters
        ----------
        appeal
            How much users care for items beside it, of shape (n_users, n_items).
        bands
            How many ratings there are to be: those of users are met, of items nearly so.
        popularity
            Where the search starts.
        sweeps
            How often popularity is found anew.
        """
        leaning = _leaning(appeal, popularity, bands)
        for _ in range(sweeps):
            keys = leaning[:, bands.band]
            keys += appeal
            popularity = -_cuts(keys.T, bands.of_items)
            leaning = _leaning(appeal, popularity, bands)
        usual = leaning.mean(axis=0)
        return cls(popularity + usual[bands.band], leaning - usual)


def _leaning(
    appeal: NDArray[np.float64], popularity: NDArray[np.float64], bands: Bands
) -> NDArray[np.float64]:
    """Find with what leaning each user rates as many items of each band as there are to be."""
    keys = appeal + popularity
    columns = (keys[:, bands.band == number] for number in range(bands.rated.shape[1]))
    cuts = (_cuts(*part) for part in zip(columns, bands.rated.T, strict=True))
    return -np.column_stack(list(cuts))


def _cuts(keys: NDArray[np.float64], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Give the middle between each row's highest keys, so many as its count, and the next one."""
    rising, rows, n_keys = np.sort(keys, axis=1), np.arange(len(keys)), keys.shape[1]
    last = rising[rows, np.minimum(n_keys - counts, n_keys - 1)]
    next_one = rising[rows, np.maximum(n_keys - counts - 1, 0)]
    next_one = np.where(counts == n_keys, -np.inf, next_one)
    middle = (last + np.maximum(next_one, last - 2 * FURTHEST_CUT)) / 2
    return np.where(counts == 0, next_one + FURTHEST_CUT, middle)
