"""``harness report``: make the report of a study again."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH, redrawing


@click.command()
@click.argument("study", type=PATH)
@redrawing
def report(study: Path, plugins: tuple[Path, ...]) -> None:
    """Make the report of the study folder STUDY again, from its tables and figures."""
    from harness.report.page import render_report
    from harness.report.study_folder import FinishedStudy
    from runs.shared.files import write_whole

    write_whole(study / "report.html", render_report(FinishedStudy.at(study, plugins)))
    click.echo(f"The report is {(study / 'report.html').resolve()}")
