"""True means and differences by prediction-powered inference: few true scores, many measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.families import CONFIDENCE, VarianceSource, half_widths_from
from analyses.shared.limits import Limits
from analyses.shared.measure import Measure, Measures
from analyses.significance.effects import effects, mean_limits
from analyses.significance.paired_tests import for_all_pairs
from analyses.significance.permutation import pair_indices
from analyses.validity.comparison import Comparison
from runs.shared.arrays import Floats, Masks, Numbers

MIN_SHARED_USERS = 20
"""Users with measured and true scores from which these are related: docs/methods/validity.md."""


@dataclass(frozen=True, eq=False)
class TrueValues:
    """True means of systems, or true differences of pairs, with 95 % limits.

    Arrays have the shape (n_measures, n_systems) or (n_measures, n_pairs). Limits are over users,
    and over runs of the systems where there are several.

    Parameters
    ----------
    values, low, high
        By the users of the truth alone, with Student's intervals.
    powered, powered_low, powered_high
        By prediction-powered inference.
    lambdas
        Factors of the measured scores in it; 0 where these do not vary.
    """

    values: Floats
    low: Floats
    high: Floats
    powered: Floats
    powered_low: Floats
    powered_high: Floats
    lambdas: Floats

    def columns(self) -> dict[str, Floats]:
        """Collect the columns of a frame."""
        return {
            "true": self.values,
            "low": self.low,
            "high": self.high,
            "powered": self.powered,
            "powered_low": self.powered_low,
            "powered_high": self.powered_high,
            "lambda": self.lambdas,
        }

    def relative_widths(self, measure: int) -> Floats:
        """Divide the widths of prediction-powered intervals by those of the truth alone.

        By the measure at a position; of shape (n_systems,) or (n_pairs,), NaN where the latter
        are 0.
        """
        powered_widths = self.powered_high[measure] - self.powered_low[measure]
        widths = self.high[measure] - self.low[measure]
        return ratio_or_nan(powered_widths, widths)

    def has_sign(self, measure: int) -> tuple[Masks, Masks]:
        """Mark the values whose interval excludes 0: by the truth alone, and prediction-powered.

        By the measure at a position; each of shape (n_systems,) or (n_pairs,).
        """
        has_true_sign = (self.low[measure] > 0) | (self.high[measure] < 0)
        has_powered_sign = (self.powered_low[measure] > 0) | (self.powered_high[measure] < 0)
        return has_true_sign, has_powered_sign


@dataclass(frozen=True, eq=False)
class PredictionPowered:
    """True scores of all users, estimated from the true scores of few and the measured ones of all.

    Parameters
    ----------
    measures
        Labels of the first axis: measures with true and measured scores. First stand references of
        the truth.
    means, differences
        Of the systems, and of all pairs i < j of them, first by i, then by j.
    n_unjudged
        Number of users who have measured scores alone.
    """

    measures: Measures
    means: TrueValues
    differences: TrueValues
    n_unjudged: int


def prediction_powered(
    comparison: Comparison, references: Sequence[Measure]
) -> PredictionPowered | None:
    r"""Estimate true means and differences with the help of the users without a truth.

    With the true scores t of n users, their measured scores x, and x of N further users,

    .. math:: \hat\theta = \bar t_n + \lambda (\bar x_N - \bar x_n), \qquad
              \lambda = \frac{\mathrm{cov}(t, x)}{(1 + n / N)\, \mathrm{var}(x)}, \qquad
              \frac{\mathrm{var}(\hat\theta)}{\mathrm{var}(\bar t_n)} =
              1 - \rho^2 \frac{N}{N + n} .

    Scores are of the same measure on both sides, of a system or, for differences, of two; each has
    a lambda of its own. Users of the truth who have no measured scores count in the mean of t,
    which makes lambda, and the last term, smaller by the share of the others among them.

    The variance is estimated as that of a regression estimator: with the adjusted
    :math:`\rho^2`, n - 2 degrees of freedom, and the variance of lambda.

    Parameters
    ----------
    comparison
        Measured and true scores; users are matched by their ids.
    references
        The references of the truth.

    Returns
    -------
    Estimates by the references that are measured, and by the report measures. None if all users of
    the study have true scores, or fewer than 20 have both.

    References
    ----------
    Angelopoulos et al. (2023), Prediction-powered inference, Science 382; Angelopoulos, Duchi &
    Zrnic (2023), PPI++: efficient prediction-powered inference; Cochran (1977), Sampling
    techniques, chapter 12.
    """
    all_measures = comparison.measured.measures
    measured_references = [measure for measure in references if measure in all_measures]
    measures = Measures(dict.fromkeys([*measured_references, *all_measures.reported]))
    measured = comparison.measured.select(measures)
    true = comparison.true.select(measures)
    _, true_columns, measured_columns = np.intersect1d(
        true.users, measured.users, assume_unique=True, return_indices=True
    )
    n_true = len(true.users)
    n_shared = len(true_columns)
    n_unjudged = len(measured.users) - n_shared
    if n_unjudged == 0 or n_shared < MIN_SHARED_USERS:
        return None
    # Of shape (n_measures, n_systems, n_true_users + n_users).
    joint_scores = np.concatenate([true.weighted_values, measured.weighted_values], axis=2)
    relate = partial(
        _relate, n_true=n_true, true_columns=true_columns, measured_columns=measured_columns
    )
    relations_of_systems = np.stack([relate(scores) for scores in joint_scores])
    relations_of_pairs = for_all_pairs(joint_scores, relate)
    run_sources: list[VarianceSource] = []
    run_sources_of_pairs: list[VarianceSource] = []
    if true.runs is not None:
        run_variances, degrees_of_freedom = true.runs.variances()
        run_sources.append((run_variances, degrees_of_freedom))
        for side in pair_indices(len(true.systems)):
            run_sources_of_pairs.append((run_variances[:, side], degrees_of_freedom[side]))
    of_truth = effects(true.weighted_values, level=CONFIDENCE, runs=true.runs)
    means = _true_values(
        true.mean_values(),
        mean_limits(true.weighted_values, level=CONFIDENCE, runs=true.runs),
        relations_of_systems,
        run_sources,
        degrees_of_freedom=n_shared - 2,
    )
    differences = _true_values(
        of_truth.differences,
        (of_truth.lower, of_truth.upper),
        relations_of_pairs,
        run_sources_of_pairs,
        degrees_of_freedom=n_shared - 2,
    )
    return PredictionPowered(measures, means, differences, n_unjudged)


def _true_values(
    values: Floats,
    limits: Limits,
    relations: Floats,
    run_sources: list[VarianceSource],
    *,
    degrees_of_freedom: int,
) -> TrueValues:
    """Correct true values, and compute the limits of the corrected ones.

    Values and their limits by the truth alone have the shape (n_measures, n_values), relations,
    which are those of `_relate`, (n_measures, n_values, 3). Variances over runs are added to those
    over users, which have ``degrees_of_freedom``.
    """
    corrections, variances, lambdas = np.moveaxis(relations, 2, 0)
    powered = values + corrections
    sources: list[VarianceSource] = [(variances, degrees_of_freedom), *run_sources]
    half_widths = half_widths_from(sources, level=CONFIDENCE)
    low, high = limits
    return TrueValues(
        values=values,
        low=low,
        high=high,
        powered=powered,
        powered_low=powered - half_widths,
        powered_high=powered + half_widths,
        lambdas=lambdas,
    )


def _relate(
    rows: Floats, *, n_true: int, true_columns: Numbers, measured_columns: Numbers
) -> Floats:
    """Relate true to measured scores, and predict how far the mean of the true ones is off.

    Parameters
    ----------
    rows
        True scores of the users of the truth, followed by the measured ones of the users of the
        study, or differences of both, of shape (n_rows, n_true + n_users). Measured scores tie to
        12 decimals (`DECIMALS`).
    n_true
        Number of users of the truth.
    true_columns, measured_columns
        Positions of the users who have both, among those of the truth and among those of the study,
        of shape (n_shared,).

    Returns
    -------
    What is added to the mean of the true scores, the variance of the sum, and lambda, of shape
    (n_rows, 3).
    """
    true = rows[:, :n_true]
    measured = rows[:, n_true:]
    shared_true = true[:, true_columns]
    shared_measured = measured[:, measured_columns]
    n_shared = len(true_columns)
    share_unjudged = 1 - n_shared / measured.shape[1]
    share_measured = n_shared / n_true
    true_deviations = shared_true - shared_true.mean(axis=1, keepdims=True)
    measured_deviations = shared_measured - shared_measured.mean(axis=1, keepdims=True)
    measured_deviations = measured_deviations.round(DECIMALS)
    products = (true_deviations * measured_deviations).sum(axis=1)
    measured_squares = (measured_deviations**2).sum(axis=1)
    true_squares = (true_deviations**2).sum(axis=1)
    slopes = _ratio_or_zero(products, measured_squares)
    residual_squares = np.maximum(true_squares - slopes * products, 0.0)
    residual_variances = residual_squares / (n_shared - 2)
    true_variances = true_squares / (n_shared - 1)
    # The adjusted square of the correlation: 0 where measured scores do not vary.
    explained = _ratio_or_zero(true_variances - residual_variances, true_variances)
    explained = np.where(measured_squares > 0, explained, 0.0)
    shifts = measured.mean(axis=1) - shared_measured.mean(axis=1)
    factors = share_measured * slopes
    variances = true.var(axis=1, ddof=1) / n_true
    variances *= 1 - explained * share_unjudged * share_measured
    # Slopes are estimated.
    variances += _ratio_or_zero(
        residual_variances * (share_measured * shifts) ** 2, measured_squares
    )
    return np.stack([factors * shifts, variances, factors * share_unjudged], axis=1)


def _ratio_or_zero(numerators: Floats, denominators: Floats) -> Floats:
    """Divide, with 0 where the denominator is 0; all of one shape."""
    zeros = np.zeros(numerators.shape)
    return np.divide(numerators, denominators, out=zeros, where=denominators > 0)
