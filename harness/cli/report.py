"""``harness report``: make the report of a study again."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH


@click.command()
@click.argument("study", type=PATH)
def report(study: Path) -> None:
    """Make the report of the study folder STUDY again, from its tables and figures."""
    from harness.report.page import render_report
    from runs.shared.files import write_whole

    write_whole(study / "report.html", render_report(study))
    click.echo(f"The report is {(study / 'report.html').resolve()}")
