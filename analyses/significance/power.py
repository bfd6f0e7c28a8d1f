"""Power: how many users a paired t-test needs, and how uncertain discriminative power is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtr, ndtr, ndtri, stdtrit

from analyses.intervals.resampling import random_blocks, resampled_users, run_noise
from analyses.shared.families import N_CROSSED
from analyses.shared.limits import SMALLEST_RATIO, normal_limits
from analyses.shared.scores import RunDeviations
from analyses.significance.paired_tests import for_all_pairs, normalised
from analyses.significance.permutation import ROUNDING, find_scale
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.streams import random_uniforms

MOST = 1e12
"""More users than this are never reached."""

LARGEST = 1e6
"""Effects of pairs in which all users differ alike, and beyond all that is of use."""

FEWEST = 2
GOOD_GUESS = 1e6
"""From here on the normal approximation is good to a millionth."""

N_COMPONENTS, EM_STEPS = 16, 200
LEAST_VARIANCE, WIDEST = 0.2, 100.0
"""Variance of effects of the closest systems, in that of the pilot's noise; and the largest."""

CLOSEST, MORE_STEPS = 0.05, 1000
"""Smallest variance and steps of EM for the number of users itself, where intervals have the above:
a fresh sample then reaches the share in more populations (docs/guides/how-many-users.md)."""

FEWER_EQUAL, MORE_OR_FEWER = 0.1, 0.15
"""Every step of EM makes the share of equal pairs smaller, by this over the number of systems. For
intervals, the second number is added in every other draw, and taken off in the others."""

FEWEST_DRAWS = 16
"""Draws that are made together, however many pairs there are."""

Pairs = tuple[Numbers, Numbers]

STEPS = 60
"""Halvings of an interval, to the last digit."""


def t_power(effects: Floats, n_users: Floats | float, *, alpha: float) -> Floats:
    r"""Give the chance that the two-sided paired t-test finds a difference.

    .. math:: P(|T'_{n-1}(\delta \sqrt n)| \ge t_{n-1;\,1-\alpha/2})

    with the noncentral t, exact for normal differences.
    """
    df = np.asarray(n_users, dtype=np.float64) - 1
    reach = stdtrit(df, 1 - alpha / 2)
    # Where the noncentral t is not known it is nil: far below what is reached.
    centre = np.minimum(np.sqrt(df + 1) * effects, LARGEST)
    below, above = (np.nan_to_num(nctdtr(df, centre, end)) for end in (-reach, reach))
    return np.asarray(below + 1 - above)


def needed_users(effects: Floats, *, alpha: float, power: float) -> Floats:
    """Give the fewest users with whom the paired t-test has a power (Sakai 2016, section 3.1).

    These are whole numbers, infinite where there is no difference.

    Sakai (2016), Topic set size design, Information Retrieval Journal 19(3).
    """
    reach = float(ndtri(1 - alpha / 2))
    centre = _least(lambda at: float(ndtr(at - reach) + ndtr(-at - reach)) >= power, 100.0)
    # Guesses by the normal distribution; infinite where there is no difference.
    with np.errstate(divide="ignore"):
        guesses = np.ceil((centre / effects) ** 2 + reach**2 / 2)
    found = np.where(guesses < MOST, np.maximum(guesses, FEWEST), np.inf)
    searched = found < GOOD_GUESS
    found[searched] = _next_to(effects[searched], found[searched], alpha=alpha, power=power)
    return found


def _next_to(effects: Floats, guesses: Floats, *, alpha: float, power: float) -> Floats:
    """Step from guesses to the fewest users with the power."""
    found = guesses.copy()
    while (short := t_power(effects, found, alpha=alpha) < power).any():
        found[short] += 1
    while True:
        fewer = np.maximum(found - 1, FEWEST)
        ample = (fewer < found) & (t_power(effects, fewer, alpha=alpha) >= power)
        if not ample.any():
            return found
        found[ample] -= 1


def _least(is_enough: Callable[[float], bool], most: float) -> float:
    """Halve an interval from 0 on."""
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def detectable_effect(n_users: int, *, alpha: float, power: float) -> float:
    """Give the least effect that the paired t-test finds with a power; NaN for a single user."""
    if n_users < FEWEST:
        return float("nan")
    most = 100 * float(stdtrit(n_users - 1, 1 - alpha / 2))
    return _least(lambda at: bool(t_power(np.array(at), n_users, alpha=alpha) >= power), most)


