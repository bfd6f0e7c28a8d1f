"""P: precision."""

from harness.metrics.shared.metric import metric
from qrels import Judged
from runs.shared.arrays import Floats


@metric(
    "P",
    source="Cleverdon & Mills (1963), The testing of index language devices",
    trec_eval="P.n",
    aliases=("Precision", "Prec"),
    lattice=lambda cutoff: cutoff,
    accumulates="sum",
)
def precision(judged: Judged, *, cutoff: int | None = None) -> Floats:
    r"""Share of the first ranks that hold a relevant item.

    .. math:: \mathrm{P}@n = r_n / n

    Without a cut-off n is the depth of the lists. Values in [0, 1].

    Notes
    -----
    The count is divided by n even if the list is shorter, as in trec_eval (``m_P.c``). LensKit
    divides by the length of the list.

    Examples
    --------
    One relevant item in four ranks:

    >>> import numpy as np
    >>> precision(Judged(np.array([[np.nan, 1.0]]), np.ones((1, 3))), cutoff=4)
    array([0.25])
    """
    cutoff = judged.depth if cutoff is None else cutoff
    return judged.hits(cutoff) / cutoff
