"""Chance over systems and over worlds: what others of the same kind would have given.

Drawn with replacement, systems would be there twice, tied with their copies; subsets have none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.ordering import DECIMALS
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.estimate import CONFIDENCE
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import single_threaded
from runs.shared.streams import random_words

SHARE = 0.75
"""Part of the systems that is in a subset."""

N_SUBSETS = 200
LEAST_SYSTEMS = 8
"""With fewer systems subsets are too much alike: intervals held the truth in 65 to 95 of 100."""


@lru_cache
def system_subsets(n_systems: int, *, seed: int, n_subsets: int = N_SUBSETS) -> Numbers:
    """Draw subsets of three quarters of the systems, without copies, of shape (n_subsets, size).

    None of fewer than 8 systems.
    """
    if n_systems < LEAST_SYSTEMS:
        return np.empty((0, round(SHARE * n_systems)), dtype=np.intp)
    keys = [random_words(n_systems, seed, "systems", n_systems, n) for n in range(n_subsets)]
    chosen = np.argsort(np.array(keys), axis=1, kind="stable")[:, : round(SHARE * n_systems)]
    chosen.sort(axis=1)
    chosen.setflags(write=False)
    return chosen


def too_few(n_systems: int) -> list[str]:
    """Say that there are no intervals over systems, and what that means; nothing of enough."""
    if n_systems >= LEAST_SYSTEMS:
        return []
    return [
        f"{n_systems} systems are too few for an interval over systems; with other systems, any "
        "comparison of measures could reverse."
    ]


def pairs_within(subsets: Numbers, n_systems: int) -> Floats:
    """Mark the pairs i < j in each subset of the systems, of shape (n_subsets, n_pairs)."""
    chosen = np.zeros((len(subsets), n_systems))
    np.put_along_axis(chosen, subsets, 1.0, axis=1)
    first, second = np.triu_indices(n_systems, k=1)
    return chosen[:, first] * chosen[:, second]


def taus_within(estimates: Floats, references: Floats, subsets: Numbers) -> Floats:
    """Compare orderings by `tau_b` among the systems of each subset.

    Pairs are compared once, and counted by whole numbers that 32 bits hold: sums are exact.

    The result: tau-b, of shape (n_measures, n_subsets, n_samples); NaN where all systems of a
    subset tie.
    """
    n_measures, n_samples, n_systems = estimates.shape
    pairs = pairs_within(subsets, n_systems).astype(np.float32)
    taus = np.empty((n_measures, len(subsets), n_samples))
    with single_threaded("blas"), np.errstate(invalid="ignore"):
        for measure in range(n_measures):
            signs, reference = _signs(estimates[measure]), _signs(references[measure])
            untied = np.multiply(pairs @ abs(signs), pairs @ abs(reference), dtype=np.float64)
            taus[measure] = pairs @ (signs * reference) / np.sqrt(untied)
    return taus


def _signs(scores: Floats) -> NDArray[np.float32]:
    """Compare all pairs of systems, i < j, to `DECIMALS`: of shape (n_pairs, n_samples)."""
    rounded = np.rint(scores.T * 10.0**DECIMALS)
    first, second = np.triu_indices(len(rounded), k=1)
    return np.sign(rounded[first] - rounded[second]).astype(np.float32)


def reach_over_systems(values: Floats, n_systems: int) -> Floats:
    r"""Say how far a 95 % interval over systems reaches, by the delete-d jackknife.

    With m of S systems in a subset, and v the variance of the statistic over subsets,

    .. math:: t_{S-1} \sqrt{\frac{m}{S - m} v}

    The result: of shape (...); NaN without subsets.

    Shao & Wu (1989), A general theory for jackknife variance estimation.
    """
    quantile = stdtrit(n_systems - 1, (1 + CONFIDENCE) / 2)
    return np.asarray(quantile * deviation_over_systems(values, n_systems))


def deviation_over_systems(values: Floats, n_systems: int) -> Floats:
    """Give the standard deviation over systems, of shape (...); see `reach_over_systems`."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    size = round(SHARE * n_systems)
    variances = mean_of_defined((values - mean_of_defined(values)[..., np.newaxis]) ** 2)
    return np.sqrt(size / (n_systems - size) * variances)


def over_systems(
    statistic: Callable[[Numbers], Floats],
    n_systems: int,
    *,
    seed: int,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Floats, Floats]:
    """Give the 95 % interval of a statistic over systems; see `reach_over_systems`.

    The result: both limits; NaN with fewer than 8 systems.
    """
    observed = statistic(np.arange(n_systems))
    if n_systems < LEAST_SYSTEMS:
        unknown = np.full(observed.shape, np.nan)
        return unknown, unknown
    values = np.moveaxis(statistic(system_subsets(n_systems, seed=seed)), 0, -1)
    reach = reach_over_systems(values, n_systems)
    return np.clip(observed - reach, *limits), np.clip(observed + reach, *limits)


def over_worlds(
    values: Floats, *, limits: tuple[float, float] = (-np.inf, np.inf), at_once: int = 1
) -> tuple[Floats, Floats]:
    r"""Give the 95 % interval of the mean over worlds: they are independent, so it is Student's.

    .. math:: \bar x \pm t_{n-1} \, s / \sqrt{n}

    The result: both limits, of shape (...); NaN with fewer than two worlds. Worlds that are all the
    same give an interval without width: chance is then not seen, which does not say that there is
    none.

    Student (1908), The probable error of a mean.
    """
    n_worlds = np.count_nonzero(~np.isnan(values), axis=-1)
    quantile = stdtrit(np.maximum(n_worlds - 1, 1), 1 - (1 - CONFIDENCE) / (2 * at_once))
    reach = quantile * deviation_of_defined(values) / np.sqrt(np.maximum(n_worlds, 1))
    mean = mean_of_defined(values)
    return np.clip(mean - reach, *limits), np.clip(mean + reach, *limits)
