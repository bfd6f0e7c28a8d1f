"""Chance over systems and over worlds: what others of the same kind would have given.

Systems come in families, which are left out as wholes. Drawn with replacement, systems would be
there twice, tied with their copies; subsets have none.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from analyses.ordering import DECIMALS
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.families import CONFIDENCE
from analyses.shared.limits import Limits
from runs.shared.arrays import Floats, Masks
from runs.shared.parallel import single_threaded


def pair_masks(subsets: Masks) -> Floats:
    """Mark the pairs i < j of systems in each subset: 1.0 or 0.0, of shape (n_subsets, n_pairs).

    ``subsets`` has the systems of each subset, of shape (n_subsets, n_systems).
    """
    first, second = np.triu_indices(subsets.shape[1], k=1)
    has_both = subsets[:, first] & subsets[:, second]
    return has_both.astype(np.float64)


def subset_taus(estimates: Floats, references: Floats, subsets: Masks) -> Floats:
    """Compare orderings by Kendall's tau-b among the systems of each subset.

    Scores are compared to 12 decimals. Pairs are compared once, and counted by whole numbers that
    32 bits hold: sums are exact. Memory: the signs of all pairs and samples in 32 bits, of all
    references and five times of a measure.

    Parameters
    ----------
    estimates
        Scores of shape (n_measures, n_samples, n_systems).
    references
        Scores of the same shape, or with one measure or one sample for all.
    subsets
        Which systems each subset has, of shape (n_subsets, n_systems).

    Returns
    -------
    Tau-b, of shape (n_measures, n_subsets, n_samples); NaN where all systems of a subset tie by
    the estimates or the references.
    """
    n_measures, n_samples, _ = estimates.shape
    n_subsets = len(subsets)
    n_references = len(references)
    is_pair = pair_masks(subsets).astype(np.float32)
    taus = np.empty((n_measures, n_subsets, n_samples))
    with single_threaded("blas"), np.errstate(invalid="ignore"):
        reference_signs = [_compare_pairs(reference) for reference in references]
        for measure in range(n_measures):
            signs = _compare_pairs(estimates[measure])
            # A single reference is that of all measures.
            signs_of_reference = reference_signs[measure % n_references]
            n_untied = is_pair @ abs(signs)
            n_untied_in_reference = is_pair @ abs(signs_of_reference)
            squared_norms = np.multiply(n_untied, n_untied_in_reference, dtype=np.float64)
            agreements = is_pair @ (signs * signs_of_reference)
            taus[measure] = agreements / np.sqrt(squared_norms)
    return taus


def _compare_pairs(scores: Floats) -> NDArray[np.float32]:
    """Compare all pairs of systems i < j, to `DECIMALS`: 1, 0 or -1, as i is better or worse.

    Scores, of which higher ones are better, have the shape (n_samples, n_systems), the result
    (n_pairs, n_samples).
    """
    rounded = np.rint(scores.T * 10.0**DECIMALS)
    first, second = np.triu_indices(len(rounded), k=1)
    differences = rounded[first] - rounded[second]
    return np.sign(differences).astype(np.float32)


def interval_over_worlds(
    values: Floats, *, bounds: tuple[float, float] = (-np.inf, np.inf), at_once: int = 1
) -> Limits:
    r"""Compute the 95 % interval of the mean over worlds: they are independent, so it is Student's.

    .. math:: \bar x \pm t_{n-1} \, s / \sqrt{n}

    Parameters
    ----------
    values
        Of shape (..., n_worlds); worlds whose value is NaN do not count.
    bounds
        The lowest and the highest value that there is; limits do not go beyond.
    at_once
        Number of intervals that hold together with 95 % (Bonferroni).

    Returns
    -------
    Lower and upper limits, of shape (...); NaN with fewer than two worlds. Worlds that are all the
    same give an interval without width: chance is then not seen, which does not say that there is
    none.

    References
    ----------
    Student (1908), The probable error of a mean.
    """
    lowest, highest = bounds
    n_worlds = np.count_nonzero(~np.isnan(values), axis=-1)
    # Of fewer than two worlds the deviation, and so the limits, are NaN in any case.
    degrees_of_freedom = np.maximum(n_worlds - 1, 1)
    tail = (1 - CONFIDENCE) / (2 * at_once)
    quantiles = scipy.special.stdtrit(degrees_of_freedom, 1 - tail)
    deviations = deviation_of_defined(values)
    roots = np.sqrt(np.maximum(n_worlds, 1))
    half_widths = quantiles * deviations / roots
    means = mean_of_defined(values)
    lower = np.clip(means - half_widths, lowest, highest)
    upper = np.clip(means + half_widths, lowest, highest)
    return lower, upper
