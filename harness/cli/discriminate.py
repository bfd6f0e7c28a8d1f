"""``harness discriminate``: discriminative power from tables of scores."""

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

SETTINGS = imported("analyses.discrimination.Settings")


@click.command(
    cls=SettingsCommand,
    epilog="A table has a column for every system and a row for every topic; the first column may "
    "hold the ids of the topics. Its measure is named by the file: ap.csv, nDCG@10.tsv. All tables "
    "have the same systems and topics.",
)
@click.argument("tables", metavar="SCORES.csv...", nargs=-1, required=True, type=PATH)
@settings_options(SETTINGS)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of all draws.")
@workers
@printable
@click.option("--output", type=PATH, help="A folder for p-values, summary, figures and captions.")
@quietly
def discriminate(
    tables: tuple[Path, ...],
    seed: int,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Say how surely measures tell systems apart, from tables of per-topic scores.

    Every pair of systems is tested for every measure. Measures are printed in the order of their
    discriminative power (DP, the sum of the p-values), the most discriminative first. In place of
    tables, the folder of a finished study may be named.
    """
    from analyses.discrimination import discrimination
    from analyses.shared.work import ScoresAlone
    from harness.readers.scores import read_score_tables

    scores = read_score_tables(tables)
    work = ScoresAlone(scores, seed=seed, n_jobs=n_jobs, progress=progress)
    found = discrimination(work, given(SETTINGS(), asked))
    publish({discrimination.name: found}, format_, output, ["conventions"])
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
