"""How large the differences between systems are, beside how sure they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analyses.shared.measure import RunDeviations
from analyses.significance.paired.confidence_intervals import Limits, t_limits
from analyses.significance.paired.user_differences import (
    exponents,
    for_all_pairs,
    in_steps,
    means_and_deviations,
    normalised,
)
from analyses.significance.permutation.pairs import pair_indices
from runs import InputError


@dataclass(frozen=True, eq=False)
class Effects:
    """Sizes of the differences d = x_i - x_j of all pairs; arrays are (n_measures, n_pairs).

    Parameters
    ----------
    differences
        Mean of d.
    lower, upper
        Limits of the two-sided confidence interval of the mean difference in the population of
        users, by :func:`t_intervals`, which covers approximately; NaN for a single user. Where runs
        of the systems are given, in the population of users and runs, by Welch's approximation.
    relative
        Mean of d as a share of the absolute mean of system j; NaN where that mean is 0.
    standardised
        d_z, the mean of d divided by its standard deviation (Cohen 1988, section 2.3.5): 0 where
        means are equal, infinite where all users differ by the same; NaN for a single user.
    better, worse, equal
        Shares of the users whom system i serves better, worse and as well as j; differences
        below about 12 decimals are none.
    """

    differences: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    relative: NDArray[np.float64]
    standardised: NDArray[np.float64]
    better: NDArray[np.float64]
    worse: NDArray[np.float64]
    equal: NDArray[np.float64]


def effects(
    scores: NDArray[np.float64], *, level: float = 0.95, runs: RunDeviations | None = None
) -> Effects:
    """Measure the difference between the systems of every pair, for every measure."""
    if not 0 < level < 1:
        raise InputError(f"`level` must lie between 0 and 1, got {level}.")
    columns = for_all_pairs(normalised(scores), _columns_of_rows)
    means, deviations, better, worse, equal = np.moveaxis(columns, 2, 0)
    powers = exponents(scores)[:, :, 0]
    differences, spreads = np.ldexp(means, powers), np.ldexp(deviations, powers)
    n_users = scores.shape[2]
    if runs is None:
        lower, upper = t_limits(differences, spreads, n_users=n_users, level=level)
    else:
        lower, upper = _welch_limits(differences, spreads, runs, n_users=n_users, level=level)
    return Effects(
        differences=differences,
        lower=lower,
        upper=upper,
        relative=_relative(differences, scores),
        standardised=_standardised(means, deviations),
        better=better,
        worse=worse,
        equal=equal,
    )


def _welch_limits(
    differences: NDArray[np.float64],
    spreads: NDArray[np.float64],
    runs: RunDeviations,
    *,
    n_users: int,
    level: float,
) -> Limits:
    """Give limits by the variances over users and over the runs of both systems, added.

    Degrees of freedom are those of Welch (1947), The generalization of "Student's" problem when
    several different population variances are involved, equation 28.
    """
    of_runs, freedom = runs.variances()
    first, second = pair_indices(len(freedom))
    variances = np.stack([spreads**2 / n_users, of_runs[:, first], of_runs[:, second]])
    shape = (1, len(first))
    every = np.stack([np.full(shape, n_users - 1), freedom[first][None], freedom[second][None]])
    total = variances.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(variances > 0, variances**2 / every, 0.0).sum(axis=0)
        quantiles = np.where(total > 0, stdtrit(total**2 / parts, (1 + level) / 2), 0.0)
    reaches = quantiles * np.sqrt(total)
    return differences - reaches, differences + reaches


def _columns_of_rows(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean, deviation, and shares of users above, below and at 0, of shape (n_rows, 5)."""
    steps, n_users = in_steps(differences), differences.shape[1]
    sides = (steps > 0, steps < 0, steps == 0)
    shares = [np.count_nonzero(side, axis=1) / n_users for side in sides]
    return np.stack([*means_and_deviations(differences), *shares], axis=1)


def _standardised(
    means: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((means == 0) & (deviations == 0), 0.0, means / deviations)


def _relative(differences: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    _, second = pair_indices(scores.shape[1])
    baselines = np.abs(scores.mean(axis=2))[:, second]
    missing = np.full(differences.shape, np.nan)
    return np.divide(differences, baselines, out=missing, where=baselines > 0)
