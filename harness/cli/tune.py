"""``harness tune``: search the settings of a system."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.console import FAILED
from harness.cli.options import PATH, clustered, extensible, on_workers, quietly

if TYPE_CHECKING:
    from runs.shared.progress import Progress


@click.command(
    epilog="Settings that `harness systems` shows with a range are searched; the others stay as "
    "the study has them. Trial 0 has the defaults. The table of trials is tuning/SYSTEM.csv in the "
    "study folder; started again, the search goes on from it."
)
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("system", metavar="SYSTEM|FILE.py:CLASS")
@click.option(
    "--metric",
    default="nDCG@10",
    show_default=True,
    metavar="NAME",
    help="What is made best; without a cut-off, at the depth of the study's lists.",
)
@click.option(
    "--search",
    type=click.Choice(["random", "tpe"]),
    default="random",
    show_default=True,
    help="Random draws; or TPE, which learns from the trials and needs Optuna.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Trials in all, earlier ones among them.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="After these no further trial begins.",
)
@on_workers(
    "Trials at once; as many as cores by default. Results are the same. TPE makes one at a time."
)
@clustered
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@extensible
@quietly
def tune(
    study_file: Path,
    system: str,
    metric: str,
    search: str,
    trials: int,
    minutes: float | None,
    n_jobs: int,
    dask: str | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    progress: Progress,
) -> None:
    """Search the settings of SYSTEM on a part of the study's training ratings.

    Part of the training ratings is held out for validation, by the study's own way to split; its
    test ratings are not touched. Prints the best settings as a table for the study file.

    The exit code is 0 if settings were found, 1 if all trials failed, 2 for wrong usage.
    """
    from harness.study.run import add_plugins
    from harness.study.study import read_study
    from harness.study.workers import trained_on
    from harness.tuning.tune import Budget
    from harness.tuning.tune import tune as search_settings

    study = read_study(study_file, changes={} if output is None else {"output": output})
    with trained_on(dask, [system]):
        tuned = search_settings(
            add_plugins(study, plugins),
            system,
            metric=metric,
            search=search,
            budget=Budget(trials, minutes),
            n_jobs=n_jobs,
            progress=progress,
        )
    if tuned.best is None:
        click.echo(f"Failed: no trial worked; the first: {tuned.trials[0].finding}", err=True)
        sys.exit(FAILED)
    click.echo(tuned.to_toml(), nl=False)
