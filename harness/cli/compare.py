"""``harness compare``: put several studies side by side."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH, redrawing


@click.command()
@click.argument("studies", type=PATH, nargs=-1, required=True, metavar="STUDY STUDY...")
@click.option("--to", "target", type=PATH, help="A folder for page, figures and tables.")
@redrawing
def compare(studies: tuple[Path, ...], target: Path | None, plugins: tuple[Path, ...]) -> None:
    """Compare study folders: their data, each measure on all of them, and which conclusions hold.

    With --to, a page has their figures too, as panels (a), (b), ... of one figure.
    """
    from harness.report.comparison import Comparison
    from harness.report.study_folder import FinishedStudy

    compared = Comparison.of([FinishedStudy.at(study, plugins) for study in studies])
    for table in [compared.data_sets(), *compared.tables()]:
        click.echo(table.to_text())
    for finding in compared.findings():
        click.echo(f"{finding}\n")
    if target is not None:
        from harness.report.comparison_page import write_comparison

        click.echo(f"The page is {write_comparison(compared, target).resolve()}")
