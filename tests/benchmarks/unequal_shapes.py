"""How often letters and ranks err where systems have equal means, and distributions that differ.

``python -m tests.benchmarks.unequal_shapes > docs/family-errors.csv`` makes the table of the page
on tests, in about ten minutes of a processor. Every cell has 400 sets of users with equal means,
and as many in which the second half of the systems is better and all distributions have one shape.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.significance.bootstrap_max_t import max_t_test
from analyses.significance.corrections import sign_flip_max_t_test
from analyses.significance.effects import effects
from analyses.significance.permutation import pair_differences, pair_indices
from analyses.significance.scoring_users import MIN_SCORING_USERS, count_scoring_users
from runs.shared.parallel import single_threaded
from runs.shared.streams import random_words

Floats = NDArray[np.float64]
SYSTEMS = (8, 20)
USERS = (30, 100, 400)
N_SETS = 400
DRAWS = 999
ALPHA = 0.05

GAIN = 12.0
"""Better systems have means that are larger by the factor 1 + 12 / sqrt(n_users)."""

MEAN = 0.15
DISPERSIONS = (0.3, 1.0, 3.0, 30.0)
COMMON_DISPERSION = 1.0
N_ITEMS = 10

RANKS = (10, 5, 3, 2, 1)
COMMON_RANK = 2
RARE, COMMON = 0.02, 0.05
"""Mean reciprocal ranks."""

SHARE_OF_USERS, USER_MEAN = 0.1, 0.01

SIGMAS = (0.25, 0.5, 1.0, 1.5)
COMMON_SIGMA = 1.0

MARGINS = 4000


def precision(rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool) -> Floats:
    """Draw P@10: beta-binomial scores, of one dispersion or of four in turn."""
    dispersions = _shapes(DISPERSIONS, COMMON_DISPERSION, len(means), is_equal)
    first = (dispersions * MEAN * means)[:, np.newaxis]
    second = (dispersions * (1 - MEAN * means))[:, np.newaxis]
    chances = rng.beta(first, second, (len(means), n_users))
    return rng.binomial(N_ITEMS, chances) / N_ITEMS


def reciprocal_ranks(
    rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool, *, level: float
) -> Floats:
    """Draw hits at one rank of each system, 2 or in turn 10, 5, 3, 2 and 1."""
    ranks = _shapes(RANKS, COMMON_RANK, len(means), is_equal)[:, np.newaxis]
    chances = level * ranks * means[:, np.newaxis]
    return np.asarray((rng.random((len(means), n_users)) < chances) / ranks)


def hits_of_some_users(
    rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool
) -> Floats:
    """Draw the same, where a tenth of the users has all hits of all systems."""
    level = USER_MEAN / SHARE_OF_USERS
    hits = reciprocal_ranks(rng, means, n_users, is_equal, level=level)
    return hits * (rng.random(n_users) < SHARE_OF_USERS)


def log_normal(rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool) -> Floats:
    """Draw log-normal scores, of one sigma or of four in turn."""
    sigmas = _shapes(SIGMAS, COMMON_SIGMA, len(means), is_equal)[:, np.newaxis]
    normal = rng.normal(size=(len(means), n_users))
    return np.asarray(np.exp(sigmas * normal - sigmas**2 / 2) * means[:, np.newaxis])


def _shapes(shapes: Iterable[float], common: float, n_systems: int, is_equal: bool) -> Floats:
    """Give each system a shape: the common one, or the shapes in turn; of shape (n_systems,)."""
    if is_equal:
        return np.full(n_systems, common, dtype=np.float64)
    return np.resize(np.array(list(shapes), dtype=np.float64), n_systems)


Scores = Callable[[np.random.Generator, Floats, int, bool], Floats]


def _rare(rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool) -> Floats:
    return reciprocal_ranks(rng, means, n_users, is_equal, level=RARE)


def _common(rng: np.random.Generator, means: Floats, n_users: int, is_equal: bool) -> Floats:
    return reciprocal_ranks(rng, means, n_users, is_equal, level=COMMON)


KINDS: Mapping[str, Scores] = {
    "P@10": precision,
    "RR, mean .05": _common,
    "RR, mean .02": _rare,
    "RR, hits of 10 % of the users": hits_of_some_users,
    "log-normal": log_normal,
}
TESTS = {"bootstrap": max_t_test, "sign flips": sign_flip_max_t_test}


@dataclass(frozen=True)
class Cell:
    """How often a test errs, and what it finds, for scores of a kind.

    Parameters
    ----------
    errors
        Share of the sets of equal means in which any pair is told apart, by test.
    errors_without_sparse
        The same, without the pairs of systems that a caution names.
    power
        Share of the differing pairs that are told apart in the right order, by test.
    """

    errors: Mapping[str, float]
    errors_without_sparse: Mapping[str, float]
    power: Mapping[str, float]


def measure(kind: str, n_systems: int, n_users: int, *, n_sets: int = N_SETS) -> Cell:
    """Count errors at equal means, and the differences that are found, in sets of users."""
    errors = dict.fromkeys(TESTS, 0.0)
    errors_without_sparse = dict.fromkeys(TESTS, 0.0)
    power = dict.fromkeys(TESTS, 0.0)
    equal_means = np.ones(n_systems)
    is_better = np.arange(n_systems) >= n_systems / 2
    unequal_means = np.where(is_better, 1 + GAIN / np.sqrt(n_users), 1.0)
    first, second = pair_indices(n_systems)
    differs = is_better[first] != is_better[second]
    for number in range(n_sets):
        seed = int(random_words(1, 1, f"{kind} {n_systems} {n_users}", number)[0])
        rng = np.random.default_rng(seed)
        null_scores = KINDS[kind](rng, equal_means, n_users, False)[np.newaxis]
        is_sparse = count_scoring_users(null_scores)[0] < MIN_SCORING_USERS
        is_cautioned = is_sparse[first] | is_sparse[second]
        scores = KINDS[kind](rng, unequal_means, n_users, True)[np.newaxis]
        is_second_better = pair_differences(scores.mean(axis=2))[0] < 0
        for name, test in TESTS.items():
            rejected = test(null_scores, permutations=DRAWS, seed=seed)[0] <= ALPHA
            errors[name] += rejected.any() / n_sets
            errors_without_sparse[name] += (rejected & ~is_cautioned).any() / n_sets
            found = test(scores, permutations=DRAWS, seed=seed)[0] <= ALPHA
            power[name] += (found & is_second_better)[differs].mean() / n_sets
    return Cell(errors, errors_without_sparse, power)


def equivalence_errors(n_users: int, *, n_sets: int = MARGINS) -> float:
    """Count how often two systems are called equivalent whose means differ by the margin.

    By RR with rare hits: one system scores 1 for a tenth of the users, the other .05 for all; the
    margin is the difference of the means, .05.
    """
    n_errors = 0
    margin = COMMON
    for number in range(n_sets):
        seed = int(random_words(1, 2, f"equivalence {n_users}", number)[0])
        rng = np.random.default_rng(seed)
        rare_hits = (rng.random(n_users) < 2 * COMMON).astype(np.float64)
        steady = np.full(n_users, COMMON)
        limits = effects(np.array([[rare_hits, steady]]), level=1 - 2 * ALPHA)
        n_errors += bool(-margin < limits.lower.item() and limits.upper.item() < margin)
    return n_errors / n_sets


def _printed_cell(kind: str, n_systems: int, n_users: int) -> list[str]:
    with single_threaded("blas"):
        cell = measure(kind, n_systems, n_users)
    rates = [
        cell.errors["bootstrap"],
        cell.errors_without_sparse["bootstrap"],
        cell.errors["sign flips"],
        cell.power["bootstrap"],
        cell.power["sign flips"],
    ]
    return [kind, str(n_systems), str(n_users), *(f"{rate:.3f}".lstrip("0") for rate in rates)]


def main() -> None:
    """Print the table: a row for each kind of scores, number of systems and number of users."""
    cells = product(KINDS, SYSTEMS, USERS)
    rows = Parallel(n_jobs=2)(delayed(_printed_cell)(*cell) for cell in cells)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        [
            "scores",
            "systems",
            "users",
            "error, max-t",
            "error, max-t, without systems of a caution",
            "error, max-t-sign-flip",
            "power, max-t",
            "power, max-t-sign-flip",
        ]
    )
    writer.writerows(rows)
    for n_users in USERS:
        print(f"equivalence, {n_users} users: {equivalence_errors(n_users)}", file=sys.stderr)


if __name__ == "__main__":
    main()
