"""``harness tune``: search the settings of systems."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.console import FAILED
from harness.cli.options import PATH, clustered, extensible, on_workers, quietly, removed

if TYPE_CHECKING:
    from harness.tuning.search import Sampler
    from runs.shared.progress import Progress


@click.command(
    epilog="Settings that `harness systems` shows with a range are searched; the others stay as "
    "the study has them. Trial 0 has the defaults. The tables of trials are in the folder tuning "
    "of the study folder; started again, the search goes on from them."
)
@click.argument("study_file", metavar="STUDY.toml", type=PATH)
@click.argument("systems", metavar="[SYSTEM]...", nargs=-1)
@click.option(
    "--metric",
    default="nDCG@10",
    show_default=True,
    metavar="NAME",
    help="Measure to optimise; without a cut-off, at the depth of the study's lists.",
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
@on_workers("Trials at once; default: all cores. Does not change results. TPE makes one at a time.")
@clustered
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@removed("--all", "without names, all systems that have a range are tuned.")
@removed("--minutes", "`--trials` sets the budget; a search that is stopped goes on later.")
@extensible
@quietly
def tune(
    study_file: Path,
    systems: tuple[str, ...],
    metric: str,
    search: Sampler,
    trials: int,
    n_jobs: int,
    dask: str | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    progress: Progress,
) -> None:
    """Search the settings of SYSTEM..., by default of all systems of the study.

    Part of the training ratings is held out for validation, by the study's own way to split; its
    test ratings are not touched. Writes STUDY-tuned.toml, for `harness run`, and `harness compare`
    with the study as it is.

    The exit code is 0 if settings were found, 1 if all trials of a system failed, 2 for wrong
    usage.
    """
    from harness.study.run import add_plugins
    from harness.study.study import read_study
    from harness.study.workers import trained_on
    from harness.tuning.search import comparison, require_free, write_tuned_study
    from harness.tuning.search import tune as search_settings

    target = study_file.with_name(f"{study_file.stem}-tuned.toml")
    study = read_study(study_file, changes={} if output is None else {"output": output})
    study = add_plugins(study, plugins)
    require_free(target)
    budget = {"n_trials": trials, "n_jobs": n_jobs}
    with trained_on(dask, study.systems.names):
        found = search_settings(
            study, systems, metric=metric, sampler=search, progress=progress, **budget
        )
    failed = [tuned for tuned in found if tuned.best is None]
    for tuned in failed:
        finding = tuned.trials[0].finding
        click.echo(f"Failed: no trial of {tuned.label} worked; the first: {finding}", err=True)
    if failed:
        sys.exit(FAILED)
    write_tuned_study(study_file, target, found)
    click.echo(comparison(found))
    click.echo(f"The tuned study is {target.resolve()}")
