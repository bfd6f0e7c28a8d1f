"""How large differences are: effects, their intervals, variance components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.families import VarianceSource, half_widths_from
from analyses.shared.limits import Limits
from analyses.shared.scores import RunDeviations
from analyses.significance.paired_tests import (
    exponents,
    for_all_pairs,
    means_and_deviations,
    normalised,
    rounded_steps,
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
    """Measure the difference between the systems of every pair, for every measure.

    Scores are of shape (n_measures, n_systems, n_users), at least two systems; ``level`` is the
    confidence level of the intervals, and ``runs`` the deviations of single runs of the systems,
    which widen them. Arrays of the result are of shape (n_measures, n_pairs). Intervals and
    standardised effects are NaN for a single user, relative
    differences where the mean of the second system is 0.
    """
    # Scores are scaled by powers of two, so that their squares neither overflow nor vanish.
    normalised_scores = normalised(scores)
    # Five statistics of each pair: of shape (n_measures, n_pairs, 5).
    columns = for_all_pairs(normalised_scores, _statistics_of_rows)
    means, deviations, better, worse, equal = np.moveaxis(columns, 2, 0)
    powers = exponents(scores)[:, :, 0]
    differences = np.ldexp(means, powers)
    standard_deviations = np.ldexp(deviations, powers)
    n_users = scores.shape[2]
    first, second = pair_indices(scores.shape[1])
    variances_of_means = standard_deviations**2 / n_users
    # Every source of variance is a variance of means with its degrees of freedom.
    sources: list[VarianceSource] = [(variances_of_means, n_users - 1)]
    if runs is not None:
        # Of the mean of each system, (n_measures, n_systems), and (n_systems,).
        run_variances, degrees_of_freedom = runs.variances()
        for side in (first, second):
            sources.append((run_variances[:, side], degrees_of_freedom[side]))
    half_widths = half_widths_from(sources, level=level)
    lower = differences - half_widths
    upper = differences + half_widths
    is_without_effect = (means == 0) & (deviations == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = np.where(is_without_effect, 0.0, means / deviations)
    means_of_systems = mean_in_order(scores)
    second_means = means_of_systems[:, second]
    relative = ratio_or_nan(differences, np.abs(second_means))
    return Effects(
        differences=differences,
        lower=lower,
        upper=upper,
        relative=relative,
        standardised=standardised,
        better=better,
        worse=worse,
        equal=equal,
    )


def mean_limits(scores: Floats, *, level: float, runs: RunDeviations | None = None) -> Limits:
    """Compute the confidence limits of the systems' means over users, or over users and runs.

    Scores are of shape (n_measures, n_systems, n_users); lower and upper limits of (n_measures,
    n_systems), by Student's t or, with several runs of a system, by Welch's approximation. NaN for
    a single user.
    """
    means = mean_in_order(scores)
    n_users = scores.shape[2]
    deviations = np.full(means.shape, np.nan)
    if n_users > 1:
        deviations = scores.std(axis=2, ddof=1)
    variances_of_means = deviations**2 / n_users
    # Every source of variance is a variance of means with its degrees of freedom.
    sources: list[VarianceSource] = [(variances_of_means, n_users - 1)]
    if runs is not None:
        run_source = runs.variances()
        sources.append(run_source)
    half_widths = half_widths_from(sources, level=level)
    lower = means - half_widths
    upper = means + half_widths
    return lower, upper


def _statistics_of_rows(differences: Floats) -> Floats:
    """Compute five columns from differences of normalised scores (n_rows, n_users).

    They are mean, standard deviation, and shares of users above, below and at 0, as an array of
    shape (n_rows, 5). Differences below about 12 decimals are 0; the deviation of a single user is
    NaN.
    """
    n_users = differences.shape[1]
    steps = rounded_steps(differences)
    means, deviations = means_and_deviations(differences)
    n_better = np.count_nonzero(steps > 0, axis=1)
    n_worse = np.count_nonzero(steps < 0, axis=1)
    n_equal = np.count_nonzero(steps == 0, axis=1)
    better = n_better / n_users
    worse = n_worse / n_users
    equal = n_equal / n_users
    return np.stack([means, deviations, better, worse, equal], axis=1)


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

    def required_users(self, reliability: float) -> tuple[Floats, Floats]:
        r"""Compute how many users make :math:`E\rho^2`, and :math:`\Phi`, as high as this.

        Both are whole numbers of at least 1, of shape (n_measures,); infinite where systems do not
        vary.
        """
        absolute_noise = self.users + self.interaction
        for_relative = self._required_users(self.interaction, reliability)
        for_absolute = self._required_users(absolute_noise, reliability)
        return for_relative, for_absolute

    def _required_users(self, noise: Floats, reliability: float) -> Floats:
        """Compute the fewest users for a reliability r: r / (1 - r) * noise / variance of systems.

        ``noise`` is the variance of a single user's score, which a mean over n users divides by n.
        It and the result have the shape (n_measures,). Infinite where systems do not vary.
        """
        odds = reliability / (1 - reliability)
        fractional_users = odds * _ratio(noise, self.systems)
        # Whole users, one at least; a rounding error above a whole number does not count.
        n_users = np.ceil(fractional_users - 1e-9)
        n_users = np.maximum(n_users, 1.0)
        return np.where(self.systems > 0, n_users, np.inf)

    @property
    def shares(self) -> Floats:
        """Shares of systems, users and interaction in the total variance, (n_measures, 3)."""
        variances = np.stack([self.systems, self.users, self.interaction], axis=1)
        total = variances.sum(axis=1, keepdims=True)
        return np.asarray(_ratio(variances, total))


def variance_components(values: Floats, *, level: float = 0.95) -> Components:
    """Split the variance of scores into those of systems, users and their interaction.

    By the analysis of variance, for each measure, from scores of shape (n_measures, n_systems,
    n_users) with at least two systems and two users. ``level`` is the confidence level of the
    interval of the relative reliability. Arrays of the result are of shape (n_measures,). Variances
    below 0 are 0; reliabilities are NaN where nothing varies.

    Brennan (2001), Generalizability Theory; Urbano, Marrero & Martín (2013), On the measurement of
    test collection reliability; Feldt (1965), The approximate sampling distribution of
    Kuder-Richardson reliability coefficient twenty.
    """
    _, n_systems, n_users = values.shape
    by_system = values.mean(axis=2)
    by_user = values.mean(axis=1)
    grand_mean = values.mean(axis=(1, 2), keepdims=True)
    without_systems = values - by_system[:, :, None]
    residuals = without_systems - by_user[:, None, :] + grand_mean
    system_df = n_systems - 1
    residual_df = (n_systems - 1) * (n_users - 1)
    # Mean squares that can be rounding alone are set to 0.
    rounding = ROUNDING * np.abs(values).max(axis=(1, 2))
    threshold = n_users * n_systems * rounding**2
    system_squares = _above(threshold, n_users * by_system.var(axis=1, ddof=1))
    user_squares = _above(threshold, n_systems * by_user.var(axis=1, ddof=1))
    sum_of_squares = (residuals**2).sum(axis=(1, 2))
    noise = _above(threshold, sum_of_squares / residual_df)
    systems = np.maximum(system_squares - noise, 0.0) / n_users
    users = np.maximum(user_squares - noise, 0.0) / n_systems
    noise_ratio = _ratio(noise, system_squares)
    upper_quantile = scipy.special.fdtri(system_df, residual_df, (1 + level) / 2)
    lower_quantile = scipy.special.fdtri(system_df, residual_df, (1 - level) / 2)
    relative_low = np.maximum(1 - upper_quantile * noise_ratio, 0.0)
    relative_high = np.maximum(1 - lower_quantile * noise_ratio, 0.0)
    relative_variance = systems + noise / n_users
    absolute_variance = systems + (users + noise) / n_users
    relative = _ratio(systems, relative_variance)
    absolute = _ratio(systems, absolute_variance)
    return Components(
        systems=systems,
        users=users,
        interaction=noise,
        relative=relative,
        relative_low=relative_low,
        relative_high=relative_high,
        absolute=absolute,
    )


def _above(threshold: Floats, squares: Floats) -> Floats:
    """Set mean squares to 0 where they are not above the threshold; both (n_measures,)."""
    return np.where(squares > threshold, squares, 0.0)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide arrays; by 0, a positive number gives infinity, and 0 gives NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator)
