"""Chance over systems and over worlds: what others of the same kind would have given.

Systems come in families, which are left out as wholes. Drawn with replacement, systems would be
there twice, tied with their copies; subsets have none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.ordering import DECIMALS
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.families import CONFIDENCE
from runs.shared.arrays import Floats, Masks
from runs.shared.parallel import single_threaded


def pair_masks(subsets: Masks) -> Floats:
    """Mark the pairs i < j in each subset of the systems, of shape (n_subsets, n_pairs)."""
    first, second = np.triu_indices(subsets.shape[1], k=1)
    return (subsets[:, first] & subsets[:, second]).astype(np.float64)


def subset_taus(estimates: Floats, references: Floats, subsets: Masks) -> Floats:
    """Compare orderings by `tau_b` among the systems of each subset.

    Estimates are of shape (n_measures, n_samples, n_systems), references of the same, or of one
    measure or sample. Pairs are compared once, and counted by whole numbers that 32 bits hold: sums
    are exact.

    The result: tau-b, of shape (n_measures, n_subsets, n_samples); NaN where all systems of a
    subset tie. Memory: the signs of all pairs and samples in 32 bits, of all references and five
    times of a measure.
    """
    n_measures, n_samples, _ = estimates.shape
    pairs = pair_masks(subsets).astype(np.float32)
    taus = np.empty((n_measures, len(subsets), n_samples))
    with single_threaded("blas"), np.errstate(invalid="ignore"):
        of_references = [*map(_signs, references)]
        for measure in range(n_measures):
            signs, reference = _signs(estimates[measure]), of_references[measure % len(references)]
            untied = np.multiply(pairs @ abs(signs), pairs @ abs(reference), dtype=np.float64)
            taus[measure] = pairs @ (signs * reference) / np.sqrt(untied)
    return taus


def _signs(scores: Floats) -> NDArray[np.float32]:
    """Compare all pairs of systems, i < j, to `DECIMALS`: of shape (n_pairs, n_samples)."""
    rounded = np.rint(scores.T * 10.0**DECIMALS)
    first, second = np.triu_indices(len(rounded), k=1)
    return np.sign(rounded[first] - rounded[second]).astype(np.float32)


def interval_over_worlds(
    values: Floats, *, bounds: tuple[float, float] = (-np.inf, np.inf), at_once: int = 1
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
    return np.clip(mean - reach, *bounds), np.clip(mean + reach, *bounds)
