"""Weights that make up for items being observed with unequal chances."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from qrels import Catalogue

Beta: TypeAlias = Annotated[float, Ge(0)]
Propensity: TypeAlias = Literal["popularity", "table"]
Clip: TypeAlias = Annotated[float, Ge(0), Lt(1)]


def is_weighted(beta: float, propensity: str) -> bool:
    """Tell whether the options ask for weights."""
    return beta != 0 or propensity == "table"


def weights_of_items(
    catalogue: Catalogue, *, beta: float, propensity: str, clip: float
) -> NDArray[np.float64]:
    r"""Weigh items by the inverse of their chance to be observed.

    .. math:: w_i = 1 / \max(p_i, \mathrm{clip}), \qquad
        p_i = \left(\frac{\max(n_i, 1)}{\max_j n_j}\right)^\beta

    with :math:`n_i` the item's ratings in training; or p from a table.

    Returns
    -------
    Weights of at least 1, of shape (n_items + 1,): 0 at the end, for no item, number -1.

    References
    ----------
    Steck (2010), Training and testing of recommender systems on data missing not at random; Yang
    et al. (2018), Unbiased offline recommender evaluation for missing-not-at-random implicit
    feedback, whose :math:`\gamma` makes :math:`\beta = (\gamma + 1) / 2`.

    Examples
    --------
    >>> catalogue = Catalogue(2, popularity=np.array([4, 1]))
    >>> weights_of_items(catalogue, beta=0.5, propensity="popularity", clip=0)
    array([1., 2., 0.])
    """
    if propensity == "table":
        propensities = np.asarray(catalogue.known("propensities"), dtype=np.float64)
    else:
        counts = np.maximum(catalogue.known("popularity"), 1)
        propensities = (counts / counts.max(initial=1)) ** beta
    return np.append(1.0 / np.maximum(propensities, clip), 0.0)
