"""``harness schema``: the study file as a JSON schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PATH


@click.command(
    epilog="Save it, and begin a study file with '#:schema study.schema.json': editors then "
    "complete keys and mark what breaks a rule."
)
@click.option(
    "--plugin", "plugins", multiple=True, type=PATH, help="A file with an analysis of yours."
)
@click.option("--experiment", is_flag=True, help="Of studies that begin with an experiment.")
def schema(plugins: tuple[Path, ...], experiment: bool) -> None:
    """Print a JSON schema of the study file, for editors."""
    import json

    from harness.study.schema import study_schema
    from harness.study.study import Study

    kind: Any = Study
    if experiment:
        from harness.online.experiment_file import ExperimentStudy

        kind = ExperimentStudy
    found = study_schema([path.resolve() for path in plugins], kind=kind)
    click.echo(json.dumps(found, indent=1, ensure_ascii=False))
