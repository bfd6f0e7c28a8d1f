"""RP3beta: a random walk of three steps, with popular items discounted."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.kernels.neighbours import nearest
from recommenders.shared.scorers import LinearItemScorer, pattern, row_sums
from recommenders.shared.system import (
    AtLeastOne,
    NotNegative,
    Positive,
    Range,
    Settings,
    searched,
    system,
)
from runs.shared.arrays import Floats


class RP3BetaSettings(Settings):
    """Settings of RP3beta."""

    neighbours: AtLeastOne = searched(
        100, Range(10, 400, log=True), "Number of most likely next items of each item: at least 1."
    )
    alpha: Positive = searched(
        1.0, Range(0.3, 2.0), "Exponent of transition probabilities (the paper's alpha): above 0."
    )
    beta: NotNegative = searched(
        0.5,
        Range(0.0, 1.0),
        "Exponent of the item's number of users, which divides its score (the paper's "
        "beta): 0 or more.",
    )


@system(
    "rp3beta",
    family="random walk",
    source="Paudel, Christoffel, Newell & Bernstein (2017), Updatable, accurate, diverse, and "
    "scalable recommendations for interactive applications, TiiS 7(1)",
)
def rp3beta(ratings: Ratings, settings: RP3BetaSettings, *, seed: int) -> LinearItemScorer:
    r"""Score items by a random walk of three steps from the user, with popular items discounted.

    .. math:: s_{ui} = \sum_{j \in I_u,\, i \in N_k(j)} \frac{1}{c_i^\beta}
              \sum_v \frac{[j \in I_v]}{c_j^\alpha} \frac{[i \in I_v]}{|I_v|^\alpha}

    with :math:`c_i` users who rated i, and :math:`N_k(j)` the k items of the highest weight. The
    paper has beta with alpha = 1, and alpha alone as P3alpha; k, and both powers together, are
    those of Ferrari Dacrema, Cremonesi & Jannach (2019). An item that no walk reaches cannot be
    scored.
    """
    rated = pattern(ratings.matrix())
    rated_by = rated.T.tocsr()
    user_counts = row_sums(rated)
    item_counts = row_sums(rated_by)
    user_factors = _powers(user_counts, -settings.alpha)
    item_factors = _powers(item_counts, -settings.alpha)
    from_users = rated.multiply(user_factors[:, np.newaxis]).tocsr()
    from_items = rated_by.multiply(item_factors[:, np.newaxis]).tocsr()
    discounts = _powers(item_counts, -settings.beta)

    def similarities(rows: slice) -> Floats:
        """Weigh all items for a slice of items: (n_rows, n_items), -inf if no walk leads there."""
        weights = (from_items[rows] @ from_users).toarray() * discounts
        return np.where(weights > 0, weights, -np.inf)

    weights = nearest(similarities, n_rows=len(item_counts), count=settings.neighbours)
    return LinearItemScorer(ratings, weights)


def _powers(counts: Floats, power: float) -> Floats:
    """Raise counts to a power; a count of 0 is taken for 1, as there is nothing to weigh."""
    return np.asarray(np.maximum(counts, 1) ** power)
