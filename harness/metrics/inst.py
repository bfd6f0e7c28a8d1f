"""INST: inverse squares that adapt to what was found."""

import numpy as np

from harness.metrics.insq import TargetCount, tail_of_squares
from harness.metrics.shared.metric import metric
from qrels import Judged, accumulate
from runs.shared.arrays import Floats


@metric(
    "INST",
    source="Moffat, Bailey, Scholer & Thomas (2015), INST: an adaptive metric for information "
    "retrieval evaluation; (2017), Incorporating user expectations and behavior into the "
    "measurement of search effectiveness",
)
def inst(judged: Judged, *, cutoff: int | None = None, T: TargetCount = 1.0) -> Floats:
    r"""Expected rate of relevant items for a user who stops sooner, the more they have found.

    .. math::
        \mathrm{INST}(T)@n = \frac{\sum_{k \le n} \mathrm{rel}(k) \, V_k}{\sum_{k \ge 1} V_k},
        \qquad V_k = \prod_{i < k} \left(\frac{i + 2T - r_i - 1}{i + 2T - r_i}\right)^2

    :math:`V_k` is the probability that the user reaches rank k. The factor of rank i is the
    probability of continuing from rank i: the user wants T items and still has to find
    :math:`T - r_i`. Items below rank n are taken as non-relevant. Values in [0, 1]. Even a perfect
    list stays below 1, unless T = 1/2; the fewer relevant items there are, the lower is its score.

    Parameters
    ----------
    T
        Number of relevant items that the user wants to find. A larger T gives more weight to deep
        ranks.

    Notes
    -----
    Above the first relevant item the weights are those of INSQ. The score is a lower bound; the
    residual is not reported. The gain is binary here, but graded in cwl_eval and ir_measures, which
    end the sum of all :math:`V_k` at rank 1000.

    Examples
    --------
    T = 1, relevant at rank 1: the user goes on with ((1 + 2 - 1 - 1) / (1 + 2 - 1))^2 = 1/4, then
    (2/3)^2, (3/4)^2 ..., and so reaches ranks 1, 2, 3 ... with 1, 1/4, 1/9 ..., whose sum is
    pi^2 / 6.

    >>> inst(Judged(np.array([[1.0, np.nan]]), np.ones((1, 1)))).round(4)
    array([0.6079])
    """
    # Both sums are over the constant (2T)^2.
    relevant_weights = judged.total(_relevant_weights, cutoff=cutoff, target=T)
    weight_changes = judged.total(_weight_changes, cutoff=cutoff, target=T)
    return relevant_weights / (tail_of_squares(2 * T) + weight_changes)


def _relevant_weights(judged: Judged, *, target: float) -> Floats:
    """Compute the probability that the user reaches the rank of each relevant item, over (2T)^2.

    Of shape (n_users, n_ranks), 0 where the item is not relevant; ``target`` is T, the number of
    relevant items that the user looks for. The base of rank k is k + 2T - 1 less the relevant items
    above; the scale of a rank is the factor of inverse squares below it, by the relevant items down
    to it.
    """
    bases = judged.once(_bases, target=target)
    scales = judged.once(_scales, target=target)
    weights = judged.relevant / bases**2
    weights[:, 1:] *= scales[:, :-1]
    return weights


def _weight_changes(judged: Judged, *, target: float) -> Floats:
    """Compute by how much each relevant item changes the sum of the weights of all ranks below it.

    Of shape (n_users, n_ranks), over (2T)^2; ``target`` is T. Without relevant items the weights
    are inverse squares. From each relevant item on, they fall as inverse squares of numbers that
    are smaller by 1. The base of rank k is such a number, k + 2T - 1 less the relevant items above;
    the scale of a rank is the factor of the inverse squares below it.
    """
    bases = judged.once(_bases, target=target)
    scales = judged.once(_scales, target=target)
    scales_above = np.ones_like(scales)
    scales_above[:, 1:] = scales[:, :-1]
    # Sums of the inverse squares from 2T, 2T + 1, ... on.
    tails = tail_of_squares(2 * target + np.arange(judged.depth + 2.0))
    place_below = np.rint(bases - 2 * target).astype(np.intp) + 1
    sums_with_item = scales * tails[place_below - judged.relevant]
    sums_without_item = scales_above * tails[place_below]
    return sums_with_item - sums_without_item


def _scales(judged: Judged, *, target: float) -> Floats:
    """Compute the factor of the inverse squares below each rank, by the relevant items down to it.

    Of shape (n_users, n_ranks); ``target`` is T.
    """
    bases = judged.once(_bases, target=target)
    shrinkage = ((bases - judged.relevant) / bases) ** 2
    return accumulate(shrinkage, by=np.multiply)


def _bases(judged: Judged, *, target: float) -> Floats:
    """Compute k + 2T - 1 less the relevant items above rank k, of shape (n_users, n_ranks).

    The inverse of its square is the weight of rank k, up to a factor; ``target`` is T.
    """
    relevant_above = judged.relevant_so_far - judged.relevant
    return judged.ranks - 1 + 2 * target - relevant_above
