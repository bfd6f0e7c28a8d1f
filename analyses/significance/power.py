"""Power of the paired t-test: how many users it needs, given the effects of a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from analyses.shared.limits import SMALLEST_RATIO
from analyses.significance.paired_tests import for_all_pairs, normalised
from analyses.significance.permutation import ROUNDING
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.parallel import single_threaded
from runs.shared.streams import random_uniforms

MAX_USERS = 1e12
"""A share that needs more users than this is out of reach."""

MAX_EFFECT = 1e6
"""Effects of pairs in which all users differ alike, and beyond all that is of use."""

MIN_USERS = 2
NORMAL_FROM = 1e6
"""From so many users on the normal approximation is good to a millionth."""

N_COMPONENTS = 16
"""Number of variances of effects in the prior."""

EM_STEPS = 200
SMALLEST_VARIANCE = 0.2
"""For intervals: steps of EM, and variance of effects of the closest systems, in that of the
pilot's noise."""

EM_STEPS_FOR_USERS = 1000
SMALLEST_VARIANCE_FOR_USERS = 0.05
"""The same for the number of users itself: a fresh sample then reaches the share in more
populations (docs/methods/intervals.md)."""

LARGEST_VARIANCE = 100.0
"""Largest variance of effects."""

EQUAL_PAIRS_PENALTY = 0.1
"""Every step of EM makes the share of equal pairs smaller, by this over the number of systems."""

PENALTY_VARIATION = 0.15
"""For intervals, this is added to the penalty in every other draw, and subtracted in the others."""

FEWEST_DRAWS = 16
"""Draws that are made together, however many pairs there are."""

Pairs = tuple[Numbers, Numbers]
"""Numbers of the first and of the second systems of pairs, each of shape (n_pairs,)."""

NUMBERS_AT_ONCE = 1 << 21
"""Pairs times draws or numbers of users, held at a time: 16 MB."""

N_HALVINGS = 60
"""Halvings of an interval, to the last digit."""


def t_power(effects: Floats, n_users: Floats | float, *, alpha: float) -> Floats:
    r"""Compute the chance that the two-sided paired t-test is significant at the level alpha.

    .. math:: P(|T'_{n-1}(\delta \sqrt n)| \ge t_{n-1;\,1-\alpha/2})

    with the noncentral t, exact for normal differences. Effects :math:`\delta` are standardised
    differences; they and the numbers of users (at least 2) fit each other in shape.
    """
    users = np.asarray(n_users, dtype=np.float64)
    df = users - 1
    critical_t = scipy.special.stdtrit(df, 1 - alpha / 2)
    # Where the noncentral t is not known it is nil: far below the critical value.
    noncentrality = np.minimum(np.sqrt(users) * effects, MAX_EFFECT)
    below = np.nan_to_num(scipy.special.nctdtr(df, noncentrality, -critical_t))
    not_above = np.nan_to_num(scipy.special.nctdtr(df, noncentrality, critical_t))
    return np.asarray(below + 1 - not_above)


def needed_users(effects: Floats, *, alpha: float, power: float) -> Floats:
    """Compute the fewest users with whom the two-sided paired t-test has at least this power.

    Sakai (2016, section 3.1). ``effects``: standardised differences, mean over standard deviation,
    at least 0; numbers of users are of the same shape. They are whole numbers from 2, infinite
    where there is no difference or 1e12 users are too few. From a million users on they are by the
    normal approximation.

    Sakai (2016), Topic set size design, Information Retrieval Journal 19(3).
    """
    critical_z = float(scipy.special.ndtri(1 - alpha / 2))

    def has_power(mean_z: float) -> bool:
        """Check that a normal statistic with this mean, of variance 1, has the power."""
        chance_above = scipy.special.ndtr(mean_z - critical_z)
        chance_below = scipy.special.ndtr(-mean_z - critical_z)
        return float(chance_above + chance_below) >= power

    mean_z = _smallest_sufficient(has_power, 100.0)
    # Guesses by the normal distribution, with a term for the t distribution's wider tails;
    # infinite where there is no difference.
    with np.errstate(divide="ignore"):
        guesses = np.ceil((mean_z / effects) ** 2 + critical_z**2 / 2)
    guesses_in_range = np.maximum(guesses, MIN_USERS)
    n_users = np.where(guesses < MAX_USERS, guesses_in_range, np.inf)
    is_searched = n_users < NORMAL_FROM
    searched_effects = effects[is_searched]
    searched_guesses = n_users[is_searched]
    n_users[is_searched] = _search_users(
        searched_effects, searched_guesses, alpha=alpha, power=power
    )
    return n_users


