"""``harness clicks``: compare the arms of an experiment from its logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    PATH,
    SettingsCommand,
    clustered,
    given,
    imported,
    kept_apart,
    printable,
    quietly,
    settings_options,
    sharded,
    workers,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

QUESTION = imported("analyses.online.clicks.click_question.Question")


@click.command(
    cls=SettingsCommand,
    epilog="RECOMMENDATIONS has the columns rec_id, time, user, arm, and items (lists) or position "
    "and item (a row for each item); INTERACTIONS time, user, item, type. Times are milliseconds "
    "since 1970 in UTC, or have their zone. The exit code is 2 for wrong usage.",
)
@click.argument("recommendations", type=PATH)
@click.argument("interactions", type=PATH)
@settings_options(QUESTION)
@sharded
@kept_apart
@clustered
@workers
@printable
@click.option("--output", type=PATH, help="A folder for tables, figures and captions.")
@quietly
def clicks(
    recommendations: Path,
    interactions: Path,
    shards: int | None,
    scratch: Path | None,
    dask: str | None,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Say which arm of an experiment is clicked more, from logs as Parquet or CSV.

    Prints the click-through rate of every arm with intervals over users, the differences of the
    arms, whether users are split as planned (if not, no winner is named), and how far the tables
    fit together.
    """
    from analyses.online.clicks.counting import study_log
    from analyses.shared.publish import PRINTED, write_results
    from qrels.interactions.shards import Reading
    from runs.shared.files import write_whole

    reading, question = Reading(shards, scratch, dask, n_jobs), given(QUESTION(), asked)
    found = study_log(recommendations, interactions, question, reading=reading, progress=progress)
    results = {"clicks": found}
    if output is not None:
        write_results(results, output)
        said = "".join(f"{line}\n" for line in (*found.findings(), *found.cautions()))
        write_whole(output / "conclusion.txt", said.encode())
    text, red = PRINTED[format_](results), click.style(found.alarm, fg="red", bold=True)
    is_table = format_ == "table" and found.alarm
    click.echo(text.replace(found.alarm, red) if is_table else text, nl=False)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
    if found.alarm and not is_table:
        click.echo(red, err=True)
