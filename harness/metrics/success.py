"""Success."""

import numpy as np

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "Success",
    source="Craswell & Hawking (2004), Overview of the TREC 2004 Web Track",
    trec_eval="success.n",
    aliases=("HR", "Hit", "Hits", "hit rate", "hit ratio"),
    lattice=lambda cutoff: 1,
    accumulates="max",
)
def success(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""1 if the first ranks hold a relevant item, else 0; the mean is called hit rate.

    .. math:: \mathrm{Success}@n = [\, r_n > 0 \,]

    Values 0 or 1.

    Notes
    -----
    The values equal those of trec_eval (``m_success.c``). LensKit (``Hit``) leaves out users
    without relevant items. If each user has one relevant item, Success, Recall and RelP are equal.

    Examples
    --------
    A relevant item at rank 2, then none:

    >>> success(Judged(np.array([[0.0, 1.0], [0.0, 0.0]]), np.ones((2, 1))))
    array([1., 0.])
    """
    return np.minimum(judged.hits(cutoff), 1.0)
