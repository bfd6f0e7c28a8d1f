"""Alternating least squares by the package implicit, whose results depend on the seed alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runs import InputError
from runs.shared.errors import missing_package
from runs.shared.parallel import single_threaded

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def item_factors(
    confidences: csr_array[Any],
    *,
    factors: int,
    regularization: float,
    sweeps: int,
    seed: int,
    n_jobs: int = 1,
) -> NDArray[np.float32]:
    r"""Learn the vectors of items from who had them.

    .. math:: Q = \arg\min_Q \min_P \sum_{u,i} c_{ui} (z_{ui} - p_u \cdot q_i)^2
              + \lambda (\|P\|^2 + \|Q\|^2)

    with :math:`z_{ui} = 1` and :math:`c_{ui}` as stored where there is an entry, and
    :math:`z_{ui} = 0`, :math:`c_{ui} = 1` elsewhere. Confidences :math:`c`, such as
    :math:`1 + \alpha r`, are of shape (n_users, n_items) and above 0. In a sweep both sides are
    solved for by three steps of conjugate gradients. Vectors are float32 of shape (n_items,
    factors); they depend on the seed of those to begin with, not on threads (-1 for all cores).

    Raises
    ------
    InputError
        If the package implicit is missing, or a vector is not finite in the end.

    References
    ----------
    Hu, Koren & Volinsky (2008), equation 3; Takács, Pilászy & Tikk (2011) for the solver.
    Kasalický (2021), (1.16) to (1.21).

    Notes
    -----
    implicit works on a GPU where it finds one, and takes a stored negative value for a dislike.
    Here it works on the CPU, and BLAS, whose sums depend on its threads, has one.
    """
    model_class = import_implicit().AlternatingLeastSquares
    with single_threaded("blas"):
        model = model_class(
            factors=factors,
            regularization=regularization,
            iterations=sweeps,
            num_threads=max(n_jobs, 0),
            random_state=seed,
        )
        _fit(model, confidences)
    return model.item_factors


def _fit(model: Any, confidences: csr_array[Any]) -> None:
    from scipy.sparse import csr_matrix

    failure = import_module("implicit.recommender_base").ModelFitError
    try:
        model.fit(csr_matrix(confidences, dtype=np.float32), show_progress=False)
    except failure:
        raise InputError(
            "least squares came to numbers that are not finite; take a larger `regularization` "
            "or a smaller `alpha`."
        ) from None


def import_implicit() -> Any:
    """Import the solver of the CPU, or say which package is missing."""
    try:
        return import_module("implicit.cpu.als")
    except ModuleNotFoundError:
        subject = "als-knn on interactions"
        raise missing_package("implicit", needed_by=subject, extra="online") from None
