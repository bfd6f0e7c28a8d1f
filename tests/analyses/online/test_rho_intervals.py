"""Intervals of rho when values and rates are known with errors, by the model that they state."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from analyses.online.experiments import Experiment
from analyses.online.rho_intervals import (
    CORRELATIONS,
    DEVIATIONS,
    DRAWS,
    draw_truths,
    rho_intervals,
)
from tests.analyses.online.examples import experiment

Floats = NDArray[np.float64]


def test_true_values_may_vary_a_tenth_to_22_tenths_as_much_as_those_observed() -> None:
    """Angles of correlations are uniform, from nearly -1 to nearly 1."""
    np.testing.assert_allclose(np.diff(DEVIATIONS), 2.1 / 11)
    assert (DEVIATIONS[0], DEVIATIONS[-1], len(DEVIATIONS)) == (0.1, 2.2, 12)
    angles = np.arcsin(CORRELATIONS)
    np.testing.assert_allclose(np.diff(angles), 3.1 / 30)
    assert (angles[0], angles[-1], len(angles)) == (pytest.approx(-1.55), pytest.approx(1.55), 31)
    assert DRAWS == 2000


def moments(observed: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Means and second moments of true values, by the cells of the grid, one after the other.

    Given standard deviations and a correlation, the covariance C, a model is observed with C + N.
    The mean of all, with a flat prior, is normal around the weighted mean c with the covariance V.
    """
    scales = observed.std(axis=0, ddof=1)
    seen, noise = (observed - observed.mean(axis=0)) / scales, errors / scales
    logs, means, squares = [], [], []
    for x in DEVIATIONS:
        for y in DEVIATIONS:
            for r in CORRELATIONS:
                own = np.array([[x * x, x * y * r], [x * y * r, y * y]])
                wholes = own + np.array([np.diag(each**2) for each in noise])
                inverses = np.linalg.inv(wholes)
                v = np.linalg.inv(inverses.sum(axis=0))
                c = v @ np.einsum("nij,nj->i", inverses, seen)
                gaps = seen - c
                fit = np.einsum("ni,nij,nj->", gaps, inverses, gaps)
                log = np.log(np.linalg.det(wholes)).sum() - np.log(np.linalg.det(v))
                logs.append(-0.5 * (log + fit))
                shrunk = own @ inverses
                mean = c + np.einsum("nij,nj->ni", shrunk, gaps)
                rest = np.eye(2) - shrunk
                spread = own - shrunk @ own + rest @ v @ rest.swapaxes(1, 2)
                means.append(mean)
                squares.append(np.einsum("nii->ni", spread) + mean**2)
    weights = np.exp(np.array(logs) - np.max(logs))
    weights /= weights.sum()
    return np.tensordot(weights, means, 1), np.tensordot(weights, squares, 1)


@pytest.mark.slow
def test_true_values_have_the_moments_of_the_normal_model() -> None:
    """Five models; values have large errors, rates small ones, one of them more."""
    rng = np.random.default_rng(7)
    observed = rng.normal(size=(5, 2)) * [2.0, 0.1] + [5.0, 0.3]
    errors = np.array([[1.5, 0.02]] * 4 + [[3.0, 0.08]])
    truths = draw_truths(observed, errors, seed=1)
    assert truths.shape == (DRAWS, 5, 2)
    means, squares = moments(observed, errors)
    deviations = np.sqrt(squares - means**2)
    # The standard error of a mean of 2,000 draws is .022 of their deviation.
    np.testing.assert_array_less(np.abs(truths.mean(axis=0) - means) / deviations, 0.08)
    np.testing.assert_allclose(truths.std(axis=0), deviations, rtol=0.08)


def test_what_is_known_without_error_is_not_drawn() -> None:
    observed = np.array([[1.0, 4.0], [2.0, 3.0], [4.0, 1.0], [3.0, 2.0]])
    errors = np.array([[0.0, 0.5]] * 4)
    truths = draw_truths(observed, errors, seed=1)
    scaled = (observed[:, 0] - 2.5) / observed[:, 0].std(ddof=1)
    np.testing.assert_allclose(truths[..., 0], np.broadcast_to(scaled, (DRAWS, 4)))
    assert truths[..., 1].std(axis=0).min() > 0.01


def eight_models(**changes: Any) -> Experiment:
    rng = np.random.default_rng(3)
    rates = np.arange(8.0)
    values = np.stack([rates + rng.normal(size=8), np.ones(8), rates * np.nan])
    one = experiment(values, rates)
    return replace(one, rate_errors=np.full(8, 0.5), **changes)


@pytest.mark.slow
def test_an_interval_is_of_the_middle_95_percent_of_rhos_of_draws() -> None:
    """Values without errors are known: rho is of the rates that are drawn."""
    one = eight_models()
    low, high = rho_intervals(one, ["M0"], seed=1)[:, 0]
    observed = np.stack([one.values[0], one.rates], axis=1)
    errors = np.stack([np.zeros(8), np.full(8, 0.5)], axis=1)
    truths = draw_truths(observed, errors, seed=1)
    rhos = sorted(spearmanr(*truth.T).statistic for truth in truths)
    # Of 2,000 draws, the ranks .025 and .975 are those from 50 and 1,950 on.
    assert low == pytest.approx(rhos[49])
    assert high == pytest.approx(rhos[1950])


def test_measures_have_their_errors_and_their_places() -> None:
    errors = np.zeros((3, 8))
    errors[0] = 3.0
    values = eight_models().values.copy()
    values[1] = values[0]
    one = eight_models(values=values, value_errors=errors)
    ends = rho_intervals(one, ["M2", "M1", "M0"], seed=1)
    assert np.isnan(ends[:, 0]).all()
    plain = rho_intervals(eight_models(), ["M0"], seed=1)[:, 0]
    assert ends[:, 1].tolist() == plain.tolist()
    assert ends[0, 2] < plain[0]


def test_without_errors_of_rates_or_four_models_or_a_rho_nothing_is_known() -> None:
    assert np.isnan(rho_intervals(eight_models(), ["M1", "M2"], seed=1)).all()
    unknown = replace(eight_models(), rate_errors=None)
    assert np.isnan(rho_intervals(unknown, ["M0"], seed=1)).all()
    four = replace(experiment([[1, 3, 2, 4]], [1, 2, 3, 4]), rate_errors=np.full(4, 0.1))
    assert np.isfinite(rho_intervals(four, ["M0"], seed=1)).all()
    three = replace(experiment([[1, 3, 2]], [1, 2, 3]), rate_errors=np.full(3, 0.1))
    assert np.isnan(rho_intervals(three, ["M0"], seed=1)).all()
