"""Moments of ratings: numbers that a fitted world shares with real ratings, one per strength."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrels.ratings.ratings import Ratings
from runs.shared.arrays import Floats, Integers, Numbers, Sparse

MOST_USERS = 2_000
MOST_ITEMS = 3_000
"""Number of items that are compared with one another, by as many as `MOST_USERS` users."""

LEAST_RATINGS = 10
"""Number of ratings from which an item is compared with others."""

N_NEIGHBOURS = 10
N_DIMENSIONS = 8
DIGITS = 9
"""Digits to which some moments are rounded, so that they do not depend on the number of threads."""

PRIOR_RATINGS = 3.0
"""Biases are means that are drawn to 0, as if so many more ratings of 0 had been given."""

N_PASSES = 6
"""How often the biases of items and users are computed in turn."""


@dataclass(frozen=True)
class Moments:
    """Numbers that describe ratings, in units of their standard deviation, and who rates what.

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
        """Compute numbers that describe the values of ratings, and who rates what.

        Biases are shrunken means of users and items of the standardised ratings, and residuals what
        is left. Users and items are compared in the matrix of who rates what, (n_users, n_items),
        of a part of the users and of the most rated items. There must be at least 20 users, and 11
        items with 10 ratings.
        """
        item_counts = ratings.item_counts().astype(np.float64)
        deviations = ratings.rating - ratings.rating.mean()
        standardised = deviations / ratings.rating.std()
        user_biases, item_biases = _biases(ratings, standardised)
        beside_users = standardised - user_biases[ratings.user]
        residuals = beside_users - item_biases[ratings.item]
        trend, bend, quality = _item_bias_moments(item_biases, item_counts)
        users = _compared_users(len(ratings.users))
        items = _compared_items(item_counts)
        whole_matrix = _matrix(ratings, np.ones(len(ratings)))
        rated_matrix = whole_matrix[users][:, items]
        residual_matrix = _matrix(ratings, residuals)[users][:, items]
        user_vectors, singular_values, item_vectors = _singular(rated_matrix)
        user_tails = _tails(user_vectors * singular_values, rated_matrix.sum(axis=1))
        item_tails = _tails(item_vectors * singular_values, rated_matrix.sum(axis=0))
        # Inner products of the columns of two items, 0 on the diagonal.
        common_users = _products(rated_matrix)
        products = _products(residual_matrix)
        neighbours, agreement = _neighbour_moments(common_users, products, item_counts[items])
        interest = float(np.sqrt((singular_values**2).mean()))
        decay = _decay(singular_values)
        tails = float(np.mean([user_tails, item_tails]))
        generosity = float(user_biases.std())
        taste = _taste(products, common_users, residual_matrix)
        affinity = _affinity(residual_matrix, user_vectors, singular_values, item_vectors)
        # Those of singular vectors are rounded, as their last digits depend on the threads.
        return cls(
            interest=round(interest, DIGITS),
            decay=round(decay, DIGITS),
            tails=round(tails, DIGITS),
            neighbours=neighbours,
            generosity=generosity,
            quality=quality,
            trend=trend,
            bend=bend,
            taste=taste,
            affinity=round(affinity, DIGITS),
            agreement=agreement,
        )


def _compared_users(n_users: int) -> Numbers:
    """Choose the numbers of the users by whom items are compared, evenly, from first to last."""
    n_compared = min(n_users, MOST_USERS)
    places = np.linspace(0, n_users - 1, n_compared)
    return np.unique(places.astype(np.intp))


def _compared_items(item_counts: Floats) -> Numbers:
    """Choose the numbers of the items that are compared: the most rated ones, with 10 ratings.

    ``item_counts``: number of ratings of each item, of shape (n_items,).
    """
    most_rated = np.argsort(-item_counts, kind="stable")[:MOST_ITEMS]
    has_enough = item_counts[most_rated] >= LEAST_RATINGS
    return np.sort(most_rated[has_enough])


def _matrix(ratings: Ratings, values: Floats) -> Sparse:
    """Lay a value for each rating, (n_ratings,), in a sparse matrix of (n_users, n_items)."""
    from scipy.sparse import csr_array

    shape = (len(ratings.users), len(ratings.items))
    return csr_array((values, (ratings.user, ratings.item)), shape)


