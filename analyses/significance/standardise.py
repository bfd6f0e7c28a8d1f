"""Scores standardised user by user, so that no user's scale weighs more than another's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.shared.measure import Scores
from analyses.shared.work import ScoresAlone

if TYPE_CHECKING:
    from analyses.shared.work import Work

Standard = Literal["normal", "uniform", "empirical"]

UNIFORM_SLOPE = 0.15
"""Of a standard deviation in the linear form: 3.3 deviations to either side span all."""


def standardised(work: Work, standard: Standard | None) -> Work:
    """Give work on standardised scores; the work itself if no standard is asked for."""
    if standard is None:
        return work
    scores = work.scores
    made = standardise(scores.values, standard)
    return ScoresAlone(
        Scores(made, scores.measures, scores.systems, scores.users),
        seed=work.seed,
        n_jobs=work.n_jobs,
        progress=work.progress,
    )


def standardise(values: NDArray[np.float64], standard: Standard) -> NDArray[np.float64]:
    r"""Say how a score stands among the scores that all systems have for a user.

    With mean and standard deviation over the systems, z is what a score deviates by.

    ========= ============================================ ==============================
    normal    :math:`\Phi(z)`                              Webber, Moffat & Zobel (2008)
    uniform   0.15 z + 0.5, cut at 0 and 1                 Sakai (2016)
    empirical share of the systems with no higher score    Urbano, Lima & Hanjalic (2019)
    ========= ============================================ ==============================

    Values are of shape (n_measures, n_systems, n_users), as is what is returned, in [0, 1]. A user
    whom all systems serve alike has one score, .5, or 1 if empirical.
    """
    return STANDARDS[standard](values)


def _deviates(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = values - values.mean(axis=1, keepdims=True)
    spread = values.std(axis=1, ddof=1, keepdims=True)
    differs = np.ptp(values, axis=1, keepdims=True) > 0
    return np.divide(centred, spread, out=np.zeros(values.shape), where=differs)


def _normal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(ndtr(_deviates(values)))


def _uniform(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(UNIFORM_SLOPE * _deviates(values) + 0.5, 0.0, 1.0)


def _empirical(values: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.zeros(values.shape)
    for other in np.moveaxis(values, 1, 0):
        shares += other[:, None, :] <= values
    return shares / values.shape[1]


STANDARDS: Mapping[Standard, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "normal": _normal,
    "uniform": _uniform,
    "empirical": _empirical,
}
