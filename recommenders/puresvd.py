"""PureSVD: singular value decomposition of the ratings, with zeros for missing ratings."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import ProjectionScorer
from recommenders.shared.system import Factors, Range, Settings, require_nonzero, searched, system
from runs.shared.arrays import Floats, Sparse


class PureSVDSettings(Settings):
    """Settings of PureSVD."""

    factors: Factors = searched(
        30,
        Range(5, 200, log=True),
        "Number of singular vectors (the paper's f): 1 to 2000. The paper uses 50 and "
        "150; 20 to 50 work well on MovieLens. Fewer if there are fewer.",
    )


@system(
    "puresvd",
    family="factors",
    source="Cremonesi, Koren & Turrin (2010), Performance of recommender algorithms on top-N "
    "recommendation tasks, RecSys, equation 8",
)
def puresvd(ratings: Ratings, settings: PureSVDSettings, *, seed: int) -> ProjectionScorer:
    r"""Project a user's ratings on the leading singular vectors of the rating matrix.

    .. math:: \hat r_u = r_u Q Q^\top

    with :math:`Q` the leading right singular vectors of the rating matrix, missing ratings
    being zero. The vectors are exact (ARPACK); the seed only starts the iteration.
    """
    require_nonzero(ratings, system="puresvd")
    basis = right_singular_vectors(ratings.matrix(), count=settings.factors, seed=seed)
    return ProjectionScorer(ratings, basis)


def right_singular_vectors(matrix: Sparse, *, count: int, seed: int) -> Floats:
    """Compute the right singular vectors of the highest singular values, as columns.

    The matrix is of shape (n_rows, n_columns), the result of shape (n_columns, n_vectors). There
    are ``count`` vectors, or min(n_rows, n_columns) if that is less. The seed is for the starting
    vector of the iteration.
    """
    n_vectors = min(matrix.shape)
    if count >= n_vectors:  # ARPACK finds all but one at most.
        _, _, right_vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return right_vectors.T
    from scipy.sparse.linalg import svds

    start = np.random.default_rng(seed).standard_normal(n_vectors)
    _, _, right_vectors = svds(matrix, k=count, v0=start)
    return np.ascontiguousarray(right_vectors.T)
