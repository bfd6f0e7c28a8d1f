"""Kendall's tau-b of many samples at once: the loops run over the samples, and vectorise.

Most pairs of systems have one order in all samples of a replicate, and need no loop.

What `analyses.ordering.tau_b` defines for one ordering; tests hold the two equal.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True, error_model="numpy")
def sample_taus(
    estimates: NDArray[np.float64], references: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """Compare the ordering of the systems in every sample with that of the reference.

    Estimates are scores of shape (n_replicates, n_systems, n_samples), references of (n_replicates,
    n_systems). Scores that are the same whole number when multiplied by the scale are tied.

    Returns
    -------
    tau-b, of shape (n_replicates, n_samples); NaN where all systems tie.
    """
    n_replicates, n_systems, n_samples = estimates.shape
    taus = np.empty((n_replicates, n_samples))
    rounded = np.empty((n_systems, n_samples))
    lowest, highest = np.empty(n_systems), np.empty(n_systems)
    agreement = np.empty(n_samples)
    untied = np.empty(n_samples)
    for replicate in range(n_replicates):
        reference = np.rint(references[replicate] * scale)
        for i in range(n_systems):
            low, high = np.inf, -np.inf
            for w in range(n_samples):
                value = np.rint(estimates[replicate, i, w] * scale)
                rounded[i, w] = value
                low, high = min(low, value), max(high, value)
            lowest[i], highest[i] = low, high
        agreement[:] = 0.0
        untied[:] = 0.0
        n_untied, agreement_of_all, untied_in_all = 0, 0.0, 0
        for i in range(n_systems):
            for j in range(i + 1, n_systems):
                sign = np.sign(reference[i] - reference[j])
                n_untied += sign != 0.0
                if lowest[i] > highest[j] or highest[i] < lowest[j]:
                    agreement_of_all += sign if lowest[i] > highest[j] else -sign
                    untied_in_all += 1
                    continue
                for w in range(n_samples):
                    above = 1.0 if rounded[i, w] > rounded[j, w] else 0.0
                    below = 1.0 if rounded[i, w] < rounded[j, w] else 0.0
                    agreement[w] += sign * (above - below)
                    untied[w] += above + below
        for w in range(n_samples):
            n_both = (untied[w] + untied_in_all) * n_untied
            taus[replicate, w] = (agreement[w] + agreement_of_all) / np.sqrt(n_both)
    return taus