def _search_users(effects: Floats, guesses: Floats, *, alpha: float, power: float) -> Floats:
    """Step from guesses, by one user at a time, to the fewest users that give the t-test a power.

    Standardised effects (above 0), guesses (from 2) and numbers of users are of shape (n_effects,).
    """
    n_users = guesses.copy()
    while True:
        has_too_few = t_power(effects, n_users, alpha=alpha) < power
        if not has_too_few.any():
            break
        n_users[has_too_few] += 1
    while True:
        fewer = np.maximum(n_users - 1, MIN_USERS)
        is_enough = t_power(effects, fewer, alpha=alpha) >= power
        has_spare = (fewer < n_users) & is_enough
        if not has_spare.any():
            return n_users
        n_users[has_spare] -= 1


def _smallest_sufficient(is_sufficient: Callable[[float], bool], highest: float) -> float:
    """Find the smallest number from 0 to the highest that is sufficient, by halving.

    The function holds from some number on; the highest is returned if it holds for no smaller one.
    """
    low = 0.0
    high = highest
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        if is_sufficient(middle):
            high = middle
        else:
            low = middle
    return high


def detectable_effect(n_users: int, *, alpha: float, power: float) -> float:
    """Compute the smallest standardised effect for which the paired t-test has the power.

    An effect is the mean difference over its standard deviation; alpha is the two-sided level. NaN
    for fewer than two users.
    """
    if n_users < MIN_USERS:
        return float("nan")
    critical_t = float(scipy.special.stdtrit(n_users - 1, 1 - alpha / 2))
    # More than any effect that is sought.
    highest = 100 * critical_t

    def has_power(effect: float) -> bool:
        """Check that the test finds this standardised effect with the power."""
        chance = t_power(np.array(effect), n_users, alpha=alpha)
        return bool(chance >= power)

    return _smallest_sufficient(has_power, highest)


