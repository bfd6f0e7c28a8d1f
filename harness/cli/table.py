"""``harness table``: print a table of a study."""

from __future__ import annotations

from pathlib import Path

import click

from analyses.shared.table import FORMATS
from harness.cli.console import printed_table
from harness.cli.options import PATH, redrawing


@click.command()
@click.argument("study", type=PATH)
@click.argument("name", metavar="[table2|table3|NAME]", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS]),
    default="text",
    show_default=True,
    help="Output format: text, LaTeX (booktabs), CSV with all digits, or Markdown.",
)
@click.option("--cutoff", type=int, help="Report measures by default; of table3, all.")
@click.option(
    "--convention",
    type=click.Choice(["dp", "dp_ordered"]),
    help="How table3 adds up p-values: over unordered pairs (dp), or ordered ones, as the "
    "RecSys'18 paper does (dp_ordered).",
)
@redrawing
def table(
    study: Path,
    name: str | None,
    format_: str,
    cutoff: int | None,
    convention: str | None,
    plugins: tuple[Path, ...],
) -> None:
    """Print a table of the study folder STUDY; without a name, list the tables."""
    from harness.report.study_folder import FinishedStudy
    from harness.report.tables import tabulate, titles

    finished = FinishedStudy.at(study, plugins)
    if name is None:
        with printed_table("table", "title", header=False) as add:
            for known, title in titles(finished).items():
                add(known, title)
        names = ", ".join(f"{name}.csv" for name in finished.frames)
        click.echo(f"In full, with all digits, in {study / 'tables'}: {names}.")
        return
    chosen = tabulate(finished, name, cutoff=cutoff, convention=convention)
    click.echo(FORMATS[format_](chosen), nl=False)
