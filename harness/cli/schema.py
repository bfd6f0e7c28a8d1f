"""``harness schema``: the study file as a JSON schema."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import PATH


@click.command(
    epilog="Save it, and begin a study file with '#:schema study.schema.json': editors then "
    "complete keys and mark what breaks a rule."
)
@click.option(
    "--plugin", "plugins", multiple=True, type=PATH, help="A file with an analysis of yours."
)
def schema(plugins: tuple[Path, ...]) -> None:
    """Print a JSON schema of the study file, for editors."""
    import json

    from harness.study.schema import study_schema

    paths = [path.resolve() for path in plugins]
    click.echo(json.dumps(study_schema(paths), indent=1, ensure_ascii=False))
