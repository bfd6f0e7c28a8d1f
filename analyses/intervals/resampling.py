"""The bootstrap over users, and over runs of the systems; intervals and bands around curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.systems import subset_taus
from analyses.ordering import DECIMALS
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.exact_sums import sum_grid_exponents, sums_on_grid
from analyses.shared.families import CONFIDENCE as CONFIDENCE
from analyses.shared.families import N_CROSSED
from analyses.shared.scores import RunDeviations
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.streams import random_words

# The top word of the counter says what the bits are for, so that no two uses share any.
SIGNS = 1
RESAMPLING = 2
SHUFFLING = 3
RESAMPLING_SAMPLES = 4
RUNS = 6
WORDS_PER_STEP = 4


def random_uint32(
    start: int, stop: int, *, n_halves: int, seed: int, purpose: int
) -> NDArray[np.uint32]:
    """Draw 32-bit numbers for draws ``start`` to ``stop``, independent of all others' order.

    Draw b owns ceil(n_halves / 8) steps of the counter of a Philox 4x64 generator (Salmon et al.
    2011) whose key is the seed: its raw words as little-endian halves. Raw words, since the
    streams of numpy's other methods may change.

    The result: numbers of shape (stop - start, n_halves).
    """
    n_steps = -(-n_halves // (2 * WORDS_PER_STEP))
    generator = np.random.Philox(key=seed, counter=np.array([0, 0, 0, purpose], dtype=np.uint64))
    generator.advance(start * n_steps)
    words = generator.random_raw((stop - start) * n_steps * WORDS_PER_STEP)
    halves = words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
    return halves.reshape(stop - start, n_steps * 2 * WORDS_PER_STEP)[:, :n_halves]


def whole_numbers_below(
    halves: NDArray[np.uint32], bounds: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Turn 32-bit numbers into whole numbers 0 <= x < bound, as the upper half of a product.

    Chances differ from 1 / bound by less than 2^-32, a millionth of it for 4,000 users.
    """
    wide = halves.astype(np.uint64)
    wide *= np.asarray(bounds, dtype=np.uint64)
    wide >>= np.uint64(32)
    return wide.view(np.int64)


Advance = Callable[[int], object]
"""Is called with the number of draws, or of pairs, that are done since the last call."""


def monte_carlo_p(
    count: Callable[[int, int], NDArray[np.int64]],
    n_draws: int,
    *,
    part: int,
    n_jobs: int,
    advance: Advance | None,
) -> Floats:
    """Count the draws 0 to n_draws that are as extreme, a part of them at a time, for p-values.

    These are (count + 1) / (n_draws + 1), as the observed counts, too (Phipson & Smyth 2010). The
    sum must not depend on how draws are parted. Parts are counted in threads, each with one of
    BLAS; ``advance`` is called with the number of draws finished since the last call.
    """
    parts = list(draw_ranges(n_draws, part))
    tasks = (delayed(count)(start, stop) for start, stop in parts)
    total = np.int64(0)
    with single_threaded("blas"):
        results = run_in_threads(tasks, n_jobs=n_jobs, return_as="generator")
        for (start, stop), some in zip(parts, results, strict=True):
            total = total + some
            if advance is not None:
                advance(stop - start)
    return np.asarray((total + 1) / (n_draws + 1))


def draw_ranges(n_draws: int, part: int) -> Iterator[tuple[int, int]]:
    """Part the draws 0 to n_draws."""
    for start in range(0, n_draws, part):
        yield start, min(start + part, n_draws)


WEIGHTS_AT_ONCE = 1 << 22
"""Users times replicates held at a time: 32 MB, and twice that while they are drawn."""