@dataclass(frozen=True, eq=False)
class EffectPrior:
    r"""What is to be thought of the effects of one measure that a pilot of N users observed.

    What is observed, :math:`\hat\delta`, varies by 1 / N about the effect, so large effects are too
    large on average (the winner's curse). Effects are taken to be normal about 0 with a variance
    :math:`\tau_k^2` that is one of several, with chances that are fitted by EM: most systems may
    be close, and some far from all. Given what was observed, an effect is of component k with the
    chance :math:`r_k`, and then normal about :math:`B_k \hat\delta` with the variance
    :math:`B_k / N`, where :math:`B_k = \tau_k^2 / (\tau_k^2 + 1/N)`.

    Parameters
    ----------
    effects
        Observed effects of the pairs, of shape (n_pairs,).
    n_pilot
        Number of users.
    n_systems
        Number of systems.
    least
        Smallest variance of a component that is not 0, times N.

    References
    ----------
    Efron & Morris (1975), Data analysis using Stein's estimator and its generalizations; Stephens
    (2017), False discovery rates: a new deal (scale mixtures).
    """

    effects: Floats
    n_pilot: int
    n_systems: int
    least: float = LEAST_VARIANCE

    @cached_property
    def variances(self) -> Floats:
        """The variances of the components, from equal systems to the largest effect."""
        top = np.clip((self.effects**2).max(initial=0.0), 4 / self.n_pilot, WIDEST)
        wide = np.geomspace(self.least / self.n_pilot, top, N_COMPONENTS - 1)
        return np.concatenate([[0.0], wide])

    def chances(self, weights: Floats, fewer: Floats | float, *, steps: int = EM_STEPS) -> Floats:
        """Give the chances of each pair's components, fitted with weights (n_draws, n_pairs).

        All are of equal systems where none differ. Otherwise every step of EM makes the share of
        equal pairs smaller by ``fewer`` / S, with one number for all draws or one for each.
        The result: of shape (n_draws, n_components, n_pairs).
        """
        if not self.effects.any():
            equal = np.arange(N_COMPONENTS)[:, None] == np.zeros(len(self.effects))
            return np.broadcast_to(equal.astype(float), (len(weights), *equal.shape))
        total = self.variances[:, None] + 1 / self.n_pilot
        logs = -0.5 * (np.log(total) + self.effects**2 / total)
        likely = np.exp(logs - logs.max(axis=0))
        shares = weights / weights.sum(axis=1, keepdims=True)
        prior = np.full((len(weights), N_COMPONENTS), 1 / N_COMPONENTS)
        with single_threaded("blas"):
            for _ in range(steps):
                prior = prior * ((shares / np.maximum(prior @ likely, SMALLEST_RATIO)) @ likely.T)
                prior[:, 0] = np.maximum(prior[:, 0] - fewer / self.n_systems, 0.0)
                prior /= prior.sum(axis=1, keepdims=True)
        found = prior[:, :, None] * likely
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), SMALLEST_RATIO))

    def kept(self, variances: Floats) -> Floats:
        """Give the part B of effects of these variances that is no noise."""
        return np.asarray(variances / (variances + 1 / self.n_pilot))

    def given_the_pilot(self) -> Likely:
        """Give what may be each effect, in arrays of shape (n_components, n_pairs)."""
        fine, once = replace(self, least=CLOSEST), np.ones((1, len(self.effects)))
        kept = self.kept(fine.variances)[:, None]
        (chances,) = fine.chances(once, FEWER_EQUAL, steps=MORE_STEPS)
        return Likely(
            kept * self.effects, np.broadcast_to(kept / self.n_pilot, chances.shape), chances
        )

    def draw(self, resampled: Floats, systems: Pairs, *, seed: int) -> Floats:
        r"""Draw effects that may be behind those that the pilot observed, (n_draws, n_pairs).

        Draw k is :math:`B \hat\delta + \sqrt{B} (\delta^*_k - \hat\delta)` with effects
        :math:`\delta^*` of resampled users, of shape (n_pairs, n_draws), which know how pairs
        depend on each other. The components are fitted to systems with random weights (Bayesian
        bootstrap; Rubin 1981), and their variances divided by a random
        :math:`\chi^2_{S-1} / (S - 1)`, as S systems tell little of how much effects vary. Nor does
        a pilot tell equal systems from nearly equal ones: more pairs are taken for equal in every
        other draw, and fewer in the others.

        Memory beyond the resampled effects and those that are drawn is below 150 MB.
        """
        n_pairs, n_draws = resampled.shape
        at_once = max(FEWEST_DRAWS, NUMBERS_AT_ONCE // (N_COMPONENTS * n_pairs))
        effects = np.empty((n_draws, n_pairs))
        for start in range(0, n_draws, at_once):
            draws = np.arange(start, min(start + at_once, n_draws))
            effects[draws] = self._draw(draws, resampled[:, draws], systems, seed=seed)
        return effects

    def _draw(self, draws: Numbers, resampled: Floats, systems: Pairs, *, seed: int) -> Floats:
        """Give the draws of these numbers, which do not depend on the others."""
        n_pairs, n_systems = len(resampled), self.n_systems
        columns = n_systems + n_pairs + 1
        places = np.add.outer(draws * columns, np.arange(columns))
        uniforms = random_uniforms(places.ravel(), seed, "design", "effects")
        of_systems, of_pairs, of_scale = np.split(
            uniforms.reshape(places.shape), [n_systems, n_systems + n_pairs], axis=1
        )
        exponential = -np.log(of_systems)
        first, second = systems
        fewer = FEWER_EQUAL + MORE_OR_FEWER * np.where(draws % 2, 1, -1)
        chances = self.chances(exponential[:, first] * exponential[:, second], fewer)
        chosen = (np.cumsum(chances, axis=1) < of_pairs[:, None]).sum(axis=1)
        factors = chdtri(n_systems - 1, of_scale) / (n_systems - 1)
        kept = self.kept(self.variances[np.minimum(chosen, N_COMPONENTS - 1)] / factors)
        return np.asarray(kept * self.effects + np.sqrt(kept) * (resampled.T - self.effects))


class Likely(NamedTuple):
    """What may be the effects: means and variances of normals, and the chance of each."""

    means: Floats
    variances: Floats
    chances: Floats

    @classmethod
    def of(cls, effects: Floats) -> Likely:
        """Take effects for known."""
        return cls(effects, np.zeros(()), np.ones(()))


def expected_share(effects: Likely, n_users: Floats | float, *, alpha: float) -> Floats:
    r"""Give the share of pairs that are expected significant with so many users.

    .. math:: P\left(|Z| \ge t_{n-1;\,1-\alpha/2}\right), \quad
              Z \sim N(\sqrt n\, \delta,\; 1 + n v)

    in the mean over the effects :math:`\delta` along the last axis, by their chances, each known
    with the variance v: the assurance of O'Hagan, Stevens & Campbell (2005).

    The result: means over pairs, of shape (...). Arrays of 16 MB, or of one number for each pair,
    are held at a time.
    """
    users = np.asarray(n_users, dtype=np.float64)
    shape = np.broadcast_shapes(users.shape, effects.means.shape[:-1])
    n_pairs = effects.means.shape[-1]
    if math.prod(shape) <= max(1, NUMBERS_AT_ONCE // n_pairs):
        return _mean_share(effects, users[..., None], alpha=alpha)
    shares = np.empty(shape)
    users = np.broadcast_to(users, shape)
    parts = Likely(*(np.broadcast_to(part, (*shape, n_pairs)) for part in effects))
    at_once = max(1, NUMBERS_AT_ONCE // (n_pairs * math.prod(shape[1:])))
    for start in range(0, shape[0], at_once):
        rows = slice(start, start + at_once)
        part = Likely(*(array[rows] for array in parts))
        if len(shape) > 1 and at_once == 1:
            part = Likely(*(array[0] for array in part))
            shares[start] = expected_share(part, users[start], alpha=alpha)
        else:
            shares[rows] = _mean_share(part, users[rows, ..., None], alpha=alpha)
    return shares


def _mean_share(effects: Likely, users: Floats, *, alpha: float) -> Floats:
    """Give the mean share for effects (..., n_pairs) and numbers of users (..., 1)."""
    spread = np.sqrt(1 + users * effects.variances)
    centre = np.sqrt(users) * effects.means
    reach = stdtrit(users - 1, 1 - alpha / 2)
    found = ndtr((centre - reach) / spread) + ndtr((-centre - reach) / spread)
    chances = np.broadcast_to(effects.chances, effects.means.shape)
    return np.asarray((found * chances).sum(axis=-1) / chances.sum(axis=-1))


def users_for_share(effects: Likely, *, share: float, alpha: float) -> Floats:
    """Search the fewest users for a share of the pairs: the inverse of `expected_share`.

    Infinite where even `MOST` are too few.
    """
    shape = effects.means.shape[:-1]
    low, high = np.full(shape, FEWEST - 1.0), np.full(shape, MOST)
    is_reached = expected_share(effects, high, alpha=alpha) >= share
    while (unsure := is_reached & (high - low > 1)).any():
        some = Likely(*(each[unsure] if each.ndim else each for each in effects))
        lower, upper = low[unsure], high[unsure]
        middle = np.clip(np.floor(np.sqrt(lower * upper)), lower + 1, upper)
        enough = expected_share(some, middle, alpha=alpha) >= share
        low[unsure], high[unsure] = np.where(enough, (lower, middle), (middle, upper))
    return np.where(is_reached, high, np.inf)


def effects_of(means: Floats, deviations: Floats) -> Floats:
    """Divide means by deviations: 0 where means are equal, `LARGEST` where all differ alike."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.where(means == 0, 0.0, means / deviations), -LARGEST, LARGEST)


def resampled_effects(values: Floats, weights: Floats) -> Floats:
    """Give the standardised differences of all pairs for resampled users.

    The result: effects of shape (n_measures, n_pairs, n_replicates).
    """
    return for_all_pairs(normalised(values), lambda rows: _weighted_effects(rows, weights))


def _weighted_effects(differences: Floats, weights: Floats) -> Floats:
    """Divide weighted means of rows (n_rows, n_users) by their deviations: (n_rows, n_weights)."""
    n_users = differences.shape[1]
    means = differences @ weights.T / n_users
    squares = (differences * differences) @ weights.T / n_users
    variances = np.maximum(squares - means**2, 0.0) * n_users / (n_users - 1)
    return effects_of(np.where(np.abs(means) <= ROUNDING, 0.0, means), np.sqrt(variances))


REPLICATES = 400
"""Resamples by default: intervals need a standard deviation, which is then good to 4 %."""

N_BLOCKS = 500
"""Random blocks of users that are resampled as wholes; of fewer users, each is a block.

Sums over blocks are weighted, not users: a tenth of the work for 6,040 users. Standard deviations
are good to 3 %.
"""

NUMBERS_AT_ONCE = 1 << 21
"""Pairs times weightings, and products of systems times blocks, held at a time: 16 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class PowerSamples:
    """Discriminative power for resampled users, the same for all measures and pairs.

    Parameters
    ----------
    powers
        Sum of p over the pairs, of shape (n_measures, replicates).
    crossed
        The sum of p over groups of pairs, of shape (n_measures, n_replicates, n_groups): of the
        first replicates.
    curve_low, curve_high
        Bands of the p-values in falling order, of shape (n_measures, n_pairs).
    """

    powers: Floats
    crossed: Floats
    curve_low: Floats
    curve_high: Floats


def resample_power(
    values: Floats,
    p: Floats,
    pairs: Pairs,
    *,
    scales: tuple[int | None, ...],
    groups: Floats,
    replicates: int,
    seed: int,
    n_jobs: int = 1,
    runs: RunDeviations | None = None,
) -> PowerSamples:
    r"""Compute discriminative power again for users, and runs, drawn with replacement.

    The p-values of a replicate come from the normal approximation
    :math:`p \approx 2 \Phi(-z)`, :math:`z = (|\sum_u w_u d_u| - c) / \sqrt{\sum_u w_u d_u^2}`, with
    the continuity correction c, one unit, for scores on a lattice. Powers are scaled to be that of
    the users as they are in the mean: resampling adds noise, which makes them larger. Groups of
    pairs, as those of some systems, are given as weights, of shape (n_groups, n_pairs).

    Memory beyond two copies of the scores: for each job, 3 numbers for each pair and replicate and
    one for each pair and block of users (300 MB for 200 systems), and 100 MB.
    """
    if replicates < 2:
        unknown = np.full(p.shape, np.nan)
        return PowerSamples(np.empty((len(p), 0)), np.empty((len(p), 0, 0)), unknown, unknown)
    blocks = random_blocks(values.shape[2], n_blocks=N_BLOCKS, seed=seed)
    n_blocks = int(blocks.max()) + 1
    weights = resampled_users(0, replicates, n_users=n_blocks, seed=seed).T
    noise = np.zeros((*values.shape[:2], replicates))
    noise[:] = run_noise(runs, replicates=replicates, seed=seed)
    tasks = (
        delayed(_resample_measure)(scores, observed, pairs, scale, groups, blocks, weights, shifts)
        for scores, observed, scale, shifts in zip(values, p, scales, noise, strict=True)
    )
    with single_threaded("blas"):
        results = run_in_threads(tasks, n_jobs=n_jobs)
    return PowerSamples(*(np.array(column) for column in zip(*results, strict=True)))


def _resample_measure(
    values: Floats,
    observed: Floats,
    pairs: Pairs,
    scale: int | None,
    groups: Floats,
    blocks: Numbers,
    weights: Floats,
    shifts: Floats,
) -> tuple[Floats, ...]:
    found = scale or find_scale(values)
    order = np.argsort(blocks, kind="stable")
    scaled = np.float64(1 / found if found else 0.0), shifts * values.shape[1]
    grid, unit, shifts = _to_grid(values[:, order], *scaled)
    firsts = np.searchsorted(blocks[order], np.arange(len(weights)))
    p = _normal_p(grid, pairs, float(unit), firsts, weights, shifts)
    powers, crossed = p.sum(axis=0), p[:, :N_CROSSED].T @ groups.T
    powers *= observed.sum() / max(powers.mean(), SMALLEST_RATIO)
    p.sort(axis=0)
    low, high = normal_limits(-np.sort(-observed), p[::-1], bounds=(0.0, 1.0))
    return powers, crossed, low, high


def _to_grid(values: Floats, *others: Floats | np.float64) -> tuple[Floats, ...]:
    """Round scores to whole numbers so small that sums of squared differences are exact.

    Other numbers are given in the same units.
    """
    bits = (51 - int(np.ceil(np.log2(values.shape[1])))) // 2
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    power = bits - int(exponent)
    return np.rint(np.ldexp(values, power)), *(np.ldexp(each, power) for each in others)


def _normal_p(
    grid: Floats, pairs: Pairs, unit: float, firsts: Numbers, weights: Floats, shifts: Floats
) -> Floats:
    """Approximate the p-values of weighted users, of shape (n_pairs, n_weightings).

    The users of a block lie together, from the first of each on; weights are those of the blocks,
    of shape (n_blocks, n_weightings). Totals of systems are shifted, (n_systems, n_weightings).
    """
    from scipy.special import erfc

    totals = np.add.reduceat(grid, firsts, axis=1) @ weights + shifts
    squares = _squares(grid, pairs, firsts)
    p = np.empty((len(squares), weights.shape[1]))
    at_once = max(1, NUMBERS_AT_ONCE // weights.shape[1])
    for start in range(0, len(p), at_once):
        rows = slice(start, start + at_once)
        first, second = (side[rows] for side in pairs)
        variances = squares[rows] @ weights
        sizes = np.maximum(np.abs(totals[first] - totals[second]) - unit, 0.0)
        z = np.divide(sizes, np.sqrt(2 * variances), out=sizes, where=variances > 0)
        erfc(z, out=p[rows])
    return p


def _squares(grid: Floats, pairs: Pairs, firsts: Numbers) -> Floats:
    """Sum the squared differences of all pairs over blocks, from products: (n_pairs, n_blocks)."""
    sizes = np.diff(firsts, append=grid.shape[1])
    blocks = np.repeat(np.arange(len(firsts)), sizes)
    users = np.zeros((len(firsts), len(grid), sizes.max()))
    users[blocks, :, np.arange(len(blocks)) - firsts[blocks]] = grid.T
    squares = np.empty((len(pairs[0]), len(firsts)))
    at_once = max(1, NUMBERS_AT_ONCE // len(grid) ** 2)
    for start in range(0, len(firsts), at_once):
        some = users[start : start + at_once]
        products = (some @ some.swapaxes(1, 2)).transpose(1, 2, 0)
        of_first, of_second = (products[side, side] for side in pairs)
        squares[:, start : start + at_once] = of_first + of_second - 2 * products[pairs]
    return squares
