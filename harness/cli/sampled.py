"""``harness sampled``: study what sampling negatives does to metrics."""

from __future__ import annotations

from collections.abc import Sequence
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
    from analyses.shared.analysis import Analysis, AnalysisSettings
    from analyses.shared.result import Result
    from runs.shared.members import Section
    from runs.shared.progress import Progress


def _studies() -> dict[str, Analysis[Any, Any]]:
    """Give the studies that a table of ranks is enough for by name, in the order of figures."""
    from analyses.shared.analysis import members_of
    from analyses.shared.result import figures_of

    every = sorted(members_of("sampled"), key=lambda one: figures_of(one.result)[0].number or 0)
    return {study.name: study for study in every if "candidate_ranks" not in study.needs}


def _settings() -> type[Section]:
    """Put the settings of all studies together."""
    from pydantic import create_model

    from runs.shared.members import Section

    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for study in _studies().values()
        for name, field in study.settings.model_fields.items()
    }
    return create_model("Settings", __base__=Section, **fields)


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
    type=click.Choice(
        ["estimates", "ranks", "sizes", "cost", "adaptive", "iterations", "priors", "all"]
    ),
    multiple=True,
    help="May be repeated. Estimates (the default): from repeated samples; ranks: where relevant "
    "items stand; sizes: expected metrics by number of negatives; cost: error and orders by items "
    "scored, beside fewer users in full; adaptive: sizes of adaptive samples, not among all; "
    "iterations: error by iterations of EM; priors: error by the prior of BV and MN.",
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
@settings_options(_settings, names={"replace": "--replace/--without-replacement"})
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the samples.")
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
    """Say what sampling negatives does to metrics, and which correction undoes it best.

    RANKS.csv has the full ranks of relevant items by some systems. Of each user's candidates,
    negatives are sampled again and again, and metrics are estimated from the ranks among them.
    """
    from runs import InputError
    from runs.shared.parallel import processes_on_cluster

    if example == (ranks is not None):
        raise InputError("give a table of ranks, or --example.")
    if ranks is None:
        click.echo(_show_example(format_, output=output), nl=False)
        return
    with processes_on_cluster(dask):
        results = make_studies(
            ranks,
            studies,
            given(_settings(), asked),
            candidates=candidates,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
    publish(results, format_, output)
    for result in results.values():
        click.echo(result.caption(), err=True)


def make_studies(
    path: Path,
    names: Sequence[str],
    asked: Section,
    *,
    candidates: int | None,
    seed: int,
    n_jobs: int,
    progress: Progress,
) -> dict[str, Result]:
    """Make studies, by key, from a table of ranks.

    Raises
    ------
    InputError
        If the table breaks a rule, or what is asked does not fit it.
    """
    from analyses.sampled.shared.sample_tables import read_rank_table
    from analyses.shared.work import RanksAlone

    known = _studies()
    usual = [name for name, study in known.items() if not study.on_request]
    wanted = dict.fromkeys([*(usual if "all" in names else ()), *names] or ["estimates"])
    chosen = [known[name] for name in wanted if name != "all"]
    systems = read_rank_table(path, candidates=candidates)
    work = RanksAlone(systems, seed=seed, n_jobs=n_jobs, progress=progress)
    return {study.key: study(work, _own(study, asked)) for study in chosen}


def _own(study: Analysis[Any, Any], asked: Section) -> AnalysisSettings:
    """Take the settings of a study out of those of all."""
    kind: type[AnalysisSettings] = study.settings
    return kind(**asked.model_dump(include={*kind.model_fields}))


def _show_example(format_: str, *, output: Path | None) -> str:
    """Print the tables of the example in a format, and write all into a folder, if asked."""
    from analyses.sampled.example import example
    from analyses.shared.publish import as_latex, every_table, write_results
    from runs import InputError

    if format_ in ("csv", "json"):
        raise InputError(f"the example is two tables: print it as table or latex, not {format_}.")
    results = {"example": example()}
    if output is not None:
        write_results(results, output)
    if format_ == "latex":
        return as_latex(results)
    return "\n".join(table.to_text() for table in every_table(results))
