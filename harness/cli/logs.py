"""Logs: ``recall`` of hidden items, ``clicks``, and ``online``, which compares the two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    SettingsCommand,
    clustered,
    given,
    imported,
    on_workers,
    published,
    removed,
    seeded,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from analyses.online.experiments import Experiment
    from runs.shared.progress import Progress

RECALL = imported("harness.recall.RecallQuestion")
CLICKS = imported("analyses.online.clicks.Question")
ONLINE = imported("analyses.online.click_agreement.Settings")
DISK = "logs of any size are read through DuckDB, whose temporary files lie in --output."


@click.command(
    cls=SettingsCommand,
    epilog="INTERACTIONS has the columns time (milliseconds since 1970 in UTC, or timestamps with "
    "a zone), user and item, and value or type (view, cart, bookmark, purchase) if there are any.",
)
@click.argument("interactions", type=PATH)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="item-cosines (default): item neighbours by common users; als-knn: by learned factors, "
    "which needs implicit. With a name and settings: few=item-cosines:neighbours=5. May be "
    "repeated.",
)
@click.option(
    "--ranks",
    "rank_table",
    type=PATH,
    help="Ranks made elsewhere, in place of a model: a table user, item, time, rank_loo, "
    "rank_lloo; an empty rank is a miss. Or ranks.parquet of an earlier --output.",
)
@settings_options(RECALL, names={"weights": "--weights"})
@removed("--set", "write settings behind the model: --model als-knn:factors=64.")
@removed("--clip", "take a smaller exponent (--beta).")
@removed("--popularity", "it counts events.")
@removed("--robots", "leave out such users before the log is read.")
@removed("--shards", DISK)
@removed("--scratch", DISK)
@removed("--lists", "coverage of items is in [analyses.exposure] of a study.")
@clustered
@workers
@published
def recall(
    interactions: Path,
    models: tuple[str, ...],
    rank_table: Path | None,
    dask: str | None,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Measure how many hidden items a model finds, for every popularity exponent.

    A share of the users is tested: each of their items is hidden from the model, one at a time
    (LOO), or with all that came later (LLOO), and its weight is its popularity to the power of
    minus beta. The other users train the model.
    """
    from harness.recall import measure_models, measure_ranks
    from runs import InputError

    question = given(RECALL(), asked)
    common: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    if rank_table is None:
        own: dict[str, Any] = {"dask": dask, "folder": output}
        models = models or ("item-cosines",)
        result = measure_models(interactions, question, models=models, **own, **common)
    else:
        ignored = {"--model": models, "--dask": dask}
        for option, value in ignored.items():
            if value:
                raise InputError(f"with --ranks nothing is trained or ranked; leave out {option}.")
        result = measure_ranks(interactions, rank_table, question, **common)
    publish({"recall": result}, format_, output)
    if output is not None:
        result.write_ranks(output)
    for remark in (*result.cautions(), result.caption()):
        click.echo(remark, err=True)


@click.command(
    cls=SettingsCommand,
    epilog="RECOMMENDATIONS has the columns rec_id, time, user, arm, and items (lists) or position "
    "and item (a row for each item); INTERACTIONS time, user, item, type. Times are milliseconds "
    "since 1970 in UTC, or have their zone. The exit code is 2 for wrong usage.",
)
@click.argument("recommendations", type=PATH)
@click.argument("interactions", type=PATH)
@settings_options(CLICKS, without=["recommendations", "interactions"], names={"types": "--rename"})
@on_workers("Threads; default: all cores. Does not change results.")
@published
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

    logs = {"recommendations": recommendations, "interactions": interactions}
    question = given(CLICKS(), logs | asked)
    found = count_clicks(question, progress=progress, folder=output, n_jobs=n_jobs)
    publish({"clicks": found}, format_, output)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
    if found.alarm:
        click.echo(click.style(found.alarm, fg="red", bold=True), err=True)


@click.command(
    cls=SettingsCommand,
    epilog="VALUES.csv begins with a column model; its other columns are measures, such as "
    "'LLOO(beta=0.35)@5' or nDCG@10, or it has the columns measure and value, as harness recall "
    "writes it. RATES.csv has the columns model and rate and may have period, users, "
    "recommendations, accepted, error. With a column experiment in both, several data sets are "
    "studied together. A FOLDER is a finished study of an experiment, or holds values.csv and "
    "rates.csv. The study file of an experiment is run by `harness run`.",
)
@click.argument(
    "inputs", metavar="VALUES.csv RATES.csv | FOLDER...", nargs=-1, required=True, type=PATH
)
@click.option(
    "--chosen",
    multiple=True,
    metavar="NAME",
    help="A data set that was chosen after its result was known. May be repeated.",
)
@settings_options(ONLINE, without=["rates"])
@seeded
@published
def online(
    inputs: tuple[Path, ...],
    seed: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    chosen: tuple[str, ...],
    **asked: Any,
) -> None:
    """Test whether offline measures agree with click-through rates.

    For every measure, models are ordered by it and by their click-through rates, and the two
    orders are compared. The best measure is compared with the best of so many measures by chance.
    Several folders are several data sets.
    """
    from analyses.online.click_agreement import study_clicks

    settings = given(ONLINE(), {"rates": Path(), **asked})
    experiments = _read(inputs, settings.over_time)
    with progress("Permuting rates", 1) as bar:
        found = study_clicks(
            experiments, permutations=settings.permutations, seed=seed, chosen=chosen or None
        )
        bar.advance()
    # Tables 4.3 to 4.11 are long; they are in the folder and in the other formats.
    short = ("online",) if len(experiments) > 1 else ("online", "online_intervals")
    publish({"online": found}, format_, output, short if format_ == "table" else ())
    click.echo(found.caption(), err=True)


def _read(inputs: Sequence[Path], over_time: Any) -> list[Experiment]:
    """Read a table of values and one of rates, or such tables of several folders."""
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
                "finished studies; or give one table of values and one of rates."
            )
    return [one for path in inputs for one in read_experiment_folder(path, over_time=over_time)]
