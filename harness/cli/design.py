"""``harness design``: how many users it takes, from a pilot's scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    SEED,
    SettingsCommand,
    given,
    imported,
    printable,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

SETTINGS = imported("analyses.design.Settings")


@click.command(
    cls=SettingsCommand,
    epilog="Tables are those of `harness discriminate`: a column for every system, a row for every "
    "topic, one measure a file, which names it.",
)
@click.argument("tables", metavar="STUDY|SCORES.csv...", nargs=-1, required=True, type=PATH)
@settings_options(SETTINGS)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of all draws.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for tables, the figure and its caption.")
@quietly
def design(
    tables: tuple[Path, ...],
    seed: int,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Say how many users each measure needs, from a pilot: a study, or tables of scores.

    How many users make pairs of systems differ, find a difference of some per cent, and order
    systems reliably; and what the users that there are can find.
    """
    from analyses.design import design as analysis
    from analyses.shared.work import ScoresAlone
    from harness.readers.scores import read_score_tables

    scores = read_score_tables(tables)
    work = ScoresAlone(scores, seed=seed, n_jobs=n_jobs, progress=progress)
    found = analysis(work, given(SETTINGS(), asked))
    publish({analysis.name: found}, format_, output)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
