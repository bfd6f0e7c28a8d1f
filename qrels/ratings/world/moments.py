"""What a world that is like real ratings shares with them: a number for each of its strengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from qrels.ratings.ratings import Ratings

# The numbers are taken of some users and items where there are more.
MOST_USERS = 2_000
MOST_ITEMS = 3_000
# Only items with so many ratings have neighbours that can be counted.
LEAST_RATINGS = 10
NEIGHBOURS = 10
DIMENSIONS = 8
# So that moments do not depend on the number of threads.
DIGITS = 9
# Means of few ratings are drawn to 0, as if so many more of 0 had been given.
PRIOR_RATINGS = 3.0
PASSES = 6


@dataclass(frozen=True)
class Moments:
    """Numbers of ratings in units of their standard deviation; of who rates what, relative.

    ``interest``: root mean square of the second to ninth singular values of who rates what, divided
    by the roots of users' and items' counts, so that the first is 1: how unevenly users share
    items; ``decay``: how steeply these fall: the slope of their logarithms over that of their
    number, negative; ``tails``: how far from the middle, in these singular vectors, the users and
    the items of ratings are: logarithm of the mean over the median of squared distances, in the
    mean of both; ``neighbours``: mean cosine of an item's users with those of its ten nearest
    items; ``generosity``, ``quality``: standard deviations of the biases of users, and of items
    about `trend` and `bend`; ``trend``, ``bend``: rise of items' biases with log popularity, and
    with its square (see `popularity_terms`); ``taste``: fourth root of the mean squared covariance
    of two items' ratings beside the biases; ``affinity``: covariance of ratings beside the biases
    with how near, by these singular vectors, items are to what their user rates, in standard
    deviations of nearness; ``agreement``: mean covariance of an item's ratings with those of its
    ten nearest items.
    """

    interest: float
    decay: float
    tails: float
    neighbours: float
    generosity: float
    quality: float
    trend: float
    bend: float
    taste: float
    affinity: float
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
        users, items = self._biases
        terms = popularity_terms(self._item_counts)
        rises = [self._rise(term, items) for term in terms]
        weights = self._share * (self._item_counts >= LEAST_RATINGS)
        about = (items - sum(rise * term for rise, term in zip(rises, terms, strict=True))) ** 2
        values = self._singular[1]
        ranks = np.log(np.arange(1, len(values) + 1))
        return Moments(
            interest=round(float(np.sqrt((values**2).mean())), DIGITS),
            decay=round(-float(np.polyfit(ranks, np.log(np.maximum(values, 1e-9)), 1)[0]), DIGITS),
            tails=self._tails(),
            neighbours=float(np.take_along_axis(self._cosines, self._nearest, axis=1).mean()),
            generosity=float(users.std()),
            quality=float(np.sqrt((weights * about).sum() / weights.sum())),
            trend=rises[0],
            bend=rises[1],
            taste=self._taste(),
            affinity=self._affinity(),
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

    def _rise(self, term: NDArray[np.float64], items: NDArray[np.float64]) -> float:
        """Give the slope of items' biases over a term of mean 0."""
        spread = (self._share * term**2).sum()
        return float((self._share * term * items).sum() / spread) if spread > 1e-9 else 0.0

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

    @cached_property
    def _singular(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Give singular vectors and values of who rates what, without the first."""
        rated = self._sparse(np.ones(len(self.ratings)))
        users, items = (1 / np.sqrt(np.maximum(rated.sum(axis=n), 1.0)) for n in (1, 0))
        scaled = (rated * users[:, None] * items).tocsr()
        found = svds(scaled, k=DIMENSIONS + 1, v0=np.ones(min(scaled.shape)))
        left, values, right = (part.astype(np.float64) for part in found)
        falling = np.argsort(-values)[1:]
        return left[:, falling], values[falling], right[falling].T

    def _tails(self) -> float:
        left, values, right = self._singular
        rated = self._sparse(np.ones(len(self.ratings)))
        sides = ((left, rated.sum(axis=1)), (right, rated.sum(axis=0)))
        return round(float(np.mean([_far_out(side * values, n) for side, n in sides])), DIGITS)

    def _affinity(self) -> float:
        left, values, right = self._singular
        residuals = self._residuals.tocoo()
        user, item = residuals.coords
        nearness = (left[user] * values * right[item]).sum(axis=1)
        covariance = np.cov(nearness, residuals.data)
        return round(float(covariance[0, 1] / np.sqrt(covariance[0, 0])), DIGITS)

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
    def _biases(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the biases of users and items."""
        user, item = self.ratings.user, self.ratings.item
        users: NDArray[np.float64] = np.zeros(len(self._user_counts))
        for _ in range(PASSES):
            items = np.bincount(item, self._standard - users[user], len(self._item_counts)) / (
                self._item_counts + PRIOR_RATINGS
            )
            users = np.bincount(user, self._standard - items[item], len(users)) / (
                self._user_counts + PRIOR_RATINGS
            )
        return users, items

    @cached_property
    def _residuals(self) -> csr_array[Any]:
        users, items = self._biases
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


def popularity_terms(
    counts: NDArray[np.integer] | NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give items' log popularity, of mean 0 over ratings, and its square without slope or mean."""
    share = counts / counts.sum()
    logs = np.log(np.maximum(counts, 1.0))
    logs = logs - (share * logs).sum()
    spread = max(float((share * logs**2).sum()), 1e-9)
    return logs, logs**2 - spread - (share * logs**3).sum() / spread * logs


def _far_out(places: NDArray[np.float64], counts: NDArray[np.number]) -> float:
    """Give the logarithm of mean over median, over ratings, of squared distances from 0."""
    distances = (places**2).sum(axis=1) / np.maximum(counts, 1.0)
    of_ratings = np.repeat(distances, counts.astype(np.intp))
    median = max(float(np.median(of_ratings)), 1e-9)
    return float(np.log(max(float(of_ratings.mean()), 1e-9) / median))


def _products(columns: csr_array[Any]) -> NDArray[np.float64]:
    """Give the inner products of the columns; 0 on the diagonal."""
    found = np.asarray((columns.T @ columns).toarray())
    np.fill_diagonal(found, 0.0)
    return found
