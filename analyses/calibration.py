"""Whether tests keep what they promise, where the truth is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.parts import ranges
from analyses.shared.result import Result, table
from analyses.shared.table import Cell, Table
from analyses.significance.corrections import (
    benjamini_hochberg,
    bonferroni,
    holm,
    max_t_test,
    tukey_test,
)
from analyses.significance.null_sets import exchangeable_set, sampled_set, sampled_systems
from analyses.significance.paired import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.paired.confidence_intervals import bootstrap_intervals, t_intervals
from analyses.significance.permutation import exact_test, monte_carlo_test, pair_indices
from runs import InputError
from runs.shared.progress import Progress, Silent
from runs.shared.settings import Section, Whole
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd

ALPHAS = (0.01, 0.05, 0.1)
LEVEL = 0.95
# Chance that a rate lies beyond a limit, if the promise is kept to the letter.
BEYOND = 0.001
MOST_SYSTEMS = 6
# Systems of the mixture that are better, are so by this many standard errors.
SHIFT = 3.0
SETS_PER_TASK = 25

EXACT, MONTE_CARLO, TUKEY = "exact permutation", "Monte-Carlo permutation", "Tukey HSD"
# Their nominal levels are attainable unless statistics tie.
EXACT_IF_CONTINUOUS = (EXACT, MONTE_CARLO, TUKEY)
NEVER_TOO_OFTEN = ("sign", "Bonferroni", "Holm", "Benjamini-Hochberg")
PROMISED_BY_NONE = ("error at equal means", "coverage")
PROMISES = {"exact": "=", "at most": "<=", "approximate": "~"}

Promise = Literal["exact", "at most", "approximate"]
Quantity = Literal[
    "type-I error", "error at equal means", "family-wise error", "false discovery", "coverage"
]
Key = tuple[Quantity, str, float]
Tally = dict[Key, float]
Tallied = Iterator[tuple[Key, float]]


class Settings(Section):
    """Sets of users that are drawn from each population."""

    sets: Whole = Field(2000, ge=1, description="Sets of scores drawn.")
    users: Whole | None = Field(
        None,
        ge=2,
        description="Users in a set; as many as in the file by default, or 100.",
    )


@dataclass(frozen=True)
class Rate:
    """How often something happened, beside how often it should.

    Parameters
    ----------
    quantity
        "type-I error" (a true null hypothesis rejected), "error at equal means" (rejected although
        means are equal in the population), "family-wise error" (any, of a family), "false
        discovery" (share of the rejections) or "coverage" (the truth in the interval).
    procedure
        Test, correction or interval.
    scores
        What was drawn from.
    nominal
        The rate promised.
    observed
        The rate found.
    n_sets, n_users
        Number of sets, and of users in each.
    lower, upper
        Limits that a binomial rate stays above, and below, each with a chance of 99.9 %.
    promise
        "exact": neither more nor less often than the nominal rate. "at most": not more often, as
        of tests of discrete scores, whose attainable levels lie below the nominal ones.
        "approximate": near the nominal rate for many users.
    """

    quantity: Quantity
    procedure: str
    scores: str
    nominal: float
    observed: float
    n_sets: int
    n_users: int
    lower: float
    upper: float
    promise: Promise

    @property
    def broken(self) -> bool:
        """Tell whether the promise is not kept; what is approximate promises nothing."""
        too_seldom = self.promise == "exact" and self.observed < self.lower
        return self.promise != "approximate" and (self.observed > self.upper or too_seldom)

    @property
    def verdict(self) -> str:
        """Say where the rate lies: within its limits, above or below; in capitals if broken."""
        if self.observed > self.upper:
            return "TOO OFTEN" if self.broken else "above"
        if self.observed < self.lower:
            return "TOO SELDOM" if self.broken else "below"
        return "within"


@dataclass(frozen=True)
class Calibration(Result):
    """Rates of error and of coverage.

    Parameters
    ----------
    rates
        One for each procedure and level.
    """

    rates: tuple[Rate, ...]

    @property
    def broken(self) -> tuple[Rate, ...]:
        """The rates that break a promise."""
        return tuple(rate for rate in self.rates if rate.broken)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``calibration``, a row for each rate: the fields of :class:`Rate`, its verdict."""
        import pandas as pd

        rows = [{**asdict(rate), "verdict": rate.verdict} for rate in self.rates]
        return {"calibration": pd.DataFrame(rows)}

    def caption(self) -> str:
        """Say what was drawn, what is promised, and the limits that chance hardly passes."""
        drawn = {rate.scores: f"{rate.n_users:,} users of {rate.scores}" for rate in self.rates}
        limits = {rate.nominal: f"{rate.lower:.4f} to {rate.upper:.4f}" for rate in self.rates}
        within = ", ".join(f"{limit} for {level:g}" for level, limit in sorted(limits.items()))
        return (
            f"Rates in {self.rates[0].n_sets:,} sets of {', '.join(drawn.values())}. Promised are "
            "exactly (=), at most (<=) or about (~) the rates that head the columns; chance passes "
            f"these limits in 1 of 1,000 calibrations each: {within}. Scores on a lattice and from "
            "files tie, so that tests of them may err less often (<=)."
        )

    def findings(self) -> Sequence[str]:
        """Count the promises that are broken."""
        n_checked = sum(rate.promise != "approximate" for rate in self.rates)
        return [f"Broken promises: {len(self.broken)} of {n_checked}."]

    def conclusion(self) -> str:
        """Add to the findings what the tables show."""
        return f"{self.findings()[0]} {self.caption()}\n"

    def cautions(self) -> Sequence[str]:
        """Name the promises that are broken."""
        return [
            f"{rate.procedure} breaks its promise on {rate.scores}: its {rate.quantity} is "
            f"{rate.observed:.4f}, {rate.verdict.lower()} for {rate.nominal:g}."
            for rate in self.broken
        ]

    @table("calibration_tests", "type-I errors of the tests")
    def tests_table(self) -> Table:
        """Tabulate how often each test rejects two systems that are alike."""
        return self._table("tests", "Type-I error", {"type-I error"})

    @table("calibration_means", "rejections of equal means")
    def means_table(self) -> Table:
        """Tabulate how often each test rejects two systems with equal means."""
        return self._table("means", "Error at equal means", {"error at equal means"})

    @table("calibration_families", "errors of the corrections")
    def families_table(self) -> Table:
        """Tabulate how often each correction errs in a family of pairs."""
        title = "Family-wise error; of Benjamini-Hochberg, false discovery"
        return self._table("families", title, {"family-wise error", "false discovery"})

    @table("calibration_coverage", "coverage of the intervals")
    def coverage_table(self) -> Table:
        """Tabulate how often each interval holds the truth."""
        return self._table("coverage", "Coverage", {"coverage"})

    def _table(self, name: str, title: str, quantities: Collection[Quantity]) -> Table:
        """Lay rates out: procedures on each population down, levels across."""
        chosen = [rate for rate in self.rates if rate.quantity in quantities]
        levels = list(dict.fromkeys(rate.nominal for rate in chosen))
        lines = groupby(chosen, lambda rate: (rate.scores, rate.procedure, rate.promise))
        rows = [
            [scores, procedure, PROMISES[promise], *_cells(list(line))]
            for (scores, procedure, promise), line in lines
        ]
        headings = ["scores", "of", "", *(f"{level:g}" for level in levels), ""]
        return Table(f"calibration_{name}", title, self.caption(), headings, rows)


