"""Bonferroni's correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bonferroni(p: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Adjust the m p-values of each family: :math:`\tilde p = \min(1, m p)`.

    Bounds the chance of any false rejection in the family, however the tests depend on each
    other. :func:`analyses.significance.corrections.holm` rejects all that this does, and more.

    Parameters
    ----------
    p
        Of shape (..., n_pairs): a family along the last axis.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Dunn (1961), Multiple comparisons among means.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.02, 0.5]))
    array([0.03, 0.06, 1.  ])
    """
    return np.minimum(p.shape[-1] * p, 1.0)
