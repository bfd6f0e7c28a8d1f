"""``harness correct``: metrics corrected for sampled negatives."""

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
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

SETTINGS = imported("analyses.sampled.correction.Settings")


@click.command(
    cls=SettingsCommand,
    epilog="A table of ranks is long (system, user, rank) or wide (a column for every system); one "
    "of scores has the columns user, score and label, 1 for relevant items and 0 for negatives "
    "(RecBole's names, too), or NCF's lines: (user,item), its score, those of its negatives.",
)
@click.argument("tables", metavar="SAMPLED.csv...", nargs=-1, required=True, type=PATH)
@click.option(
    "--negatives", type=click.IntRange(min=1), help="Of each user; default: column n_negatives."
)
@click.option(
    "--candidates", type=click.IntRange(min=2), help="Of each user; default: column n_candidates."
)
@click.option("--replace/--without-replacement", default=True, help="How negatives were drawn.")
@settings_options(SETTINGS)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@printable
@click.option("--output", type=PATH, help="A folder for tables, figures and captions.")
@quietly
def correct(
    tables: tuple[Path, ...],
    negatives: int | None,
    candidates: int | None,
    replace: bool,
    format_: str,
    output: Path | None,
    progress: Progress,
    seed: int,
    **asked: Any,
) -> None:
    """Estimate metrics among all candidates from ranks among sampled negatives.

    Every system gets an estimate with a standard error over users, all pairs of systems are
    compared, and sentences say which of them can be told apart.
    """
    from analyses.sampled.correction import corrected_systems
    from analyses.sampled.rank_tables import sampled_of

    settings = given(SETTINGS(), asked)
    systems = sampled_of(tables, negatives=negatives, candidates=candidates, replace=replace)
    found = corrected_systems(systems, settings, seed=seed, progress=progress)
    publish({"corrected": found}, format_, output)
    click.echo(found.caption(), err=True)
