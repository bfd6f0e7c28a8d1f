"""Logs: ``recall`` of hidden items, ``clicks``, and ``online``, which compares both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import print_cautions, publish
from harness.cli.options import (
    PATH,
    HelpGroup,
    Paths,
    SettingsCommand,
    cluster_option,
    jobs_option,
    lazy_class,
    publication_options,
    refuse_options,
    seed_option,
    settings_from_options,
    settings_options,
    workers_option,
)

if TYPE_CHECKING:
    from analyses.online.experiments import Experiment
    from runs.shared.progress import Progress

GROUP = HelpGroup(5, "Recall and clicks")
RECALL = lazy_class("harness.recall.RecallQuestion")
CLICKS = lazy_class("analyses.online.clicks.Question")
ONLINE = lazy_class("analyses.online.click_agreement.Settings")


@click.command(cls=SettingsCommand)
@click.argument("interactions", type=PATH)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Model: item-cosines (default), item neighbours by common users; or als-knn, item "
    "neighbours by learned factors, which needs the package implicit. A name may come before it "
    "and settings after it: few=item-cosines:neighbours=5. May be repeated.",
)
@click.option(
    "--ranks",
    "rank_table",
    type=PATH,
    help="Table of ranks by another program, in place of a model: columns user, item, time, "
    "rank_loo, rank_lloo; an empty rank is a miss. Or ranks.parquet of an earlier --output.",
)
@settings_options(RECALL, names={"weights": "--weights"})
@cluster_option
@workers_option
@publication_options
def recall(
    interactions: Path,
    models: tuple[str, ...],
    rank_table: Path | None,
    cluster: str | None,
    n_jobs: int,
    progress: Progress,
    **option_values: Any,
) -> None:
    """Recall of hidden items, for a range of popularity exponents.

    A share of the users are test users; the others train the model. Each item of a test user is
    hidden from the model, alone (LOO) or with all later items (LLOO). A hidden item is weighted by
    its popularity to the power of minus beta.

    INTERACTIONS is a Parquet or CSV file with the columns user, item and time (milliseconds since
    1970 in UTC, or timestamps with a time zone). It may have a column value, or type (view, cart,
    bookmark, purchase).
    """
    from harness.recall import measure_models, measure_ranks

    question = settings_from_options(RECALL(), option_values)
    folder = option_values["output"]
    if rank_table is None:
        result = measure_models(
            interactions,
            question,
            models=models or ("item-cosines",),
            n_jobs=n_jobs,
            cluster=cluster,
            folder=folder,
            progress=progress,
        )
    else:
        refuse_options({"models", "cluster"}, "--ranks")
        result = measure_ranks(interactions, rank_table, question, n_jobs=n_jobs, progress=progress)
    publish({"recall": result})
    if folder is not None:
        result.write_ranks(folder)
    for remark in (*result.cautions(), result.caption()):
        click.echo(remark, err=True)


@click.command(cls=SettingsCommand)
@click.argument("recommendations", type=PATH)
@click.argument("interactions", type=PATH)
@settings_options(CLICKS, without=["recommendations", "interactions"], names={"types": "--rename"})
@jobs_option("Number of threads; default: all cores. Does not change results.")
@publication_options
def clicks(n_jobs: int, progress: Progress, **option_values: Any) -> None:
    """Compare the click-through rates of the arms of an experiment.

    Prints the click-through rate of each arm with its confidence interval over users, the
    differences between arms, whether users are split as planned (if not, no arm is called better),
    and how many rows of the two logs match.

    RECOMMENDATIONS has the columns rec_id, time, user, arm, and either items (lists) or position
    and item (a row for each item). INTERACTIONS has the columns time, user, item, type. Both are
    Parquet or CSV files. Times are milliseconds since 1970 in UTC, or have a time zone. The exit
    code is 2 for wrong usage.
    """
    from analyses.online.clicks import count_clicks

    question = settings_from_options(CLICKS(), option_values)
    folder = option_values["output"]
    result = count_clicks(question, progress=progress, folder=folder, n_jobs=n_jobs)
    publish({"clicks": result})
    print_cautions(result.cautions())
    if result.alarm:
        alarm = click.style(result.alarm, fg="red", bold=True)
        click.echo(alarm, err=True)


@click.command(cls=SettingsCommand)
@click.argument(
    "inputs", metavar="VALUES.csv RATES.csv | FOLDER...", nargs=-1, required=True, type=PATH
)
@click.option(
    "--chosen",
    multiple=True,
    metavar="NAME",
    help="Data set that was chosen after its result was known. May be repeated.",
)
@settings_options(ONLINE, without=["rates"])
@seed_option
@publication_options
def online(
    inputs: Paths, seed: int, progress: Progress, chosen: tuple[str, ...], **option_values: Any
) -> None:
    """Test whether offline measures agree with click-through rates.

    Compares the ordering of the models by each measure with their ordering by click-through rate.
    The best measure is compared with the best of equally many measures by chance. Several folders
    are several data sets.

    VALUES.csv has the column model first, then a column for each measure, such as
    'LLOO(beta=0.35)@5' or nDCG@10; or the columns model, measure and value, as written by `harness
    recall`. RATES.csv has the columns model and rate, and may have period, users, recommendations,
    accepted and error. A column experiment in both names several data sets. FOLDER is the study
    folder of an experiment, or has files values.csv and rates.csv. `harness run` runs the study
    file of an experiment.
    """
    from analyses.online.click_agreement import study_clicks

    settings = settings_from_options(ONLINE(), {"rates": Path(), **option_values})
    experiments = _read_experiments(inputs, settings.over_time)
    with progress("Permuting rates", 1) as bar:
        result = study_clicks(
            experiments, permutations=settings.permutations, seed=seed, chosen=chosen or None
        )
        bar.advance()
    table_names: tuple[str, ...] = ()
    if option_values["format_"] == "text":
        # Tables 4.3 to 4.11 are long: only the folder and other formats have them.
        table_names = ("online",) if len(experiments) > 1 else ("online", "online_intervals")
    publish({"online": result}, table_names)
    click.echo(result.caption(), err=True)


def _read_experiments(inputs: Sequence[Path], over_time: Any) -> list[Experiment]:
    """Read a table of values and one of rates, or such tables of several folders.

    ``inputs`` are two files (values, then rates), or folders, of which each may hold several
    experiments. ``over_time`` is the setting of `click_agreement` of this name. Raises InputError
    for a study file, for a file among several inputs, and for tables that cannot be read.
    """
    from analyses.online.experiments import read_experiment_folder, read_experiments
    from runs import InputError

    if inputs[0].suffix == ".toml":
        raise InputError(f"{inputs[0]}: a study file is run by `harness run {inputs[0]}`.")
    if len(inputs) == 2 and not inputs[1].is_dir():
        return read_experiments(*inputs, over_time=over_time)
    for path in inputs:
        if not path.is_dir():
            raise InputError(
                f"{path}: several inputs must be folders with values.csv and rates.csv, or "
                "study folders; or give one table of values and one of rates."
            )
    experiments: list[Experiment] = []
    for folder in inputs:
        experiments.extend(read_experiment_folder(folder, over_time=over_time))
    return experiments
