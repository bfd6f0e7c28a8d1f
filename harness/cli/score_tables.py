"""What is asked of tables of scores: ``correlate``, ``discriminate`` and ``design``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import publish
from harness.cli.options import (
    PATH,
    Command,
    SettingsCommand,
    given,
    imported,
    published,
    removed,
    seeded,
    settings_options,
    together,
    workers,
)

if TYPE_CHECKING:
    from analyses.correlation import Correlation, Settings
    from analyses.shared.analysis import Analysis
    from runs.shared.progress import Progress

CORRELATION = imported("analyses.correlation.Settings")


@click.command(cls=SettingsCommand)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@settings_options(CORRELATION, without=["every_pair"])
@removed("--reference", "--format csv has every pair of measures by all coefficients.")
@seeded
@published
def correlate(
    paths: tuple[Path, ...],
    seed: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    **asked: Any,
) -> None:
    """Compare how measures order the systems in FILE.

    FILE is a table of means: systems down, their names first, and measures across, such as nDCG@10
    or ap. Several FILEs, or the folder of a study, hold scores per
    topic: one measure a file, named as the file, systems across. From these come intervals.
    """
    from analyses.shared.publish import as_csv, as_json, write_results

    settings = given(CORRELATION(), asked | {"every_pair": True})
    found = correlate_files(paths, settings, seed=seed, progress=progress)
    printed = {
        "table": lambda: found.of_measures().to_columns(),
        "latex": lambda: found.of_measures().to_latex(),
        "csv": lambda: as_csv(found.to_frame()),
        "json": lambda: as_json({"correlation": found}),
    }
    click.echo(printed[format_](), nl=False)
    click.echo(found.caption(), err=True)
    if output is not None:
        write_results({"correlation": found}, output)


def correlate_files(paths: Sequence[Path], settings: Settings, **options: Any) -> Correlation:
    """Compare the orderings of systems in files.

    These are one table of means (see `read_means`), or what `read_score_tables` reads: a table of
    scores for each measure, or study folders. Intervals need scores topic by topic; the options
    are those of `ScoresWork`.
    """
    import numpy as np

    from analyses.correlation import correlate_means, correlation
    from analyses.shared.work import ScoresWork
    from harness.readers.means_table import is_means_table, read_means
    from harness.readers.scores import all_reported, read_score_tables
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
        scores = read_score_tables(paths)
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


def asks_scores(settings: str) -> Callable[[Command], Command]:
    """Give a command tables of scores, options for settings, and what all such commands have."""
    tables = click.argument(
        "tables", metavar="STUDY|SCORES.csv...", nargs=-1, required=True, type=PATH
    )
    return together(tables, settings_options(imported(settings)), seeded, workers, published)


@click.command(
    cls=SettingsCommand,
    epilog="A table has a column for every system and a row for every topic; the first column may "
    "hold the ids of the topics. Its measure is named by the file: ap.csv, nDCG@10.tsv. All tables "
    "have the same systems and topics.",
)
@asks_scores("analyses.discrimination.Settings")
def discriminate(**asked: Any) -> None:
    """Say how surely measures tell systems apart, from tables of per-topic scores.

    Every pair of systems is tested for every measure. Measures are printed in the order of their
    discriminative power (DP, the sum of the p-values), the most discriminative first. In place of
    tables, the folder of a finished study may be named, or several: means over them, by user.
    """
    from analyses.discrimination import discrimination

    _answer(discrimination, only=["conventions"], **asked)


@click.command(
    cls=SettingsCommand,
    epilog="Tables are those of `harness discriminate`: a column for every system, a row for every "
    "topic, one measure a file, which names it.",
)
@asks_scores("analyses.design.Settings")
@removed("--halves", "swap rates of random halves are the analysis `swaps` of a study.")
@removed("--bayes", "Bayesian signed-rank tests are in the package baycomp.")
@removed("--draws", "Bayesian signed-rank tests are in the package baycomp.")
@removed("--bound", "see analyses.significance.effects.equivalence_test in Python.")
@removed("--simulations", "power is computed; `make coverage` checks it by simulation.")
def design(**asked: Any) -> None:
    """Say how many users each measure needs, from a pilot: a study, or tables of scores.

    How many users make pairs of systems differ, find a difference of some per cent, and order
    systems reliably; and what the users that there are can find.
    """
    from analyses.design import design as analysis

    _answer(analysis, **asked)


def _answer(
    analysis: Analysis[Any, Any],
    tables: Sequence[Path],
    *,
    seed: int,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    only: Collection[str] = (),
    **asked: Any,
) -> None:
    """Ask an analysis of tables of scores, or a study's, publish the answer, and print cautions."""
    from analyses.shared.work import ScoresWork
    from harness.readers.scores import read_score_tables

    work = ScoresWork(read_score_tables(tables), seed=seed, n_jobs=n_jobs, progress=progress)
    found = analysis(work, given(analysis.settings, asked))
    publish({analysis.name: found}, format_, output, only)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)
