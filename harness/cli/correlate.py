"""``harness correlate``: compare what is on disk, a table of means or scores topic by topic."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.console import warnings_as_sentences
from harness.cli.options import PATH, SEED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from analyses.correlation import Correlation
    from analyses.shared.measure import Measure


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--coefficient",
    default="tau-b",
    show_default=True,
    metavar="NAME",
    help="tau-b, tau-a, tau-ap, tau-ap-a, tau-ap-b, weighted-tau, rbo or spearman.",
)
@click.option("--reference", metavar="NAME", help="Compare all measures with this one.")
@click.option(
    "--replicates",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Resampled sets of topics behind the intervals, which need scores per topic.",
)
@click.option("--seed", type=SEED, default=0, help="Of the intervals.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json", "latex"]),
    default="table",
    show_default=True,
    help="Three decimals, or all digits of all coefficients, or LaTeX.",
)
@click.option("--output", type=PATH, help="A folder for the CSV, and a figure as SVG and PNG.")
def correlate(
    paths: tuple[Path, ...],
    reference: str | None,
    format_: str,
    output: Path | None,
    **options: Any,
) -> None:
    """Compare how measures order the systems in FILE.

    FILE is a table of means: systems down, their names first, and measures across, such as nDCG@10
    or ap; or tables/means.csv of a study. Several FILEs, or the folder of a study, hold scores per
    topic: one measure a file, named as the file, systems across. From these come intervals.
    """
    from harness.correlation_text import FORMATS

    with warnings_as_sentences():
        found = correlate_files(paths, **options)
    chosen = None if reference is None else measure_called(reference, found.measures)
    click.echo(FORMATS[format_](found, reference=chosen), nl=False)
    click.echo(found.caption(), err=True)
    if output is not None:
        write_correlation(found, output, reference=chosen)


def correlate_files(
    paths: Sequence[Path], *, coefficient: str, replicates: int, seed: int
) -> Correlation:
    """Compare the orderings of systems in files.

    Parameters
    ----------
    paths
        One table of means (see `read_means`); else what `read_score_tables` reads: a table of
        scores for each measure, or one study folder.
    coefficient
        Name of the chosen one.
    replicates, seed
        Of the intervals, which need scores topic by topic; here every pair has one.

    Raises
    ------
    InputError
        If a file cannot be read, there are fewer than two measures, or no such coefficient.

    Warns
    -----
    InputWarning
        If a measure ties all systems.
    """
    from analyses.correlation import correlate, correlate_means
    from harness.readers.means import is_means_table, read_means
    from harness.readers.scores import read_score_tables

    if len(paths) == 1 and is_means_table(paths[0]):
        means = read_means(paths[0])
        found = correlate_means(
            means.values, measures=means.measures, systems=means.systems, coefficient=coefficient
        )
    else:
        scores = read_score_tables(paths)
        _check_measures(paths, scores.measures)
        found = correlate(
            scores, coefficient=coefficient, replicates=replicates, seed=seed, every_pair=True
        )
    _warn_of_ties(found)
    return found


def measure_called(name: str, measures: Sequence[Measure]) -> Measure:
    """Find a measure by what it is called in the tables.

    Raises
    ------
    InputError
        If there is none.
    """
    from runs import InputError

    by_name = {str(measure): measure for measure in measures}
    if name not in by_name:
        raise InputError(f"no measure is called {name!r}; there are {', '.join(by_name)}.")
    return by_name[name]


def write_correlation(found: Correlation, folder: Path, *, reference: Measure | None) -> None:
    """Write correlation.csv, .svg, .png and .txt, the caption, into a folder."""
    from analyses.shared.figures import as_png, as_svg
    from harness.correlation_text import as_csv
    from runs.shared.files import write_whole

    figure = draw_all(found)
    contents = {
        "csv": as_csv(found, reference=reference).encode(),
        "svg": as_svg(figure),
        "png": as_png(figure),
        "txt": (found.caption() + "\n").encode(),
    }
    for extension, content in contents.items():
        write_whole(folder / f"correlation.{extension}", content)


def draw_all(found: Correlation) -> Figure:
    """Draw a table of all measures, as large as they need."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from analyses.shared.figures import STYLE

    n_measures = len(found.measures)
    with rc_context(STYLE):
        figure = Figure(
            figsize=(1.5 + 0.45 * n_measures, 1.3 + 0.3 * n_measures), layout="constrained"
        )
        found.plot_all(figure.subplots())
    return figure


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
