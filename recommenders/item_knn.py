"""Item-based nearest neighbours for top-N recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrels import Ratings
from recommenders.shared.lenskit_bridge import train_component
from recommenders.shared.scorers import LinearItemScorer
from recommenders.shared.system import AtLeastOne, Range, Settings, searched, system

if TYPE_CHECKING:
    from lenskit.knn import ItemKNNScorer

# LensKit's bound on the neighbours that enter a score: so large that all of them do.
UNBOUNDED = 2**31 - 1


class ItemKNNSettings(Settings):
    """Settings of item-knn."""

    neighbours: AtLeastOne = searched(
        20,
        Range(5, 200, log=True),
        "Number of neighbours of each item (the paper's k): at least 1. The paper uses "
        "10 to 50; larger values favour popular items.",
    )


def item_knn_component(settings: ItemKNNSettings) -> ItemKNNScorer:
    """Configure LensKit's component: neighbours are bounded in training, not in scoring."""
    from lenskit.knn import ItemKNNScorer

    return ItemKNNScorer(
        feedback="implicit", save_nbrs=settings.neighbours, max_nbrs=UNBOUNDED, min_nbrs=1
    )


@system(
    "item-knn",
    family="neighbours",
    source="Deshpande & Karypis (2004), Item-based top-N recommendation algorithms, TOIS 22(1)",
    lenskit=item_knn_component,
)
def item_knn(ratings: Ratings, settings: ItemKNNSettings, *, seed: int) -> LinearItemScorer:
    r"""Recommend the nearest neighbours of the user's items.

    .. math:: s_{ui} = \sum_{j \in I_u,\, i \in N_k(j)} \frac{n_{ij}}{\sqrt{c_i c_j}}

    the sum of cosines over those of the user's items :math:`j` that have i among their k
    nearest; :math:`n_{ij}` users rated both. An item that is nobody's neighbour there cannot
    be scored, so lists of users with few ratings may be short.
    """
    model = train_component(item_knn_component(settings), ratings, seed=seed)
    return LinearItemScorer(ratings, model.sim_matrix.to_scipy().astype(np.float64))
