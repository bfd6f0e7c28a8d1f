"""``harness init``: write a first study of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.describe import described, print_description, reads_ratings
from harness.cli.options import PATH, SettingsCommand


@click.command(cls=SettingsCommand)
@click.argument("data", type=PATH)
@click.option(
    "--output", type=PATH, default=Path("study.toml"), show_default=True, help="The file to write."
)
@click.option("--overwrite", is_flag=True, help="Replace the file, if there is one.")
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="A system of the study; the usual seven by default. May be repeated.",
)
@reads_ratings
def init(data: Path, output: Path, overwrite: bool, systems: tuple[str, ...], **asked: Any) -> None:
    """Write a commented study of the ratings in DATA, and describe them."""
    from harness.study.first_study import first_study
    from harness.study.study import SYSTEMS
    from runs import InputError
    from runs.shared.files import write_whole

    if output.exists() and not overwrite:
        raise InputError(
            f"{output}: there is such a file; --overwrite replaces it, --output names another."
        )
    found = described(data, asked)
    text = first_study(found, file=output, systems=systems or SYSTEMS)
    write_whole(output, text.encode())
    print_description(found)
    chosen = "" if found.threshold is None else f", with the threshold {found.threshold:g}"
    click.echo(f"{output} is a study of these ratings{chosen}. Run it: harness run {output}")