@dataclass(frozen=True, eq=False)
class Population:
    """Scores to draw users from.

    Parameters
    ----------
    label
        Name in the results.
    scores
        Of shape (n_systems, n_population_users), two systems at least.
    continuous
        Whether differences hardly ever tie: then permutation tests must not err too seldom
        either.
    n_users
        Number of users to draw, unless one is asked for.
    """

    label: str
    scores: NDArray[np.float64]
    continuous: bool
    n_users: int


def _cells(line: Sequence[Rate]) -> Iterator[Cell]:
    """Give the rates of a procedure, and the verdicts that are not good."""
    yield from (rate.observed for rate in line)
    yield ", ".join({rate.verdict: None for rate in line if rate.verdict != "within"})


def calibrate(
    populations: Sequence[Population],
    settings: Settings,
    *,
    seed: int,
    draws: int = 1999,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    r"""Draw sets of users from populations, and count how often each procedure errs.

    - Type-I error of each test, for two systems whose scores are dealt out at random to each
      user: the null hypothesis holds exactly.
    - Its rejections at equal means, for two systems of the population, one of them shifted until
      their means are equal there: differences need not be symmetric, and no test is exact. Tests
      of ranks and signs, whose hypotheses are not about means, reject the more the more users
      there are (Ihemelandu & Ekstrand 2023, Inference at scale).
    - Family-wise error of the corrections, for families of up to 6 such systems. Bonferroni's and
      Holm's correct Monte-Carlo p-values.
    - False discovery rate of Benjamini & Hochberg, after half of these systems were made better by
      3 standard errors.
    - Coverage of 95 % intervals, for two systems of the population, users drawn with replacement.

    Every set draws signs and samples of its own: sets that share them err together, and their
    rates do not keep to binomial limits.

    Parameters
    ----------
    populations
        What users are drawn from.
    settings
        Number of sets, and of the users in each; those of the population by default.
    seed
        Key of all random numbers.
    draws
        Number of permutations or replicates of a test. With 1,999, :math:`\alpha (B + 1)` is
        whole, and fine enough to correct for 15 pairs.
    n_jobs
        Number of processes; the result does not depend on it.
    progress
        Shows how many sets are finished.

    Raises
    ------
    InputError
        If there are fewer than two systems or users.
    """
    rates: list[Rate] = []
    shown = progress or Silent()
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    n_sets = settings.sets
    parts = list(ranges(n_sets, SETS_PER_TASK))
    for population in populations:
        size = settings.users or population.n_users
        _check(population.scores, n_users=size)
        tally = partial(tally_sets, population.scores, n_users=size, seed=seed, draws=draws)
        total: Tally = {}
        with shown(f"Calibrating on {population.label}", n_sets) as bar:
            tallies = workers(delayed(tally)(start, stop) for start, stop in parts)
            for (start, stop), some in zip(parts, tallies, strict=True):
                _add(total, some)
                bar.advance(stop - start)
        rates += [_rate(key, count, n_sets, size, population) for key, count in total.items()]
    return Calibration(tuple(rates))


def _check(population: NDArray[np.float64], *, n_users: int) -> None:
    if len(population) < 2:
        raise InputError(f"calibration needs at least two systems, got {len(population)}.")
    if n_users < 2:
        raise InputError(f"`users` must be at least 2, got {n_users}.")


def _add(total: Tally, some: Tally) -> None:
    for key, count in some.items():
        total[key] = total.get(key, 0.0) + count


def tally_sets(
    population: NDArray[np.float64], start: int, stop: int, *, n_users: int, seed: int, draws: int
) -> Tally:
    """Count the errors of all procedures in the sets ``start`` to ``stop``."""
    total: Tally = {}
    for number in range(start, stop):
        own_seed = int(random_words(1, seed, "calibration", number)[0])
        for tally in TALLIES:
            _add(total, dict(tally(_Draw(population, n_users, own_seed, draws))))
    return total


@dataclass(frozen=True, eq=False)
class _Draw:
    """Users of a set, drawn for one purpose after the other, and what their tests draw."""

    population: NDArray[np.float64]
    n_users: int
    seed: int
    draws: int

    def alike(self, n_systems: int, *, number: int) -> NDArray[np.float64]:
        """Draw users for systems of which none is better: scores (n_systems, n_users)."""
        n_systems = min(n_systems, len(self.population))
        return exchangeable_set(
            self.population,
            n_systems=n_systems,
            n_users=self.n_users,
            seed=self.seed,
            number=number,
        )

    def pair(self, *, number: int) -> tuple[NDArray[np.float64], float]:
        """Draw users for two systems as they are: scores (2, n_users), true mean difference."""
        systems = sampled_systems(len(self.population), 2, seed=self.seed, number=number)
        means = self.population[systems].mean(axis=1)
        scores = sampled_set(
            self.population, n_systems=2, n_users=self.n_users, seed=self.seed, number=number
        )
        return scores, float(means[0] - means[1])


def _type_one_errors(drawn: _Draw) -> Tallied:
    yield from _rejections("type-I error", drawn.alike(2, number=0), drawn)


def _errors_at_equal_means(drawn: _Draw) -> Tallied:
    pair, truth = drawn.pair(number=4)
    yield from _rejections("error at equal means", np.stack([pair[0] - truth, pair[1]]), drawn)


def _rejections(quantity: Quantity, pair: NDArray[np.float64], drawn: _Draw) -> Tallied:
    """Tell which tests reject two systems' scores (2, n_users), and at which levels."""
    scores = pair[np.newaxis]
    by_signs = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed)
    exact = exact_test(pair).p
    tests = {
        EXACT: np.where(np.isnan(exact), by_signs[0], exact),
        MONTE_CARLO: by_signs,
        "t": t_test(scores),
        "Wilcoxon": wilcoxon_test(scores),
        "sign": sign_test(scores),
        "bootstrap": sakai_test(scores, replicates=drawn.draws, seed=drawn.seed).p,
    }
    for name, p in tests.items():
        for alpha in ALPHAS:
            yield (quantity, name, alpha), float(p.item() <= alpha)


