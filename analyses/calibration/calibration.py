"""How often tests and intervals err, in sets of users from known populations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from joblib import delayed
from pydantic import AfterValidator, Field

from analyses.calibration.population import Draw, Population
from analyses.calibration.procedures import LEVEL, TALLIES, Key
from analyses.calibration.promises import Quantity, Rate, limits, promised
from analyses.calibration.studies import Held, Place, Studies, share_held, study_intervals
from analyses.intervals.parts import ranges
from analyses.shared.result import Result, table
from analyses.shared.table import Cell, Table
from runs import InputError
from runs.shared.members import Section, Whole, without_repetition
from runs.shared.parallel import processes
from runs.shared.progress import Bar, Progress, Silent
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd

SETS_PER_TASK = 25
STUDIES_PER_TASK = 5

Found = TypeVar("Found")
Check = Literal[
    "null", "means", "margins", "power", "families", "discoveries", "differences", "studies"
]
CHECKS: tuple[Check, ...] = get_args(Check)


class Settings(Section):
    """Sets of users that are drawn from each population."""

    sets: Whole = Field(2000, ge=1, description="Sets of scores drawn.")
    studies: Whole = Field(
        200, ge=1, description="Studies made, for intervals of agreement, areas and DP."
    )
    users: Whole | None = Field(
        None,
        ge=2,
        description="Users in a set; as many as in the file by default, or 100.",
    )
    checks: Annotated[tuple[Check, ...], AfterValidator(without_repetition)] = Field(
        CHECKS, min_length=1, description="What is checked."
    )


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
        """Say what was drawn, what is promised, and how far rates may lie from it."""
        drawn = {
            f"{rate.n_sets:,} sets of {rate.n_users:,} users of {rate.scores}": None
            for rate in self.rates
        }
        return (
            f"Rates in {', '.join(drawn)}. Promised are exactly (=), at most (<=), about (~) or at "
            "most about (<~) the rates that head the columns: about is .5 to 1.5 times as often, "
            "and of intervals .03 more or less, for 100 users or more. Limits are so much wider "
            "that chance passes each in 1 of 1,000 calibrations. Scores on a lattice and from "
            "files tie, so that tests of them may err less often."
        )

    def findings(self) -> Sequence[str]:
        """Count the promises that are broken."""
        n_checked = sum(rate.promise != "none" for rate in self.rates)
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

    @table("calibration_margins", "rejections of equal margins")
    def margins_table(self) -> Table:
        """Tabulate how often each test rejects two simulated systems with one margin."""
        return self._table("margins", "Error at equal margins", {"error at equal margins"})

    @table("calibration_power", "power")
    def power_table(self) -> Table:
        """Tabulate how often each test tells two simulated systems apart, by level."""
        return self._table("power", "Power", {"power"})

    @table("calibration_signs", "errors of sign")
    def signs_table(self) -> Table:
        """Tabulate how often each test prefers the worse system, by half its level."""
        return self._table("signs", "Error of sign, by half the level", {"error of sign"})

    @table("calibration_families", "errors of the corrections")
    def families_table(self) -> Table:
        """Tabulate how often each correction errs in a family of pairs."""
        return self._table("families", "Family-wise error", {"family-wise error"})

    @table("calibration_discoveries", "false discoveries")
    def discoveries_table(self) -> Table:
        """Tabulate the share of false rejections where half of the systems are better."""
        return self._table("discoveries", "False discovery rate", {"false discovery"})

    @table("calibration_coverage", "coverage of the intervals")
    def coverage_table(self) -> Table:
        """Tabulate how often each interval holds the truth."""
        return self._table("coverage", "Coverage", {"coverage"})

    @table("calibration_differences", "false differences")
    def differences_table(self) -> Table:
        """Tabulate how often measures that are alike seem to differ."""
        return self._table("differences", "False differences", {"false difference"})

    def _table(self, name: str, title: str, quantities: Collection[Quantity]) -> Table:
        """Lay rates out: procedures on each population down, levels across."""
        chosen = [rate for rate in self.rates if rate.quantity in quantities]
        levels = list(dict.fromkeys(rate.nominal for rate in chosen))
        lines = groupby(chosen, lambda rate: (rate.scores, rate.procedure, rate.sign))
        rows = [
            [scores, procedure, sign, *_cells(list(line))]
            for (scores, procedure, sign), line in lines
        ]
        headings = ["scores", "of", "", *(f"{level:g}" for level in levels), ""]
        return Table(f"calibration_{name}", title, self.caption(), headings, rows)


def _cells(line: Sequence[Rate]) -> Iterator[Cell]:
    """Give the rates of a procedure, and the verdicts that are not good."""
    yield from (rate.observed for rate in line)
    yield ", ".join({rate.verdict: None for rate in line if rate.verdict != "within"})


def calibrate(
    populations: Sequence[Population],
    settings: Settings,
    *,
    studies: Sequence[Studies] = (),
    seed: int,
    draws: int = 1999,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    r"""Draw sets of users from populations, and count how often each procedure errs.

    - ``null``: type-I error of each test, for two systems whose scores are dealt out at random to
      each user: the null hypothesis holds exactly.
    - ``means``: rejections at equal means, for two systems of the population, one of them shifted
      until their means are equal there: differences need not be symmetric, and no test is exact.
      Tests of ranks and signs, whose hypotheses are not about means, reject the more the more users
      there are (Ihemelandu & Ekstrand 2023, Inference at scale).
    - ``margins``, ``power``: errors, power and errors of sign for two simulated systems, with
      margins and correlation of the population, and either one margin for both or their own:
      see :meth:`Draw.simulated_pair`.
    - ``families``: family-wise error of the corrections, for families of up to 6 systems that are
      alike. Bonferroni's, Holm's and Benjamini & Hochberg's correct Monte-Carlo p-values.
    - ``discoveries``: false discovery rate and power of Benjamini & Hochberg's correction, after
      half of these systems were made better by 3 standard errors.
    - ``differences``: coverage of 95 % intervals, for two systems of the population, users drawn
      with replacement.
    - ``studies``: coverage of the 95 % intervals of agreements, of the population's; of areas, DP
      and differences, of what so many users have on average, which is the mean over all studies
      made; and how often measures seem to differ beyond noise after each user's were dealt out.

    Every set draws signs and samples of its own: sets that share them err together, and their
    rates do not keep to binomial limits.

    Parameters
    ----------
    populations
        What users are drawn from.
    settings
        Number of sets, and of the users in each; those of the population by default.
    studies
        Populations of several measures, to make studies of.
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
    in_parts = partial(_in_parts, processes(n_jobs, return_as="generator"))
    shown = progress or Silent()
    checks = [check for check in settings.checks if check in TALLIES]
    for population in populations if checks else ():
        size = settings.users or population.n_users
        _check(len(population.scores), n_users=size)
        tally = partial(tally_sets, population, checks, n_users=size, seed=seed, draws=draws)
        with shown(f"Calibrating on {population.label}", settings.sets) as bar:
            tallies = in_parts(tally, settings.sets, SETS_PER_TASK, bar)
        rates += _rates_of(population, tallies, settings.sets, size)
    for several in studies if "studies" in settings.checks else ():
        size = settings.users or several.n_users
        _check(len(several.everybody.scores.systems), n_users=size)
        study = partial(study_intervals, several, n_users=size, seed=seed)
        with shown(f"Making studies of {several.label}", settings.studies) as bar:
            parts = in_parts(study, settings.studies, STUDIES_PER_TASK, bar)
        found = [one for part in parts for one in part]
        rates += _rates_of_studies(several.label, found, size)
    return Calibration(tuple(rates))


