"""``harness online``: compare offline measures with click-through rates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.cli.console import publish
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
    from analyses.online.experiments import Experiment
    from runs.shared.progress import Progress

SETTINGS = imported("analyses.online.click_agreement.Settings")

OF_TABLES = {"chosen", "over_time", "permutations", "format_"}
"""Options that a study file has as settings, or that only tables of several data sets need."""


@click.command(
    cls=SettingsCommand,
    epilog="VALUES.csv begins with a column model; its other columns are measures, such as "
    "'LLOO(beta=0.35)@5' or nDCG@10, or it has the columns measure and value, as harness recall "
    "writes it. RATES.csv has the columns model and rate and may have period, users, "
    "recommendations, accepted, error. With a column experiment in both, several data sets are "
    "studied together. STUDY.toml describes a simulated experiment, or the logs and models of a "
    "real one; without any file: the demo. A FOLDER is a finished study of an experiment, or holds "
    "values.csv and rates.csv.",
)
@click.argument(
    "inputs", metavar="[STUDY.toml | VALUES.csv RATES.csv | FOLDER FOLDER ...]", nargs=-1, type=PATH
)
@click.option(
    "--chosen",
    multiple=True,
    metavar="NAME",
    help="A data set that was chosen after its result was known. May be repeated.",
)
@settings_options(SETTINGS, without=["rates"])
@click.option(
    "--seed", type=SEED, help="Random seed; default: 0, or that of the study. Not of the world."
)
@workers
@clustered
@printable
@click.option("--output", type=PATH, help="Folder for tables, figures and captions.")
@quietly
def online(
    inputs: tuple[Path, ...],
    seed: int | None,
    n_jobs: int,
    dask: str | None,
    format_: str,
    output: Path | None,
    progress: Progress,
    chosen: tuple[str, ...],
    **asked: Any,
) -> None:
    """Test whether offline measures agree with click-through rates.

    For every measure, models are ordered by it and by their click-through rates, and the two
    orders are compared. The best measure is compared with the best of so many measures by chance.
    From a study file, an experiment is simulated, or read from its logs, recall of hidden items is
    measured, and a report is written. Several folders are several data sets.
    """
    if not inputs or (len(inputs) == 1 and not inputs[0].is_dir()):
        _refuse(OF_TABLES, "a study file", "[analyses.online] has these settings")
        changes = {"seed": seed, "output": output}
        known = {name: value for name, value in changes.items() if value is not None}
        from harness.online.experiment import run_experiment_study
        from harness.online.experiment_file import demo_experiment_study, read_experiment_study

        study = demo_experiment_study(changes=known)
        if inputs:
            study = read_experiment_study(inputs[0], changes=known)
        report = run_experiment_study(study, n_jobs=n_jobs, progress=progress, dask=dask)
        click.echo(f"The report is {report.resolve()}")
        return
    _refuse({"n_jobs", "dask"}, "tables", "they need no workers")
    from analyses.online.click_agreement import study_clicks

    settings = given(SETTINGS(), {"rates": Path(), **asked})
    experiments = _read(inputs, settings.over_time)
    with progress("Permuting rates", 1) as bar:
        found = study_clicks(
            experiments, permutations=settings.permutations, seed=seed or 0, chosen=chosen or None
        )
        bar.advance()
    # Tables 4.3 to 4.11 are long; they are in the folder and in the other formats.
    short = ("online",) if len(experiments) > 1 else ("online", "online_intervals")
    publish({"online": found}, format_, output, short if format_ == "table" else ())
    click.echo(found.caption(), err=True)


def _refuse(names: set[str], subject: str, remedy: str) -> None:
    """Refuse options that would be ignored."""
    from runs import InputError

    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        typed = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if name in names and typed:
            raise InputError(f"{option.opts[0]} does not apply to {subject}: {remedy}.")


def _read(inputs: Sequence[Path], over_time: Any) -> list[Experiment]:
    """Read a table of values and one of rates, or such tables of several folders."""
    from analyses.online.experiments import read_experiment_folder, read_experiments
    from runs import InputError

    if len(inputs) == 2 and not inputs[1].is_dir():
        return read_experiments(*inputs, over_time=over_time)
    for path in inputs:
        if not path.is_dir():
            raise InputError(
                f"{path}: several inputs must be folders with values.csv and rates.csv, or "
                "finished studies; or give one table of values and one of rates."
            )
    return [one for path in inputs for one in read_experiment_folder(path, over_time=over_time)]
