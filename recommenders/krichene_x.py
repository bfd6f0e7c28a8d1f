"""X of Krichene & Rendle: matrix factorisation with a background of zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import train_component
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    Positive,
    Range,
    Settings,
    searched,
    system,
)
from runs.shared.arrays import Singles, Sparse

if TYPE_CHECKING:
    from lenskit.als import ImplicitMFScorer


class KricheneXSettings(Settings):
    """Settings of krichene-x: the paper's, but for the sweeps, which it does not print."""

    factors: Factors = searched(
        16, Range(8, 128, log=True), "Number of factors (the paper's d): 1 to 2000."
    )
    regularization: Positive = searched(
        10.0,
        Range(1.0, 100.0, log=True),
        "Penalty on the squared factors (the paper's lambda): above 0.",
    )
    background: Positive = searched(
        0.2,
        Range(0.01, 1.0, log=True),
        "Weight of the squared score of every pair, rated or not (the paper's alpha): above 0.",
    )
    epochs: AtLeastOne = Field(
        16,
        description="Sweeps of alternating least squares: at least 1; 8 to 32 give about the "
        "published figures.",
    )


def _krichene_x_component(settings: KricheneXSettings) -> ImplicitMFScorer:
    """Configure LensKit's component by a change of variables."""
    from lenskit.als import ImplicitMFScorer

    background = settings.background
    return ImplicitMFScorer(
        embedding_size=settings.factors,
        weight=1 / background,
        regularization=settings.regularization * (1 + background) / background,
        epochs=settings.epochs,
        user_embeddings="prefer",
    )


@system(
    "krichene-x",
    family="factors",
    source="Krichene & Rendle (2020), On sampled metrics for item recommendation, KDD, section 9",
    lenskit=_krichene_x_component,
)
def krichene_x(ratings: Ratings, settings: KricheneXSettings, *, seed: int) -> KricheneXScorer:
    r"""Factorise the binary rating matrix, with a penalty that pulls all scores towards zero.

    .. math:: \min \sum_{(u,i) \in H} (v_u \cdot v_i - 1)^2
              + \alpha \sum_{u,i} (v_u \cdot v_i)^2 + \lambda \|V\|^2

    over all pairs :math:`H` that somebody rated, whatever the rating; scores are
    :math:`v_u \cdot v_i`.

    Notes
    -----
    From the paper: the loss, d = 16, :math:`\lambda` = 10, :math:`\alpha` = 0.2. Not in it:
    the number of sweeps and where they start.

    LensKit minimises :math:`\sum_H (1 + w)(y - 1)^2 + \sum_{\text{not } H} y^2 + g \|V\|^2`.
    With :math:`w = 1 / \alpha`, :math:`g = \lambda (1 + \alpha) / \alpha` and factors
    :math:`\sqrt{1 + \alpha}` times as long, that is the loss above, but for a factor and a
    constant; w and g are the ``weight`` and the ``penalty`` of the scorer. So scores here are
    :math:`1 + \alpha` times the paper's; their order is the same.

    Other ratings than those of training are scored by the users' half of a sweep
    (:class:`KricheneXScorer`). Training ends with the items' half, so a user's own ratings lead to
    the factors of training once these have settled.
    """
    component = _krichene_x_component(settings)
    model = train_component(component, ratings, seed=seed)
    assert model.user_embeddings is not None
    return KricheneXScorer(
        ratings,
        user_factors=model.user_embeddings,
        item_factors=model.item_embeddings,
        weight=component.config.weight,
        penalty=component.config.user_reg,
    )


@dataclass(frozen=True, eq=False)
class KricheneXScorer(FactorScorer):
    r"""Factor model that solves for the factors of users who rated some items.

    .. math:: p_u = \arg\min_p \sum_i (1 + w b_{ui}) (b_{ui} - p \cdot q_i)^2 + g \|p\|^2

    with :math:`b_{ui} = 1` where u rated i, else 0: the half sweep of training that solves the
    users. A training user is scored by the factors of training.

    ``weight`` is :math:`w`, the additional weight of a rated item; ``penalty`` is :math:`g`.
    """

    weight: float = 1.0
    penalty: float = 1.0

    def score_histories(self, histories: Sparse) -> Singles:
        """Score every item for rows of ratings: float32 of shape (n_rows, n_items).

        For each row the user factors p are solved for, by weighted least squares, with the item
        factors V of training, (n_items, n_factors):
        (V'V + penalty I + weight sum v v') p = (1 + weight) sum v, with sums over the rated items.
        Scores are the products of p and V. The values of ratings do not matter. An empty row gets
        NaN.
        """
        item_factors = self.item_factors.astype(np.float64)
        n_factors = item_factors.shape[1]
        penalties = self.penalty * np.eye(n_factors)
        background = item_factors.T @ item_factors + penalties
        user_factors = []
        for rated_items in np.split(histories.indices, histories.indptr[1:-1]):
            rated_factors = item_factors[rated_items]
            normal_matrix = background + self.weight * (rated_factors.T @ rated_factors)
            right_side = (1 + self.weight) * rated_factors.sum(axis=0)
            user_factors.append(np.linalg.solve(normal_matrix, right_side))
        no_offsets = np.zeros(len(user_factors))
        scores = self._products(np.array(user_factors), no_offsets)
        scores[np.diff(histories.indptr) == 0] = np.nan
        return scores.astype(np.float32)