def _family_errors(drawn: _Draw) -> Tallied:
    scores = drawn.alike(MOST_SYSTEMS, number=1)[np.newaxis]
    p = monte_carlo_test(scores, permutations=drawn.draws, seed=drawn.seed)
    corrected = {
        "Bonferroni": bonferroni(p),
        "Holm": holm(p),
        "max-T": max_t_test(scores, permutations=drawn.draws, seed=drawn.seed),
        TUKEY: tukey_test(scores, permutations=drawn.draws, seed=drawn.seed),
    }
    for name, adjusted in corrected.items():
        for alpha in ALPHAS:
            yield ("family-wise error", name, alpha), float((adjusted <= alpha).any())


def _false_discoveries(drawn: _Draw) -> Tallied:
    scores = drawn.alike(MOST_SYSTEMS, number=2)
    better = np.arange(len(scores)) >= len(scores) / 2
    error = np.sqrt(2 / drawn.n_users) * drawn.population.std()
    mixture = scores + SHIFT * error * better[:, np.newaxis]
    p = monte_carlo_test(mixture[np.newaxis], permutations=drawn.draws, seed=drawn.seed)
    first, second = pair_indices(len(scores))
    alike = better[first] == better[second]
    for alpha in ALPHAS:
        rejected = benjamini_hochberg(p[0]) <= alpha
        share = (rejected & alike).sum() / max(rejected.sum(), 1)
        yield ("false discovery", "Benjamini-Hochberg", alpha), float(share)


