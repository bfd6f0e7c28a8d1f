"""``harness online``: compare offline measures with click-through rates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    from runs.shared.progress import Progress


SETTINGS = imported("analyses.online.click_agreement.Settings")


@click.command(
    cls=SettingsCommand,
    epilog="VALUES.csv begins with a column model; its other columns are measures, such as "
    "'LLOO(beta=0.35)@5' or nDCG@10, or it has the columns measure and value. RATES.csv has the "
    "columns model and rate and may have period, users, recommendations, accepted. With a column "
    "experiment in both, several data sets are studied together. STUDY.toml describes a simulated "
    "experiment, or the logs and models of one that took place; without any file: the demo.",
)
@click.argument("inputs", metavar="[STUDY.toml | VALUES.csv RATES.csv]", nargs=-1, type=PATH)
@click.option(
    "--chosen",
    multiple=True,
    metavar="NAME",
    help="An experiment of the tables, chosen after looking at the result; may be repeated.",
)
@settings_options(SETTINGS, without=["rates", "offline"])
@click.option(
    "--seed",
    type=SEED,
    help="Of all that is random but the world and its experiment; 0, or that of the study.",
)
@workers
@clustered
@printable
@click.option(
    "--output", type=PATH, help="A folder for tables, figures, captions; the study's folder."
)
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
    """Say whether offline measures follow click-through rates.

    From two tables, or from a study file: an experiment is simulated, or read from its logs, the
    models' hidden-item recall is measured under every exponent of popularity, and a report is left.
    In place of VALUES.csv the folder of a finished study may be named. For every measure, models
    are ordered by it and by their click-through rates, and the two orders are compared. The best
    measure is compared with what the best of so many reaches by chance.
    """
    from runs import InputError

    if len(inputs) > 2:
        raise InputError(
            f"give a study file, or a table of values and one of rates, got {len(inputs)} files."
        )
    if len(inputs) < 2:
        from harness.online.experiment.experiment_file import (
            demo_experiment_study,
            read_experiment_study,
        )
        from harness.online.experiment.run_experiment import run_experiment_study

        wanted = {"seed": seed, "output": output}
        changes = {name: value for name, value in wanted.items() if value is not None}
        study = (
            read_experiment_study(inputs[0], changes=changes)
            if inputs
            else demo_experiment_study(changes=changes)
        )
        report = run_experiment_study(study, n_jobs=n_jobs, progress=progress, dask=dask)
        click.echo(f"The report is {report.resolve()}")
        return
    from analyses.online.click_agreement import study_clicks
    from analyses.online.tables.links import read_experiments

    values, rates = inputs
    settings = given(SETTINGS(), {"rates": rates, **asked})
    experiments = read_experiments(values, rates, over_time=settings.over_time)
    with progress("Dealing out rates", 1) as bar:
        found = study_clicks(
            experiments, permutations=settings.permutations, seed=seed or 0, chosen=chosen or None
        )
        bar.advance()
    publish({"online": found}, format_, output)
    click.echo(found.caption(), err=True)
