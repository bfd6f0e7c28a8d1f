"""``harness clicks``: compare the arms of an experiment from its logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    PATH,
    SettingsCommand,
    given,
    imported,
    on_workers,
    printable,
    quietly,
    removed,
    settings_options,
)

if TYPE_CHECKING:
    from runs.shared.progress import Progress

QUESTION = imported("analyses.online.clicks.Question")
DISK = "logs of any size are read as a whole; what memory does not hold lies in --output."


@click.command(
    cls=SettingsCommand,
    epilog="RECOMMENDATIONS has the columns rec_id, time, user, arm, and items (lists) or position "
    "and item (a row for each item); INTERACTIONS time, user, item, type. Times are milliseconds "
    "since 1970 in UTC, or have their zone. The exit code is 2 for wrong usage.",
)
@click.argument("recommendations", type=PATH)
@click.argument("interactions", type=PATH)
@settings_options(
    QUESTION, without=["recommendations", "interactions"], names={"types": "--rename"}
)
@on_workers("Threads; default: all cores. Does not change results.")
@printable
@click.option("--output", type=PATH, help="Folder for tables, figures and captions.")
@quietly
@removed("--policy", "for off-policy estimates use the Open Bandit Pipeline (obp).")
@removed("--crossing", "users who were shown lists by two arms are left out and counted.")
@removed("--assignment", "users who were shown lists by two arms are left out and counted.")
@removed("--credit", "an interaction counts for every list in whose window it is.")
@removed("--strict", "rows that do not fit are set aside and counted, in facts.csv and cautions.")
@removed("--merged", "give the ids of one person one name before the log is read.")
@removed("--shards", DISK)
@removed("--scratch", DISK)
@removed("--dask", DISK)
def clicks(
    recommendations: Path,
    interactions: Path,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Compare the click-through rates of the arms of an experiment, from Parquet or CSV logs.

    Prints the rate of every arm with intervals over users, the differences of the arms, whether
    users are split as planned (if not, no winner is named), and how far the tables fit together.
    """
    from analyses.online.clicks import count_clicks
    from analyses.shared.publish import PRINTED, write_results
    from runs.shared.files import write_whole

    logs = {"recommendations": recommendations, "interactions": interactions}
    question = given(QUESTION(), logs | asked)
    found = count_clicks(question, progress=progress, folder=output, n_jobs=n_jobs)
    results = {"clicks": found}
    if output is not None:
        write_results(results, output)
        text = "".join(f"{line}\n" for line in (*found.findings(), *found.cautions()))
        write_whole(output / "conclusion.txt", text.encode())
    text, red = PRINTED[format_](results), click.style(found.alarm, fg="red", bold=True)
    is_table = format_ == "table" and found.alarm
    click.echo(text.replace(found.alarm, red) if is_table else text, nl=False)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
    if found.alarm and not is_table:
        click.echo(red, err=True)
