"""``harness correlate``: compare what is on disk, a table of means or scores topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    PATH,
    SEED,
    SettingsCommand,
    given,
    imported,
    printable,
    removed,
    settings_options,
)

if TYPE_CHECKING:
    from analyses.correlation import Correlation, Settings

SETTINGS = imported("analyses.correlation.Settings")


@click.command(cls=SettingsCommand)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@settings_options(SETTINGS, without=["every_pair"])
@removed("--reference", "--format csv has every pair of measures by all coefficients.")
@click.option("--seed", type=SEED, default=0, help="Random seed of the intervals.")
@printable
@click.option("--output", type=PATH, help="A folder for the CSV, and figures as SVG and PNG.")
def correlate(
    paths: tuple[Path, ...], seed: int, format_: str, output: Path | None, **asked: Any
) -> None:
    """Compare how measures order the systems in FILE.

    FILE is a table of means: systems down, their names first, and measures across, such as nDCG@10
    or ap; or tables/means.csv of a study. Several FILEs, or the folder of a study, hold scores per
    topic: one measure a file, named as the file, systems across. From these come intervals.
    """
    from analyses.shared.publish import as_csv, as_json, write_results

    settings = given(SETTINGS(), asked | {"every_pair": True})
    found = correlate_files(paths, settings, seed=seed)
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


def correlate_files(paths: Sequence[Path], settings: Settings, *, seed: int) -> Correlation:
    """Compare the orderings of systems in files.

    These are one table of means (see `read_means`), or what `read_score_tables` reads: a table of
    scores for each measure, or study folders. Intervals need scores topic by topic.
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
        found = correlation(ScoresWork(scores, seed=seed), settings)
    is_constant = np.isnan(found.values["tau-b"].diagonal())
    for measure in np.array(found.measures, dtype=object)[is_constant]:
        warn(f"all systems have the same mean by {measure}: its agreement is undefined.")
    return found
