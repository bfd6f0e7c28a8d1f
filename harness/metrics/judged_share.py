"""Judged: the share of judged items in a list."""

import numpy as np

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "Judged",
    source="Buckley, Dimmick, Soboroff & Voorhees (2007), Bias and the limits of pooling",
    has_level=False,
)
def judged_share(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the first items that are judged, relevant or not.

    .. math:: \mathrm{Judged}@n = (r_n + \bar{r}_n) / \min(n, \text{length of the list})

    0 for an empty list. Values in [0, 1]. It does not measure quality: a low value says that other
    measures rest on few judgements.

    Notes
    -----
    The values equal those of ir_measures (``Judged``).

    Examples
    --------
    A judged non-relevant, an unjudged and a relevant item:

    >>> judged_share(Judged(np.array([[0.0, np.nan, 1.0]]), np.ones((1, 3))), cutoff=4)
    array([0.66666667])
    """
    n_listed = judged.n_retrieved if cutoff is None else np.minimum(judged.n_retrieved, cutoff)
    n_judged = judged.hits(cutoff) + judged.nonrelevant_hits(cutoff)
    return n_judged / np.maximum(n_listed, 1)
