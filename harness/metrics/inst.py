"""INST: inverse squares that adapt to what was found."""

import numpy as np

from harness.metrics.insq import Wanted, tail_of_squares
from harness.metrics.shared.metric import metric
from qrels import Judged, accumulate
from runs.shared.arrays import Floats


@metric(
    "INST",
    source="Moffat, Bailey, Scholer & Thomas (2015), INST: an adaptive metric for information "
    "retrieval evaluation; (2017), Incorporating user expectations and behavior into the "
    "measurement of search effectiveness",
)
def inst(judged: Judged, *, cutoff: int | None = None, T: Wanted = 1.0) -> Floats:
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
    seen = judged.total(_reached, cutoff=cutoff, wanted=T)
    change = judged.total(_changes, cutoff=cutoff, wanted=T)
    return seen / (tail_of_squares(2 * T) + change)


def _reached(judged: Judged, *, wanted: float) -> Floats:
    """Probability that every relevant item is reached, over (2 T)^2; 0 at the other ranks."""
    ahead = judged.once(_ahead, wanted=wanted)
    reached = judged.relevant / ahead**2
    reached[:, 1:] *= judged.once(_decay, wanted=wanted)[:, :-1]
    return reached


def _changes(judged: Judged, *, wanted: float) -> Floats:
    """What each relevant item changes in the sum of the probabilities of all ranks below it.

    Without relevant items the probabilities are inverse squares; each that is found makes them fall
    from here on as inverse squares of smaller numbers.
    """
    ahead = judged.once(_ahead, wanted=wanted)
    rest = judged.once(_decay, wanted=wanted)
    before = np.ones_like(rest)
    before[:, 1:] = rest[:, :-1]
    tails = tail_of_squares(2 * wanted + np.arange(judged.depth + 2.0))
    place = np.rint(ahead - 2 * wanted).astype(np.intp) + 1
    return rest * tails[place - judged.relevant] - before * tails[place]


def _decay(judged: Judged, *, wanted: float) -> Floats:
    """By how much what was found, down to each rank, scales the inverse squares below it."""
    ahead = judged.once(_ahead, wanted=wanted)
    return accumulate(((ahead - judged.relevant) / ahead) ** 2, by=np.multiply)


def _ahead(judged: Judged, *, wanted: float) -> Floats:
    """Rank k + 2T - 1, less the relevant items above rank k."""
    return judged.ranks - 1 + 2 * wanted - (judged.relevant_so_far - judged.relevant)
