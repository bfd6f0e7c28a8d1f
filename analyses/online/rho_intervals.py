"""Intervals of Spearman's rho when values and rates of models are known with errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.experiments import Experiment
from analyses.ordering import spearman
from runs.shared.streams import random_uniforms

Floats = NDArray[np.float64]

SPREADS: Final = np.linspace(0.1, 2.2, 12)
"""Standard deviations of true values, relative to those observed."""

CORRELATIONS: Final = np.sin(np.linspace(-1.55, 1.55, 31))
"""Correlations of true values: their angles are uniform a priori."""

DRAWS: Final = 2000
FEWEST_MODELS: Final = 4


def rho_intervals(
    experiment: Experiment, measures: Sequence[str], *, seed: int
) -> tuple[Floats, Floats]:
    """Give 95 % intervals of the rhos that values and rates without noise would have.

    Lower and upper ends are of shape (n_measures,); NaN where errors of the rates are not known,
    there are fewer than 4 models, or there is no rho.

    True values and rates of the models are taken for normal around a mean, with any standard
    deviations and any correlation, as likely a priori (a normal measurement-error model, Fuller
    1987; uniform priors on standard deviations, Gelman 2006, and on the angle of the correlation).
    Given these, true values are drawn for every model from what was observed and its errors; the
    interval holds the middle 95 % of the rhos of such draws.
    """
    ends = np.full((2, len(measures)), np.nan)
    if experiment.rate_errors is None or len(experiment.models) < FEWEST_MODELS:
        return ends[0], ends[1]
    for place, measure in enumerate(measures):
        row = experiment.measures.index(measure)
        values, every = experiment.values[row], experiment.value_errors
        if np.isfinite(values).all() and np.ptp(values) > 0:
            errors = np.zeros(len(values)) if every is None else every[row]
            truths = draw_truths(
                values, errors, experiment.rates, experiment.rate_errors, seed=seed
            )
            rhos = spearman(truths[..., 0], truths[..., 1])
            rhos = rhos[np.isfinite(rhos)]
            ends[0, place] = np.quantile(rhos, 0.025, method="lower")
            ends[1, place] = np.quantile(rhos, 0.975, method="higher")
    return ends[0], ends[1]


def draw_truths(
    values: Floats, value_errors: Floats, rates: Floats, rate_errors: Floats, *, seed: int
) -> Floats:
    """Draw true values and rates, given those observed with errors: (DRAWS, n_models, 2)."""
    from scipy.special import ndtri

    observed, errors = np.stack([values, rates], 1), np.stack([value_errors, rate_errors], 1)
    scales = observed.std(axis=0, ddof=1)
    observed, errors = (observed - observed.mean(axis=0)) / scales, errors / scales
    grid = np.array([*product(SPREADS, SPREADS, CORRELATIONS)])
    across = np.stack([grid[:, 0] ** 2, grid[:, 1] ** 2, grid.prod(axis=1)], axis=1)
    weights, means, roots = _posterior(across, observed, errors**2)
    places = np.arange(DRAWS * (len(observed) + 1) * 2)
    uniforms = np.clip(random_uniforms(places, seed, "true values"), 2.0**-54, None)
    normals = np.asarray(ndtri(uniforms)).reshape(DRAWS, len(observed) + 1, 2)
    cells = np.searchsorted(np.cumsum(weights), (np.arange(DRAWS) + 0.5) / DRAWS)
    cells = np.minimum(cells, len(grid) - 1)
    centres = means[cells] + np.einsum("dij,dj->di", roots[cells], normals[:, 0])
    truths = _truths_given(across[cells], centres, observed, errors**2, normals[:, 1:])
    return np.where(errors == 0, observed, truths)


def _posterior(
    across: Floats, observed: Floats, variances: Floats
) -> tuple[Floats, Floats, Floats]:
    """Weigh the cells of the grid, by their likelihood without the means, of which all are likely.

    Given are weights, and of each cell the means given it, and a root of their covariance.
    """
    xx, yy, xy = (across[:, [k]] for k in range(3))
    a, b = xx + variances[:, 0], yy + variances[:, 1]
    det = a * b - xy**2
    # Elements of the inverse covariance of each model, of shape (n_cells, n_models).
    wxx, wyy, wxy = b / det, a / det, -xy / det
    x, y = observed.T
    sxx, syy, sxy = (w.sum(axis=1) for w in (wxx, wyy, wxy))
    bx, by = (wxx * x + wxy * y).sum(axis=1), (wxy * x + wyy * y).sum(axis=1)
    total = sxx * syy - sxy**2
    means = np.stack([(syy * bx - sxy * by) / total, (sxx * by - sxy * bx) / total], axis=1)
    squares = (wxx * x**2 + 2 * wxy * x * y + wyy * y**2).sum(axis=1)
    fit = squares - (means[:, 0] * bx + means[:, 1] * by)
    log = -0.5 * (np.log(det).sum(axis=1) + np.log(total) + fit)
    weights = np.exp(log - log.max())
    return weights / weights.sum(), means, _roots(syy / total, sxx / total, -sxy / total)


def _truths_given(
    across: Floats, centres: Floats, observed: Floats, variances: Floats, normals: Floats
) -> Floats:
    """Draw true values of models, given means and covariance, and what was observed."""
    xx, yy, xy = (across[:, [k]] for k in range(3))
    a, b = xx + variances[:, 0], yy + variances[:, 1]
    det = a * b - xy**2
    dx, dy = (observed[:, k] - centres[:, [k]] for k in range(2))
    ux, uy = (b * dx - xy * dy) / det, (a * dy - xy * dx) / det
    means = centres[:, None] + np.stack([xx * ux + xy * uy, xy * ux + yy * uy], axis=2)
    left = xx - (b * xx**2 - 2 * xy * xx * xy + a * xy**2) / det
    right = yy - (b * xy**2 - 2 * xy * xy * yy + a * yy**2) / det
    both = xy - (b * xx * xy - xy * (xx * yy + xy**2) + a * xy * yy) / det
    return means + np.einsum("...ij,...j->...i", _roots(left, right, both), normals)


def _roots(xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """Give Cholesky roots of covariances of two numbers, of shape (..., 2, 2)."""
    # Of what is known there is no variance, but for rounding.
    varies = xx > 1e-12
    first = np.sqrt(np.where(varies, xx, 0.0))
    below = np.divide(xy, first, out=np.zeros_like(xy), where=varies)
    second = np.sqrt(np.maximum(yy - below**2, 0.0))
    return np.stack([np.stack([first, 0 * first], -1), np.stack([below, second], -1)], -2)
