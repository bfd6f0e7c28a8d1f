"""Intervals of Spearman's rho when values and rates of models are known with errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from analyses.online.best_of_many import scaled_ranks
from analyses.online.experiments import Experiment
from analyses.ordering import DECIMALS
from runs.shared.arrays import Floats
from runs.shared.streams import random_uniforms

SPREADS: Final = np.linspace(0.1, 2.2, 12)
"""Standard deviations of true values, relative to those observed."""

CORRELATIONS: Final = np.sin(np.linspace(-1.55, 1.55, 31))
"""Correlations of true values: their angles are uniform a priori."""

DRAWS: Final = 2000
FEWEST_MODELS: Final = 4


def rho_intervals(experiment: Experiment, measures: Sequence[str], *, seed: int) -> Floats:
    """Give 95 % intervals of the rhos that values and rates without noise would have.

    Lower and upper ends are of shape (2, n_measures); NaN where errors of the rates are not known,
    there are fewer than 4 models, or there is no rho.

    True values and rates of the models are taken for normal around a mean, with any standard
    deviations and any correlation, as likely a priori (a normal measurement-error model, Fuller
    1987; uniform priors on standard deviations, Gelman 2006, and on the angle of the correlation).
    Given these, true values are drawn for every model from what was observed and its errors; the
    interval holds the middle 95 % of the rhos of such draws.
    """
    ends, of_values = np.full((2, len(measures)), np.nan), experiment.value_errors
    if experiment.rate_errors is None or len(experiment.models) < FEWEST_MODELS:
        return ends
    if of_values is None:
        of_values = np.zeros(experiment.values.shape)
    for place, row in enumerate(map(experiment.measures.index, measures)):
        if np.isfinite(experiment.values[row]).all() and np.ptp(experiment.values[row]) > 0:
            observed = np.stack([experiment.values[row], experiment.rates], axis=1)
            errors = np.stack([of_values[row], experiment.rate_errors], axis=1)
            truths = draw_truths(observed, errors, seed=seed)
            values, rates = np.moveaxis(scaled_ranks(truths.swapaxes(1, 2)), 1, 0)
            rhos = (values * rates).sum(axis=-1).round(DECIMALS)
            rhos = rhos[np.isfinite(rhos)]
            ends[0, place] = np.quantile(rhos, 0.025, method="lower")
            ends[1, place] = np.quantile(rhos, 0.975, method="higher")
    return ends


def draw_truths(observed: Floats, errors: Floats, *, seed: int) -> Floats:
    """Draw true values and rates, given those observed with errors, each of shape (n_models, 2).

    Draws are of shape (DRAWS, n_models, 2).
    """
    from scipy.special import ndtri

    scales = observed.std(axis=0, ddof=1)
    observed, errors = (observed - observed.mean(axis=0)) / scales, errors / scales
    noise = errors[:, :, np.newaxis] ** 2 * np.eye(2)
    grid = np.array([*product(SPREADS, SPREADS, CORRELATIONS)])
    x, y, r = grid.T
    across = np.array([[x**2, x * y * r], [x * y * r, y**2]]).transpose(2, 0, 1)
    # The cells of the grid by their likelihood without the means, of which all are as likely.
    precisions = np.linalg.inv(across[:, np.newaxis] + noise)
    total = precisions.sum(axis=1)
    weighted = (precisions @ observed[..., np.newaxis])[..., 0]
    centres = np.linalg.solve(total, weighted.sum(axis=1)[..., np.newaxis])[..., 0]
    fit = (weighted * observed).sum(axis=(1, 2)) - (weighted.sum(axis=1) * centres).sum(axis=1)
    log = 0.5 * (np.linalg.slogdet(precisions)[1].sum(axis=1) - np.linalg.slogdet(total)[1] - fit)
    weights = np.exp(log - log.max())
    cells = np.searchsorted(np.cumsum(weights / weights.sum()), (np.arange(DRAWS) + 0.5) / DRAWS)
    cells = np.minimum(cells, len(grid) - 1)
    places = np.arange(DRAWS * (len(observed) + 1) * 2)
    uniforms = np.clip(random_uniforms(places, seed, "true values"), 2.0**-54, None)
    normals = np.asarray(ndtri(uniforms)).reshape(DRAWS, len(observed) + 1, 2, 1)
    roots = _roots(np.linalg.inv(total))[cells]
    means = (centres[cells] + (roots @ normals[:, 0])[..., 0])[:, np.newaxis]
    # True values of models, given means and covariance, and what was observed.
    spread = across[cells][:, np.newaxis]
    gain = spread @ precisions[cells]
    truths = means + (gain @ (observed - means)[..., np.newaxis])[..., 0]
    truths += (_roots(spread - gain @ spread) @ normals[:, 1:])[..., 0]
    return np.where(errors == 0, observed, truths)


def _roots(covariances: Floats) -> Floats:
    """Give Cholesky roots of covariances of two numbers, of shape (..., 2, 2)."""
    roots, xx, xy = np.zeros_like(covariances), covariances[..., 0, 0], covariances[..., 1, 0]
    # Of what is known there is no variance, but for rounding.
    varies = xx > 1e-12
    roots[..., 0, 0] = np.sqrt(np.where(varies, xx, 0.0))
    np.divide(xy, roots[..., 0, 0], out=roots[..., 1, 0], where=varies)
    roots[..., 1, 1] = np.sqrt(np.maximum(covariances[..., 1, 1] - roots[..., 1, 0] ** 2, 0.0))
    return roots