def _check(n_systems: int, *, n_users: int) -> None:
    if n_systems < 2:
        raise InputError(f"calibration needs at least two systems, got {n_systems}.")
    if n_users < 2:
        raise InputError(f"`users` must be at least 2, got {n_users}.")


def _in_parts(
    workers: Callable[[Iterable[Any]], Iterator[Any]],
    work: Callable[[int, int], Found],
    n_all: int,
    part: int,
    bar: Bar,
) -> list[Found]:
    """Do a part after the other, in any process."""
    parts, found = list(ranges(n_all, part)), []
    results = workers(delayed(work)(start, stop) for start, stop in parts)
    for (start, stop), result in zip(parts, results, strict=True):
        found.append(result)
        bar.advance(stop - start)
    return found


def tally_sets(
    population: Population,
    checks: Sequence[Check],
    start: int,
    stop: int,
    *,
    n_users: int,
    seed: int,
    draws: int,
) -> dict[Key, float]:
    """Count the errors of procedures in the sets ``start`` to ``stop``."""
    total: dict[Key, float] = defaultdict(float)
    for number in range(start, stop):
        own_seed = int(random_words(1, seed, "calibration", number)[0])
        drawn = Draw(population, n_users, own_seed, draws)
        for check in checks:
            for key, count in TALLIES[check](drawn):
                total[key] += count
    return dict(total)


def _rates_of(
    population: Population, tallies: Sequence[Mapping[Key, float]], n_sets: int, n_users: int
) -> Iterator[Rate]:
    for key in tallies[0]:
        observed = sum(tally[key] for tally in tallies) / n_sets
        of = population.label
        yield _rate(key, observed, of, n_sets, n_users, continuous=population.continuous)


def _rates_of_studies(
    label: str, found: Sequence[Mapping[Place, Held]], n_users: int
) -> Iterator[Rate]:
    for quantity, procedure in found[0]:
        share = share_held([one[quantity, procedure] for one in found])
        if not np.isnan(share):
            held = quantity == "coverage"
            key = (quantity, procedure, LEVEL if held else round(1 - LEVEL, 9))
            observed = share if held else 1 - share
            yield _rate(key, observed, label, len(found), n_users, continuous=False)


def _rate(
    key: Key, observed: float, scores: str, n_sets: int, n_users: int, *, continuous: bool
) -> Rate:
    quantity, procedure, nominal = key
    promise = promised(quantity, procedure, continuous=continuous, n_users=n_users)
    lower, upper = limits(quantity, nominal, promise, n_sets=n_sets)
    return Rate(
        quantity=quantity,
        procedure=procedure,
        scores=scores,
        nominal=nominal,
        observed=observed,
        n_sets=n_sets,
        n_users=n_users,
        lower=lower,
        upper=upper,
        promise=promise,
    )
