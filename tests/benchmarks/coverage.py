"""How often intervals hold what they are of, as a table for the documentation.

Run with ``make coverage``. Populations of users are simulated, and samples of them drawn with
replacement: what all users of a population have is known, and what as many users have on average is
the mean over many samples.
"""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.intervals.areas import Curves
from analyses.intervals.populations import Populations, interval
from analyses.intervals.resampling import resample_means
from analyses.ordering import tau_b
from analyses.shared.measure import Measure, Measures
from analyses.shared.spreads import REACH, joint_reach, ratio_around, spread_around
from analyses.significance.permutation import pair_indices
from analyses.significance.power import resample_power
from analyses.sparsity import Settings, sparsity
from qrels import qrels_from_columns
from tests.analyses.made import JudgedWork

Floats = NDArray[np.float64]
Held = Iterator[tuple[str, bool]]

SYSTEMS, USERS = (8, 20, 50), (50, 200, 1000, 6000)
WORLDS = {"close": 0.1, "apart": 0.5, "clump": 0.5}
"""Spread of the systems' abilities, as log-odds."""

MEASURES = ("P@5", "RR@10", "AP@10")
PAIRS = list(combinations(range(3), 2))
AGREEMENT, POWER, AREA = "agreement of two measures", "DP", "area"
DIFFERENCE, JOINT = "difference of two {}s", "all three differences of {}s at once"
QUANTITIES = [
    AGREEMENT,
    *(text.format(name) for name in (POWER, AREA) for text in ("{}", DIFFERENCE, JOINT)),
]
POPULATIONS, SAMPLES, EXPECTED_OVER = 4, 10, 100
N_USERS, DEPTH, N_JUDGED = 6000, 10, 8
LEVELS = (1.0, 0.7, 0.4, 0.2, 0.1)


def main() -> None:
    """Print the table as CSV: the share of intervals that hold, in percent, by world."""
    cells = [*product(SYSTEMS, USERS, WORLDS)]
    found = Parallel(n_jobs=-1)(delayed(coverage)(*cell) for cell in cells)
    shares = dict(zip(cells, found, strict=True))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["interval of", "systems", "users", *WORLDS])
    for quantity, n_systems, n_users in product(QUANTITIES, SYSTEMS, USERS):
        held = [shares[n_systems, n_users, world][quantity] for world in WORLDS]
        table.writerow([quantity, n_systems, n_users, *(round(100 * share) for share in held)])


def coverage(n_systems: int, n_users: int, world: str) -> Mapping[str, float]:
    """Give the share of intervals that hold, of every quantity."""
    held: dict[str, list[bool]] = {quantity: [] for quantity in QUANTITIES}
    for number in range(POPULATIONS):
        rng = np.random.default_rng([number, n_systems, n_users, [*WORLDS].index(world)])
        abilities = abilities_of(rng, n_systems, world)
        for of_world in (scores_hold, areas_hold):
            for quantity, is_held in of_world(rng, abilities, n_users):
                held[quantity].append(is_held)
    return {quantity: float(np.mean(all_of)) for quantity, all_of in held.items()}


