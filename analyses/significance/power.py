"""Power: how many users a paired t-test needs, and how uncertain discriminative power is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.special import chdtri, nctdtr, ndtr, ndtri, stdtrit

from analyses.intervals.resampling import draw_weights, random_blocks, run_noise
from analyses.shared.estimate import FLOOR, spread_around
from analyses.shared.measure import RunDeviations
from analyses.significance.paired_tests import for_all_pairs, normalised
from analyses.significance.permutation import ROUNDING, find_scale
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import single_threaded
from runs.shared.streams import random_uniforms

MOST = 1e12
"""More users than this are never reached."""

LARGEST = 1e6
"""Effects of pairs in which all users differ alike, and beyond all that is of use."""

FEWEST = 2
GOOD_GUESS = 1e6
"""From here on the normal approximation is good to a millionth."""

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
    guesses = np.maximum(np.ceil(_guess(effects, alpha=alpha, power=power)), FEWEST)
    found = np.where(guesses < MOST, guesses, np.inf)
    searched = found < GOOD_GUESS
    found[searched] = _next_to(effects[searched], found[searched], alpha=alpha, power=power)
    return found


def _guess(effects: Floats, *, alpha: float, power: float) -> Floats:
    """Approximate by the normal distribution; infinite where there is no difference."""
    reach = float(ndtri(1 - alpha / 2))
    centre = _least(lambda at: float(ndtr(at - reach) + ndtr(-at - reach)) >= power, 100.0)
    with np.errstate(divide="ignore"):
        return np.asarray((centre / effects) ** 2 + reach**2 / 2)


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


def shrunk_effects(effects: Floats, *, n_pilot: int) -> tuple[Floats, Floats]:
    r"""Say what is to be thought of effects that a pilot observed: means, and a variance.

    What a pilot of N users observes, :math:`\hat\delta`, varies by 1 / N about the effect, so large
    effects are too large on average (the winner's curse). With effects that vary about 0 by
    :math:`\tau^2 = \overline{\hat\delta^2} - 1/N`, an effect is, given what was observed, normal
    about :math:`B \hat\delta` with the variance :math:`B / N`, where
    :math:`B = \tau^2 / (\tau^2 + 1/N)`, cut at 0.

    The result: means of the shape of the effects, and variances of shape (...).

    Efron & Morris (1975), Data analysis using Stein's estimator and its generalizations.
    """
    kept = _kept((effects**2).mean(axis=-1), n_pilot)
    return kept[..., None] * effects, kept / n_pilot


def _kept(squares: Floats, n_pilot: int) -> Floats:
    """Give the part B of mean squared effects that is no noise."""
    return 1 - np.minimum(1 / n_pilot / np.maximum(squares, 1 / n_pilot), 1.0)


def possible_effects(
    effects: Floats, resampled: Floats, *, n_systems: int, n_pilot: int, seed: int
) -> Floats:
    r"""Draw effects that may be behind those that a pilot observed; see `shrunk_effects`.

    Draw k is :math:`B_k \hat\delta + \sqrt{B_k} (\delta^*_k - \hat\delta)` with effects
    :math:`\delta^*` of resampled users, which know how pairs depend on each other. :math:`B_k`
    takes in that S systems tell little of how much effects vary: in its place, their mean square is
    divided by a random :math:`\chi^2_{S-1} / (S - 1)`.

    The result: effects of shape (n_measures, n_draws, n_pairs).
    """
    n_draws = resampled.shape[2]
    uniforms = random_uniforms(np.arange(n_draws), seed, "design", "effects")
    factors = chdtri(n_systems - 1, uniforms) / (n_systems - 1)
    kept = _kept((effects**2).mean(axis=1)[:, None] / factors, n_pilot)[:, :, None]
    observed = effects[:, None, :]
    return kept * observed + np.sqrt(kept) * (resampled.swapaxes(1, 2) - observed)


def expected_share(
    effects: Floats, n_users: Floats | float, *, alpha: float, variance: Floats | float = 0.0
) -> Floats:
    r"""Give the share of pairs that are expected significant with so many users.

    .. math:: P\left(|Z| \ge t_{n-1;\,1-\alpha/2}\right), \quad
              Z \sim N(\sqrt n\, \delta,\; 1 + n v)

    in the mean over the effects :math:`\delta`, each known with the variance v: the assurance of
    O'Hagan, Stevens & Campbell (2005).

    The result: means over pairs, of shape (...).
    """
    users = np.asarray(n_users, dtype=np.float64)[..., None]
    spread = np.sqrt(1 + users * np.asarray(variance)[..., None])
    centre = np.sqrt(users) * effects
    reach = stdtrit(users - 1, 1 - alpha / 2)
    chances = ndtr((centre - reach) / spread) + ndtr((-centre - reach) / spread)
    return np.asarray(chances.mean(axis=-1))


def users_for_share(
    effects: Floats, *, share: float, alpha: float, variance: Floats | float = 0.0
) -> Floats:
    """Give the fewest users for a share of the pairs: the inverse of `expected_share`."""
    return fewest(
        lambda n: expected_share(effects, n, alpha=alpha, variance=variance),
        share,
        effects.shape[:-1],
    )


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


def fewest(rising: Callable[[Floats], Floats], least: float, shape: tuple[int, ...]) -> Floats:
    """Search the fewest users, of a shape, for whom what rises with them is no less than asked.

    Infinite where even `MOST` are too few.
    """
    low, high = np.full(shape, FEWEST - 1.0), np.full(shape, MOST)
    reached = rising(high) >= least
    while (high - low > 1).any():
        middle = np.clip(np.floor(np.sqrt(low * high)), low + 1, high)
        enough = rising(middle) >= least
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(reached, high, np.inf)


REPLICATES = 400
"""Resamples by default: intervals need a standard deviation, which is then good to 4 %."""

N_BLOCKS = 500
"""Random blocks of users that are resampled as wholes; of fewer users, each is a block.

Sums over blocks are weighted, not users: a tenth of the work for 6,040 users. Standard deviations
are good to 3 %.
"""

NUMBERS_AT_ONCE = 1 << 21
"""Pairs times weightings, and products of systems times blocks, held at a time: 16 MB."""

Pairs = tuple[Numbers, Numbers]


@dataclass(frozen=True, eq=False, repr=False)
class PowerSamples:
    """Discriminative power for resampled users, the same for all measures and pairs.

    Parameters
    ----------
    powers
        Sum of p over the pairs, of shape (n_measures, replicates).
    curve_low, curve_high
        Bands of the p-values in falling order, of shape (n_measures, n_pairs).
    """

    powers: Floats
    curve_low: Floats
    curve_high: Floats


def resample_power(
    values: Floats,
    p: Floats,
    pairs: Pairs,
    *,
    scales: tuple[int | None, ...],
    replicates: int,
    seed: int,
    n_jobs: int = 1,
    runs: RunDeviations | None = None,
) -> PowerSamples:
    r"""Compute discriminative power again for users, and runs, drawn with replacement.

    The p-values of a replicate come from the normal approximation
    :math:`p \approx 2 \Phi(-z)`, :math:`z = (|\sum_u w_u d_u| - c) / \sqrt{\sum_u w_u d_u^2}`, with
    the continuity correction c, one unit, for scores on a lattice. Powers are scaled to be that of
    the users as they are in the mean: resampling adds noise, which makes them larger.
    """
    if replicates < 2:
        unknown = np.full(p.shape, np.nan)
        return PowerSamples(np.empty((len(p), 0)), unknown, unknown)
    blocks = random_blocks(values.shape[2], n_blocks=N_BLOCKS, seed=seed)
    n_blocks = int(blocks.max()) + 1
    drawn = draw_weights(n_blocks, replicates=replicates, seed=seed)
    weights = np.concatenate([some for _, some in drawn]).T
    noise = np.zeros((*values.shape[:2], replicates))
    noise[:] = run_noise(runs, replicates=replicates, seed=seed)
    tasks = (
        delayed(_resample_measure)(scores, observed, pairs, scale, blocks, weights, shifts)
        for scores, observed, scale, shifts in zip(values, p, scales, noise, strict=True)
    )
    with single_threaded("blas"):
        results = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    return PowerSamples(*(np.array(column) for column in zip(*results, strict=True)))


def _resample_measure(
    values: Floats,
    observed: Floats,
    pairs: Pairs,
    scale: int | None,
    blocks: Numbers,
    weights: Floats,
    shifts: Floats,
) -> tuple[Floats, Floats, Floats]:
    found = scale or find_scale(values)
    order = np.argsort(blocks, kind="stable")
    scaled = np.float64(1 / found if found else 0.0), shifts * values.shape[1]
    grid, unit, shifts = _to_grid(values[:, order], *scaled)
    firsts = np.searchsorted(blocks[order], np.arange(len(weights)))
    p = _normal_p(grid, pairs, float(unit), firsts, weights, shifts)
    powers = p.sum(axis=0)
    powers *= observed.sum() / max(powers.mean(), FLOOR)
    p.sort(axis=0)
    low, high = spread_around(-np.sort(-observed), p[::-1], limits=(0.0, 1.0))
    return powers, low, high


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
