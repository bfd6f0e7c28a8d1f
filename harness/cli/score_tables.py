"""Tables of scores: ``correlate``, ``discriminate`` and ``design``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import EXIT_NOT_PASSED, print_cautions, publish
from harness.cli.options import (
    PATH,
    Command,
    HelpGroup,
    Paths,
    SettingsCommand,
    combined_options,
    lazy_class,
    publication_options,
    seed_option,
    settings_from_options,
    settings_options,
    take_text_options,
    text_options,
    workers_option,
)

if TYPE_CHECKING:
    from analyses.correlation import Correlation, Settings
    from harness.report.gate import Gate
    from runs.shared.progress import Progress
    from runs.tables.options import TextOptions

GROUP = HelpGroup(3, "Tables of scores")
score_table_options = text_options("user, system, measure, score")
CORRELATION = lazy_class("analyses.correlation.Settings")


@click.command(cls=SettingsCommand)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@score_table_options
@settings_options(CORRELATION, without=["every_pair"])
@seed_option
@publication_options
def correlate(paths: Paths, seed: int, progress: Progress, **option_values: Any) -> None:
    """Rank correlation of the orderings by different measures.

    FILE is a table of means: a row for each system, whose name comes first, and a column for each
    measure, such as nDCG@10 or ap. Several FILEs hold scores per topic or user: one file for each
    measure, which gives the name, with a column for each system. A study folder has such scores,
    too. Confidence intervals need scores per topic or user.
    """
    from analyses.shared.publish import as_csv, as_json, write_results
    from analyses.shared.table import FORMATS

    options = take_text_options(option_values)
    settings = settings_from_options(CORRELATION(), option_values | {"every_pair": True})
    result = correlate_files(paths, settings, options, seed=seed, progress=progress)
    format_ = option_values["format_"]
    match format_:
        case "text":
            text = result.agreement_table().to_columns()
        case "csv":
            text = as_csv(result.to_frame())
        case "json":
            text = as_json({"correlation": result})
        case _:
            text = FORMATS[format_]([result.agreement_table()])
    click.echo(text, nl=False)
    click.echo(result.caption(), err=True)
    folder = option_values["output"]
    if folder is not None:
        write_results({"correlation": result}, folder)


def correlate_files(
    paths: Sequence[Path],
    settings: Settings,
    options: TextOptions | None = None,
    **work_options: Any,
) -> Correlation:
    """Compare the orderings of systems in files.

    These are one table of means (a row for each system), or a table of scores for each measure, or
    study folders. Intervals need scores topic by topic; ``work_options`` (seed, progress) are those
    of `ScoresWork`, and unused for means. ``options`` say how the tables are read. Warns of
    measures by which all systems have the same mean. Raises InputError for scores of one measure,
    and for files that cannot be read.
    """
    import numpy as np

    from analyses.correlation import correlate_means, correlation
    from analyses.shared.work import ScoresWork
    from harness.readers.means_table import is_means_table, read_means
    from harness.readers.score_files import read_score_tables
    from harness.readers.scores import all_reported
    from runs import InputError
    from runs.shared.errors import warn

    if len(paths) == 1 and is_means_table(paths[0], options):
        means = read_means(paths[0], options)
        result = correlate_means(
            means.values,
            measures=all_reported(means.measures),
            systems=means.systems,
            coefficient=settings.coefficient,
        )
    else:
        scores = read_score_tables(paths, options)
        if len(scores.measures) < 2:
            raise InputError(
                f"{paths[0]}: scores of the one measure {scores.measures[0]}, topic by topic; a "
                "second table is needed to compare it with."
            )
        result = correlation(ScoresWork(scores, **work_options), settings)
    # The tau-b of a measure with itself is 1, or NaN if all its means are equal.
    taus_with_itself = result.values["tau-b"].diagonal()
    for measure, tau in zip(result.measures, taus_with_itself, strict=True):
        if np.isnan(tau):
            warn(f"all systems have the same mean by {measure}: its agreement is undefined.")
    return result


def _scores_options(settings: str) -> Callable[[Command], Command]:
    """Give a command the argument ``tables``, options for settings, and shared options.

    ``settings`` is the path of their class, such as "analyses.design.Settings".
    """
    tables_argument = click.argument(
        "tables", metavar="STUDY|SCORES.csv...", nargs=-1, required=True, type=PATH
    )
    return combined_options(
        tables_argument,
        score_table_options,
        settings_options(lazy_class(settings)),
        seed_option,
        workers_option,
        publication_options,
    )


@click.command(cls=SettingsCommand)
@_scores_options("analyses.discrimination.Settings")
@click.option(
    "--candidate",
    help="System that is compared with --baseline: the exit code is 3 if a measure fails it.",
)
@click.option(
    "--lower-is-better",
    multiple=True,
    metavar="METRIC",
    help="Metric of which lower scores are better; may be repeated. ARP, Calibration, RMSE, MAE "
    "and MSE are known.",
)
def discriminate(
    tables: Sequence[Path],
    candidate: str | None,
    lower_is_better: Sequence[str],
    *,
    seed: int,
    n_jobs: int,
    progress: Progress,
    **option_values: Any,
) -> None:
    """Compare systems under each measure, and measures by their discriminative power.

    First come the systems with their means, 95 % intervals, letters (systems that share one do not
    differ significantly) and possible ranks. Then measures are ordered by discriminative power (DP,
    the sum of the p-values of all pairs), the most discriminative measure first.

    SCORES.csv has a row for each topic or user and a column for each system; the first column may
    hold the ids of the topics. The name of the file is the measure, such as ap.csv or nDCG@10.tsv.
    All tables must have the same systems and topics. STUDY is a study folder, in place of tables.
    With several study folders, scores are averaged over them, user by user.

    With --candidate and --baseline, the exit code is 3 if the candidate does not pass, 0 if it
    does. Without --margin, a measure fails a candidate whose mean is significantly worse. With
    --margin, a measure fails a candidate that is not shown to be less than the margin worse, by a
    one-sided t-test. Every measure has to pass.
    """
    from analyses.discrimination import discrimination
    from analyses.shared.work import ScoresWork
    from analyses.systems import systems
    from harness.readers.score_files import read_score_tables
    from harness.report.gate import gates_of, require_candidate

    scores = read_score_tables(tables, take_text_options(option_values))
    lower_is_better_for = [*scores.measures.lower_is_better_for, *lower_is_better]
    measures = scores.measures.with_lower_is_better_for(lower_is_better_for)
    scores = replace(scores, measures=measures)
    settings = settings_from_options(discrimination.settings, option_values)
    if candidate is not None:
        if not settings.baseline:
            raise click.UsageError("--candidate needs --baseline, the system to compare it with.")
        require_candidate(candidate, settings.baseline, scores.systems)
    work = ScoresWork(scores, seed=seed, n_jobs=n_jobs, progress=progress)
    tests = discrimination(work, settings)
    results = {"systems": systems(work, systems.settings()), "discrimination": tests}
    publish(results, only=["systems", "conventions"], main_result="discrimination")
    # Both results may say the same.
    cautions = [caution for result in results.values() for caution in result.cautions()]
    print_cautions(dict.fromkeys(cautions))
    if candidate is not None:
        _report_gates(gates_of(tests, candidate), in_text=option_values["format_"] == "text")


def _report_gates(gates: Sequence[Gate], *, in_text: bool) -> None:
    """Print whether a candidate passes beside each baseline; exit with 3 if not.

    Sentences are printed on standard error where the output is no text.
    """
    click.echo("", err=not in_text)
    for gate in gates:
        for sentence in gate.sentences():
            click.echo(sentence, err=not in_text)
    if not all(gate.passes.all() for gate in gates):
        sys.exit(EXIT_NOT_PASSED)


@click.command(cls=SettingsCommand)
@_scores_options("analyses.design.Settings")
def design(
    tables: Sequence[Path], *, seed: int, n_jobs: int, progress: Progress, **option_values: Any
) -> None:
    """Sample size: how many users each measure needs.

    Uses a study, or tables of scores, as pilot data. Prints how many users are needed to find
    significant differences between pairs of systems, to find a difference of a given size, and to
    order the systems reliably; and what can be found with the users of the pilot data.

    SCORES.csv has a row for each topic or user and a column for each system. The name of the file
    is the measure, such as ap.csv or nDCG@10.tsv. STUDY is a study folder, in place of tables.
    """
    from analyses.design import design as analysis
    from analyses.shared.work import ScoresWork
    from harness.readers.score_files import read_score_tables

    scores = read_score_tables(tables, take_text_options(option_values))
    work = ScoresWork(scores, seed=seed, n_jobs=n_jobs, progress=progress)
    result = analysis(work, settings_from_options(analysis.settings, option_values))
    publish({analysis.name: result})
    print_cautions(result.cautions())
