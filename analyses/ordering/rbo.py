"""Rank-biased overlap: how alike the tops of two orderings are, at every depth."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PERSISTENCE = 0.9
"""Of a reader who goes from one system to the next: ten systems are read in the mean."""


def rbo(
    estimates: Floats,
    reference: Floats,
    *,
    persistence: float = PERSISTENCE,
    variant: Literal["a", "b"] = "b",
) -> Floats:
    r"""Rank-biased overlap of orderings of the same systems.

    .. math:: \mathrm{RBO} = \frac{1 - p}{p} \sum_{d=1}^{n} p^d A_d + p^n A_n

    The agreement :math:`A_d` compares the top d of both orderings. A system of a tied group of
    size g, below k others, is in the top d with the share :math:`c(d) = (d - k) / g`, cut to
    [0, 1].

    Parameters
    ----------
    estimates, reference
        As in `tau_b`.
    persistence
        p, in (0, 1): the lower, the more the top counts.
    variant
        ``"a"``: :math:`A_d = \sum c c' / d`, the mean over all ways to break ties. ``"b"``:
        :math:`A_d = \sum c c' / \sqrt{\sum c^2 \sum c'^2}`, with which a tied ordering agrees
        fully with itself.

    Returns
    -------
    Values from `rbo_floor` to 1: both orderings hold all systems, so that none is 0. NaN for fewer
    than two systems or an undefined score.

    References
    ----------
    Webber, Moffat & Zobel (2010), A similarity measure for indefinite rankings; Corsi & Urbano
    (2024), The treatment of ties in rank-biased overlap.

    Examples
    --------
    Two systems swap: nothing in common at depth 1, everything at depth 2; 0.1 * 0 + 0.9 * 1.

    >>> rbo(np.array([0.2, 0.1]), np.array([0.1, 0.2])).round(4)
    np.float64(0.9)

    An ordering in which they tie, with itself: half in common at depth 1; 0.1 * 0.5 + 0.9.

    >>> tied = np.array([0.1, 0.1])
    >>> rbo(tied, tied, variant="a").round(4), rbo(tied, tied, variant="b")
    (np.float64(0.95), np.float64(1.0))
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.rbo, estimates, reference, persistence, variant == "b")


def rbo_floor(n_systems: int, *, persistence: float = PERSISTENCE) -> float:
    """Rank-biased overlap of an ordering without ties and its reverse: the lowest there is.

    Examples
    --------
    >>> rbo_floor(2), round(rbo_floor(10), 4), round(rbo_floor(10, persistence=0.8), 4)
    (0.9, 0.5116, 0.2473)
    """
    ordering = np.arange(n_systems, dtype=np.float64)
    return float(rbo(ordering, -ordering, persistence=persistence))
