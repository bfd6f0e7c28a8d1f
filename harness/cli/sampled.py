"""Sampled metrics: ``sampled`` and ``correct``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    HelpGroup,
    Paths,
    SettingsCommand,
    cluster_option,
    lazy_class,
    publication_options,
    refuse_options,
    seed_option,
    settings_from_options,
    settings_options,
    workers_option,
)

if TYPE_CHECKING:
    from analyses.shared.analysis import Analysis
    from runs.shared.progress import Progress
    from runs.shared.settings import Section

GROUP = HelpGroup(4, "Sampled metrics")
CORRECTION = lazy_class("analyses.sampled.correction.Settings")
STUDIES = ("estimates", "ranks", "sizes")
TABLES = ["sampled", "sampled_orders", "sampled_ranks", "sampled_sizes"]
"""Tables to print; those of the papers are written into the folder."""

STUDY_SETTINGS = ("drawing",)
"""Settings for studies that train systems: a table of ranks does not have their items."""

n_candidates = click.option(
    "--candidates",
    type=click.IntRange(min=2),
    help="Number of each user's candidates; default: column n_candidates.",
)


def _sampled_studies() -> dict[str, Analysis[Any, Any]]:
    """Collect the analyses of the group "sampled", by name."""
    from analyses.shared.analysis import members_of

    return {study.name: study for study in members_of("sampled")}


def _settings_of_all_studies() -> type[Section]:
    """Make a class with the settings of all studies of `STUDIES`, but those of `STUDY_SETTINGS`.

    Of a field that several studies have, the declaration of the last counts.
    """
    from pydantic import create_model

    from runs.shared.settings import Section

    sampled_studies = _sampled_studies()
    fields: dict[str, Any] = {}
    for study_name in STUDIES:
        study = sampled_studies[study_name]
        for name, field in study.settings.model_fields.items():
            if name not in STUDY_SETTINGS:
                fields[name] = (field.annotation, field)
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
    _settings_of_all_studies,
    names={"replace": "--replace/--without-replacement", "negatives": "--negatives"},
)
@seed_option
@workers_option
@cluster_option
@publication_options
def sampled(
    ranks: Path | None,
    studies: tuple[str, ...],
    example: bool,
    candidates: int | None,
    n_jobs: int,
    cluster: str | None,
    progress: Progress,
    seed: int,
    **option_values: Any,
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
    field_names = {*_settings_of_all_studies().model_fields}
    if ranks is None:
        other_names = {"studies", "candidates", "n_jobs", "cluster", "seed"}
        refuse_options(field_names | other_names, "--example")
        publish({"example": Example()})
        return
    study_names = STUDIES if "all" in studies else studies
    chosen = {name: study for name, study in _sampled_studies().items() if name in study_names}
    used_names: set[str] = set()
    for study in chosen.values():
        used_names.update(study.settings.model_fields)
    refuse_options(field_names - used_names, ", ".join(chosen))
    settings_by_name = {
        name: settings_from_options(study.settings, option_values) for name, study in chosen.items()
    }
    rank_table = read_rank_table(ranks, candidates=candidates)
    work = RanksWork(rank_table, seed=seed, n_jobs=n_jobs, progress=progress)
    results = {}
    with processes_on_cluster(cluster):
        for name, study in chosen.items():
            results[study.key] = study(work, settings_by_name[name])
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
@seed_option
@publication_options
def correct(
    tables: Paths,
    negatives: int | None,
    candidates: int | None,
    replace: bool,
    progress: Progress,
    seed: int,
    **option_values: Any,
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
    from analyses.sampled.rank_tables import read_sampled_ranks

    settings = settings_from_options(CORRECTION(), option_values)
    systems = read_sampled_ranks(
        tables, negatives=negatives, candidates=candidates, replace=replace
    )
    result = corrected_systems(systems, settings, seed=seed, progress=progress)
    publish({"corrected": result}, only=["corrected"])
    click.echo(result.caption(), err=True)
