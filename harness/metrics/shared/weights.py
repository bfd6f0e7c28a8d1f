"""Weights that make up for items being observed with unequal chances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from qrels import Catalogue

Beta: TypeAlias = Annotated[float, Ge(0)]
Propensity: TypeAlias = Literal["popularity", "table"]
Clip: TypeAlias = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class Weighting:
    r"""Weights of items: the inverse of their chance to be observed.

    .. math:: w_i = 1 / \max(p_i, \mathrm{clip}), \qquad
        p_i = \left(\frac{\max(n_i, 1)}{\max_j n_j}\right)^\beta

    with :math:`n_i` the item's ratings in training; or p from a table.

    References
    ----------
    Steck (2010), Training and testing of recommender systems on data missing not at random; Yang
    et al. (2018), Unbiased offline recommender evaluation for missing-not-at-random implicit
    feedback, whose :math:`\gamma` makes :math:`\beta = (\gamma + 1) / 2`.
    """

    beta: float
    propensity: Propensity
    clip: float

    def of(self, items: NDArray[np.integer], catalogue: Catalogue) -> NDArray[np.float64]:
        """Weigh items by number, of any shape: at least 1; 0 for no item, number -1.

        Examples
        --------
        >>> catalogue = Catalogue(2, popularity=np.array([4, 1]))
        >>> Weighting(0.5, "popularity", 0).of(np.array([0, 1, -1]), catalogue)
        array([1., 2., 0.])
        """
        return catalogue.once(self)[items]

    def __call__(self, catalogue: Catalogue) -> NDArray[np.float64]:
        """Weigh every item, of shape (n_items + 1,): 0 at the end."""
        if self.propensity == "table":
            propensities = np.asarray(catalogue.known("propensities"), dtype=np.float64)
        else:
            counts = np.maximum(catalogue.known("popularity"), 1)
            propensities = (counts / counts.max(initial=1)) ** self.beta
        return np.append(1.0 / np.maximum(propensities, self.clip), 0.0)

    def effective_number(self, items: NDArray[np.integer], catalogue: Catalogue) -> float:
        r"""Count judgements of items as so many of equal weight: :math:`(\sum w)^2 / \sum w^2`.

        Examples
        --------
        >>> catalogue = Catalogue(2, popularity=np.array([3, 1]))
        >>> Weighting(1, "popularity", 0).effective_number(np.array([0, 1]), catalogue)
        1.6
        """
        weights = self.of(items, catalogue)
        total = float(weights.sum())
        return total**2 / float((weights**2).sum()) if total > 0 else 0.0


def weighting_of(beta: float, propensity: Propensity, clip: float) -> Weighting | None:
    """Give the weights that options ask for; None if all items weigh alike."""
    if beta == 0 and propensity == "popularity":
        return None
    return Weighting(beta, propensity, clip)
