"""``harness sampled``: study what sampling negatives does to metrics."""

from __future__ import annotations

from collections.abc import Mapping
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
    printable,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from analyses.shared.analysis import Analysis
    from runs.shared.progress import Progress
    from runs.shared.settings import Section

STUDIES = ("estimates", "ranks", "sizes")
WITHOUT = ("drawing",)
"""Settings for studies that train systems: a table of ranks does not have their items."""

OF_EXAMPLE = {"example", "format_", "output", "progress"}


def _studies() -> dict[str, Analysis[Any, Any]]:
    from analyses.shared.analysis import members_of

    return {study.name: study for study in members_of("sampled")}


def _settings() -> type[Section]:
    """Put the settings of all studies together."""
    from pydantic import create_model

    from runs.shared.settings import Section

    known = _studies()
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for study in map(known.__getitem__, STUDIES)
        for name, field in study.settings.model_fields.items()
        if name not in WITHOUT
    }
    return create_model("Settings", __base__=Section, **fields)


def _known_study(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    from analyses.sampled import GONE

    for name in names:
        if name in GONE:
            raise click.BadParameter(GONE[name])
        if name not in (*STUDIES, "all"):
            raise click.BadParameter(f"{name!r} is not one of {', '.join(STUDIES)}, all.")
    return tuple(dict.fromkeys(STUDIES if "all" in names else names or STUDIES[:1]))


@click.command(
    cls=SettingsCommand,
    epilog="A long table has the columns system, user and rank; a wide one a column for every "
    "system and a row for every user, whose ids may come first. A column n_candidates, or "
    "--candidates, says among how many the items were ranked.",
)
@click.argument("ranks", metavar="[RANKS.csv]", type=PATH, required=False)
@click.option(
    "--study",
    "studies",
    metavar="[estimates|ranks|sizes|all]",
    multiple=True,
    callback=_known_study,
    help="May be repeated. Estimates (the default): from repeated samples; ranks: distribution of "
    "the full ranks; sizes: expected metrics by number of negatives.",
)
@click.option(
    "--example",
    is_flag=True,
    help="No table: the three lists of Krichene & Rendle (2020), with their tables and figures.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=2),
    help="Candidates of each user, relevant items included, where the table has none.",
)
@settings_options(
    _settings, names={"replace": "--replace/--without-replacement", "negatives": "--negatives"}
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@workers
@clustered
@printable
@click.option("--output", type=PATH, help="A folder for tables, figures and captions.")
@quietly
def sampled(
    ranks: Path | None,
    studies: tuple[str, ...],
    example: bool,
    candidates: int | None,
    format_: str,
    output: Path | None,
    n_jobs: int,
    dask: str | None,
    progress: Progress,
    seed: int,
    **asked: Any,
) -> None:
    """Study what sampling negatives does to metrics, and which correction undoes it best.

    RANKS.csv has the full ranks of relevant items by some systems. Of each user's candidates,
    negatives are sampled again and again, and metrics are estimated from the ranks among them.
    """
    from analyses.sampled.rank_tables import read_rank_table
    from analyses.shared.work import RanksWork
    from runs import InputError
    from runs.shared.parallel import processes_on_cluster

    context = click.get_current_context()
    if example == (ranks is not None):
        raise InputError("give a table of ranks, or --example.")
    if ranks is None:
        _refuse_ignored(context, OF_EXAMPLE, "--example")
        _show_example(format_, output)
        return
    chosen = {name: study for name, study in _studies().items() if name in studies}
    used = {name for study in chosen.values() for name in study.settings.model_fields}
    others = {name for name in asked if name not in used}
    _refuse_ignored(context, {*context.params, *asked} - others, f"--study {', '.join(studies)}")
    options = {name: value for name, value in asked.items() if _is_given(context, name)}
    settings = {name: given(study.settings, options) for name, study in chosen.items()}
    work = RanksWork(
        read_rank_table(ranks, candidates=candidates), seed=seed, n_jobs=n_jobs, progress=progress
    )
    with processes_on_cluster(dask):
        results = {study.key: study(work, settings[name]) for name, study in chosen.items()}
    publish(results, format_, output, ["sampled", *(f"sampled_{each}" for each in TABLES)])
    for result in results.values():
        click.echo(result.caption(), err=True)


TABLES = ("orders", "choose", "ranks", "sizes")
"""What is printed; the tables of the papers are written into the folder."""


def _is_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _refuse_ignored(context: click.Context, used: set[str], chosen: str) -> None:
    """Refuse options that would be ignored."""
    from runs import InputError

    flags: Mapping[str, str] = {one.name or "": one.opts[0] for one in context.command.params}
    for name in flags:
        if name not in used and _is_given(context, name):
            raise InputError(f"{flags[name]} does not apply to {chosen}: leave it out.")


def _show_example(format_: str, output: Path | None) -> None:
    """Print the tables of the example in a format, and write all into a folder, if asked."""
    from analyses.sampled.papers import Example
    from analyses.shared.publish import as_latex, every_table, write_results
    from runs import InputError

    if format_ in ("csv", "json"):
        raise InputError(f"the example is several tables: print table or latex, not {format_}.")
    results = {"example": Example()}
    if output is not None:
        write_results(results, output)
    if format_ == "latex":
        click.echo(as_latex(results), nl=False)
    else:
        click.echo("\n".join(table.to_text() for table in every_table(results)), nl=False)
