"""How often intervals hold what they are of, as a table for the documentation.

``make coverage WHOLE=1`` fills docs/coverage.csv, and goes on where it stopped. ``make coverage``
makes some of the cells again. The same studies give the same numbers: it exits with 1 where a cell
differs from the file by more than half a point, and where intervals hold in less than 85 %.

A cell is of 16 populations of lists, and of studies of users that are drawn from each with
replacement, more of them where some have no interval. What all users of a population have is known;
what as many users have on average is the mean over the studies of the population.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.correlation import Settings as CorrelationSettings
from analyses.correlation import correlation
from analyses.design import Settings as DesignSettings
from analyses.design import design
from analyses.discrimination import Settings as DiscriminationSettings
from analyses.discrimination import discrimination
from analyses.popularity import Settings as PopularitySettings
from analyses.popularity import popularity
from analyses.sampled.correction import correct
from analyses.sampled.metrics import rank_metric
from analyses.sampled.samples import SampleDesign
from analyses.shared.limits import variance_stabilised
from analyses.shared.measure_estimates import Estimates
from analyses.significance.paired_tests import pair_means_and_deviations, t_of_moments
from analyses.significance.permutation import pair_indices
from analyses.significance.power import EffectDistribution, standardised_effects, users_for_share
from analyses.significance.question import Question
from analyses.sparsity import Settings as SparsitySettings
from analyses.sparsity import sparsity
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.truth_agreement import ResampledComparison
from qrels import FullRanks
from runs.shared.parallel import single_threaded
from tests.benchmarks.simulated_lists import MEASURES, N_RELEVANT, Lists

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Cell = tuple[str, str, int, int]
"""A part, a population, a number of systems, and a number of users."""

FILE = Path(__file__).parents[2] / "docs/coverage.csv"
SYSTEMS, USERS = (8, 20, 50), (30, 100, 1000)
DRAWN, N_USERS, FIRST_SEED = 16, 6000, 2_000
"""Populations drawn of a kind, and their users."""

MANY, SOME, MOST = 25, 13, 4
"""Studies of a population: some of what is slow; up to so many times as many, until as many have
intervals."""

REPLICATES = 200
LEAST = 0.92
"""A smaller coverage is marked."""

MOST_DIFFERENT = 0.005
"""Largest difference between a share in the file and the same made again: less than one in two
hundred. Studies, and so their intervals, are the same; rounding elsewhere may move a few.
"""

LEAST_ACCEPTABLE = 0.85
"""If intervals hold less often, in any cell, the check fails."""

# Taus are compared with room for rounding.
TINY = 1e-9
SHARE_JUDGED = 0.4
"""Of the relevant items, where the truth is all of them."""

SIZES = [*product(SYSTEMS, USERS)]
"""Numbers of systems and users, of which quick parts have all."""

DIAGONAL = [(8, 30), (8, 1000), (20, 100), (50, 30)]
"""Numbers of systems and users of parts that take long: every number of either is among them."""

SIZES_OF_SLOW_PARTS = {
    "DP": DIAGONAL,
    "area, random loss": DIAGONAL,
    "area, popular items": DIAGONAL,
    "over users and systems": [(8, 30), (8, 1000), (20, 30)],
}

CHECKED_SIZES = {
    "users needed": [(8, 30), (20, 100), (50, 30)],
    "corrected": [(8, 30)],
}
"""Numbers of systems and users for which cells of parts are made again, where not every second."""

QUICK_PARTS = ("DP", "area, random loss", "area, popular items", "validity")
"""Parts of which cells of all populations are made again."""

LEVELS, SAMPLES = (1.0, 0.5, 0.2, 0.1), 5
UNPOPULAR = (1.0, 0.95, 0.9, 0.8)
N_RANKED, NEGATIVES = 2000, 50
OFFSET = 20
OF_RANKS = ("nDCG@10", "AP")


@dataclass(frozen=True)
class Population:
    """How good the systems are, how skilled the users, and which families systems come in.

    Systems of a family share noise, and families are found by likeness; or they are named.
    """

    qualities: Callable[[np.random.Generator, int], Floats]
    skills: Callable[[Floats], Floats] = lambda uniform: 2 * uniform
    in_families: bool = False
    named: Callable[[int], Numbers] | None = None

    def lists(self, rng: np.random.Generator, n_systems: int, n_users: int) -> Lists:
        """Draw systems and users."""
        drawn = Lists.simulated(
            qualities=self.qualities(rng, n_systems),
            choosy=rng.random(n_systems),
            skills=self.skills(rng.random(n_users)),
            families=families(n_systems) if self.in_families else None,
            seed=int(rng.integers(2**31)),
        )
        return replace(drawn, named=self.named(n_systems)) if self.named else drawn


def _close(rng: np.random.Generator, n_systems: int) -> Floats:
    return rng.normal(1, 0.06, n_systems)


def _apart(rng: np.random.Generator, n_systems: int) -> Floats:
    return rng.normal(1, 0.3, n_systems)


def _clump(rng: np.random.Generator, n_systems: int) -> Floats:
    qualities = _apart(rng, n_systems)
    half = n_systems // 2
    qualities[:half] = qualities[0] + rng.normal(0, 0.015, half)
    return qualities


def half_together(n_systems: int) -> Numbers:
    """Number the first half of the systems as one family, each other system as its own."""
    return np.maximum(np.arange(n_systems) - n_systems // 2 + 1, 0)


def _tails(rng: np.random.Generator, n_systems: int) -> Floats:
    return np.asarray(1 + 0.1 * rng.standard_t(2, n_systems))


def _one_bad(rng: np.random.Generator, n_systems: int) -> Floats:
    qualities = _close(rng, n_systems)
    qualities[0] = -1.0
    return qualities


def families(n_systems: int) -> Numbers:
    """Number five families, or one for every five systems if these are more."""
    return np.arange(n_systems) % max(5, n_systems // 5)


def _of_families(rng: np.random.Generator, n_systems: int) -> Floats:
    own = families(n_systems)
    return np.asarray(rng.normal(1, 0.2, own.max() + 1)[own] + rng.normal(0, 0.05, n_systems))


POPULATIONS: Mapping[str, Population] = {
    "close": Population(_close),
    "apart": Population(_apart),
    "clump": Population(_clump, named=half_together),
    "tails": Population(_tails),
    "families": Population(_of_families, in_families=True),
    "one bad": Population(_one_bad),
    "skewed": Population(_apart, lambda uniform: 6 * uniform**5),
    "zeros": Population(_apart, lambda uniform: np.where(uniform < 0.7, -20.0, 2 * uniform)),
    "ceiling": Population(_apart, lambda uniform: 3 + 3 * uniform),
}


@dataclass(frozen=True, eq=False)
class Held:
    """Intervals of some numbers: arrays of shape (n_numbers,).

    Parameters
    ----------
    values, low, high
        What was observed, and the limits around it; NaN where there are none.
    truths
        What intervals should hold: None if that is the expectation of the values.
    at_once
        Whether all are to hold at once.
    best
        Instead of intervals, the marked measures of which one should have the best expectation:
        1 for the highest, -1 for the lowest.
    """

    values: Floats
    low: Floats
    high: Floats
    truths: Floats | None = None
    at_once: bool = False
    best: int = 0


def main(task: str) -> None:
    """Fill the file, or check a part of it."""
    if task == "whole":
        return fill()
    rows = rows_of(FILE)
    faults = low_cells(rows)
    n_cells = 0
    for cell, shares in made(cells_to_check()):
        faults += differences_from(rows, cell, shares)
        n_cells += 1
    print(*faults, sep="\n")
    print(f"{n_cells} cells were made again; {len(faults)} faults.")
    sys.exit(int(len(faults) > 0))


def cells_to_check() -> list[Cell]:
    """List the cells that are made again, in half an hour of a processor.

    A part has every second of its sizes, slow parts all, with another population at each. Quick
    parts have all populations with the fewest systems and users.
    """
    names = list(POPULATIONS)
    cells: list[Cell] = []
    for part_number, part in enumerate(PARTS):
        every_second = SIZES[part_number % 2 :: 2]
        checked_sizes = SIZES_OF_SLOW_PARTS.get(part) or CHECKED_SIZES.get(part, every_second)
        for size_number, (n_systems, n_users) in enumerate(checked_sizes):
            name = names[(part_number + size_number) % len(names)]
            cells.append((part, name, n_systems, n_users))
        if part in QUICK_PARTS:
            cells += [(part, name, SYSTEMS[0], USERS[0]) for name in names]
    return list(dict.fromkeys(cells))


def differences_from(rows: Rows, cell: Cell, shares: Mapping[str, Share]) -> list[str]:
    """Describe where the shares of a cell, by quantity, differ from those of the file."""
    _, name, n_systems, n_users = cell
    faults = []
    for quantity, (share, _, _) in shares.items():
        written = share_of(rows[quantity, n_systems, n_users][name])
        if abs(share - written) > MOST_DIFFERENT:
            faults.append(
                f"{quantity}, {name}, {n_systems} systems, {n_users} users: {share:.3f}, in "
                f"{FILE.name} {written:.3f}"
            )
    return faults


def low_cells(rows: Rows) -> list[str]:
    """Describe the cells of the file in which intervals hold less often than is acceptable."""
    faults = []
    for (quantity, n_systems, n_users), row in rows.items():
        for name in POPULATIONS:
            if row[name] and share_of(row[name]) < LEAST_ACCEPTABLE:
                faults.append(
                    f"{quantity}, {name}, {n_systems} systems, {n_users} users: intervals hold in "
                    f"{share_of(row[name]):.3f}, less than {LEAST_ACCEPTABLE}"
                )
    return faults


def share_of(cell: str) -> float:
    """Read the share of the intervals that hold from a cell such as "94.0 ± 1.0".

    Examples
    --------
    >>> share_of("91.8 ± 1.0 − (380)")
    0.918
    """
    percent, _, _ = cell.partition(" ")
    return round(float(percent) / 100, 3)


def fill() -> None:
    """Make what the file lacks, and write the file after every cell."""
    rows = rows_of(FILE)
    present_cells = set()
    for (quantity, n_systems, n_users), row in rows.items():
        part = quantity.rpartition(": ")[2]
        present_cells |= {(part, name, n_systems, n_users) for name in POPULATIONS if row[name]}
    missing_cells = [cell for cell in all_cells() if cell not in present_cells]
    for (part, name, n_systems, n_users), shares in made(missing_cells):
        n_planned = DRAWN * PARTS[part].studies
        for quantity, (share, error, n_studies) in shares.items():
            row = rows[quantity, n_systems, n_users]
            mark = " −" if share < LEAST else ""
            fewer = f" ({n_studies})" if n_studies < n_planned else ""
            row["studies"] = str(n_planned)
            row[name] = f"{100 * share:.1f} ± {100 * error:.1f}{mark}{fewer}"
        write(rows)
        print(part, name, n_systems, n_users, file=sys.stderr, flush=True)


def all_cells() -> list[Cell]:
    """List the cells of the file, the smallest sizes first."""
    cells: list[Cell] = []
    for size in SIZES:
        for part in PARTS:
            if size in SIZES_OF_SLOW_PARTS.get(part, SIZES):
                cells += [(part, name, *size) for name in POPULATIONS]
    return cells


Rows = dict[tuple[str, int, int], dict[str, str]]


def rows_of(path: Path) -> Rows:
    """Read the cells of the file; there may be none."""
    rows: Rows = defaultdict(lambda: dict.fromkeys(("studies", *POPULATIONS), ""))
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                key = row.pop("interval of"), int(row.pop("systems")), int(row.pop("users"))
                rows[key] |= row
    return rows


def write(rows: Rows) -> None:
    """Write all cells, by what intervals are of."""
    names = [*dict.fromkeys(key[0] for key in rows)]
    parts = [*PARTS]
    order = {name: (parts.index(name.rpartition(": ")[2]), names.index(name)) for name in names}
    with FILE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["interval of", "systems", "users", "studies", *POPULATIONS])
        for key in sorted(rows, key=lambda key: (order[key[0]], key[1:])):
            table.writerow([*key, rows[key]["studies"], *(rows[key][n] for n in POPULATIONS)])


Share = tuple[float, float, int]
"""Share of the intervals that hold, its standard error, and the number of studies."""


def made(cells: list[Cell]) -> Iterator[tuple[Cell, dict[str, Share]]]:
    """Make cells, each of all populations."""
    seeds = range(FIRST_SEED, FIRST_SEED + DRAWN)
    tasks = [(*cell, seed) for cell in cells for seed in seeds]
    workers = Parallel(n_jobs=-1, return_as="generator")
    together: list[Mapping[str, tuple[float, int, int]]] = []
    for task, shares in zip(
        tasks, workers(delayed(coverage)(*task) for task in tasks), strict=True
    ):
        together.append(shares)
        if len(together) == DRAWN:
            known = (of for of in shares if any(s[of][2] for s in together))
            yield task[:4], {of: mean_share([s[of] for s in together]) for of in known}
            together = []


def mean_share(found: list[tuple[float, int, int]]) -> Share:
    """Average over populations; the error is from their spread, or binomial if that is larger."""
    shares, n_intervals, n_studies = np.transpose([f for f in found if not np.isnan(f[0])])
    share = float(shares.mean())
    # As if one more interval held, and one more did not.
    least = (share * n_intervals.sum() + 1) / (n_intervals.sum() + 2)
    errors = (
        np.std(shares, ddof=1) / np.sqrt(len(shares)),
        np.sqrt(least * (1 - least) / n_intervals.sum()),
    )
    return share, float(max(errors)), int(n_studies.sum())


def coverage(
    part: str, name: str, n_systems: int, n_users: int, seed: int
) -> Mapping[str, tuple[float, int, int]]:
    """Give the share of intervals that hold in studies of one population, by what they are of."""
    rng = np.random.default_rng([seed, n_systems, n_users, [*POPULATIONS].index(name)])
    kind = POPULATIONS[name]
    everybody = kind.lists(rng, n_systems, PARTS[part].n_users)
    held: dict[str, list[Held]] = defaultdict(list)
    with single_threaded("blas"):
        study, planned = PARTS[part].begin(everybody, rng, kind), PARTS[part].studies
        for number in range(MOST * planned):
            if number >= planned and with_intervals(held) >= planned:
                break
            users = rng.integers(0, len(everybody.lists), n_users)
            for quantity, one in study(everybody.of(users, seed=number), users):
                held[quantity].append(one)
    return {
        f"{quantity}: {part}" if quantity else part: share_held(some)
        for quantity, some in held.items()
    }


def with_intervals(held: Mapping[str, list[Held]]) -> int:
    """Count the studies that have an interval of the first quantity."""
    first = next(iter(held.values()))
    return sum(not np.isnan(one.low + one.high).all() for one in first)


Intervals = Iterator[tuple[str, Held]]
Study = Callable[[Lists, Numbers], Intervals]
Begin = Callable[[Lists, np.random.Generator, Population], Study]


def agreement(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Compare the orderings by two measures."""
    pairs = np.triu_indices(len(MEASURES), k=1)

    def study(work: Lists, users: Numbers) -> Intervals:
        found = correlation(work, CorrelationSettings(replicates=REPLICATES, every_pair=True))
        low, high = found.low[pairs] - TINY, found.high[pairs] + TINY
        yield "", Held(found.taus[pairs], low, high)

    return study