def _item_bias_moments(item_biases: Floats, item_counts: Floats) -> tuple[float, float, float]:
    """Compute the moments `trend`, `bend` and `quality` of the biases of items.

    They are the slopes of biases over log popularity and over its square, weighted by numbers of
    ratings, and the standard deviation of what is left, over items with at least 10 ratings. Biases
    and numbers of ratings are of shape (n_items,).
    """
    share = item_counts / item_counts.sum()
    logs, squares = popularity_terms(item_counts)
    trend = _slope(logs, item_biases, share)
    bend = _slope(squares, item_biases, share)
    explained = trend * logs + bend * squares
    squared_deviations = (item_biases - explained) ** 2
    weights = share * (item_counts >= LEAST_RATINGS)
    variance = (weights * squared_deviations).sum() / weights.sum()
    return trend, bend, float(np.sqrt(variance))


def _neighbour_moments(
    common_users: Floats, products: Floats, item_counts: Floats
) -> tuple[float, float]:
    """Compute the moments `neighbours` and `agreement` of items and their ten nearest items.

    They are the mean cosine of the users of an item and of a near one, and the mean product of two
    residuals of a user, of an item and of a near one. ``common_users``: number of users who rated
    both of two items, of shape (n_items, n_items), 0 on the diagonal; ``products``: sums of
    products of their residuals, of the same shape; ``item_counts``: numbers of ratings, of shape
    (n_items,).
    """
    sizes = np.sqrt(item_counts)
    cosines = common_users / sizes[:, None] / sizes
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :N_NEIGHBOURS]
    near_products = np.take_along_axis(products, nearest, axis=1).sum()
    n_near = np.take_along_axis(common_users, nearest, axis=1).sum()
    near_cosines = np.take_along_axis(cosines, nearest, axis=1)
    agreement = float(near_products / max(n_near, 1.0))
    return float(near_cosines.mean()), agreement


def _decay(singular_values: Floats) -> float:
    """Compute how steeply singular values fall: minus the slope of their logs over log rank.

    ``singular_values`` fall, and are of shape (n,); the slope is that of least squares.
    """
    log_ranks = np.log(np.arange(1, len(singular_values) + 1))
    log_values = np.log(np.maximum(singular_values, 1e-9))
    slope = np.polyfit(log_ranks, log_values, 1)[0]
    return -float(slope)


def _taste(products: Floats, common_users: Floats, residuals: Sparse) -> float:
    """Compute the fourth root of the mean squared covariance of two items' residuals; at least 0.

    ``products``: sums of products of the residuals of two items, of shape (n_items, n_items);
    ``common_users``: numbers of users who rated both; ``residuals``: ratings beside the biases, of
    shape (n_users, n_items).
    """
    # Squares without the products of a user's ratings with themselves.
    squares_of_users = _products(residuals.power(2))
    squared = (products**2 - squares_of_users).sum()
    n_user_pairs = (common_users * (common_users - 1.0)).sum()
    mean_square = squared / max(n_user_pairs, 1.0)
    return float(max(mean_square, 0.0) ** 0.25)


def _affinity(
    residuals: Sparse, user_vectors: Floats, singular_values: Floats, item_vectors: Floats
) -> float:
    """Compute the covariance of residuals with nearness, in standard deviations of nearness.

    Both are of rated pairs; nearness is that of an item to what its user rates.

    ``residuals``: ratings beside the biases, of shape (n_users, n_items); the singular vectors, of
    shapes (n_users, n_dimensions) and (n_items, n_dimensions), and values are of who rates what.
    """
    coordinates = residuals.tocoo()
    user, item = coordinates.coords
    terms = user_vectors[user] * singular_values * item_vectors[item]
    nearness = terms.sum(axis=1)
    covariance = np.cov(nearness, coordinates.data)
    spread_of_nearness = np.sqrt(covariance[0, 0])
    return float(covariance[0, 1] / spread_of_nearness)


