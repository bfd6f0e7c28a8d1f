"""PureSVD: singular value decomposition of the ratings, with zeros for missing ratings."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import ProjectionScorer
from recommenders.shared.system import Factors, Range, Settings, require_any, searched, system
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
    require_any(ratings, system="puresvd")
    basis = right_singular_vectors(ratings.matrix(), count=settings.factors, seed=seed)
    return ProjectionScorer(ratings, basis)


def right_singular_vectors(matrix: Sparse, *, count: int, seed: int) -> Floats:
    """Give the leading right singular vectors as columns, all of them if there are fewer."""
    rank = min(matrix.shape)
    if count >= rank:  # ARPACK finds all but one at most.
        return np.linalg.svd(matrix.toarray(), full_matrices=False)[2].T
    from scipy.sparse.linalg import svds

    start = np.random.default_rng(seed).standard_normal(rank)
    return np.ascontiguousarray(svds(matrix, k=count, v0=start)[2].T)
