"""``harness calibrate``: check the significance tests on populations of scores."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import BROKEN, publish
from harness.cli.options import (
    PATH,
    SEED,
    SettingsCommand,
    clustered,
    given,
    imported,
    printable,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from analyses.calibration import Population, Studies
    from analyses.shared.measure import Scores
    from runs.shared.progress import Progress

SETTINGS = imported("analyses.calibration.Settings")
SIMULATED = ("continuous", "lattice")
SIMULATED_USERS = 100


@click.command(
    cls=SettingsCommand,
    epilog="The exit code is 0 if no promise is broken, 1 if one is, 2 for wrong usage.",
)
@click.argument("paths", metavar="[SCORES...]", nargs=-1, type=PATH)
@settings_options(SETTINGS)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAME", help="Of a file; all by default."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Key.")
@workers
@clustered
@printable
@click.option("--csv", "format_", flag_value="csv", help="As --format csv.")
@quietly
def calibrate(
    paths: tuple[Path, ...],
    measures: tuple[str, ...],
    seed: int,
    format_: str,
    n_jobs: int,
    dask: str | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Check that tests and intervals err as often as they promise.

    SCORES are study folders, or tables with a column for every system and a row for every topic,
    to draw users from; without any, scores are simulated, continuous ones and hits among 5. Each
    user's scores are dealt out to the systems at random, so that none is better, and every
    rejection is an error; systems are simulated by copulas, for power; and studies are made of
    samples of the users, whose intervals should hold what all users have.
    """
    from analyses.calibration import calibrate as calibrate_on
    from runs.shared.parallel import processes_on_cluster

    with processes_on_cluster(dask):
        found = calibrate_on(
            populations(paths, measures=measures, seed=seed),
            given(SETTINGS(), asked),
            studies=studies(paths, measures=measures, seed=seed),
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
    publish({"calibration": found}, format_, None)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
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


def studies(paths: Sequence[Path], *, measures: Sequence[str] = (), seed: int) -> list[Studies]:
    """Read the scores of the report measures, or of those named, together; or simulate lists."""
    from analyses.calibration import Lists, Tables

    if not paths:
        return [Lists.simulated(seed=seed)]
    return [
        Tables(
            str(path),
            _of_measures(scores, measures or [str(one) for one in scores.measures.reported]),
        )
        for path, scores in ((path, _read(path, measures)) for path in paths)
    ]


def _of_measures(scores: Scores, labels: Sequence[str]) -> Scores:
    """Take some measures, each by its label."""
    from analyses.shared.measure import Measures, Scores

    chosen = [number for number, one in enumerate(scores.measures) if str(one) in labels]
    measures = Measures([scores.measures[number] for number in chosen])
    return Scores(scores.values[chosen], measures, scores.systems, scores.users)


def _of_file(path: Path, measures: Sequence[str], *, named: bool) -> Iterator[Population]:
    from analyses.calibration import Population

    scores = _read(path, measures)
    for measure, values in zip(scores.measures, scores.values, strict=True):
        if str(measure) in measures or not measures:
            name = f"{path} {measure}" if named else str(measure)
            yield Population(name, values, continuous=False, n_users=len(scores.users))


def _read(path: Path, measures: Sequence[str]) -> Scores:
    """Read all scores, among them those of the measures named."""
    from harness.readers.scores import read_score_tables
    from runs import InputError

    scores = read_score_tables([path])
    labels = [str(measure) for measure in scores.measures]
    for name in measures:
        if name not in labels:
            raise InputError(f"{path} has no scores of {name!r}; it has {', '.join(labels)}.")
    return scores
