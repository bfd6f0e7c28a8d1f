"""How alike two orderings are: Kendall's tau-b, tau_AP, rank-biased overlap.

All take estimates and a reference: scores of the systems along the last axis, higher is better,
whose other axes broadcast. Their results have the shape of these other axes. Scores are compared
to 12 decimals.
"""

from __future__ import annotations

import numpy as np

from runs.shared.arrays import Floats

PERSISTENCE = 0.9
"""Chance p that a reader of an ordering goes on to the next system: ten are read on average."""


def tau_b(estimates: Floats, reference: Floats) -> Floats:
    r"""Compute Kendall's tau-b of orderings of systems by their scores, of which some may tie.

    .. math:: \tau_b = \frac{\sum_{i<j} \mathrm{sgn}(x_i - x_j) \, \mathrm{sgn}(y_i - y_j)}
        {\sqrt{n_x n_y}}

    :math:`n_x` and :math:`n_y` count the pairs that are not tied, to 12 decimals.

    Estimates x and reference y are scores of shape (..., n_systems), whose other axes broadcast,
    and the result has the shape (...): values in [-1, 1]; NaN where all systems of an ordering tie,
    or a score is NaN.

    Kendall (1945), The treatment of ties in ranking problems.
    """
    from analyses.ordering import loops

    is_one_reference = reference.ndim == 1 or reference.shape[-2] == 1
    if estimates.ndim > 1 and is_one_reference:
        # The pairs of a reference of many estimates, their axis before the last, are compared once.
        n_systems = reference.shape[-1]
        references = reference.reshape(*reference.shape[:-2], n_systems)
        return loops.over_samples(loops.tau_b, estimates, references)
    # Else every estimate is the one sample of its reference.
    single_samples = estimates[..., np.newaxis, :]
    return loops.over_samples(loops.tau_b, single_samples, reference)[..., 0]


def tau_ap(estimates: Floats, reference: Floats) -> Floats:
    r"""AP correlation of orderings without ties.

    .. math:: \tau_{AP} = \frac{2}{n - 1} \sum_{i=2}^{n} \frac{C(i)}{i - 1} - 1

    Walking down the estimate, C(i) counts the systems above rank i that the reference too puts
    above. Not symmetric: ranks are those of the estimate.

    Estimates and reference have the shape (..., n_systems), and the result (...): values in
    [-1, 1]. NaN where either ordering has ties (see `tau_ap_a`), for fewer than two systems, or
    where a score is NaN.

    Yilmaz, Aslam & Robertson (2008), A new rank correlation coefficient for information retrieval.
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.tau_ap, estimates, reference)


def tau_ap_a(estimates: Floats, reference: Floats) -> Floats:
    r"""AP correlation of estimates with ties: the mean over all ways to break them.

    A system of a tied group of size g from rank p on, of whose betters c belong above it, adds

    .. math:: \frac{1}{g} \sum_{r=p}^{p+g-1} \frac{c + (r - p) / 2}{r - 1}

    to the sum of `tau_ap` (a term with r = 1 is 0).

    Estimates and reference have the shape (..., n_systems), and the result (...): values in
    [-1, 1]; 0 for an estimate that ties all systems. NaN where the reference has ties, for fewer
    than two systems, or where a score is NaN.

    Urbano & Marrero (2017), The treatment of ties in AP correlation.
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.tau_ap_a, estimates, reference)


def rbo(estimates: Floats, reference: Floats, *, persistence: float = PERSISTENCE) -> Floats:
    r"""Rank-biased overlap of orderings of the same systems.

    .. math:: \mathrm{RBO} = \frac{1 - p}{p} \sum_{d=1}^{n} p^d A_d + p^n A_n

    The agreement :math:`A_d = \sum c c' / \sqrt{\sum c^2 \sum c'^2}` compares the top d of both
    orderings. A system of a tied group of size g, below k others, is in the top d with the share
    :math:`c(d) = (d - k) / g`, cut to [0, 1]. A tied ordering agrees fully with itself (variant b).

    Estimates and reference have the shape (..., n_systems), and the result (...): values from
    `rbo_floor` to 1, as both orderings hold all systems. NaN for fewer than two systems, or where a
    score is NaN. ``persistence`` is p.

    Webber, Moffat & Zobel (2010), A similarity measure for indefinite rankings; Corsi & Urbano
    (2024), The treatment of ties in rank-biased overlap.
    """
    from analyses.ordering import loops

    return loops.over_rows(loops.rbo, estimates, reference, persistence)


def rbo_floor(n_systems: int, *, persistence: float = PERSISTENCE) -> float:
    """Compute the rank-biased overlap of an ordering without ties and its reverse: the lowest.

    NaN for fewer than two systems.
    """
    ordering = np.arange(n_systems, dtype=np.float64)
    return float(rbo(ordering, -ordering, persistence=persistence))
