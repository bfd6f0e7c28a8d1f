"""``harness run``: run a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import PATH, SEED, clustered, extensible, quietly, workers

if TYPE_CHECKING:
    from runs.shared.progress import Progress


@click.command()
@click.argument("study_file", metavar="[STUDY.toml]", required=False, type=PATH)
@workers
@clustered
@click.option("--seed", type=SEED, help="Replaces the seed of the study.")
@click.option("--output", type=PATH, help="The study folder; study-NAME by default.")
@extensible
@quietly
def run(
    study_file: Path | None,
    n_jobs: int,
    dask: str | None,
    seed: int | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    progress: Progress,
) -> None:
    """Run a study, or what is left of it. Without a file: the demo, on a simulated world."""
    from harness.study.run import add_plugins, run_study
    from harness.study.study import demo_study, read_study
    from harness.study.study_file import tables_in
    from harness.study.workers import trained_on

    changes = {"seed": seed, "output": output}
    given = {name: value for name, value in changes.items() if value is not None}
    if study_file is not None and "experiment" in tables_in(study_file):
        from harness.online.experiment import run_experiment_study
        from harness.online.experiment_file import read_experiment_study

        experiment = read_experiment_study(study_file, changes=given)
        report = run_experiment_study(experiment, n_jobs=n_jobs, progress=progress, dask=dask)
    else:
        study = (
            demo_study(changes=given)
            if study_file is None
            else read_study(study_file, changes=given)
        )
        with trained_on(dask, study.systems.names):
            report = run_study(add_plugins(study, plugins), n_jobs=n_jobs, progress=progress)
    click.echo(f"The report is {report.resolve()}")
