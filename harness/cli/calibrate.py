"""Calibration from the command line: populations of scores, and the results as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.calibration import Calibration, Rate, calibrate
from analyses.significance.null_sets import simulated_population
from harness.readers.scores import read_score_tables
from runs import InputError
from runs.shared.progress import Progress

SIMULATED = ("continuous", "lattice")
SIMULATED_USERS = 100

PROMISES = {"exact": "=", "at most": "<=", "approximate": "~"}


@dataclass(frozen=True, eq=False)
class Population:
    """Scores to draw users from.

    Parameters
    ----------
    label
        Name in the results.
    scores
        Of shape (n_systems, n_users).
    continuous
        Whether scores hardly ever tie.
    n_users
        Number of users to draw, unless one is asked for.
    """

    label: str
    scores: NDArray[np.float64]
    continuous: bool
    n_users: int


def populations(
    paths: Sequence[Path], *, measures: Sequence[str] = (), seed: int
) -> list[Population]:
    """Read the scores to draw from, or simulate continuous and lattice ones.

    Parameters
    ----------
    paths
        Study folders, or tables of scores; see `read_score_tables`, which reads each by itself.
    measures
        Names such as nDCG@10; all by default.
    seed
        Key of simulated scores.

    Raises
    ------
    InputError
        If a file is no such table, or lacks a measure that is named.
    """
    if not paths:
        if measures:
            raise InputError("`--measure` needs a file of scores to choose from.")
        return [
            Population(
                kind,
                simulated_population(kind, seed=seed),
                continuous=kind == "continuous",
                n_users=SIMULATED_USERS,
            )
            for kind in SIMULATED
        ]
    several = len(paths) > 1
    return [one for path in paths for one in _of_file(path, measures, named=several)]


def _of_file(path: Path, measures: Sequence[str], *, named: bool) -> Iterator[Population]:
    scores = read_score_tables([path])
    labels = [str(measure) for measure in scores.measures]
    for name in measures:
        if name not in labels:
            raise InputError(f"{path} has no scores of {name!r}; it has {', '.join(labels)}.")
    for label, values in zip(labels, scores.values, strict=True):
        if label in measures or not measures:
            name = f"{path} {label}" if named else label
            yield Population(name, values, continuous=False, n_users=len(scores.users))


def calibrate_all(
    chosen: Sequence[Population],
    *,
    n_sets: int,
    n_users: int | None,
    seed: int,
    n_jobs: int,
    progress: Progress,
) -> Calibration:
    """Calibrate on every population.

    Parameters
    ----------
    chosen
        The populations.
    n_sets, n_users
        Number of sets, and of users in each; those of the population by default.
    seed
        Key of all random numbers.
    n_jobs
        Number of processes.
    progress
        Shows what is being done.
    """
    rates: list[Rate] = []
    for population in chosen:
        with progress(f"Calibrating on {population.label}", n_sets) as bar:
            found = calibrate(
                population.scores,
                label=population.label,
                continuous=population.continuous,
                n_sets=n_sets,
                n_users=n_users or population.n_users,
                seed=seed,
                n_jobs=n_jobs,
                advance=bar.advance,
            )
        rates.extend(found.rates)
    return Calibration(tuple(rates))


def tables(calibration: Calibration) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Lay out the rates of each population: procedures down, levels across.

    Yields
    ------
    Title, headings and rows of a table of errors, then of one of coverage, for each population.
    """
    groups = groupby(calibration.rates, lambda rate: (rate.scores, rate.quantity == "coverage"))
    for (label, _), group in groups:
        rates = list(group)
        levels = {rate.nominal: rate for rate in rates}
        limits = [f"{at:g}\n{r.lower:.4f} to {r.upper:.4f}" for at, r in levels.items()]
        lines = groupby(rates, lambda rate: (rate.quantity, rate.procedure, rate.promise))
        yield (
            f"{label}, {rates[0].n_sets:,} sets of {rates[0].n_users:,} users",
            ["rate", "of", "", *limits],
            [
                [quantity, name, PROMISES[promise], *map(_cell, line)]
                for (quantity, name, promise), line in lines
            ],
        )


def _cell(rate: Rate) -> str:
    return f"{rate.observed:.4f}" + ("" if rate.verdict == "within" else f" {rate.verdict}")


def conclusion(calibration: Calibration) -> str:
    """Sum up in a sentence or two."""
    n_checked = sum(rate.promise != "approximate" for rate in calibration.rates)
    return (
        f"Broken promises: {len(calibration.broken)} of {n_checked}. Promised are exactly (=), at "
        "most (<=) or about (~) the rates that head the columns; below them, the limits that "
        "chance passes in 1 of 1,000 calibrations each. Scores on a lattice and from files tie, so "
        "that tests of them may err less often (<=)."
    )
