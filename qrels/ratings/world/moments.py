"""What a world that is like real ratings shares with them: a number for each of its strengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qrels.ratings.ratings import Ratings
from qrels.ratings.world.truth import inner_products

# The numbers are taken of some users and items where there are more.
MOST_USERS = 2_000
MOST_ITEMS = 3_000
# Only items with so many ratings have neighbours that can be counted.
LEAST_RATINGS = 10
NEIGHBOURS = 10
STRATA = 10
# Means of few ratings are drawn to 0, as if so many more of 0 had been given.
PRIOR_RATINGS = 3.0
PASSES = 6


@dataclass(frozen=True)
class Moments:
    """Numbers of ratings in units of their standard deviation; of who rates what, relative.

    Parameters
    ----------
    interest
        Spread of the number of items that two users share about what their activity and the
        popularity of their items make expect, relative to that.
    neighbours
        Mean cosine of an item's users with those of its ten nearest items.
    slope
        Mean log popularity of a user's items, per standard deviation of log activity.
    niche
        Standard deviation of the same about that line.
    generosity, quality
        Standard deviations of the biases of users, and of items about their `trend`.
    trend
        Rise of items' biases with log popularity.
    taste
        Fourth root of the mean squared covariance of two items' ratings beside the biases.
    agreement
        Mean covariance of an item's ratings with those of its ten nearest items.
    """

    interest: float
    neighbours: float
    slope: float
    niche: float
    generosity: float
    quality: float
    trend: float
    taste: float
    agreement: float

    @classmethod
    def of(cls, ratings: Ratings) -> Moments:
        """Take the moments of ratings, of which there are enough (see `fit_world`)."""
        return _Taken(ratings).moments()


@dataclass(frozen=True)
class _Taken:
    """Ratings with what several moments are made from."""

    ratings: Ratings

    def moments(self) -> Moments:
        slope, niche = self._lines()
        users, items, trend = self._biases
        log_popularity = self._centred_log
        weights = self._share * (self._item_counts >= LEAST_RATINGS)
        about = (items - trend * log_popularity) ** 2
        return Moments(
            interest=self._interest(),
            neighbours=float(np.take_along_axis(self._cosines, self._nearest, axis=1).mean()),
            slope=slope,
            niche=niche,
            generosity=float(users.std()),
            quality=float(np.sqrt((weights * about).sum() / weights.sum())),
            trend=trend,
            taste=self._taste(),
            agreement=self._agreement(),
        )

    @cached_property
    def _user_counts(self) -> NDArray[np.float64]:
        return self.ratings.user_counts().astype(np.float64)

    @cached_property
    def _item_counts(self) -> NDArray[np.float64]:
        return self.ratings.item_counts().astype(np.float64)

    @property
    def _share(self) -> NDArray[np.float64]:
        return self._item_counts / len(self.ratings)

    @property
    def _centred_log(self) -> NDArray[np.float64]:
        logs = np.log(np.maximum(self._item_counts, 1.0))
        return logs - (logs * self._share).sum()

    @cached_property
    def _kept(self) -> NDArray[np.intp]:
        """Numbers of the items that are compared with one another: the most rated."""
        falling = np.argsort(-self._item_counts, kind="stable")[:MOST_ITEMS]
        return np.sort(falling[self._item_counts[falling] >= LEAST_RATINGS])

    def _sparse(self, values: NDArray[np.float64]) -> csr_array[Any]:
        """Give some users' values of the items that are compared."""
        shape = (len(self._user_counts), len(self._item_counts))
        matrix = csr_array((values, (self.ratings.user, self.ratings.item)), shape=shape)
        return matrix[self._some_users()][:, self._kept]

    def _some_users(self) -> NDArray[np.intp]:
        n_users = len(self._user_counts)
        return np.unique(np.linspace(0, n_users - 1, min(n_users, MOST_USERS)).astype(np.intp))

    def _lines(self) -> tuple[float, float]:
        """Give slope and spread of the popularity of a user's items over the user's activity."""
        logs = self._centred_log[self.ratings.item]
        active = self._user_counts > 0
        sums = np.bincount(self.ratings.user, logs, minlength=len(active))
        means = sums[active] / self._user_counts[active]
        activity = np.log(self._user_counts[active])
        activity = (activity - activity.mean()) / max(activity.std(), 1e-9)
        slope = float((activity * means).mean())
        return slope, float((means - means.mean() - slope * activity).std())

    def _interest(self) -> float:
        """Compare shared items with those expected from users' ratings per popularity stratum."""
        users = self._some_users()
        stratum = self._strata()
        rated = np.zeros((len(self._user_counts), STRATA))
        np.add.at(rated, (self.ratings.user, stratum[self.ratings.item]), 1.0)
        squares = np.bincount(stratum, self._item_counts**2, STRATA)
        chance = squares / np.maximum(np.bincount(stratum, self._item_counts, STRATA), 1.0) ** 2
        mine = rated[users].T
        expected = inner_products((mine * chance[:, None])[:, :, None], mine[:, None])
        shape = (len(self._user_counts), len(self._item_counts))
        pairs = (np.ones(len(self.ratings)), (self.ratings.user, self.ratings.item))
        rows = csr_array(pairs, shape=shape)[users]
        others = ~np.eye(len(users), dtype=np.bool_)
        shared, expected = (rows @ rows.T).toarray()[others], expected[others]
        expected *= shared.sum() / expected.sum()
        excess = ((shared - expected) ** 2 - expected).sum() / (expected**2).sum()
        return float(np.sqrt(max(excess, 0.0)))

    def _strata(self) -> NDArray[np.intp]:
        """Cut the items by popularity into strata of as many ratings each."""
        falling = np.argsort(-self._item_counts, kind="stable")
        reached = np.cumsum(self._item_counts[falling]) - self._item_counts[falling] / 2
        stratum = np.empty(len(falling), dtype=np.intp)
        stratum[falling] = np.minimum(reached * STRATA / len(self.ratings), STRATA - 1)
        return stratum

    @cached_property
    def _together(self) -> NDArray[np.float64]:
        """Users that two items share, of shape (n_kept, n_kept); 0 on the diagonal."""
        return _products(self._sparse(np.ones(len(self.ratings))))

    @cached_property
    def _cosines(self) -> NDArray[np.float64]:
        sizes = np.sqrt(self._item_counts[self._kept])
        return self._together / sizes[:, None] / sizes

    @cached_property
    def _nearest(self) -> NDArray[np.intp]:
        return np.argsort(-self._cosines, axis=1, kind="stable")[:, :NEIGHBOURS]

    @cached_property
    def _standard(self) -> NDArray[np.float64]:
        rating = self.ratings.rating
        return (rating - rating.mean()) / rating.std()

    @cached_property
    def _biases(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Give the biases of users and items, and how those of items rise with popularity."""
        user, item = self.ratings.user, self.ratings.item
        users: NDArray[np.float64] = np.zeros(len(self._user_counts))
        for _ in range(PASSES):
            items = np.bincount(item, self._standard - users[user], len(self._item_counts)) / (
                self._item_counts + PRIOR_RATINGS
            )
            users = np.bincount(user, self._standard - items[item], len(users)) / (
                self._user_counts + PRIOR_RATINGS
            )
        logs = self._centred_log
        spread = (self._share * logs**2).sum()
        trend = float((self._share * logs * items).sum() / spread) if spread > 0 else 0.0
        return users, items, trend

    @cached_property
    def _residuals(self) -> csr_array[Any]:
        users, items, _ = self._biases
        return self._sparse(self._standard - users[self.ratings.user] - items[self.ratings.item])

    @cached_property
    def _covariances(self) -> NDArray[np.float64]:
        """Sums of products of two items' ratings beside the biases; 0 on the diagonal."""
        return _products(self._residuals)

    def _taste(self) -> float:
        """Square covariances without the products of a user's ratings with themselves."""
        squares = _products(self._residuals.power(2))
        pairs = (self._together * (self._together - 1.0)).sum()
        mean = (self._covariances**2 - squares).sum() / max(pairs, 1.0)
        return float(max(mean, 0.0) ** 0.25)

    def _agreement(self) -> float:
        near = [
            np.take_along_axis(part, self._nearest, axis=1).sum()
            for part in (self._covariances, self._together)
        ]
        return float(near[0] / max(near[1], 1.0))


def _products(columns: csr_array[Any]) -> NDArray[np.float64]:
    """Give the inner products of the columns; 0 on the diagonal."""
    found = np.asarray((columns.T @ columns).toarray())
    np.fill_diagonal(found, 0.0)
    return found
