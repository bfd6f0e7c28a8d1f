"""``harness figure``: redraw a figure of a study for print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.console import printed_table
from harness.cli.options import PATH, redrawing, removed


@click.command()
@click.argument("study", type=PATH)
@click.argument("name", metavar="[fig1|fig2|...]", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["svg", "pdf", "png"]),
    help="By default that of --to, or svg.",
)
@click.option("--to", "target", type=PATH, help="The file; FIGURE.FORMAT here by default.")
@click.option("--cutoff", type=int, help="Of a figure of all metrics: another cut-off.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Of a figure with a panel for each metric: this one alone; may be repeated.",
)
@click.option(
    "--width",
    type=click.Choice(["single", "double"]),
    help="One column (3.33 in) or two (7 in); by default two for figures of many panels.",
)
@removed("--grey", "dashes and markers tell curves apart without colours.")
@redrawing
def figure(
    study: Path,
    name: str | None,
    format_: Any,
    target: Path | None,
    plugins: tuple[Path, ...],
    **options: Any,
) -> None:
    """Redraw a figure of the study folder STUDY for print; without a name, list the figures.

    Prints the caption, and where the figure is.
    """
    from harness.report.print import FORMATS, caption_of, find_figure, format_of, print_figure
    from harness.report.study_folder import FinishedStudy
    from runs.shared.files import write_whole

    finished = FinishedStudy.at(study, plugins)
    if name is None:
        with printed_table("figure", "title", header=False) as add:
            for _, face in finished.figures():
                add(face.short, face.title)
        return
    key, face = find_figure(finished, name)
    kind = format_of(target, format_)
    path = target or Path(f"{face.file}.{kind}")
    result = finished.result(key)
    drawn = print_figure(result, face, worded=finished.worded, **options)
    write_whole(path, FORMATS[kind](drawn))
    click.echo(caption_of(finished, result, face))
    click.echo(f"The figure is {path.resolve()}")