def abilities_of(rng: np.random.Generator, n_systems: int, world: str) -> Floats:
    """Draw what makes systems good; half of a clump are as good as each other."""
    abilities = rng.normal(0, WORLDS[world], n_systems)
    if world == "clump":
        abilities[: n_systems // 2] = abilities[0] + rng.normal(0, 0.025, n_systems // 2)
    return abilities


def scores_of(rng: np.random.Generator, abilities: Floats) -> Floats:
    """Score a population: systems differ in what they find, how soon, and for whom."""
    n_systems, ranks = len(abilities), np.arange(1, DEPTH + 1)
    soon = rng.normal(0, 0.1, (n_systems, 1, 1))
    tastes = 0.6 * rng.normal(size=(n_systems, 3)) @ rng.normal(size=(3, N_USERS))
    chances = abilities[:, None] + rng.normal(-1.5, 1.2, N_USERS) + tastes
    odds = chances[..., None] - (0.5 + soon) * (np.log2(ranks + 1) - 2.3)
    relevant = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    hits = relevant.cumsum(axis=-1)
    first = np.where(hits[..., -1] > 0, 1 / (relevant.argmax(axis=-1) + 1), 0)
    average = (relevant * hits / ranks).sum(axis=-1) / np.maximum(hits[..., -1], 4)
    return np.stack([relevant[..., :5].mean(axis=-1), first, average])


def scores_hold(rng: np.random.Generator, abilities: Floats, n_users: int) -> Held:
    """Tell of intervals of agreement and DP, in samples of one population, which hold."""
    population = scores_of(rng, abilities)
    taus = {(a, b): tau_b(*population[[a, b]].mean(axis=2)) for a, b in PAIRS}

    def sample() -> Floats:
        return population[:, :, rng.integers(0, N_USERS, n_users)]

    expected = np.mean([p_values(sample()).sum(axis=1) for _ in range(EXPECTED_OVER)], axis=0)
    for seed in range(SAMPLES):
        scores = sample()
        yield from agreement_holds(scores, taus, seed=seed)
        p = p_values(scores)
        pairs = pair_indices(len(abilities))
        found = resample_power(
            scores, p, pairs, scales=(None,) * 3, replicates=200, seed=seed
        ).powers
        values = p.sum(axis=1)
        yield from differences_hold(POWER, values, found, expected, ratio_around(values, found))


def agreement_holds(scores: Floats, taus: Mapping[tuple[int, int], Floats], *, seed: int) -> Held:
    """Tell of every two measures whether the interval holds the population's tau."""
    means = scores.mean(axis=2)
    resampled = resample_means(scores, replicates=300, seed=seed)
    populations = Populations(means, resampled, n_users=scores.shape[2], seed=seed)
    for pair, tau in taus.items():
        low, high = interval(tau_b(*means[[*pair]]), tau_b(*populations.draw(*pair)))
        yield AGREEMENT, bool(low - 1e-9 <= tau <= high + 1e-9)


def p_values(scores: Floats) -> Floats:
    """Test all pairs, by the normal approximation of the permutation test."""
    from scipy.special import erfc

    first, second = pair_indices(scores.shape[1])
    products = scores @ scores.transpose(0, 2, 1)
    own = np.diagonal(products, axis1=1, axis2=2)
    squares = own[:, first] + own[:, second] - 2 * products[:, first, second]
    totals = scores.sum(axis=2)
    sizes = np.abs(totals[:, first] - totals[:, second])
    return np.asarray(erfc(sizes / np.sqrt(2 * np.maximum(squares, 1e-9))))


def differences_hold(
    name: str, values: Floats, replicates: Floats, expected: Floats, limits: tuple[Floats, Floats]
) -> Held:
    """Tell whether numbers of three measures are held, their differences, and all of these."""
    low, high = limits
    yield from ((name, bool(held)) for held in (low <= expected) & (expected <= high))
    first, second = np.transpose(PAIRS)
    differences, moved = values[first] - values[second], replicates[first] - replicates[second]
    truths = expected[first] - expected[second]
    for text, reach in ((DIFFERENCE, REACH), (JOINT, joint_reach(moved))):
        low, high = spread_around(differences, moved, reach=reach)
        held = (low <= truths) & (truths <= high)
        if text == JOINT:
            held = held.all(keepdims=True)
        yield from ((text.format(name), bool(one)) for one in held)


def areas_hold(rng: np.random.Generator, abilities: Floats, n_users: int) -> Held:
    """Tell of intervals of areas, in samples of one population, which hold."""
    found = [curves_of(rng, abilities, n_users, replicates=0) for _ in range(EXPECTED_OVER // 4)]
    expected = np.mean([curves.estimates(loss="").values for curves in found], axis=0)
    for _ in range(SAMPLES // 2):
        estimates = curves_of(rng, abilities, n_users, replicates=200).estimates(loss="")
        yield from differences_hold(
            AREA,
            estimates.values,
            estimates.replicates,
            expected,
            (estimates.low, estimates.high),
        )


def curves_of(
    rng: np.random.Generator, abilities: Floats, n_users: int, *, replicates: int
) -> Curves:
    """Take judgements of users away, of whom each has eight relevant items."""
    n_systems = len(abilities)
    chances = (
        abilities - 1 + rng.normal(size=(n_users, 1)) + rng.normal(0, 0.8, (n_users, n_systems))
    )
    odds = np.exp(-chances)[:, :, None] * np.ones(N_JUDGED)
    found = (rng.random(odds.shape) < 1 / (1 + odds)).astype(np.float64)
    users, items = np.divmod(np.arange(n_users * N_JUDGED), N_JUDGED)
    work = JudgedWork(
        _sums_of(found),
        qrels_from_columns(users, items, items * 0 + 1, n_users=n_users, relevance_level=1),
        Measures([Measure(name, 10) for name in ("P", "recall", "success")]),
        n_systems=n_systems,
        seed=int(rng.integers(2**31)),
    )
    return sparsity(work, Settings(levels=LEVELS, samples=10, replicates=replicates)).curves


def _sums_of(found: Floats) -> Callable[..., Floats]:
    """Score systems that found these items, of shape (n_users, n_systems, n_judged)."""

    def sum_samples(kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> Floats:
        judged = kept.reshape(len(found), N_JUDGED, -1).astype(np.float64)
        hits = found @ judged
        scores = np.stack([hits, hits / np.maximum(judged.sum(axis=1), 1)[:, None], hits > 0])
        in_blocks = np.zeros((blocks.max() + 1, len(blocks)))
        in_blocks[blocks, np.arange(len(blocks))] = 1
        sums = in_blocks @ scores.reshape(3, len(blocks), -1)
        return sums.reshape(3, -1, *hits.shape[1:])

    return sum_samples


if __name__ == "__main__":
    main()