def agreement_with_others(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Average over the other measures."""

    def study(work: Lists, users: Numbers) -> Intervals:
        settings = CorrelationSettings(replicates=REPLICATES, every_pair=True)
        found = correlation(work, settings).headline()
        assert found is not None
        yield from of_estimates(found)

    return study


def analysed(analyse: Callable[[Lists], Any]) -> Begin:
    """Take the estimates of an analysis."""
    return lambda everybody, rng, kind: lambda work, users: of_estimates(analyse(work).estimates())


def power(work: Lists) -> Any:
    """Give DP by the t-test, which is quick."""
    return discrimination(work, DiscriminationSettings(test="t", replicates=REPLICATES))


def random_loss(work: Lists) -> Any:
    """Take judgements away at random."""
    return sparsity(work, SparsitySettings(levels=LEVELS, samples=SAMPLES, replicates=REPLICATES))


def popular_loss(work: Lists) -> Any:
    """Take popular items away."""
    return popularity(work, PopularitySettings(levels=UNPOPULAR, orders=2, replicates=REPLICATES))


def validity(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Compare some judgements with all of them."""
    kept = rng.random((N_USERS * N_RELEVANT, 1)) < SHARE_JUDGED
    judged = everybody.judged(kept).values

    def study(work: Lists, users: Numbers) -> Intervals:
        found = validity_of(comparison_of(work, judged[:, :, users]))
        yield from of_estimates(found)

    return study


def users_needed(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Plan a study from a pilot."""
    likely = EffectDistribution.certain(
        standardised_effects(*pair_means_and_deviations(everybody.scores.values))
    )
    known = users_for_share(likely, share=0.8, alpha=0.05)

    def study(work: Lists, users: Numbers) -> Intervals:
        found = design(work, DesignSettings(replicates=REPLICATES))
        yield "", Held(found.needed, *found.interval, known)

    return study


def corrected(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Correct ranks among negatives, of one relevant item of each user among 2,000.

    It stands the higher, the more relevant items the system has in its list for the user. Chances
    of ranks fall as 1 / (rank + 20) where half of these are relevant, as they do on MovieLens.
    """
    (found,) = everybody.scores.values[:1]
    uniform = rng.random(found.shape)
    places = OFFSET * (N_RANKED / OFFSET + 1) ** (uniform ** (0.5 + found)) - OFFSET
    ranks = np.asarray(1 + np.floor(places).clip(0, N_RANKED - 1), dtype=np.intp)
    known = {m: np.array([rank_metric(m)(r, n=N_RANKED).mean() for r in ranks]) for m in OF_RANKS}
    first, second = pair_indices(len(ranks))

    def study(work: Lists, users: Numbers) -> Intervals:
        drawn, full = SampleDesign((NEGATIVES,)), ranks[:, users]
        sampled = {
            f"s{n}": drawn.draw(FullRanks.of(own, n_candidates=N_RANKED), seed=work.seed)
            for n, own in enumerate(full)
        }
        fit = correct(sampled, metrics=OF_RANKS, replicates=REPLICATES, seed=work.seed)
        low, high = fit.range
        gaps = fit.differences()
        for n, (metric, true) in enumerate(known.items()):
            yield metric, Held(fit.values[n], low[n], high[n], true)
            columns = "difference", "range_low", "range_high"
            found, lower, upper = (gaps[column][n] for column in columns)
            gap = true[first] - true[second]
            yield f"all differences, {metric}", Held(found, lower, upper, gap, at_once=True)

    return study


def over_both(everybody: Lists, rng: np.random.Generator, kind: Population) -> Study:
    """Draw systems anew for every study, and users, and compare with the mean over studies."""
    _, n_systems, _ = everybody.lists.shape

    def study(work: Lists, users: Numbers) -> Intervals:
        own = kind.lists(rng, n_systems, len(users))
        settings = CorrelationSettings(replicates=REPLICATES)
        agreed = correlation(own, settings).headline()
        assert agreed is not None
        others = power(own), random_loss(own), popular_loss(own)
        kept = rng.random((len(users) * N_RELEVANT, 1)) < SHARE_JUDGED
        valid = comparison_of(own, own.judged(kept).values)
        for found in (agreed, *(each.estimates() for each in others), validity_of(valid)):
            yield from of_both(found)
        if n_systems < max(SYSTEMS):
            yield "share of true differences found", power_of(valid, n_users=len(users))

    return study


def of_both(found: Estimates) -> Intervals:
    """Give intervals over users and systems, of values and all differences at once; the best."""
    low, high = found.limits_over_all_sources()
    yield found.name, Held(found.values, low, high)
    frame, of = found.differences(), np.log if found.by_ratio else np.asarray
    columns = "ratio" if found.by_ratio else "difference", "both_low", "both_high"
    values, low, high = (of(frame[name].to_numpy()) for name in columns)
    yield f"all differences of {found.name}", Held(values, low, high, at_once=True)
    yield f"best measures by {found.name}", best_of(found, systems=True)


def power_of(valid: ResampledComparison, *, n_users: int) -> Held:
    """Give the share of true differences that the t-test finds, which takes long to resample."""
    scores = valid.comparison.measured, valid.comparison.true
    p, true_p = (
        t_of_moments(*pair_means_and_deviations(each.values), n_users=n_users) for each in scores
    )
    rates = valid.rates(p, true_p[np.newaxis], Question(test="t"))
    return Held(*(numbers[0, 0] for numbers in (rates.values, *rates.both)))


def comparison_of(work: Lists, judged: Floats) -> ResampledComparison:
    """Compare scores by some judgements with those by all."""
    true = work.scores
    measured = replace(true, values=judged)
    joint = JointUsers.of_scores(measured, true, replicates=REPLICATES, seed=work.seed)
    comparison = Comparison(measured, true, np.arange(len(MEASURES))[np.newaxis])
    return ResampledComparison(comparison, joint, work.families)


def validity_of(resampled: ResampledComparison) -> Estimates:
    """Give the agreement with the truth."""
    tau = resampled.tau().part(0)
    low, high = tau.users
    replicates = variance_stabilised(tau.values, resampled.tau_replicates[0])
    systems = resampled.within.transformed(lambda numbers: numbers[0])
    numbers = tau.values, low, high, replicates
    return Estimates("validity", "", "", "", MEASURES, *numbers, systems=systems)


class Part(NamedTuple):
    """What intervals are of, and studies and users of each population."""

    begin: Begin
    studies: int
    n_users: int = N_USERS


PARTS = {
    "agreement": Part(agreement, MANY),
    "agreement with the others": Part(agreement_with_others, MANY),
    "DP": Part(analysed(power), MANY),
    "area, random loss": Part(analysed(random_loss), SOME),
    "area, popular items": Part(analysed(popular_loss), SOME),
    "validity": Part(validity, SOME),
    # Draws users of its own.
    "over users and systems": Part(over_both, MANY, n_users=1),
    "users needed": Part(users_needed, SOME),
    "corrected": Part(corrected, MANY),
}


def of_estimates(estimates: Estimates) -> Intervals:
    """Give intervals of values and of differences, one by one and jointly, and the best."""
    values = estimates.values
    yield "", Held(values, estimates.low, estimates.high)
    frame = estimates.differences()
    of = np.log if estimates.by_ratio else np.asarray
    column = "ratio" if estimates.by_ratio else "difference"
    for label, prefix in (("difference", ""), ("all differences", "joint_")):
        columns = column, f"{prefix}low", f"{prefix}high"
        found, low, high = (of(frame[name].to_numpy()) for name in columns)
        yield label, Held(found, low, high, at_once=prefix != "")
    yield "best measures", best_of(estimates)


def best_of(estimates: Estimates, *, systems: bool = False) -> Held:
    """Mark the measures that may be best."""
    marked = np.where(estimates.may_be_best(all_sources=systems), 1.0, 0.0)
    side = -1 if estimates.lower_is_better else 1
    return Held(estimates.values, marked, marked, best=side)


def share_held(some: list[Held]) -> tuple[float, int, int]:
    """Give the share of intervals that hold the truth, NaN of none, and how many of them there are.

    Last comes how many studies have intervals.

    Examples
    --------
    >>> ones = np.ones(2)
    >>> share_held([Held(ones, ones - 1, ones + 1, np.array([1.5, 2.5]))])
    (0.5, 2, 1)
    """
    values, low, high = (
        np.array([getattr(one, name) for one in some]) for name in ("values", "low", "high")
    )
    if some[0].best:
        means = some[0].best * np.nan_to_num(values).mean(axis=0)
        found = (low[:, means >= means.max() - TINY] > 0).any(axis=1)
        return float(found.mean()), len(low), len(low)
    truths = expected(values) if some[0].truths is None else some[0].truths
    defined = ~np.isnan(low + high + truths)
    held = (low <= truths) & (truths <= high)
    if some[0].at_once:
        held, defined = (held | ~defined).all(axis=1), defined.any(axis=1)
    n_studies = int(defined.reshape(len(some), -1).any(axis=1).sum())
    share = float(held[defined].mean()) if n_studies else np.nan
    return share, int(defined.sum()), n_studies


def expected(values: Floats) -> Floats:
    """Give what values of studies, (n_studies, n_numbers), have on average, as each may take it.

    A value is nearer to a mean that it is part of; the mean is moved for each by as much.
    """
    n_studies, means = len(values), values.mean(axis=0)
    return np.asarray(values - (values - means) * np.sqrt(n_studies / max(n_studies - 1, 1)))


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["part"])
