"""ERR: expected reciprocal rank."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from harness.metrics.shared.metric import metric
from harness.metrics.shared.weights import satisfaction
from qrels import Judged, accumulate
from runs.shared.arrays import Floats


@metric(
    "ERR",
    source="Chapelle, Metzler, Zhang & Grinspan (2009), Expected reciprocal rank for graded "
    "relevance",
    has_level=False,
    accumulates="cascade",
)
def expected_reciprocal_rank(
    judged: Judged, *, cutoff: int | None = None, top: Annotated[int, Ge(1)] | None = None
) -> Floats:
    r"""Expected reciprocal of the rank at which an item satisfies the user, who then stops.

    .. math::
        \mathrm{ERR}@n = \sum_{k \le n} \frac{s_k}{k} \prod_{i < k} (1 - s_i), \qquad
        s_k = \frac{2^{g(k)} - 1}{2^G}

    :math:`s_k` is the probability that the item at rank k satisfies the user, 0 where it is
    unjudged; G is the highest grade of the scale. Values in [0, 1).

    Parameters
    ----------
    top
        Highest grade of the scale, G. Default: the user's highest grade in the qrels.

    Raises
    ------
    InputError
        If the qrels hold a grade above ``top``.

    Notes
    -----
    The relevance level is not used. Set ``top`` if judgements are removed, because the highest
    grade of a user may then change. gdeval and ir_measures use G = 4. Doubling all grades, as for
    half stars, changes ERR.

    Examples
    --------
    Grades 1 and 2 on a scale up to 2 satisfy with 1/4 and 3/4: 1/4 + 1/2 * 3/4 * 3/4.

    >>> expected_reciprocal_rank(Judged(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]])))
    array([0.53125])
    """
    return judged.total(_stop_probabilities_over_ranks, cutoff=cutoff, top=top)


def _stop_probabilities_over_ranks(judged: Judged, *, top: int | None) -> Floats:
    """Compute the probability of stopping at each rank, over the rank: (n_users, n_ranks).

    ``top`` is the highest grade of the scale; None takes that of each user.
    """
    satisfied = satisfaction(judged, top=top)
    continues = accumulate(1 - satisfied, by=np.multiply)
    stops_over_ranks = satisfied / judged.ranks
    stops_over_ranks[:, 1:] *= continues[:, :-1]
    return stops_over_ranks
