"""``harness compare``: put several studies side by side, or one beside published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import PATH, redrawing

if TYPE_CHECKING:
    from harness.report.comparison import Comparison
    from harness.report.publication import Publication


@click.command()
@click.argument(
    "studies", type=PATH, nargs=-1, required=True, metavar="STUDY STUDY...|PUBLISHED.csv"
)
@click.option("--to", "target", type=PATH, help="A folder for page, figures and tables.")
@redrawing
def compare(studies: tuple[Path, ...], target: Path | None, plugins: tuple[Path, ...]) -> None:
    """Compare study folders: their data, each measure on all of them, and which conclusions hold.

    With --to, a page has their figures too, as panels (a), (b), ... of one figure.

    One STUDY stands beside numbers that somebody published: levels, orderings, what agrees.
    PUBLISHED.csv has the columns system, measure and value; quantity in place of system, for
    numbers of the measures themselves; rank in place of value, where only the order is known.
    """
    compared = _compared(studies, plugins)
    for table in compared.tables():
        click.echo(table.to_text())
    for finding in compared.findings():
        click.echo(f"{finding}\n")
    if target is not None:
        from harness.report.comparison import write_comparison

        click.echo(f"The page is {write_comparison(compared, target).resolve()}")


def _compared(given: Sequence[Path], plugins: Sequence[Path]) -> Comparison | Publication:
    from harness.report.comparison import Comparison
    from harness.report.publication import Publication
    from harness.report.study_folder import FinishedStudy

    tables = [path for path in given if path.suffix == ".csv"]
    studies = [FinishedStudy.at(path, plugins) for path in given if path not in tables]
    return Publication.of(studies, tables) if tables else Comparison.of(studies)