def _biases(ratings: Ratings, standardised: Floats) -> tuple[Floats, Floats]:
    """Estimate the biases of users and of items, of shapes (n_users,) and (n_items,).

    ``standardised``: ratings of mean 0 and standard deviation 1, of shape (n_ratings,). Biases are
    means, shrunken as by 3 further ratings of 0, and computed in turn, 6 times.
    """
    user = ratings.user
    item = ratings.item
    user_counts = ratings.user_counts()
    item_counts = ratings.item_counts()
    user_biases: Floats = np.zeros(len(user_counts))
    for _ in range(N_PASSES):
        beside_users = standardised - user_biases[user]
        item_sums = np.bincount(item, beside_users, len(item_counts))
        item_biases = item_sums / (item_counts + PRIOR_RATINGS)
        beside_items = standardised - item_biases[item]
        user_sums = np.bincount(user, beside_items, len(user_counts))
        user_biases = user_sums / (user_counts + PRIOR_RATINGS)
    return user_biases, item_biases


def _slope(term: Floats, item_biases: Floats, share: Floats) -> float:
    """Compute the slope of items' biases over a term of weighted mean 0; 0 if the term is constant.

    All are of shape (n_items,); ``share`` holds the weights of items, of sum 1.
    """
    variance = (share * term**2).sum()
    if variance <= 1e-9:
        return 0.0
    covariance = (share * term * item_biases).sum()
    return float(covariance / variance)


def _singular(rated: Sparse) -> tuple[Floats, Floats, Floats]:
    """Compute the second to ninth singular vectors and values of who rates what.

    ``rated`` is a matrix of 0 and 1, of shape (n_users, n_items); it is divided by the roots of
    users' and items' counts, so that the first singular value is 1. Returns the vectors of users,
    (n_users, 8), the values, falling, and the vectors of items, (n_items, 8).
    """
    from scipy.sparse.linalg import svds

    user_weights = 1 / np.sqrt(np.maximum(rated.sum(axis=1), 1.0))
    item_weights = 1 / np.sqrt(np.maximum(rated.sum(axis=0), 1.0))
    scaled = (rated * user_weights[:, None] * item_weights).tocsr()
    start = np.ones(min(scaled.shape))
    decomposition = svds(scaled, k=N_DIMENSIONS + 1, v0=start)
    left, values, right = (part.astype(np.float64) for part in decomposition)
    order = np.argsort(-values)[1:]
    user_vectors = left[:, order]
    item_vectors = right[order].T
    return user_vectors, values[order], item_vectors


def popularity_terms(counts: Integers | Floats) -> tuple[Floats, Floats]:
    """Compute items' log popularity and its square, as terms of a regression over ratings.

    ``counts``: number of ratings of each item, of shape (n_items,), as are both terms. The first
    has the mean 0 over ratings; the second has neither mean nor slope over the first.
    """
    share = counts / counts.sum()
    logs = np.log(np.maximum(counts, 1.0))
    logs = logs - (share * logs).sum()
    variance = max(float((share * logs**2).sum()), 1e-9)
    third_moment = (share * logs**3).sum()
    squares = logs**2 - variance - third_moment / variance * logs
    return logs, squares


def _tails(vectors: Floats, counts: NDArray[np.number]) -> float:
    """Compute the logarithm of mean over median, over ratings, of squared distances from 0.

    ``vectors``: of users or items, of shape (n, n_dimensions); ``counts``: their numbers of
    ratings, of shape (n,). A squared distance is the squared length over the number of ratings, and
    counts once for each rating.
    """
    distances = (vectors**2).sum(axis=1) / np.maximum(counts, 1.0)
    distances_of_ratings = np.repeat(distances, counts.astype(np.intp))
    mean = max(float(distances_of_ratings.mean()), 1e-9)
    median = max(float(np.median(distances_of_ratings)), 1e-9)
    return float(np.log(mean / median))


def _products(columns: Sparse) -> Floats:
    """Compute the inner products of all columns, of shape (n, n); 0 on the diagonal."""
    products = np.asarray((columns.T @ columns).toarray())
    np.fill_diagonal(products, 0.0)
    return products
