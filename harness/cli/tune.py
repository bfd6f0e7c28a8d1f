"""``harness tune``: search the settings of systems."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.console import FAILED
from harness.cli.options import PATH, clustered, extensible, on_workers, quietly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tuning.sampler import Sampler
    from harness.tuning.search import Search
    from runs.shared.progress import Progress


@click.command(
    epilog="Settings that `harness systems` shows with a range are searched; the others stay as "
    "the study has them. Trial 0 has the defaults. The table of trials is tuning/SYSTEM.csv in the "
    "study folder; started again, the search goes on from it. The budget is of each system."
)
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("systems", metavar="[SYSTEM|FILE.py:CLASS]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Every system of the study that has a range.")
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
    help="Optuna's sampler: random draws, or TPE, which learns from the trials.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Trials of each system in all, earlier ones among them.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="After these no further trial of a system begins.",
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
    systems: tuple[str, ...],
    is_all: bool,
    metric: str,
    search: Sampler,
    trials: int,
    minutes: float | None,
    n_jobs: int,
    dask: str | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    progress: Progress,
) -> None:
    """Search the settings of SYSTEM, or of --all, on a part of the study's training ratings.

    Part of the training ratings is held out for validation, by the study's own way to split; its
    test ratings are not touched. Prints the best settings as a table for the study file; of --all,
    writes STUDY-tuned.toml, for `harness run`, and `harness compare` with the study as it is.

    The exit code is 0 if settings were found, 1 if all trials of a system failed, 2 for wrong
    usage.
    """
    from harness.study.run import add_plugins
    from harness.study.study import read_study
    from harness.study.workers import trained_on
    from harness.tuning.search import (
        Budget,
        comparison,
        require_free,
        searchable,
        write_tuned_study,
    )
    from harness.tuning.search import tune as search_settings

    if is_all == bool(systems):
        raise click.UsageError("Name systems, or say --all.")
    target = study_file.with_name(f"{study_file.stem}-tuned.toml")
    study = read_study(study_file, changes={} if output is None else {"output": output})
    study = add_plugins(study, plugins)
    if is_all:
        require_free(target)
    names = searchable(study) if is_all else systems
    with trained_on(dask, names):
        found = search_settings(
            study,
            names,
            metric=metric,
            sampler=search,
            budget=Budget(trials, minutes),
            n_jobs=n_jobs,
            progress=progress,
        )
    _require_found(found)
    if not is_all:
        click.echo("\n".join(tuned.to_toml() for tuned in found), nl=False)
        return
    write_tuned_study(study_file, target, found)
    click.echo(comparison(found).to_text())
    click.echo(f"The tuned study is {target.resolve()}")


def _require_found(found: Sequence[Search]) -> None:
    """End with what went wrong if no settings were found for a system."""
    failed = [tuned for tuned in found if tuned.best is None]
    for tuned in failed:
        of = f" of {tuned.system}" if len(found) > 1 else ""
        finding = tuned.trials[0].finding
        click.echo(f"Failed: no trial{of} worked; the first: {finding}", err=True)
    if failed:
        sys.exit(FAILED)
