"""The bootstrap over users, and over runs of the systems; random numbers for Monte-Carlo tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from analyses.shared.exact_sums import sums_on_grid
from analyses.shared.scores import RunDeviations
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.streams import random_words

# What random bits are for: the top word of the counter, so that no two uses share any bits.
SIGNS = 1
RESAMPLING = 2
SHUFFLING = 3
RESAMPLING_SAMPLES = 4
RUNS = 6

WORDS_PER_STEP = 4
"""Words of 64 bits that a step of the counter gives."""


def random_uint32(
    start: int, stop: int, *, n_halves: int, seed: int, purpose: int
) -> NDArray[np.uint32]:
    """Draw 32-bit numbers for the draws ``start`` to ``stop``, not included, in random access.

    Draw b owns ceil(n_halves / 8) steps of the counter of a Philox 4x64 generator (Salmon et al.
    2011) whose key is the seed: its raw words as little-endian halves. Raw words, since the
    streams of numpy's other methods may change.

    Parameters
    ----------
    start, stop
        Number of the first draw, and of the first one after the last.
    n_halves
        Number of 32-bit numbers (halves of words) of each draw.
    seed
        Random seed.
    purpose
        What the numbers are for, such as `RESAMPLING`: purposes share none.

    Returns
    -------
    Numbers of shape (stop - start, n_halves).
    """
    n_draws = stop - start
    halves_per_step = 2 * WORDS_PER_STEP
    # Rounded up.
    n_steps = -(-n_halves // halves_per_step)
    counter = np.array([0, 0, 0, purpose], dtype=np.uint64)
    generator = np.random.Philox(key=seed, counter=counter)
    generator.advance(start * n_steps)
    words = generator.random_raw(n_draws * n_steps * WORDS_PER_STEP)
    little_endian_words = words.astype("<u8", copy=False)
    halves = little_endian_words.view("<u4").astype(np.uint32, copy=False)
    halves_by_draw = halves.reshape(n_draws, n_steps * halves_per_step)
    return halves_by_draw[:, :n_halves]


def whole_numbers_below(
    halves: NDArray[np.uint32], bounds: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Turn 32-bit numbers into whole numbers 0 <= x < bound, as the upper half of a product.

    ``bounds`` broadcast to the shape of the numbers. Chances differ from 1 / bound by less than
    2^-32, a millionth of it for 4,000 users.
    """
    products = halves.astype(np.uint64)
    products *= np.asarray(bounds, dtype=np.uint64)
    products >>= np.uint64(32)
    return products.view(np.int64)


Advance = Callable[[int], object]
"""Is called with the number of draws, or of pairs, that are done since the last call."""


def monte_carlo_p(
    count: Callable[[int, int], NDArray[np.int64]],
    n_draws: int,
    *,
    draws_per_task: int,
    n_jobs: int,
    advance: Advance | None,
) -> Floats:
    """Compute Monte-Carlo p-values: (count + 1) / (n_draws + 1), as what was observed counts, too.

    Draws are counted in threads, each with one of BLAS. The result has the shape of the counts,
    and values in (0, 1].

    Parameters
    ----------
    count
        Counts, of the draws ``start`` to ``stop``, those that are as extreme as what was observed;
        of the shape of the result. Its sum must not depend on how draws are divided.
    n_draws
        Number of draws.
    draws_per_task
        Number of draws that are counted at a time.
    n_jobs
        Number of threads.
    advance
        Is called with the number of draws finished since the last call.

    References
    ----------
    Phipson & Smyth (2010), Permutation P-values should never be zero.
    """
    ranges = list(draw_ranges(n_draws, draws_per_task))
    tasks = (delayed(count)(start, stop) for start, stop in ranges)
    total = np.int64(0)
    with single_threaded("blas"):
        counts_of_tasks = run_in_threads(tasks, n_jobs=n_jobs, return_as="generator")
        for (start, stop), counts in zip(ranges, counts_of_tasks, strict=True):
            total = total + counts
            if advance is not None:
                advance(stop - start)
    p_values = (total + 1) / (n_draws + 1)
    return np.asarray(p_values)


def draw_ranges(n_draws: int, draws_per_range: int) -> Iterator[tuple[int, int]]:
    """Divide the draws 0 to n_draws - 1 into ranges of so many; the last may be shorter.

    Yields the first draw of each range, and the one after its last.
    """
    for start in range(0, n_draws, draws_per_range):
        stop = min(start + draws_per_range, n_draws)
        yield start, stop


WEIGHTS_AT_ONCE = 1 << 22
"""Users times replicates held at a time: 32 MB, and twice that while they are drawn."""


