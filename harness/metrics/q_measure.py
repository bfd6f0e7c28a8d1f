"""Q-measure."""

from harness.metrics.shared.metric import metric, ratio
from harness.metrics.shared.weights import Positive
from qrels import Judged, accumulate
from runs.shared.arrays import Floats


@metric(
    "Q-measure",
    source="Sakai & Kando (2008), On information retrieval metrics designed for evaluation with "
    "incomplete relevance assessments",
)
def q_measure(judged: Judged, *, cutoff: int | None = None, beta: Positive = 1.0) -> Floats:
    r"""AP for graded relevance: combines precision with the gain relative to the ideal gain.

    .. math::
        Q@n = \frac{1}{R} \sum_{k \le n} \mathrm{rel}(k)
        \frac{r_k + \beta \, \mathrm{cg}(k)}{k + \beta \, \mathrm{cg}^*(k)}

    :math:`\mathrm{cg}(k)` sums the gains in the ranks 1 to k, :math:`\mathrm{cg}^*(k)` those of the
    list of all the user's relevant items in falling order of grade. The gain counts grades from the
    relevance level :math:`\tau` on: :math:`g(k) - \tau + 1` for a relevant item, else 0. 0 if R =
    0. Relevant items below rank n add 0. Values in [0, 1].

    Parameters
    ----------
    beta
        Weight of the gains; with a weight near 0, Q is AP.

    Notes
    -----
    With relevance level 1 the gain is the grade, as in Sakai & Kando; on ratings of 1 to 5 with
    level 4 the gains are 1 and 2, as in the paper's program (``m_qm45_cut.c`` of rec_eval), which
    divides by R too. Other tools may divide a cut Q-measure by min(n, R).

    Examples
    --------
    Grade 2 at rank 2, grade 1 not found; ideal gains 2, 3: (1 + 2) / (2 + 3) / 2.

    >>> import numpy as np
    >>> q_measure(Judged(np.array([[np.nan, 2.0]]), np.array([[1.0, 2.0]])))
    array([0.3])
    """
    return ratio(judged.total(_blended_ratios, cutoff=cutoff, beta=beta), judged.n_relevant)


def _blended_ratios(judged: Judged, *, beta: float) -> Floats:
    """Compute the blended ratio at the rank of each relevant item, (n_users, n_ranks); else 0.

    It blends the precision with the gain down to the rank over that of the ideal list.
    """
    count_and_gain = judged.relevant_so_far + beta * accumulate(_gains(judged))
    highest = judged.ranks + beta * judged.best_so_far(_gains)
    return judged.relevant * (count_and_gain / highest)


def _gains(judged: Judged) -> Floats:
    """Count the grade of the relevant item at each rank from the relevance level on; else 0."""
    return judged.relevant * (judged.gains - judged.relevance_level + 1)
