"""INSQ: inverse squares."""

from typing import Annotated, TypeAlias

import numpy as np
from annotated_types import Ge

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats

TargetCount: TypeAlias = Annotated[float, Ge(0.5)]
"""Number of relevant items that a user wants to find."""


@metric(
    "INSQ",
    source="Moffat, Scholer & Thomas (2012), Models and metrics: IR evaluation as a user process",
)
def insq(judged: Judged, *, cutoff: int | None = None, T: TargetCount = 1.0) -> Floats:
    r"""Expected rate of relevant items for a user who becomes more patient at deeper ranks.

    .. math::
        \mathrm{INSQ}(T)@n = \frac{\sum_{k \le n} \mathrm{rel}(k) \, (k + 2T - 1)^{-2}}
        {\sum_{k \ge 1} (k + 2T - 1)^{-2}}

    A user at rank k goes on to the next with probability :math:`((k + 2T - 1) / (k + 2T))^2`.
    Values in [0, 1]. Even a perfect list stays below 1; the fewer relevant items there are, the
    lower is its score.

    Parameters
    ----------
    T
        Number of relevant items that the user wants to find. A larger T gives more weight to deep
        ranks.

    Notes
    -----
    The score is a lower bound; the residual is not reported. The gain is binary here, but graded in
    cwl_eval and ir_measures. These end the sum of all weights at rank 1000, so that their scores
    are higher by about T / 500.

    Examples
    --------
    With T = 1/2 the weights are 1, 1/4, 1/9 ..., whose sum is pi^2 / 6; relevant items at ranks 1
    and 3: (1 + 1/9) / 1.6449.

    >>> insq(Judged(np.array([[1.0, np.nan, 1.0]]), np.ones((1, 2))), T=0.5).round(4)
    array([0.6755])
    """
    weights = judged.total(_relevant_weights, cutoff=cutoff, target=T)
    return weights / tail_of_squares(2 * T)


def tail_of_squares(start: float | Floats) -> Floats:
    """Add up the inverse squares of start, start + 1, start + 2 and so on without end.

    ``start`` is above 0, of any shape, as is the result.

    Examples
    --------
    >>> tail_of_squares(1.0).round(4)  # pi^2 / 6
    np.float64(1.6449)
    """
    from scipy.special import zeta

    return np.asarray(zeta(2, start), dtype=np.float64)


def _relevant_weights(judged: Judged, *, target: float) -> Floats:
    """Compute the weight of each rank that holds a relevant item, (n_users, n_ranks); else 0."""
    return judged.relevant / (judged.ranks + 2 * target - 1) ** 2
