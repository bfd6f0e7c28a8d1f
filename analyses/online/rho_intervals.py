"""Intervals of Spearman's rho when values and rates of models are known with errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from analyses.online.best_of_many import scaled_ranks
from analyses.online.experiments import Experiment
from analyses.ordering import DECIMALS
from runs.shared.arrays import Floats, Numbers
from runs.shared.streams import random_uniforms

DEVIATIONS: Final = np.linspace(0.1, 2.2, 12)
"""Standard deviations of true values, relative to those observed."""

CORRELATIONS: Final = np.sin(np.linspace(-1.55, 1.55, 31))
"""Correlations of true values: their angles are uniform a priori."""

DRAWS: Final = 2000
FEWEST_MODELS: Final = 4


def rho_intervals(experiment: Experiment, measures: Sequence[str], *, seed: int) -> Floats:
    """Compute 95 % intervals of the rhos that values and rates without noise would have.

    Lower and upper limits are of shape (2, n_measures); NaN where errors of the rates are not
    known, there are fewer than 4 models, or there is no rho: a value of the measure is undefined,
    or all are equal. Errors of values that are not known are taken for 0.

    True values and rates of the models are taken for normal around a mean, with any standard
    deviations and any correlation, as likely a priori (a normal measurement-error model, Fuller
    1987; uniform priors on standard deviations, Gelman 2006, and on the angle of the correlation).
    Given these, true values are drawn for every model from what was observed and its errors; the
    interval holds the middle 95 % of the rhos of such draws.
    """
    limits = np.full((2, len(measures)), np.nan)
    if experiment.rate_errors is None or len(experiment.models) < FEWEST_MODELS:
        return limits
    value_errors = experiment.value_errors
    if value_errors is None:
        value_errors = np.zeros(experiment.values.shape)
    for number, measure in enumerate(measures):
        row = experiment.measures.index(measure)
        values = experiment.values[row]
        if not np.isfinite(values).all() or np.ptp(values) == 0:
            continue
        # Values and rates are columns: (n_models, 2).
        observed = np.stack([values, experiment.rates], axis=1)
        errors = np.stack([value_errors[row], experiment.rate_errors], axis=1)
        truths = draw_truths(observed, errors, seed=seed)
        value_ranks = scaled_ranks(truths[:, :, 0])
        rate_ranks = scaled_ranks(truths[:, :, 1])
        products = value_ranks * rate_ranks
        rhos = products.sum(axis=-1).round(DECIMALS)
        rhos = rhos[np.isfinite(rhos)]
        limits[0, number] = np.quantile(rhos, 0.025, method="lower")
        limits[1, number] = np.quantile(rhos, 0.975, method="higher")
    return limits


def draw_truths(observed: Floats, errors: Floats, *, seed: int) -> Floats:
    """Draw true values and rates, given those observed with errors, each of shape (n_models, 2).

    Errors are standard errors; the columns are values and rates. Draws are of shape (DRAWS,
    n_models, 2), in standard deviations from the observed mean. What was observed without error is
    drawn as it is. A draw takes the covariance of a cell of a grid, in proportion to its
    likelihood, then the mean of all models, then the truth of each model, from their normal
    posteriors. Values and rates must not be constant.
    """
    n_models = len(observed)
    scales = observed.std(axis=0, ddof=1)
    observed_means = observed.mean(axis=0)
    observed = (observed - observed_means) / scales
    errors = errors / scales
    error_variances = errors[:, :, np.newaxis] ** 2
    # Diagonal covariances of the errors, (n_models, 2, 2).
    noise = error_variances * np.eye(2)
    covariances = _covariance_grid()
    total_covariances = covariances[:, np.newaxis] + noise
    precisions = np.asarray(np.linalg.inv(total_covariances), dtype=np.float64)
    total_precisions = precisions.sum(axis=1)
    weighted = _multiply(precisions, observed)
    weighted_sums = weighted.sum(axis=1)[..., np.newaxis]
    centres = np.linalg.solve(total_precisions, weighted_sums)[..., 0]
    log_likelihoods = _log_likelihoods(observed, precisions, weighted, centres)
    cells = _draw_cells(log_likelihoods)
    normals = _draw_normals(n_models, seed=seed)
    covariances_of_mean = np.linalg.inv(total_precisions)
    mean_factors = _cholesky_factors(covariances_of_mean)[cells]
    means = centres[cells] + _multiply(mean_factors, normals[:, 0])
    means = means[:, np.newaxis]
    # True values of models, given means and covariance, and what was observed.
    true_covariances = covariances[cells][:, np.newaxis]
    gains = true_covariances @ precisions[cells]
    truths = means + _multiply(gains, observed - means)
    remaining = true_covariances - gains @ true_covariances
    remaining_factors = _cholesky_factors(remaining)
    truths += _multiply(remaining_factors, normals[:, 1:])
    return np.where(errors == 0, observed, truths)


def _covariance_grid() -> Floats:
    """Build the covariances of true values and rates that are tried: (n_cells, 2, 2).

    A cell is a standard deviation of each and a correlation.
    """
    grid = np.array([*product(DEVIATIONS, DEVIATIONS, CORRELATIONS)])
    value_deviation, rate_deviation, correlation = grid.T
    value_variance = value_deviation**2
    rate_variance = rate_deviation**2
    covariance = value_deviation * rate_deviation * correlation
    matrices = np.array([[value_variance, covariance], [covariance, rate_variance]])
    return matrices.transpose(2, 0, 1)


def _multiply(matrices: Floats, vectors: Floats) -> Floats:
    """Multiply matrices (..., 2, 2) with vectors (..., 2)."""
    products = matrices @ vectors[..., np.newaxis]
    return np.asarray(products[..., 0])


def _log_likelihoods(
    observed: Floats, precisions: Floats, weighted: Floats, centres: Floats
) -> Floats:
    """Compute the log likelihoods of covariances, (n_cells,), over means that are all as likely.

    Each is up to a constant: the normal likelihood of the observed values, integrated over the mean
    of all models. Observed values are of shape (n_models, 2), precisions (inverse covariances) of
    models of (n_cells, n_models, 2, 2), their products with the values (``weighted``) of (n_cells,
    n_models, 2), and most likely means (``centres``) of (n_cells, 2).
    """
    _, log_determinants = np.linalg.slogdet(precisions)
    _, log_determinant_of_mean = np.linalg.slogdet(precisions.sum(axis=1))
    squares = (weighted * observed).sum(axis=(1, 2))
    squares_of_mean = (weighted.sum(axis=1) * centres).sum(axis=1)
    misfit = squares - squares_of_mean
    log_determinant = log_determinants.sum(axis=1) - log_determinant_of_mean
    return np.asarray(0.5 * (log_determinant - misfit))


def _draw_cells(log_likelihoods: Floats) -> Numbers:
    """Draw cells in proportion to their likelihood: their numbers, rising, of shape (DRAWS,).

    Draws are not random but evenly spaced quantiles. Log likelihoods are of shape (n_cells,).
    """
    weights = np.exp(log_likelihoods - log_likelihoods.max())
    cumulated = np.cumsum(weights / weights.sum())
    quantiles = (np.arange(DRAWS) + 0.5) / DRAWS
    cells = np.searchsorted(cumulated, quantiles)
    return np.minimum(cells, len(weights) - 1)


def _draw_normals(n_models: int, *, seed: int) -> Floats:
    """Draw standard normal numbers for the mean, then each model: (DRAWS, n_models + 1, 2).

    There are 2,000 draws. All are finite. The seed keys the stream; measures share it.
    """
    from scipy.special import ndtri

    shape = (DRAWS, n_models + 1, 2)
    n_numbers = DRAWS * (n_models + 1) * 2
    uniforms = random_uniforms(np.arange(n_numbers), seed, "true values")
    # The normal quantile of 0 would be infinite.
    positive = np.clip(uniforms, 2.0**-54, None)
    return np.asarray(ndtri(positive)).reshape(shape)


def _cholesky_factors(covariances: Floats) -> Floats:
    """Compute lower Cholesky factors of covariances of two numbers, both of shape (..., 2, 2).

    A first variance up to 1e-12 is taken as 0, and so is a second one that rounding makes negative.
    """
    factors = np.zeros_like(covariances)
    first_variance = covariances[..., 0, 0]
    covariance = covariances[..., 1, 0]
    second_variance = covariances[..., 1, 1]
    # Of what is known there is no variance, but for rounding.
    varies = first_variance > 1e-12
    factors[..., 0, 0] = np.sqrt(np.where(varies, first_variance, 0.0))
    first_factor = factors[..., 0, 0]
    # It stays 0 where the first number does not vary.
    np.divide(covariance, first_factor, out=factors[..., 1, 0], where=varies)
    remaining = second_variance - factors[..., 1, 0] ** 2
    factors[..., 1, 1] = np.sqrt(np.maximum(remaining, 0.0))
    return factors
