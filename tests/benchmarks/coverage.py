"""How often intervals hold what they are of, as a table for the documentation.

Run with ``make coverage``. Lists for populations of users are simulated, and users drawn from them
with replacement. What all users of a population have is known; what as many users have on average
is the mean over the studies made of the population.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.shared.families import Families
from analyses.shared.measure import Scores
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.truth_agreement import ResampledComparison
from tests.benchmarks.study_intervals import (
    N_RELEVANT,
    SIMULATED,
    Held,
    Lists,
    intervals_of,
    share_held,
)

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Cell = tuple[str, int, int, str]
Share = tuple[float, int]
"""Of so many intervals."""

SYSTEMS = (8, 20, 50)
STUDIES = {50: 17, 200: 17, 1000: 6, 6000: 3}
"""Studies made of a population, by their users."""

POPULATIONS, N_USERS = 8, 6000
FIRST_SEED = 1_000
SHARE_JUDGED = 0.4
"""Of the relevant items, where the truth is all of them."""

REPLICATES = 300
VALIDITY = "validity"
LEAST, MOST = 0.92, 0.98
"""Coverage that an interval of 95 % should have."""


def close(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw systems that 50 users can hardly tell apart."""
    return rng.normal(1, 0.06, n_systems)


def apart(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw systems five times as far from each other."""
    return rng.normal(1, 0.3, n_systems)


def cluster(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw the same, of whom half are as good as each other."""
    qualities = apart(rng, n_systems)
    half = n_systems // 2
    qualities[:half] = qualities[0] + rng.normal(0, 0.015, half)
    return qualities


def tails(rng: np.random.Generator, n_systems: int) -> Floats:
    """Draw systems of whom most are close, and a few far from all (Student's t)."""
    return 1 + 0.1 * rng.standard_t(2, n_systems)


WORLDS: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    world.__name__: world for world in (close, apart, cluster, tails)
}


def main() -> None:
    """Print the table as CSV: the share of intervals that hold, in percent, by world."""
    tasks = [*product(reversed(SYSTEMS), WORLDS, range(POPULATIONS))]
    found: dict[Cell, list[Share]] = defaultdict(list)
    workers = Parallel(n_jobs=-1, return_as="generator")
    for done, shares in enumerate(workers(delayed(coverage)(*task) for task in tasks), start=1):
        for cell, share in shares.items():
            found[cell].append(share)
        print(f"{done} of {len(tasks)} populations", file=sys.stderr)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["interval of", "systems", "users", *WORLDS])
    for quantity in dict.fromkeys(cell[0] for cell in found):
        for n_systems, n_users in product(SYSTEMS, STUDIES):
            cells = (found[quantity, n_systems, n_users, world] for world in WORLDS)
            table.writerow([quantity, n_systems, n_users, *map(in_words, cells)])


def in_words(found: list[Share]) -> str:
    """Write the share over populations with its standard error, and a mark beyond 92 to 98.

    The error is that of the mean over populations, or of as many independent intervals that hold in
    98 of 100, if that is larger. Beyond is what is so by more than two standard errors.
    """
    shares, sizes = np.transpose(found)
    error = max(
        np.std(shares, ddof=1) / np.sqrt(len(shares)), np.sqrt(MOST * (1 - MOST) / sizes.sum())
    )
    share = np.mean(shares)
    mark = " −" if share + 2 * error < LEAST else " +" if share - 2 * error > MOST else ""
    return f"{100 * share:.0f} ± {100 * error:.0f}{mark}"


def coverage(n_systems: int, world: str, number: int) -> Mapping[Cell, Share]:
    """Give the share of intervals that hold in studies of one population, of every quantity."""
    key = FIRST_SEED + number
    rng = np.random.default_rng([key, n_systems, [*WORLDS].index(world)])
    lists = Lists.simulated(
        qualities=WORLDS[world](rng, n_systems),
        choosy=rng.random(n_systems),
        n_users=N_USERS,
        seed=key,
    )
    judged = lists.judged(rng.random((N_USERS * N_RELEVANT, 1)) < SHARE_JUDGED)
    found = {}
    for n_users, n_studies in STUDIES.items():
        held: dict[str, list[Held]] = defaultdict(list)
        for seed in range(n_studies):
            users = rng.integers(0, N_USERS, n_users)
            for quantity, interval in study(lists, judged, users, seed=seed):
                held[quantity].append(interval)
        for quantity, some in held.items():
            n_intervals = len(some) * (1 if some[0].at_once else len(some[0].values))
            found[quantity, n_systems, n_users, world] = (share_held(some), n_intervals)
    return found


def study(lists: Lists, judged: Scores, users: Numbers, *, seed: int) -> Iterator[tuple[str, Held]]:
    """Give the intervals of a study of some users, and of its agreement with the truth."""
    order = np.arange(len(SIMULATED))[:, np.newaxis].repeat(len(users), axis=1)
    yield from intervals_of(lists.work(users, order, seed=seed), lists.everybody)
    everybody = lists.everybody.scores
    measured, true = (_some_of(scores, users) for scores in (judged, everybody))
    joint = JointUsers.of(measured, true, replicates=REPLICATES, seed=seed)
    comparison = Comparison(measured, true, np.arange(len(SIMULATED))[np.newaxis])
    families = Families(np.arange(len(measured.systems)))
    tau = ResampledComparison(comparison, joint, families).tau().part(0)
    low, high = tau.users
    yield VALIDITY, Held(tau.values, low, high)
    of_all = tau_b(judged.mean_values(), everybody.mean_values())
    yield f"{VALIDITY}, of all users", Held(tau.values, low, high, of_all)


def _some_of(scores: Scores, users: Numbers) -> Scores:
    ids = np.char.zfill(np.arange(len(users)).astype(np.str_), 5)
    return Scores(scores.values[:, :, users], scores.measures, scores.systems, ids)


if __name__ == "__main__":
    main()
