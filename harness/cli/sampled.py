"""``harness sampled``: study what sampling negatives does to metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    PATH,
    SEED,
    SettingsCommand,
    given,
    printable,
    quietly,
    settings_options,
    workers,
)

if TYPE_CHECKING:
    from harness.catalogue import Result
    from harness.study.study import SampledSection
    from runs.shared.progress import Progress


def _settings() -> type[SampledSection]:
    from harness.study.study import SampledSection

    return SampledSection


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
    "items stand; sizes: expected metrics by number of negatives; cost: error by items scored; "
    "adaptive: sizes of adaptive samples, not among all; iterations: error by iterations of EM; "
    "priors: error by the prior of BV and MN.",
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
    _settings, without=("studies",), names={"replace": "--replace/--without-replacement"}
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the samples.")
@workers
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
    jobs: int | None,
    quiet: bool,
    seed: int,
    **asked: Any,
) -> None:
    """Say what sampling negatives does to metrics, and which correction undoes it best.

    RANKS.csv has the full ranks of relevant items by some systems. Of each user's candidates,
    negatives are sampled again and again, and metrics are estimated from the ranks among them.
    """
    from joblib import cpu_count

    from harness.sampled.example import show_example
    from harness.sampled.printed import FORMATS, write_files
    from runs import InputError
    from runs.shared.progress import watched

    if example == (ranks is not None):
        raise InputError("give a table of ranks, or --example.")
    if ranks is None:
        click.echo(show_example(format_, seed=seed, output=output), nl=False)
        return
    settings = given(_settings(), asked | {"studies": _chosen(studies)})
    results = make_studies(
        ranks,
        settings,
        candidates=candidates,
        seed=seed,
        n_jobs=jobs or cpu_count(),
        progress=watched(quiet=quiet),
    )
    if output is not None:
        write_files(results, output)
    click.echo(FORMATS[format_](results), nl=False)
    for result in results.values():
        click.echo(result.caption(), err=True)


def _chosen(studies: tuple[str, ...]) -> tuple[str, ...]:
    """Put the names of all studies for `all`; the first is studied by default."""
    from harness.study.study import SAMPLED_STUDIES

    names = [*(SAMPLED_STUDIES if "all" in studies else ()), *studies]
    return tuple(name for name in dict.fromkeys(names) if name != "all") or ("estimates",)


def make_studies(
    path: Path,
    settings: SampledSection,
    *,
    candidates: int | None,
    seed: int,
    n_jobs: int,
    progress: Progress,
) -> dict[str, Result]:
    """Make the studies of the settings, by name, from a table of ranks.

    Raises
    ------
    InputError
        If the table or what is asked breaks a rule.
    """
    from analyses.sampled.rank_table import read_rank_table
    from analyses.sampled.sampled_studies import STUDIES

    systems = read_rank_table(path, candidates=candidates)
    results: dict[str, Result] = {}
    for name in settings.studies:
        with progress(STUDIES[name].progress, len(systems)) as bar:
            results[name] = STUDIES[name].run(
                systems, settings, seed=seed, n_jobs=n_jobs, advance=bar.advance
            )
    return results
