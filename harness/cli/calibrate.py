"""``harness calibrate``: check the significance tests on populations of scores."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import BROKEN, printed_table
from harness.cli.options import PATH, SEED, quietly, workers

if TYPE_CHECKING:
    from analyses.calibration import Calibration, Population, Rate

SIMULATED = ("continuous", "lattice")
SIMULATED_USERS = 100

PROMISES = {"exact": "=", "at most": "<=", "approximate": "~"}


@click.command(epilog="The exit code is 0 if no promise is broken, 1 if one is, 2 for wrong usage.")
@click.argument("paths", metavar="[SCORES...]", nargs=-1, type=PATH)
@click.option(
    "--sets",
    "n_sets",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Sets of scores drawn.",
)
@click.option(
    "--users",
    "n_users",
    type=click.IntRange(min=2),
    help="Users in a set; as many as in the file by default, or 100.",
)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAME", help="Of a file; all by default."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Key.")
@workers
@click.option("--csv", "as_csv", is_flag=True, help="Print all digits, as CSV.")
@quietly
def calibrate(
    paths: tuple[Path, ...],
    measures: tuple[str, ...],
    seed: int,
    as_csv: bool,
    **asked: Any,
) -> None:
    """Check that the significance tests err as often as they promise.

    SCORES are study folders, or tables with a column for every system and a row for every topic,
    to draw users from; without any, scores are simulated, continuous ones and hits among 5. Each
    user's scores are dealt out to the systems at random, so that none is better, and every
    rejection is an error.
    """
    from analyses.calibration import calibrate as calibrate_on

    found = calibrate_on(populations(paths, measures=measures, seed=seed), seed=seed, **asked)
    if as_csv:
        click.echo(found.to_frame().to_csv(index=False, lineterminator="\n"), nl=False)
    else:
        for title, headings, rows in tables(found):
            with printed_table(*headings, title=title) as add:
                for row in rows:
                    add(*row)
        click.echo(conclusion(found))
    if found.broken:
        sys.exit(BROKEN)


def populations(
    paths: Sequence[Path], *, measures: Sequence[str] = (), seed: int
) -> list[Population]:
    """Read the scores to draw from, of every measure or of those named; or simulate some.

    Study folders and tables of scores are read by themselves, each by `read_score_tables`.

    Raises
    ------
    InputError
        If a file is no such table, or lacks a measure that is named.
    """
    from analyses.calibration import Population
    from analyses.significance.null_sets import simulated_population
    from runs import InputError

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
    from analyses.calibration import Population
    from harness.readers.scores import read_score_tables
    from runs import InputError

    scores = read_score_tables([path])
    labels = [str(measure) for measure in scores.measures]
    for name in measures:
        if name not in labels:
            raise InputError(f"{path} has no scores of {name!r}; it has {', '.join(labels)}.")
    for label, values in zip(labels, scores.values, strict=True):
        if label in measures or not measures:
            name = f"{path} {label}" if named else label
            yield Population(name, values, continuous=False, n_users=len(scores.users))


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
