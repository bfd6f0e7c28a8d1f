"""How large differences are: effects, their intervals, variance components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.families import VarianceSource, half_widths_from
from analyses.shared.limits import Limits
from analyses.shared.scores import RunDeviations
from analyses.significance.paired_tests import (
    exponents,
    for_all_pairs,
    in_steps,
    means_and_deviations,
    normalised,
)
from analyses.significance.permutation import ROUNDING, pair_indices
from runs.shared.arrays import Floats, mean_in_order


@dataclass(frozen=True, eq=False)
class Effects:
    """Sizes of the differences d = x_i - x_j of all pairs; arrays are (n_measures, n_pairs).

    Parameters
    ----------
    differences
        Mean of d.
    lower, upper
        Limits of the two-sided confidence interval of the mean difference in the population of
        users, by Student's t, which covers approximately; NaN for a single user. Where runs
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

    differences: Floats
    lower: Floats
    upper: Floats
    relative: Floats
    standardised: Floats
    better: Floats
    worse: Floats
    equal: Floats


def effects(scores: Floats, *, level: float = 0.95, runs: RunDeviations | None = None) -> Effects:
    """Measure the difference between the systems of every pair, for every measure."""
    columns = for_all_pairs(normalised(scores), _columns_of_rows)
    means, deviations, better, worse, equal = np.moveaxis(columns, 2, 0)
    powers = exponents(scores)[:, :, 0]
    differences, spreads = np.ldexp(means, powers), np.ldexp(deviations, powers)
    (first, second), n_users = pair_indices(scores.shape[1]), scores.shape[2]
    sources: list[VarianceSource] = [(spreads**2 / n_users, n_users - 1)]
    if runs is not None:
        of_runs, freedom = runs.variances()
        sources += [(of_runs[:, side], freedom[side]) for side in (first, second)]
    reaches = half_widths_from(sources, level=level)
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = np.where((means == 0) & (deviations == 0), 0.0, means / deviations)
    return Effects(
        differences=differences,
        lower=differences - reaches,
        upper=differences + reaches,
        relative=ratio_or_nan(differences, np.abs(mean_in_order(scores))[:, second]),
        standardised=standardised,
        better=better,
        worse=worse,
        equal=equal,
    )


def mean_limits(scores: Floats, *, level: float, runs: RunDeviations | None = None) -> Limits:
    """Give the confidence limits of the systems' means over users, or over users and runs.

    Scores are of shape (n_measures, n_systems, n_users); limits of (n_measures, n_systems), by
    Student's t or, with several runs of a system, by Welch's approximation.
    """
    means = mean_in_order(scores)
    n_users = scores.shape[2]
    deviations = scores.std(axis=2, ddof=1) if n_users > 1 else np.full(means.shape, np.nan)
    sources: list[VarianceSource] = [(deviations**2 / n_users, n_users - 1)]
    if runs is not None:
        sources.append(runs.variances())
    reaches = half_widths_from(sources, level=level)
    return means - reaches, means + reaches


def _columns_of_rows(differences: Floats) -> Floats:
    """Mean, deviation, and shares of users above, below and at 0, of shape (n_rows, 5)."""
    steps, n_users = in_steps(differences), differences.shape[1]
    sides = (steps > 0, steps < 0, steps == 0)
    shares = [np.count_nonzero(side, axis=1) / n_users for side in sides]
    return np.stack([*means_and_deviations(differences), *shares], axis=1)


@dataclass(frozen=True, eq=False)
class Components:
    r"""Variance components of the users x systems tables, and how reliable means are.

    Systems and users are taken as samples of many; arrays are of shape (n_measures,).

    Parameters
    ----------
    systems, users, interaction
        Variances of score = mean + system + user + interaction, of which the last has all that is
        left; estimates below 0 are 0.
    relative
        :math:`E\rho^2 = \sigma_s^2 / (\sigma_s^2 + \sigma_e^2 / n)`: how reliable the differences
        between systems are.
    relative_low, relative_high
        Limits of its 95 % interval (Feldt 1965), exact for normal scores.
    absolute
        :math:`\Phi = \sigma_s^2 / (\sigma_s^2 + (\sigma_u^2 + \sigma_e^2) / n)`: how reliable the
        means themselves are.
    """

    systems: Floats
    users: Floats
    interaction: Floats
    relative: Floats
    relative_low: Floats
    relative_high: Floats
    absolute: Floats

    def users_for(self, reliability: float) -> tuple[Floats, Floats]:
        r"""Give the users that make :math:`E\rho^2` and :math:`\Phi` so high; infinite if none."""
        odds = reliability / (1 - reliability)
        noises = self.interaction, self.users + self.interaction
        # Whole users, one at least; what is a rounding error above one is that.
        needed = [np.ceil(odds * _ratio(noise, self.systems) - 1e-9) for noise in noises]
        first, second = np.where(self.systems > 0, np.maximum(needed, 1.0), np.inf)
        return first, second

    @property
    def shares(self) -> Floats:
        """Of the whole variance: systems, users, interaction, (n_measures, 3)."""
        parts = np.stack([self.systems, self.users, self.interaction], axis=1)
        return np.asarray(_ratio(parts, parts.sum(axis=1, keepdims=True)))


def variance_components(values: Floats, *, level: float = 0.95) -> Components:
    """Take scores (n_measures, n_systems, n_users) apart by the analysis of variance.

    There are two systems and two users at least.

    Brennan (2001), Generalizability Theory; Urbano, Marrero & Martín (2013), On the measurement of
    test collection reliability; Feldt (1965), The approximate sampling distribution of
    Kuder-Richardson reliability coefficient twenty.
    """
    _, n_systems, n_users = values.shape
    by_system, by_user = values.mean(axis=2), values.mean(axis=1)
    whole = values.mean(axis=(1, 2), keepdims=True)
    left = values - by_system[:, :, None] - by_user[:, None, :] + whole
    freedom = n_systems - 1, (n_systems - 1) * (n_users - 1)
    least = n_users * n_systems * (ROUNDING * np.abs(values).max(axis=(1, 2))) ** 2
    of_systems, of_users, noise = (
        np.where(squares > least, squares, 0.0)
        for squares in (
            n_users * by_system.var(axis=1, ddof=1),
            n_systems * by_user.var(axis=1, ddof=1),
            (left**2).sum(axis=(1, 2)) / freedom[1],
        )
    )
    systems = np.maximum(of_systems - noise, 0.0) / n_users
    users = np.maximum(of_users - noise, 0.0) / n_systems
    tails = (1 + level) / 2, (1 - level) / 2
    low, high = (1 - fdtri(*freedom, tail) * _ratio(noise, of_systems) for tail in tails)
    return Components(
        systems=systems,
        users=users,
        interaction=noise,
        relative=_ratio(systems, systems + noise / n_users),
        relative_low=np.maximum(low, 0.0),
        relative_high=np.maximum(high, 0.0),
        absolute=_ratio(systems, systems + (users + noise) / n_users),
    )


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide; by nothing, what is positive gives infinity, and nothing is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)