def draw_weights(
    n_users: int, *, replicates: int, seed: int, block: int | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Draw users, or what else is resampled, with replacement, as many as there are.

    A replicate depends on the seed, its number and n_users alone. ``block`` is the number of
    replicates at a time; by default as many as `WEIGHTS_AT_ONCE` allows. Nothing is yielded without
    replicates.

    Yields
    ------
    Some replicates at a time, as a slice of all, and how often each user is drawn in them: float64
    of shape (n_replicates, n_users). Every row adds up to n_users.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap.
    """
    n_at_once = block or max(1, WEIGHTS_AT_ONCE // n_users)
    for start, stop in draw_ranges(replicates, n_at_once):
        yield slice(start, stop), resampled_users(start, stop, n_users=n_users, seed=seed)


def resampled_users(
    start: int, stop: int, *, n_users: int, seed: int, purpose: int = RESAMPLING
) -> Floats:
    """Count how often each user is drawn in the replicates ``start`` to ``stop``, not included.

    Users are drawn with replacement, as many as there are; a replicate depends on its number, the
    seed, n_users and the purpose. What is not users but resampled like them has a purpose of its
    own, so that random numbers are not shared.

    The result: whole numbers as float64, of shape (stop - start, n_users); every row adds up to
    n_users.
    """
    from analyses.intervals.resampling_loop import add_draws

    halves = random_uint32(start, stop, n_halves=n_users, seed=seed, purpose=purpose)
    counts = np.zeros(halves.shape)
    add_draws(counts, halves)
    return counts


def resample_means(values: Floats, *, replicates: int, seed: int) -> Floats:
    """Average values, (..., n_users), over resampled users: means of shape (..., replicates).

    Users are drawn with replacement, as many as there are, the same for all values. These are
    rounded to a grid (see `analyses.shared.exact_sums`) on which sums are exact: an error of less
    than n_users 2^-52 of the largest value.
    """
    n_users = values.shape[-1]
    rows = values.reshape(-1, n_users)
    # Without replicates, there is still an array.
    sums = [np.empty((len(rows), 0))]
    for _, weights in draw_weights(n_users, replicates=replicates, seed=seed):
        sums.append(sums_on_grid(rows, weights.T))
    means = np.concatenate(sums, axis=1) / n_users
    return means.reshape(*values.shape[:-1], replicates)


def random_blocks(n_users: int, *, n_blocks: int, seed: int) -> Numbers:
    """Put users into random blocks of (almost) equal size, to be resampled as wholes.

    The result: the block of each user, of shape (n_users,): numbers below min(n_blocks, n_users).
    """
    words = random_words(n_users, seed, "blocks", n_users)
    random_order = np.argsort(words, kind="stable")
    blocks = np.empty(n_users, dtype=np.intp)
    blocks[random_order] = np.arange(n_users) % n_blocks
    return blocks


def run_noise(runs: RunDeviations | None, *, replicates: int, seed: int) -> Floats | float:
    """Draw what the mean scores of systems vary by with their runs, as `run_weights` does.

    It is the mean over a system's runs of their deviations from it, (n_measures, n_runs), each
    weighed by how often it is drawn. The result: an array of shape (n_measures, n_systems,
    replicates), to be added to means over resampled users; 0 without several runs of a system
    (None).
    """
    if runs is None:
        return 0.0
    weights = run_weights(runs.systems, replicates=replicates, seed=seed)
    n_runs_of_system = np.bincount(runs.systems)
    shares = weights / n_runs_of_system[:, np.newaxis]
    # Summed over runs (r); measures (m), systems (s) and replicates (b) are left.
    return np.einsum("mr,bsr->msb", runs.values, shares)


def run_weights(systems: Numbers, *, replicates: int, seed: int) -> Floats:
    r"""Draw how often each run counts in the mean of its system: 1 on average.

    Of a system with R runs as many are drawn with replacement, and how far that is from once each
    is widened by :math:`\sqrt{R / (R - 1)}`: the variance is that of a mean of R runs, of which a
    bootstrap of few has too little.

    Parameters
    ----------
    systems
        Number of the system of each run, from 0, of shape (n_runs,).
    replicates
        Number of replicates.
    seed
        Random seed.

    Returns
    -------
    An array of shape (replicates, n_systems, n_runs): 0 for runs of other systems, always 1 for the
    only run of a system. Weights may be below 0.
    """
    halves = random_uint32(0, replicates, n_halves=len(systems), seed=seed, purpose=RUNS)
    is_run_of_system = mark_runs(systems)
    once_each = is_run_of_system.astype(np.float64)
    weights = np.repeat(once_each[np.newaxis], replicates, axis=0)
    for system, is_run in enumerate(is_run_of_system):
        runs = np.flatnonzero(is_run)
        n_runs = len(runs)
        if n_runs > 1:
            halves_of_runs = halves[:, runs]
            drawn_runs = whole_numbers_below(halves_of_runs, n_runs)
            run_numbers = np.arange(n_runs)
            is_drawn = drawn_runs[:, :, np.newaxis] == run_numbers
            counts = is_drawn.sum(axis=1)
            factor = np.sqrt(n_runs / (n_runs - 1))
            weights[:, system, runs] += factor * (counts - 1)
    return weights


def mark_runs(systems: Numbers) -> Masks:
    """Mark the runs of each system: a mask of shape (n_systems, n_runs).

    ``systems`` has the number of the system of each run, from 0, of shape (n_runs,).
    """
    n_systems = systems.max(initial=-1) + 1
    system_numbers = np.arange(n_systems)[:, np.newaxis]
    return np.asarray(systems == system_numbers)


def sum_over_runs(sums: Floats, runs: RunDeviations | None) -> Floats:
    """Add up what the runs of each system add to its scores: (..., n_systems, n_samples).

    ``sums`` has the shape (..., n_runs, n_samples). Without several runs of a system (None), it is
    of systems, and stays as it is.
    """
    if runs is None:
        return sums
    is_run_of_system = mark_runs(runs.systems)
    return is_run_of_system @ sums
