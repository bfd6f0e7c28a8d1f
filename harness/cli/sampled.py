"""Sampled metrics: ``sampled`` and ``correct``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    Paths,
    SettingsCommand,
    clustered,
    given,
    imported,
    published,
    refuse_typed,
    seeded,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from analyses.shared.analysis import Analysis
    from runs.shared.progress import Progress
    from runs.shared.settings import Section

GROUP = 4, "Sampled metrics"
CORRECTION = imported("analyses.sampled.correction.Settings")
STUDIES = ("estimates", "ranks", "sizes")
TABLES = ["sampled", "sampled_orders", "sampled_ranks", "sampled_sizes"]
"""Tables to print; those of the papers are written into the folder."""

WITHOUT = ("drawing",)
"""Settings for studies that train systems: a table of ranks does not have their items."""

n_candidates = click.option(
    "--candidates",
    type=click.IntRange(min=2),
    help="Number of each user's candidates; default: column n_candidates.",
)


def _studies() -> dict[str, Analysis[Any, Any]]:
    from analyses.shared.analysis import members_of

    return {study.name: study for study in members_of("sampled")}


def _settings() -> type[Section]:
    """Put the settings of all studies together."""
    from pydantic import create_model

    from runs.shared.settings import Section

    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for study in map(_studies().__getitem__, STUDIES)
        for name, field in study.settings.model_fields.items()
        if name not in WITHOUT
    }
    return create_model("Settings", __base__=Section, **fields)


@click.command(cls=SettingsCommand)
@click.argument("ranks", metavar="[RANKS.csv]", type=PATH, required=False)
@click.option(
    "--study",
    "studies",
    type=click.Choice((*STUDIES, "all")),
    multiple=True,
    default=STUDIES[:1],
    help="estimates (default): estimates from repeated samples; ranks: distribution of the full "
    "ranks; sizes: expected metrics by number of negatives. May be repeated.",
)
@click.option("--example", is_flag=True, help="Show the example of Krichene & Rendle (2020).")
@n_candidates
@settings_options(
    _settings, names={"replace": "--replace/--without-replacement", "negatives": "--negatives"}
)
@seeded
@workers
@clustered
@published
def sampled(
    ranks: Path | None,
    studies: tuple[str, ...],
    example: bool,
    candidates: int | None,
    n_jobs: int,
    cluster: str | None,
    progress: Progress,
    seed: int,
    **asked: Any,
) -> None:
    """Study how sampled negatives change metrics.

    RANKS.csv has the full ranks of the relevant items by several systems. Negatives are sampled
    repeatedly from each user's candidates, and metrics are estimated from the ranks among them.

    RANKS.csv is long, with the columns system, user and rank; or wide, with a row for each user and
    a column for each system, where the first column may hold the ids of the users. --candidates, or
    a column n_candidates, gives the number of items that were ranked.
    """
    from analyses.sampled.papers import Example
    from analyses.sampled.rank_tables import read_rank_table
    from analyses.shared.work import RanksWork
    from runs import InputError
    from runs.shared.parallel import processes_on_cluster

    if example == (ranks is not None):
        raise InputError("give a table of ranks (RANKS.csv), or --example.")
    fields = {*_settings().model_fields}
    if ranks is None:
        refuse_typed(fields | {"studies", "candidates", "n_jobs", "cluster", "seed"}, "--example")
        publish({"example": Example()})
        return
    wanted = STUDIES if "all" in studies else studies
    chosen = {name: study for name, study in _studies().items() if name in wanted}
    used = {name for study in chosen.values() for name in study.settings.model_fields}
    refuse_typed(fields - used, ", ".join(chosen))
    settings = {name: given(study.settings, asked) for name, study in chosen.items()}
    work = RanksWork(
        read_rank_table(ranks, candidates=candidates), seed=seed, n_jobs=n_jobs, progress=progress
    )
    with processes_on_cluster(cluster):
        results = {study.key: study(work, settings[name]) for name, study in chosen.items()}
    publish(results, TABLES)
    for result in results.values():
        click.echo(result.caption(), err=True)


@click.command(cls=SettingsCommand)
@click.argument("tables", metavar="SAMPLED.csv...", nargs=-1, required=True, type=PATH)
@click.option(
    "--negatives",
    type=click.IntRange(min=1),
    help="Number of sampled negatives of each user; default: column n_negatives.",
)
@n_candidates
@click.option("--replace/--without-replacement", default=True, help="How negatives were sampled.")
@settings_options(CORRECTION)
@seeded
@published
def correct(
    tables: Paths,
    negatives: int | None,
    candidates: int | None,
    replace: bool,
    progress: Progress,
    seed: int,
    **asked: Any,
) -> None:
    """Estimate exact metrics from ranks among sampled negatives.

    Prints an estimate for each system, with its standard error over users; a comparison of all
    pairs of systems; and which of them differ significantly.

    SAMPLED.csv is a table of ranks or of scores. A table of ranks is long (columns system, user,
    rank) or wide (a column for each system). A table of scores has the columns user, score and
    label (1: relevant, 0: negative), or their names in RecBole; or the lines of NCF: (user,item),
    its score, and the scores of its negatives.
    """
    from analyses.sampled.correction import corrected_systems
    from analyses.sampled.rank_tables import sampled_of

    settings = given(CORRECTION(), asked)
    systems = sampled_of(tables, negatives=negatives, candidates=candidates, replace=replace)
    found = corrected_systems(systems, settings, seed=seed, progress=progress)
    publish({"corrected": found}, only=["corrected"])
    click.echo(found.caption(), err=True)
