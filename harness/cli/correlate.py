"""``harness correlate``: compare what is on disk, a table of means or scores topic by topic."""

from __future__ import annotations

import warnings
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
    settings_options,
)

if TYPE_CHECKING:
    from analyses.correlation import Correlation, Settings
    from analyses.shared.measure import Measure

SETTINGS = imported("analyses.correlation.Settings")


@click.command(cls=SettingsCommand)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@settings_options(SETTINGS, without=["every_pair"])
@click.option(
    "--reference",
    metavar="NAME",
    help="Compare all measures with this one, by all coefficients (table and LaTeX).",
)
@click.option("--seed", type=SEED, default=0, help="Of the intervals.")
@printable
@click.option("--output", type=PATH, help="A folder for the CSV, and a figure as SVG and PNG.")
def correlate(
    paths: tuple[Path, ...],
    reference: str | None,
    seed: int,
    format_: str,
    output: Path | None,
    **asked: Any,
) -> None:
    """Compare how measures order the systems in FILE.

    FILE is a table of means: systems down, their names first, and measures across, such as nDCG@10
    or ap; or tables/means.csv of a study. Several FILEs, or the folder of a study, hold scores per
    topic: one measure a file, named as the file, systems across. From these come intervals.
    """
    settings = given(SETTINGS(), asked | {"every_pair": True})
    found = correlate_files(paths, settings, seed=seed)
    chosen = None if reference is None else _measure_called(reference, found.measures)
    click.echo(_printed(found, chosen, format_), nl=False)
    click.echo(found.caption(), err=True)
    if output is not None:
        _write(found, output)


def correlate_files(paths: Sequence[Path], settings: Settings, *, seed: int) -> Correlation:
    """Compare the orderings of systems in files.

    These are one table of means (see `read_means`), or what `read_score_tables` reads: a table of
    scores for each measure, or study folders. Intervals need scores topic by topic.
    """
    from analyses.correlation import correlate_means, correlation
    from analyses.shared.work import ScoresWork
    from harness.readers.means_table import is_means_table, read_means
    from harness.readers.scores import all_reported, read_score_tables

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
        _check_measures(paths, scores.measures)
        found = correlation(ScoresWork(scores, seed=seed), settings)
    _warn_of_ties(found)
    return found


def _measure_called(name: str, measures: Sequence[Measure]) -> Measure:
    """Find a measure by what it is called in the tables."""
    from harness.readers.scores import measure_named
    from runs import InputError

    asked = measure_named(name)
    if asked not in measures:
        known = ", ".join(map(str, measures))
        raise InputError(f"no measure is called {name!r}; there are {known}.")
    return asked


def _printed(found: Correlation, reference: Measure | None, format_: str) -> str:
    """Print the pairs of report measures; as data all pairs."""
    import json

    from analyses.shared.publish import as_csv, records_of

    match format_:
        case "csv":
            return as_csv(found.to_frame())
        case "json":
            document = {
                "correlation": records_of(found.to_frame()),
                "captions": {"correlation": found.caption()},
            }
            return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        case "latex":
            return found.of_measures(reference=reference).to_latex()
    return found.of_measures(reference=reference).to_columns()


def _write(found: Correlation, folder: Path) -> None:
    """Write correlation.csv, .svg, .png and .txt, the caption, into a folder."""
    from analyses.shared.figures import as_png, as_svg, panel_of
    from analyses.shared.publish import as_csv
    from runs.shared.files import write_whole

    n_measures = len(found.measures.reported)
    size = (1.5 + 0.45 * n_measures, 1.3 + 0.3 * n_measures)
    drawn = panel_of(found.plot_measures, size=size)
    contents = {
        "csv": as_csv(found.to_frame()).encode(),
        "svg": as_svg(drawn),
        "png": as_png(drawn),
        "txt": f"{found.caption()}\n".encode(),
    }
    for ending, content in contents.items():
        write_whole(folder / f"correlation.{ending}", content)


def _check_measures(paths: Sequence[Path], measures: Sequence[Measure]) -> None:
    from runs import InputError

    if len(measures) < 2:
        raise InputError(
            f"{paths[0]}: scores of the one measure {measures[0]}, topic by topic; a second table "
            "is needed to compare it with."
        )


def _warn_of_ties(found: Correlation) -> None:
    """Say which measures tie all systems."""
    import numpy as np

    from runs import InputWarning

    is_constant = np.isnan(found.values["tau-b"].diagonal())
    for measure in np.array(found.measures, dtype=object)[is_constant]:
        warnings.warn(
            f"all systems have the same mean by {measure}: its agreement with others is undefined.",
            InputWarning,
            stacklevel=3,
        )
