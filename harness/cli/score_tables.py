"""Tables of scores: ``correlate``, ``discriminate`` and ``design``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    Command,
    Paths,
    SettingsCommand,
    given,
    imported,
    named_columns,
    published,
    seeded,
    settings_options,
    together,
    workers,
)

if TYPE_CHECKING:
    from analyses.correlation import Correlation, Settings
    from analyses.shared.analysis import Analysis
    from runs.shared.progress import Progress
    from runs.tables.roles import ColumnNames

GROUP = 3, "Tables of scores"
score_columns = named_columns("--column", "user, system, measure, score")
CORRELATION = imported("analyses.correlation.Settings")


@click.command(cls=SettingsCommand)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@score_columns
@settings_options(CORRELATION, without=["every_pair"])
@seeded
@published
def correlate(
    paths: Paths, column: ColumnNames, seed: int, progress: Progress, **asked: Any
) -> None:
    """Rank correlation of the orderings by different measures.

    FILE is a table of means: a row for each system, whose name comes first, and a column for each
    measure, such as nDCG@10 or ap. Several FILEs hold scores per topic or user: one file for each
    measure, which gives the name, with a column for each system. A study folder has such scores,
    too. Confidence intervals need scores per topic or user.
    """
    from analyses.shared.publish import as_csv, as_json, write_results
    from analyses.shared.table import FORMATS

    settings = given(CORRELATION(), asked | {"every_pair": True})
    found = correlate_files(paths, settings, column, seed=seed, progress=progress)
    match asked["format_"]:
        case "text":
            printed = found.of_measures().to_columns()
        case "csv":
            printed = as_csv(found.to_frame())
        case "json":
            printed = as_json({"correlation": found})
        case _:
            printed = FORMATS[asked["format_"]]([found.of_measures()])
    click.echo(printed, nl=False)
    click.echo(found.caption(), err=True)
    if asked["output"] is not None:
        write_results({"correlation": found}, asked["output"])


def correlate_files(
    paths: Sequence[Path], settings: Settings, columns: ColumnNames | None = None, **options: Any
) -> Correlation:
    """Compare the orderings of systems in files.

    These are one table of means (see `read_means`), or what `read_score_tables` reads: a table of
    scores for each measure, or study folders. Intervals need scores topic by topic; the options
    are those of `ScoresWork`.
    """
    import numpy as np

    from analyses.correlation import correlate_means, correlation
    from analyses.shared.work import ScoresWork
    from harness.readers.means_table import is_means_table, read_means
    from harness.readers.score_files import read_score_tables
    from harness.readers.scores import all_reported
    from runs import InputError
    from runs.shared.errors import warn

    if len(paths) == 1 and is_means_table(paths[0]):
        means = read_means(paths[0])
        found = correlate_means(
            means.values,
            measures=all_reported(means.measures),
            systems=means.systems,
            coefficient=settings.coefficient,
        )
    else:
        scores = read_score_tables(paths, columns)
        if len(scores.measures) < 2:
            raise InputError(
                f"{paths[0]}: scores of the one measure {scores.measures[0]}, topic by topic; a "
                "second table is needed to compare it with."
            )
        found = correlation(ScoresWork(scores, **options), settings)
    is_constant = np.isnan(found.values["tau-b"].diagonal())
    for measure in np.array(found.measures, dtype=object)[is_constant]:
        warn(f"all systems have the same mean by {measure}: its agreement is undefined.")
    return found


def _asks_scores(settings: str) -> Callable[[Command], Command]:
    """Give a command tables of scores, options for settings, and what all such commands have."""
    tables = click.argument(
        "tables", metavar="STUDY|SCORES.csv...", nargs=-1, required=True, type=PATH
    )
    made = settings_options(imported(settings))
    return together(tables, score_columns, made, seeded, workers, published)


@click.command(cls=SettingsCommand)
@_asks_scores("analyses.discrimination.Settings")
def discriminate(**asked: Any) -> None:
    """Discriminative power: test all pairs of systems under each measure.

    Measures are ordered by discriminative power (DP, the sum of the p-values of all pairs), the
    most discriminative measure first.

    SCORES.csv has a row for each topic or user and a column for each system; the first column may
    hold the ids of the topics. The name of the file is the measure, such as ap.csv or nDCG@10.tsv.
    All tables must have the same systems and topics. STUDY is a study folder, in place of tables.
    With several study folders, scores are averaged over them, user by user.
    """
    from analyses.discrimination import discrimination

    _answer(discrimination, only=["conventions"], **asked)


@click.command(cls=SettingsCommand)
@_asks_scores("analyses.design.Settings")
def design(**asked: Any) -> None:
    """Sample size: how many users each measure needs.

    Uses a study, or tables of scores, as pilot data. Prints how many users are needed to find
    significant differences between pairs of systems, to find a difference of a given size, and to
    order the systems reliably; and what can be found with the users of the pilot data.

    SCORES.csv has a row for each topic or user and a column for each system. The name of the file
    is the measure, such as ap.csv or nDCG@10.tsv. STUDY is a study folder, in place of tables.
    """
    from analyses.design import design as analysis

    _answer(analysis, **asked)


def _answer(
    analysis: Analysis[Any, Any],
    tables: Sequence[Path],
    *,
    seed: int,
    n_jobs: int,
    progress: Progress,
    column: ColumnNames,
    only: Collection[str] = (),
    **asked: Any,
) -> None:
    """Analyse tables of scores or a study, publish the result, and print cautions."""
    from analyses.shared.work import ScoresWork
    from harness.readers.score_files import read_score_tables

    scores = read_score_tables(tables, column)
    work = ScoresWork(scores, seed=seed, n_jobs=n_jobs, progress=progress)
    found = analysis(work, given(analysis.settings, asked))
    publish({analysis.name: found}, only)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
