"""EASE: a shallow linear autoencoder in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from qrels import Ratings
from recommenders.shared.scorers import LinearItemScorer, pattern
from recommenders.shared.system import (
    Gigabytes,
    MemoryNeed,
    Positive,
    Range,
    Settings,
    searched,
    system,
)
from runs import InputError
from runs.shared.arrays import Singles, Sparse

if TYPE_CHECKING:
    from lenskit.knn import EASEScorer

DENSE_MATRICES = 3
"""Dense float32 matrices of items x items at the peak of training.

At first these are the Gram matrix and its sparse form, in which a pair of items takes the space of
two numbers; at last the inverse and a triangle of it.
"""


class EASESettings(Settings):
    """Settings of EASE."""

    regularization: Positive = searched(
        300.0,
        Range(10.0, 5000.0, log=True),
        "Ridge penalty on the weights (the paper's lambda): above 0. 100 to 1000 work "
        "well on MovieLens.",
    )
    max_gigabytes: Gigabytes = 4.0


def _ease_component(settings: EASESettings) -> EASEScorer:
    """Configure LensKit's component."""
    from lenskit.knn import EASEScorer

    return EASEScorer(regularization=settings.regularization)


def ease_memory_need(ratings: Ratings, settings: EASESettings) -> MemoryNeed:
    """Estimate the bytes of training: dense float32 matrices of shape (n_items, n_items)."""
    n_items = len(ratings.items)
    purpose = f"{DENSE_MATRICES} dense matrices of {n_items} x {n_items} items"
    return MemoryNeed(DENSE_MATRICES * 4 * n_items**2, purpose)


@system(
    "ease",
    family="item-linear",
    source="Steck (2019), Embarrassingly shallow autoencoders for sparse data, WWW, equation 8",
    lenskit=_ease_component,
    memory_need=ease_memory_need,
)
def ease(ratings: Ratings, settings: EASESettings, *, seed: int) -> LinearItemScorer:
    r"""Predict whether a user rated an item from the user's other items, by ridge regression.

    .. math:: P = (B^\top B + \lambda I)^{-1}, \quad W_{ij} = -P_{ij} / P_{jj}, \quad W_{jj} = 0

    with :math:`B` the 0/1 matrix of who rated what; scores are :math:`b_u W`. Time grows with
    the cube of the number of items, memory with its square: 3 dense matrices in float32.
    """
    rated = pattern(ratings.matrix()).astype(np.float32)
    weights = ridge_inverse(rated, settings.regularization)
    weights /= -weights.diagonal()
    np.fill_diagonal(weights, 0.0)
    return LinearItemScorer(ratings, weights)


def ridge_inverse(rated: Sparse, regularization: float) -> Singles:
    """Invert the Gram matrix of the items, with the penalty on its diagonal.

    The matrix is factorised and inverted in place by LAPACK (potrf, potri), which write its lower
    triangle alone.

    Parameters
    ----------
    rated
        1.0 where a user rated an item: float32 of shape (n_users, n_items).
    regularization
        What is added to the diagonal: above 0.

    Returns
    -------
    Singles
        Symmetric, of shape (n_items, n_items).

    Raises
    ------
    InputError
        The penalty is too small for single precision.
    """
    # LAPACK works in place on columns.
    gram = (rated.T @ rated).toarray(order="F")
    np.fill_diagonal(gram, gram.diagonal() + np.float32(regularization))
    factor, failure = lapack.spotrf(gram, lower=True, overwrite_a=True)
    if failure:
        raise InputError(
            f"ease cannot invert its matrix in single precision: regularization, "
            f"{regularization:g}, is too small. Set a larger one."
        )
    lower, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    lower += np.tril(lower, -1).T
    # Symmetric by now: its transpose is the same matrix, stored by rows.
    inverse: Singles = lower.T
    return inverse
