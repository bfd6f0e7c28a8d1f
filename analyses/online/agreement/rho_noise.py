"""What noise does to a rank correlation: its interval, reliabilities, attenuation, what limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.wording import print_rho
from analyses.online.tables.experiment import Experiment
from analyses.ordering import spearman
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

SPREADS: Final = np.linspace(0.1, 2.2, 12)
"""Standard deviations of what is true, in those of what was observed."""

CORRELATIONS: Final = np.sin(np.linspace(-1.55, 1.55, 31))
"""Dense towards the ends: their angles are as likely, a priori."""
DRAWS: Final = 2000
FEWEST_MODELS: Final = 4


@dataclass(frozen=True, eq=False)
class RhoNoise:
    """Rhos of some measures with the rates of one experiment, and what noise does to them.

    Of each measure: rho as observed, the 95 % interval of the rho that values and rates without
    noise would have, of these models, the standard deviation of what lies in it, and the
    reliability, the share of the models' variance that is not noise; that of the rates, too.
    """

    experiment: str
    n_models: int
    measures: tuple[str, ...]
    rhos: Floats
    low: Floats
    high: Floats
    deviations: Floats
    of_values: Floats
    of_rates: float

    @property
    def corrected(self) -> Floats:
        r"""Rho without attenuation, :math:`\rho / \sqrt{r_x r_y}` (Spearman 1904), at most 1."""
        reach = np.sqrt(self.of_values * self.of_rates)
        missing = np.full(len(self.rhos), np.nan)
        return np.clip(np.divide(self.rhos, reach, out=missing, where=reach > 0), -1, 1)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure.

        Columns measure, experiment, rho, low, high, corrected, deviation, reliability_of_values and
        reliability_of_rates.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "measure": self.measures,
                "experiment": self.experiment,
                "rho": self.rhos,
                "low": self.low,
                "high": self.high,
                "corrected": self.corrected,
                "deviation": self.deviations,
                "reliability_of_values": self.of_values,
                "reliability_of_rates": self.of_rates,
            }
        )

    def finding(self) -> str:
        """Say of the first measure what noise does to it, and what limits."""
        by_noise, by_models = float(self.deviations[0]), 1 / np.sqrt(self.n_models - 1)
        limit, other = ("noise", "the number of models")[:: 1 if by_noise > by_models else -1]
        ends = f"[{print_rho(self.low[0])}, {print_rho(self.high[0])}]"
        return (
            f"{self.measures[0]} has rho {print_rho(self.rhos[0])} {ends} if the noise of clicks "
            f"and values counts, {print_rho(self.corrected[0])} without attenuation; the rates "
            f"have a reliability of {self.of_rates:.2f}, so that a perfect measure would show "
            f"{print_rho(np.sqrt(self.of_rates))}. Noise moves this rho by {by_noise:.2f}, the "
            f"order of {self.n_models} models by {by_models:.2f} (standard deviations): {limit} "
            f"limits more than {other}."
        )


def noise_of(experiment: Experiment, measures: Sequence[int], *, seed: int) -> RhoNoise | None:
    """Say what noise does to the rhos of some measures, by number; None if none is known.

    Raises
    ------
    InputError
        If an error is negative or no number.

    Notes
    -----
    The true values and rates of the models are taken for normal around a mean, with any standard
    deviations and any correlation, as likely a priori (a normal measurement-error model, Fuller
    1987; uniform priors on standard deviations, Gelman 2006, and on the angle of the correlation).
    Given these, what is true is drawn for every model from what was observed and its errors; the
    interval holds the middle 95 % of the rhos of such draws. Where neither side has an error it is
    the rho itself.
    """
    if experiment.rate_errors is None or len(experiment.models) < FEWEST_MODELS:
        return None
    rows = [row for row in measures if np.isfinite(experiment.values[row]).all()]
    rows = [row for row in rows if np.ptp(experiment.values[row]) > 0]
    every = experiment.value_errors
    parts = []
    for row in rows:
        value_errors = np.zeros(len(experiment.models)) if every is None else every[row]
        sides = (experiment.values[row], value_errors), (experiment.rates, experiment.rate_errors)
        parts.append(_of_measure(*sides, seed=seed))
    rhos = spearman(experiment.values[rows], experiment.rates)
    low, high, deviations, reliabilities = np.array(parts).reshape(-1, 4).T
    reliability = _reliability(experiment.rates, experiment.rate_errors)
    return RhoNoise(
        experiment.name,
        len(experiment.models),
        tuple(experiment.measures[row] for row in rows),
        rhos,
        low,
        high,
        deviations,
        reliabilities,
        reliability,
    )


def _reliability(values: Floats, errors: Floats) -> float:
    return max(0.0, float(1 - (errors**2).mean() / values.var(ddof=1)))


def _of_measure(
    values: tuple[Floats, Floats], rates: tuple[Floats, Floats], *, seed: int
) -> tuple[float, float, float, float]:
    """Give the ends of the interval, the deviation, and the reliability of the values."""
    truths = draw_truths(*values, *rates, seed=seed)
    rhos = spearman(truths[..., 0], truths[..., 1])
    rhos = rhos[np.isfinite(rhos)]
    low = np.quantile(rhos, 0.025, method="lower")
    high = np.quantile(rhos, 0.975, method="higher")
    return float(low), float(high), float(rhos.std()), _reliability(*values)


def draw_truths(
    values: Floats, value_errors: Floats, rates: Floats, rate_errors: Floats, *, seed: int
) -> Floats:
    """Draw what is true of the models from what was observed with errors, (DRAWS, n_models, 2)."""
    observed, errors = np.stack([values, rates], 1), np.stack([value_errors, rate_errors], 1)
    scales = observed.std(axis=0, ddof=1)
    observed, errors = (observed - observed.mean(axis=0)) / scales, errors / scales
    grid = np.array([*product(SPREADS, SPREADS, CORRELATIONS)])
    across = np.stack([grid[:, 0] ** 2, grid[:, 1] ** 2, grid.prod(axis=1)], axis=1)
    weights, means, roots = _posterior(across, observed, errors**2)
    luck = _normals(DRAWS, len(observed), seed=seed)
    cells = np.searchsorted(np.cumsum(weights), (np.arange(DRAWS) + 0.5) / DRAWS)
    cells = np.minimum(cells, len(grid) - 1)
    centres = means[cells] + np.einsum("dij,dj->di", roots[cells], luck[:, 0])
    drawn = _given(across[cells], centres, observed, errors**2, luck[:, 1:])
    return np.where(errors == 0, observed, drawn)


def _normals(n: int, n_models: int, *, seed: int) -> Floats:
    """Draw pairs of normal deviates: a pair for the means, and one for each model."""
    from scipy.special import ndtri

    places = np.arange(n * (n_models + 1) * 2)
    luck = np.clip(random_uniforms(places, seed, "true values"), 2.0**-54, None)
    return np.asarray(ndtri(luck)).reshape(n, n_models + 1, 2)


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


def _given(
    across: Floats, centres: Floats, observed: Floats, variances: Floats, luck: Floats
) -> Floats:
    """Draw what is true of models, given means and covariance of all, and what was observed."""
    xx, yy, xy = (across[:, [k]] for k in range(3))
    a, b = xx + variances[:, 0], yy + variances[:, 1]
    det = a * b - xy**2
    dx, dy = (observed[:, k] - centres[:, [k]] for k in range(2))
    ux, uy = (b * dx - xy * dy) / det, (a * dy - xy * dx) / det
    means = centres[:, None] + np.stack([xx * ux + xy * uy, xy * ux + yy * uy], axis=2)
    left = xx - (b * xx**2 - 2 * xy * xx * xy + a * xy**2) / det
    right = yy - (b * xy**2 - 2 * xy * xy * yy + a * yy**2) / det
    both = xy - (b * xx * xy - xy * (xx * yy + xy**2) + a * xy * yy) / det
    return means + np.einsum("...ij,...j->...i", _roots(left, right, both), luck)


def _roots(xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """Give Cholesky roots of covariances of two numbers, of shape (..., 2, 2)."""
    # Of what is known there is no variance, but for rounding.
    varies = xx > 1e-12
    first = np.sqrt(np.where(varies, xx, 0.0))
    below = np.divide(xy, first, out=np.zeros_like(xy), where=varies)
    second = np.sqrt(np.maximum(yy - below**2, 0.0))
    return np.stack([np.stack([first, 0 * first], -1), np.stack([below, second], -1)], -2)