def _coverage(drawn: _Draw) -> Tallied:
    pair, truth = drawn.pair(number=3)
    scores = pair[np.newaxis]
    intervals = {
        "t": t_intervals(scores, level=LEVEL),
        "bootstrap": bootstrap_intervals(
            scores, level=LEVEL, replicates=drawn.draws, seed=drawn.seed
        ),
    }
    for name, (lower, upper) in intervals.items():
        yield ("coverage", name, LEVEL), float(lower.item() <= truth <= upper.item())


def _promise(quantity: Quantity, procedure: str, *, continuous: bool) -> Promise:
    if quantity in PROMISED_BY_NONE:
        return "approximate"
    if procedure in EXACT_IF_CONTINUOUS:
        return "exact" if continuous else "at most"
    return "at most" if procedure in NEVER_TOO_OFTEN else "approximate"


def _rate(key: Key, count: float, n_sets: int, n_users: int, population: Population) -> Rate:
    from scipy.stats import binom

    quantity, procedure, nominal = key
    lower, upper = binom.ppf(np.array([BEYOND, 1 - BEYOND]), n_sets, nominal) / n_sets
    return Rate(
        quantity=quantity,
        procedure=procedure,
        scores=population.label,
        nominal=nominal,
        observed=count / n_sets,
        n_sets=n_sets,
        n_users=n_users,
        lower=float(lower),
        upper=float(upper),
        promise=_promise(quantity, procedure, continuous=population.continuous),
    )


TALLIES = (_type_one_errors, _errors_at_equal_means, _family_errors, _false_discoveries, _coverage)
