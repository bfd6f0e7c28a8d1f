"""What a world that is like real ratings shares with them: a number for each of its strengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from qrels.ratings.ratings import Ratings
from runs.shared.arrays import Floats, Integers, Sparse

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
        item_counts = ratings.item_counts().astype(np.float64)
        share = item_counts / len(ratings)
        standard = (ratings.rating - ratings.rating.mean()) / ratings.rating.std()
        users, items = _biases(ratings, standard)
        terms = popularity_terms(item_counts)
        rises = [_rise(term, items, share) for term in terms]
        weights = share * (item_counts >= LEAST_RATINGS)
        about = (items - sum(rise * term for rise, term in zip(rises, terms, strict=True))) ** 2
        # The most rated items are compared with one another, by some of the users.
        falling = np.argsort(-item_counts, kind="stable")[:MOST_ITEMS]
        kept = np.sort(falling[item_counts[falling] >= LEAST_RATINGS])
        n_users = len(ratings.users)
        some = np.unique(np.linspace(0, n_users - 1, min(n_users, MOST_USERS)).astype(np.intp))

        def compared(values: Floats) -> Sparse:
            matrix = csr_array((values, (ratings.user, ratings.item)), (n_users, len(item_counts)))
            return matrix[some][:, kept]

        rated = compared(np.ones(len(ratings)))
        left, values, right = _singular(rated)
        ranks = np.log(np.arange(1, len(values) + 1))
        sides = ((left, rated.sum(axis=1)), (right, rated.sum(axis=0)))
        residuals = compared(standard - users[ratings.user] - items[ratings.item])
        user, item = residuals.tocoo().coords
        nearness = (left[user] * values * right[item]).sum(axis=1)
        covariance = np.cov(nearness, residuals.tocoo().data)
        # Users that two items share, and sums of products of two items' ratings beside the biases.
        together, products = _products(rated), _products(residuals)
        sizes = np.sqrt(item_counts[kept])
        cosines = together / sizes[:, None] / sizes
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
        near, n_near = (np.take_along_axis(p, nearest, axis=1).sum() for p in (products, together))
        # Squares without the products of a user's ratings with themselves.
        squared = (products**2 - _products(residuals.power(2))).sum()
        taste = squared / max((together * (together - 1.0)).sum(), 1.0)
        return cls(
            interest=round(float(np.sqrt((values**2).mean())), DIGITS),
            decay=round(-float(np.polyfit(ranks, np.log(np.maximum(values, 1e-9)), 1)[0]), DIGITS),
            tails=round(float(np.mean([_far_out(side * values, n) for side, n in sides])), DIGITS),
            neighbours=float(np.take_along_axis(cosines, nearest, axis=1).mean()),
            generosity=float(users.std()),
            quality=float(np.sqrt((weights * about).sum() / weights.sum())),
            trend=rises[0],
            bend=rises[1],
            taste=float(max(taste, 0.0) ** 0.25),
            affinity=round(float(covariance[0, 1] / np.sqrt(covariance[0, 0])), DIGITS),
            agreement=float(near / max(n_near, 1.0)),
        )


def _biases(ratings: Ratings, standard: Floats) -> tuple[Floats, Floats]:
    """Give the biases of users and items in standardised ratings."""
    user, item = ratings.user, ratings.item
    n_of_users, n_of_items = ratings.user_counts(), ratings.item_counts()
    users: Floats = np.zeros(len(n_of_users))
    for _ in range(PASSES):
        sums = np.bincount(item, standard - users[user], len(n_of_items))
        items = sums / (n_of_items + PRIOR_RATINGS)
        sums = np.bincount(user, standard - items[item], len(users))
        users = sums / (n_of_users + PRIOR_RATINGS)
    return users, items


def _rise(term: Floats, items: Floats, share: Floats) -> float:
    """Give the slope of items' biases over a term of mean 0."""
    spread = (share * term**2).sum()
    return float((share * term * items).sum() / spread) if spread > 1e-9 else 0.0


def _singular(rated: Sparse) -> tuple[Floats, Floats, Floats]:
    """Give singular vectors and values of who rates what, without the first."""
    users, items = (1 / np.sqrt(np.maximum(rated.sum(axis=n), 1.0)) for n in (1, 0))
    scaled = (rated * users[:, None] * items).tocsr()
    found = svds(scaled, k=DIMENSIONS + 1, v0=np.ones(min(scaled.shape)))
    left, values, right = (part.astype(np.float64) for part in found)
    falling = np.argsort(-values)[1:]
    return left[:, falling], values[falling], right[falling].T


def popularity_terms(counts: Integers | Floats) -> tuple[Floats, Floats]:
    """Give items' log popularity, of mean 0 over ratings, and its square without slope or mean."""
    share = counts / counts.sum()
    logs = np.log(np.maximum(counts, 1.0))
    logs = logs - (share * logs).sum()
    spread = max(float((share * logs**2).sum()), 1e-9)
    return logs, logs**2 - spread - (share * logs**3).sum() / spread * logs


def _far_out(places: Floats, counts: NDArray[np.number]) -> float:
    """Give the logarithm of mean over median, over ratings, of squared distances from 0."""
    distances = (places**2).sum(axis=1) / np.maximum(counts, 1.0)
    of_ratings = np.repeat(distances, counts.astype(np.intp))
    median = max(float(np.median(of_ratings)), 1e-9)
    return float(np.log(max(float(of_ratings.mean()), 1e-9) / median))


def _products(columns: Sparse) -> Floats:
    """Give the inner products of the columns; 0 on the diagonal."""
    found = np.asarray((columns.T @ columns).toarray())
    np.fill_diagonal(found, 0.0)
    return found
