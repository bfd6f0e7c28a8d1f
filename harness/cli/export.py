"""``harness export``: write the files of a study for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH


@click.command()
@click.argument("study", type=PATH)
@click.option("--to", "target", required=True, type=PATH, help="A new or empty folder.")
def export(study: Path, target: Path) -> None:
    """Export runs, qrels and split of the study folder STUDY, with other tools' commands."""
    from harness.trec_eval.export import export_study

    for path in export_study(study, target):
        click.echo(str(path))