@dataclass(frozen=True, eq=False)
class EffectPrior:
    r"""Empirical Bayes prior of the effects of one measure that a pilot of N users observed.

    An observed effect, :math:`\hat\delta`, varies by 1 / N about the true effect, so large effects
    are too large on average (the winner's curse). Effects are taken to be normal about 0 with a
    variance :math:`\tau_k^2` that is one of several, with chances that are fitted by EM: most
    systems may be close, and some far from all. Given what was observed, an effect is of component
    k with the chance :math:`r_k`, and then normal about :math:`B_k \hat\delta` with the variance
    :math:`B_k / N`, where :math:`B_k = \tau_k^2 / (\tau_k^2 + 1/N)`.

    Parameters
    ----------
    effects
        Observed effects of the pairs, of shape (n_pairs,).
    n_pilot
        Number of users.
    n_systems
        Number of systems.
    smallest_variance
        Smallest variance of a component that is not 0, times N.

    References
    ----------
    Efron & Morris (1975), Data analysis using Stein's estimator and its generalizations; Stephens
    (2017), False discovery rates: a new deal (scale mixtures).
    """

    effects: Floats
    n_pilot: int
    n_systems: int
    smallest_variance: float = SMALLEST_VARIANCE

    @cached_property
    def variances(self) -> Floats:
        """The variances of the components, from 0 (equal systems) to the largest effect.

        Of shape (n_components,), rising.
        """
        largest_square = (self.effects**2).max(initial=0.0)
        largest = np.clip(largest_square, 4 / self.n_pilot, LARGEST_VARIANCE)
        smallest = self.smallest_variance / self.n_pilot
        positive = np.geomspace(smallest, largest, N_COMPONENTS - 1)
        return np.concatenate([[0.0], positive])

    def chances(self, weights: Floats, penalty: Floats | float, *, steps: int = EM_STEPS) -> Floats:
        """Fit by EM the chance of each pair that its effect is of each component.

        Components are the `variances` of the prior; the first is 0 (equal systems). ``weights``: of
        pairs, (n_draws, n_pairs), a fit for each draw. Every step makes the share of the first
        component smaller by the penalty over the number of systems; the penalty is one number, or
        one for each draw. If all observed effects are 0, the first component has the chance 1. The
        result: chances of shape (n_draws, n_components, n_pairs), whose sum over components is 1.
        """
        n_draws = len(weights)
        if not self.effects.any():
            # The first component has the variance 0.
            chances_of_equal = np.zeros((N_COMPONENTS, len(self.effects)))
            chances_of_equal[0] = 1.0
            return np.broadcast_to(chances_of_equal, (n_draws, *chances_of_equal.shape))
        # Variance of an observed effect: that of the true effect plus that of the pilot's noise.
        total_variances = self.variances[:, None] + 1 / self.n_pilot
        scaled_squares = self.effects**2 / total_variances
        log_likelihoods = -0.5 * (np.log(total_variances) + scaled_squares)
        # Relative to the likeliest component of each pair: they cannot all be rounded to 0.
        likelihoods = np.exp(log_likelihoods - log_likelihoods.max(axis=0))
        shares = weights / weights.sum(axis=1, keepdims=True)
        prior = np.full((n_draws, N_COMPONENTS), 1 / N_COMPONENTS)
        reduction = penalty / self.n_systems
        with single_threaded("blas"):
            for _ in range(steps):
                evidence = np.maximum(prior @ likelihoods, SMALLEST_RATIO)
                prior = prior * ((shares / evidence) @ likelihoods.T)
                prior[:, 0] = np.maximum(prior[:, 0] - reduction, 0.0)
                prior /= prior.sum(axis=1, keepdims=True)
        joint = prior[:, :, None] * likelihoods
        evidence = np.maximum(joint.sum(axis=1, keepdims=True), SMALLEST_RATIO)
        return np.asarray(joint / evidence)

    def shrinkage_factors(self, variances: Floats) -> Floats:
        """Compute the factors B, in [0, 1), by which observed effects are shrunk towards 0.

        ``variances``: those of the true effects, of any shape, that of the result.
        """
        return np.asarray(variances / (variances + 1 / self.n_pilot))

    def posterior(self) -> EffectDistribution:
        """Compute the distribution of the true effects given those that the pilot observed.

        For each pair a mixture of normal distributions, in arrays of shape (n_components, n_pairs):
        means, the observed effect times the factor B of the component; variances, B / n_pilot,
        where the smallest variance of a component is 0.05 / n_pilot in place of 0.2; and chances of
        components, fitted by 1,000 steps of EM with all pairs weighted alike.
        """
        fine = replace(self, smallest_variance=SMALLEST_VARIANCE_FOR_USERS)
        equal_weights = np.ones((1, len(self.effects)))
        (chances,) = fine.chances(equal_weights, EQUAL_PAIRS_PENALTY, steps=EM_STEPS_FOR_USERS)
        factors = self.shrinkage_factors(fine.variances)[:, None]
        means = factors * self.effects
        variances = np.broadcast_to(factors / self.n_pilot, chances.shape)
        return EffectDistribution(means, variances, chances)

    def draw(self, resampled: Floats, systems: Pairs, *, seed: int) -> Floats:
        r"""Draw true effects that may be behind those that the pilot observed, (n_draws, n_pairs).

        Draw k is :math:`B \hat\delta + \sqrt{B} (\delta^*_k - \hat\delta)` with effects
        :math:`\delta^*` of resampled users, of shape (n_pairs, n_draws), which have the dependence
        between pairs. The components are fitted to systems with random weights (Bayesian
        bootstrap; Rubin 1981), and their variances divided by a random
        :math:`\chi^2_{S-1} / (S - 1)`, as S systems tell little of how much effects vary. Nor does
        a pilot tell equal systems from nearly equal ones: more pairs are taken for equal in every
        other draw, and fewer in the others.

        ``systems``: numbers of the two systems of each pair. Memory beyond the resampled effects
        and those that are drawn is below 150 MB.
        """
        n_pairs, n_draws = resampled.shape
        at_once = max(FEWEST_DRAWS, NUMBERS_AT_ONCE // (N_COMPONENTS * n_pairs))
        effects = np.empty((n_draws, n_pairs))
        for start in range(0, n_draws, at_once):
            stop = min(start + at_once, n_draws)
            draws = np.arange(start, stop)
            resampled_block = resampled[:, draws]
            effects[draws] = self._draw_block(draws, resampled_block, systems, seed=seed)
        return effects

    def _draw_block(
        self, draws: Numbers, resampled: Floats, systems: Pairs, *, seed: int
    ) -> Floats:
        """Draw true effects for the draws of these numbers: shape (n_draws, n_pairs).

        See `draw` for the formula. A draw depends on its number and the seed, not on the other
        draws; it owns a random number for each system (its weight), for each pair (its component)
        and one for the scale of variances. ``resampled``: effects of resampled users, (n_pairs,
        n_draws); ``systems``: numbers of the two systems of each pair.
        """
        n_pairs = len(resampled)
        n_systems = self.n_systems
        n_columns = n_systems + n_pairs + 1
        columns = np.arange(n_columns)
        # Every draw has places of its own in the random stream, one for each number it takes.
        positions = np.add.outer(draws * n_columns, columns)
        uniforms = random_uniforms(positions.ravel(), seed, "design", "effects")
        uniforms = uniforms.reshape(positions.shape)
        system_uniforms = uniforms[:, :n_systems]
        pair_uniforms = uniforms[:, n_systems:-1]
        scale_uniforms = uniforms[:, -1:]
        # Exponential weights of systems, whose products are the weights of pairs.
        system_weights = -np.log(system_uniforms)
        first, second = systems
        pair_weights = system_weights[:, first] * system_weights[:, second]
        signs = np.where(draws % 2, 1, -1)
        penalties = EQUAL_PAIRS_PENALTY + PENALTY_VARIATION * signs
        chances = self.chances(pair_weights, penalties)
        # Each pair draws a component by its chances.
        cumulated = np.cumsum(chances, axis=1)
        is_passed = cumulated < pair_uniforms[:, None]
        # Rounding can leave the last sum a little below 1.
        components = np.minimum(is_passed.sum(axis=1), N_COMPONENTS - 1)
        # `chdtri`: the number that chi-squared exceeds with a chance.
        divisors = scipy.special.chdtri(n_systems - 1, scale_uniforms) / (n_systems - 1)
        variances = self.variances[components] / divisors
        factors = self.shrinkage_factors(variances)
        means = factors * self.effects
        deviations = resampled.T - self.effects
        return np.asarray(means + np.sqrt(factors) * deviations)


class EffectDistribution(NamedTuple):
    """Mixture of normal distributions of the effects of pairs: true values and uncertainty.

    Means, variances and chances (weights) of the normal distributions fit each other in shape,
    (..., n_pairs); the last two may be numbers.
    """

    means: Floats
    variances: Floats
    chances: Floats

    @classmethod
    def certain(cls, effects: Floats) -> EffectDistribution:
        """Take effects, of shape (..., n_pairs), as known: without variance."""
        no_variance = np.zeros(())
        equal_chances = np.ones(())
        return cls(means=effects, variances=no_variance, chances=equal_chances)

    def broadcast_to(self, shape: tuple[int, ...]) -> EffectDistribution:
        """Repeat the three arrays to one shape, without a copy."""
        means = np.broadcast_to(self.means, shape)
        variances = np.broadcast_to(self.variances, shape)
        chances = np.broadcast_to(self.chances, shape)
        return EffectDistribution(means, variances, chances)

    def rows(self, index: slice | int) -> EffectDistribution:
        """Select rows of the first axis of all three arrays, which have one shape."""
        means = self.means[index]
        variances = self.variances[index]
        chances = self.chances[index]
        return EffectDistribution(means, variances, chances)


def likely_effects(priors: Sequence[EffectPrior]) -> EffectDistribution:
    """Join what the true effects may be by each measure: mixtures of normal distributions.

    There is a prior for each measure, fitted to its observed effects (standardised differences) of
    the pairs. Every pair has n_components normal distributions, all of which are laid in one row:
    the means, variances and chances (weights) are of shape (n_measures, n_components * n_pairs).
    """
    posteriors = [prior.posterior() for prior in priors]
    means = np.stack([posterior.means.ravel() for posterior in posteriors])
    variances = np.stack([posterior.variances.ravel() for posterior in posteriors])
    chances = np.stack([posterior.chances.ravel() for posterior in posteriors])
    return EffectDistribution(means=means, variances=variances, chances=chances)


def expected_share(effects: EffectDistribution, n_users: Floats | float, *, alpha: float) -> Floats:
    r"""Compute the share of pairs that are expected significant with so many users.

    .. math:: P\left(|Z| \ge t_{n-1;\,1-\alpha/2}\right), \quad
              Z \sim N(\sqrt n\, \delta,\; 1 + n v)

    in the mean over the effects :math:`\delta` along the last axis, by their chances, each known
    with the variance v: the assurance of O'Hagan, Stevens & Campbell (2005).

    Numbers of users fit the effects without their last axis. The result: means over pairs, of
    shape (...). Arrays of 16 MB, or of one number for each pair, are held at a time.
    """
    users = np.asarray(n_users, dtype=np.float64)
    *shape_of_effects, n_pairs = effects.means.shape
    shape = np.broadcast_shapes(users.shape, tuple(shape_of_effects))
    if math.prod(shape) <= max(1, NUMBERS_AT_ONCE // n_pairs):
        return _mean_share(effects, users[..., None], alpha=alpha)
    shares = np.empty(shape)
    users = np.broadcast_to(users, shape)
    broadcast = effects.broadcast_to((*shape, n_pairs))
    at_once = max(1, NUMBERS_AT_ONCE // (n_pairs * math.prod(shape[1:])))
    if len(shape) > 1 and at_once == 1:
        for row in range(shape[0]):
            effects_of_row = broadcast.rows(row)
            shares[row] = expected_share(effects_of_row, users[row], alpha=alpha)
        return shares
    for start in range(0, shape[0], at_once):
        block = slice(start, start + at_once)
        effects_of_block = broadcast.rows(block)
        users_of_block = users[block, ..., None]
        shares[block] = _mean_share(effects_of_block, users_of_block, alpha=alpha)
    return shares


def _mean_share(effects: EffectDistribution, users: Floats, *, alpha: float) -> Floats:
    """Compute the mean over pairs of the chance of significance, weighted by chances: (...).

    The distribution of effects is of shape (..., n_pairs), numbers of users of (..., 1).
    """
    deviation = np.sqrt(1 + users * effects.variances)
    mean_t = np.sqrt(users) * effects.means
    critical_t = scipy.special.stdtrit(users - 1, 1 - alpha / 2)
    above = scipy.special.ndtr((mean_t - critical_t) / deviation)
    below = scipy.special.ndtr((-mean_t - critical_t) / deviation)
    chances = np.broadcast_to(effects.chances, effects.means.shape)
    weighted = (above + below) * chances
    return np.asarray(weighted.sum(axis=-1) / chances.sum(axis=-1))


def users_for_share(effects: EffectDistribution, *, share: float, alpha: float) -> Floats:
    """Search the fewest users with whom the expected share of significant pairs is reached.

    Inverts `expected_share`: ``share`` is that of the pairs, in (0, 1), ``alpha`` the level of the
    two-sided test. The distribution of effects is of shape (..., n_pairs), the result of (...):
    whole numbers from 2, infinite where even 1e12 users are too few.
    """
    shape = effects.means.shape[:-1]
    low = np.full(shape, MIN_USERS - 1.0)
    high = np.full(shape, MAX_USERS)
    is_reached = expected_share(effects, high, alpha=alpha) >= share
    while True:
        is_unsure = is_reached & (high - low > 1)
        if not is_unsure.any():
            return np.where(is_reached, high, np.inf)
        means = effects.means[is_unsure]
        variances = _select_if_array(effects.variances, is_unsure)
        chances = _select_if_array(effects.chances, is_unsure)
        unsure = EffectDistribution(means, variances, chances)
        lower = low[is_unsure]
        upper = high[is_unsure]
        geometric_mean = np.sqrt(lower * upper)
        middle = np.clip(np.floor(geometric_mean), lower + 1, upper)
        is_enough = expected_share(unsure, middle, alpha=alpha) >= share
        low[is_unsure] = np.where(is_enough, lower, middle)
        high[is_unsure] = np.where(is_enough, middle, upper)


def _select_if_array(values: Floats, mask: Masks) -> Floats:
    """Select rows by a mask; a number, an array without axes, stays as it is."""
    return values[mask] if values.ndim else values


def standardised_effects(means: Floats, deviations: Floats) -> Floats:
    """Divide means by standard deviations of the same shape.

    0 where means are equal, plus or minus `MAX_EFFECT` where all users differ alike.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(means == 0, 0.0, means / deviations)
    return np.clip(ratios, -MAX_EFFECT, MAX_EFFECT)


def resampled_effects(values: Floats, weights: Floats) -> Floats:
    """Compute the standardised differences of all pairs for resampled users.

    Scores are of shape (n_measures, n_systems, n_users); weights say how often each user is drawn,
    of shape (n_replicates, n_users). The result: of shape (n_measures, n_pairs, n_replicates).
    """
    normalised_values = normalised(values)
    return for_all_pairs(normalised_values, lambda rows: _weighted_effects(rows, weights))


def _weighted_effects(differences: Floats, weights: Floats) -> Floats:
    """Divide weighted means of normalised differences by their weighted standard deviations.

    Differences are of shape (n_rows, n_users), weights of (n_replicates, n_users) with the mean 1,
    effects of (n_rows, n_replicates). A mean that is rounding alone, at most 2^-48 in size, gives
    0.
    """
    n_users = differences.shape[1]
    means = differences @ weights.T / n_users
    squares = differences * differences
    mean_squares = squares @ weights.T / n_users
    # Rounding can make a variance of 0 a little negative.
    population_variances = np.maximum(mean_squares - means**2, 0.0)
    variances = population_variances * n_users / (n_users - 1)
    is_rounding = np.abs(means) <= ROUNDING
    means = np.where(is_rounding, 0.0, means)
    return standardised_effects(means, np.sqrt(variances))