def draw_weights(
    n_users: int, *, replicates: int, seed: int, block: int | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Draw users, or what else is resampled, with replacement, as many as there are.

    A replicate depends on the seed, its number and n_users alone.

    Yields
    ------
    Some replicates at a time, a block if that is given, and how often each user is drawn in them:
    float64 of shape (n_replicates, n_users). Every row adds up to n_users.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap.
    """
    for start, stop in draw_ranges(replicates, block or max(1, WEIGHTS_AT_ONCE // n_users)):
        yield slice(start, stop), resampled_users(start, stop, n_users=n_users, seed=seed)


def resampled_users(
    start: int, stop: int, *, n_users: int, seed: int, purpose: int = RESAMPLING
) -> Floats:
    """Count how often each user is drawn in the replicates ``start`` to ``stop``.

    What is not users but resampled like them has a purpose of its own (see
    `analyses.intervals.resampling`).

    The result: whole numbers as float64, of shape (stop - start, n_users); every row adds up to
    n_users.
    """
    halves = random_uint32(start, stop, n_halves=n_users, seed=seed, purpose=purpose)
    cells = whole_numbers_below(halves, n_users)
    cells += n_users * np.arange(stop - start)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=cells.size)
    return counts.reshape(cells.shape).astype(np.float64)


def resample_means(values: Floats, *, replicates: int, seed: int) -> Floats:
    """Give the means over resampled users of values of shape (..., n_users).

    The result: means, of shape (..., replicates). Values are rounded to a grid (see `to_grid`) on
    which sums are exact: an error of less than n_users 2^-52 of the largest value.
    """
    rows = values.reshape(-1, values.shape[-1])
    draws = draw_weights(rows.shape[1], replicates=replicates, seed=seed)
    sums = [rows[:, :0], *(sums_on_grid(rows, weights.T) for _, weights in draws)]
    means = np.concatenate(sums, axis=1) / rows.shape[1]
    return means.reshape(*values.shape[:-1], replicates)


def random_blocks(n_users: int, *, n_blocks: int, seed: int) -> Numbers:
    """Put users into random blocks of (almost) equal size, to be resampled as wholes.

    The result: the block of each user, of shape (n_users,): numbers below min(n_blocks, n_users).
    """
    order = np.argsort(random_words(n_users, seed, "blocks", n_users), kind="stable")
    blocks = np.empty(n_users, dtype=np.intp)
    blocks[order] = np.arange(n_users) % n_blocks
    return blocks


def symmetric_interval(
    observed: Floats, replicates: Floats, *, limits: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[Floats, Floats]:
    r"""Give a symmetric percentile interval about what was observed.

    Resampling adds noise, and noise makes orderings less alike: the replicates of a coefficient
    lie to one side of it, and so do their percentiles. With the 2.5th and the 97.5th, l and h,

    .. math:: \hat\theta \pm \max(\hat\theta - l,\, h - \hat\theta)

    holds both the percentile interval and its reflection about the observed value.

    What was observed is of shape (...), replicates of (..., n_replicates). Undefined ones (NaN) are
    left out; without a defined one the interval is NaN. It ends at the limits, the lowest and the
    highest value there is.

    Hall (1988), On symmetric bootstrap confidence intervals; Efron & Tibshirani (1993).
    """
    low, high = percentiles(replicates)
    reach = np.maximum(observed - low, high - observed)
    return np.clip(observed - reach, *limits), np.clip(observed + reach, *limits)


def percentiles(replicates: Floats, *, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """Give the limits of the middle part along the last axis, 95 % by default; NaN of nothing."""
    if replicates.shape[-1] == 0:
        replicates = np.full((*replicates.shape[:-1], 1), np.nan)
    tail = (1 - confidence) / 2
    undefined = np.asarray(np.isnan(replicates).all(axis=-1))
    filled = np.where(undefined[..., None], 0.0, replicates)
    # numpy looks for NaN row by row, in Python.
    quantile = np.nanquantile if np.isnan(filled).any() else np.quantile
    low, high = quantile(filled, [tail, 1 - tail], axis=-1)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def nan_if_constant(limits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Set limits without width to NaN: what never varied in the replicates has no interval."""
    low, high = limits
    is_wide = high > low
    return np.where(is_wide, low, np.nan), np.where(is_wide, high, np.nan)


def run_noise(runs: RunDeviations | None, *, replicates: int, seed: int) -> Floats | float:
    """Draw what the mean scores of systems vary by with their runs, as `run_weights` does.

    The result: an array of shape (n_measures, n_systems, replicates), to be added to means over
    resampled users; 0 without several runs of a system.
    """
    if runs is None:
        return 0.0
    weights = run_weights(runs.systems, replicates=replicates, seed=seed)
    shares = weights / np.bincount(runs.systems)[:, None]
    return np.einsum("mr,bsr->msb", runs.values, shares)


def run_weights(systems: Numbers, *, replicates: int, seed: int) -> Floats:
    r"""Draw how often each run counts in the mean of its system: 1 on average.

    Of a system with R runs as many are drawn with replacement, and how far that is from once each
    is widened by :math:`\sqrt{R / (R - 1)}`: the variance is that of a mean of R runs, of which a
    bootstrap of few has too little.

    The result: an array of shape (replicates, n_systems, n_runs): 0 for runs of other systems.
    """
    n_runs = len(systems)
    halves = random_uint32(0, replicates, n_halves=n_runs, seed=seed, purpose=RUNS)
    weights = np.repeat(_which_runs(systems)[None].astype(np.float64), replicates, axis=0)
    for system, is_own in enumerate(_which_runs(systems)):
        own = np.flatnonzero(is_own)
        if len(own) > 1:
            drawn = whole_numbers_below(halves[:, own], len(own))
            counts = (drawn[:, :, None] == np.arange(len(own))).sum(axis=1)
            widened = np.sqrt(len(own) / (len(own) - 1))
            weights[:, system, own] += widened * (counts - 1)
    return weights


def _which_runs(systems: Numbers) -> Masks:
    """Mark the runs of each system, of shape (n_systems, n_runs)."""
    return np.asarray(systems == np.arange(systems.max(initial=-1) + 1)[:, None])


def sum_over_runs(sums: Floats, runs: RunDeviations | None) -> Floats:
    """Add up what runs add to the scores of their systems: (..., n_runs, n_samples)."""
    return sums if runs is None else _which_runs(runs.systems) @ sums


N_BLOCKS = 100
"""Blocks of users; of fewer users, each is a block.

More would say the width of a band more surely, a tenth of it with 100, at the cost of memory:
65 MB for 77 measures, 21 systems and 50 samples.
"""


@dataclass(frozen=True, eq=False)
class Resampling:
    """Users in blocks, and how often each replicate draws each block.

    Parameters
    ----------
    blocks
        The block of each user, of shape (n_users,).
    weights
        Of shape (n_replicates, n_blocks).
    runs
        How often each replicate counts the runs of each system, of shape (n_replicates, n_systems,
        n_runs); None where each system has one.
    """

    blocks: Numbers
    weights: Floats
    runs: Floats | None = None

    @classmethod
    def of(
        cls, n_users: int, *, replicates: int, seed: int, runs: RunDeviations | None = None
    ) -> Resampling:
        """Draw the replicates; without any, all users are one block.

        Runs are drawn of the systems all of whose runs rank for every user.
        """
        n_blocks = min(N_BLOCKS, n_users) if replicates else 1
        blocks = random_blocks(n_users, n_blocks=n_blocks, seed=seed)
        of_users = resampled_users(0, replicates, n_users=n_blocks, seed=seed)
        if runs is None:
            return cls(blocks, of_users)
        systems = _which_runs(runs.systems)
        of_runs = run_weights(runs.systems, replicates=replicates, seed=seed)
        return cls(blocks, of_users, np.where(runs.complete[:, None], of_runs, systems))

    def taus(self, sums: Floats, reference: Floats) -> Floats:
        """Compare samples with the reference anew, among the users of every replicate.

        The result: Kendall's tau-b of shape (n_measures, n_samples, n_replicates); NaN where all
        tie.
        """
        from analyses.ordering.loops import sample_taus

        taus = np.empty((len(sums), sums.shape[-1], len(self.weights)))
        with single_threaded("blas"):
            for measure, both in enumerate(zip(sums, reference[..., None], strict=True)):
                (found, full), unit = self._totals_of(*both)
                scale = unit * 10.0**DECIMALS
                taus[measure] = sample_taus(found, full[..., 0], scale).T
        return taus

    def _totals_of(self, *sums: Floats) -> tuple[list[Floats], float]:
        """Weigh sums over blocks; and give the unit in which that makes means over users."""
        unit = _unit(*sums)
        totals = [self._totals(some, unit) for some in sums]
        if self.runs is not None:
            totals = [self.runs @ some for some in totals]
        return totals, unit / len(self.blocks)

    def subset_taus(
        self, sums: Floats, reference: Floats, subsets: Masks, *, of: Sequence[int]
    ) -> Floats:
        """Compare them among the systems of subsets, by some measures: `N_CROSSED` of each.

        The result: taus of shape (n_measures, n_samples, n_replicates, n_subsets); NaN by other
        measures.
        """
        runs = None if self.runs is None else self.runs[:N_CROSSED]
        first = replace(self, weights=self.weights[:N_CROSSED], runs=runs)
        shape = (sums.shape[-1], len(first.weights), len(subsets[:N_CROSSED]))
        taus = np.full((len(sums), *shape), np.nan)
        for measure in of:
            totals, unit = first._totals_of(sums[measure], reference[measure][..., None])
            found, full = (np.moveaxis(some * unit, -1, 0) for some in totals)
            taus[measure] = subset_taus(found, full, subsets[:N_CROSSED]).swapaxes(1, 2)
        return taus

    def means(self, sums: Floats) -> Floats:
        """Average sums over blocks, with the users that there are and with those of each replicate.

        The result: means over users, of shape (1 + n_replicates, n_measures, ...).
        """
        plain = sums.sum(axis=1)[None]
        resampled = np.empty((len(self.weights), *plain.shape[1:]))
        with single_threaded("blas"):
            for measure, of_blocks in enumerate(sums):
                unit = _unit(of_blocks)
                resampled[:, measure] = self._totals(of_blocks, unit) * unit
        return np.concatenate([plain, resampled]) / len(self.blocks)

    def _totals(self, sums: Floats, unit: float) -> Floats:
        """Weigh sums (n_blocks, ...) in whole units, which is exact: (n_replicates, ...)."""
        units = np.multiply(sums, 1 / unit).reshape(len(sums), -1)
        totals: Floats = self.weights @ np.rint(units, out=units)
        return totals.reshape(-1, *sums.shape[1:])


def _unit(*sums: Floats) -> float:
    """Give the grid on which weighted sums over blocks, of shape (n_blocks, ...), are exact."""
    ends = [end for some in sums for end in (some.max(initial=0.0), -some.min(initial=0.0))]
    return float(2.0 ** sum_grid_exponents(np.max(ends), len(sums[0])))


def shifted_band(
    observed: Floats, replicates: Floats, *, limits: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[Floats, Floats]:
    """Give 95 % of the replicates, shifted to where the observed values are, within limits.

    A user who is drawn twice brings the same lost judgements, or the same items, twice: among
    resampled users samples differ from the reference as if there were half as many, and taus are
    lower, as are coverage and entropy of what is recommended. Of 100 simulated studies (8 systems,
    300 or 1,500 users), the percentiles of replicates of taus as they are held the truth in as few
    as 39, those of shifted ones in 95 to 100.

    The result: both limits; NaN without replicates.
    """
    shifts = observed - mean_of_defined(replicates)
    return percentiles(np.clip(replicates + shifts[..., None], *limits))
