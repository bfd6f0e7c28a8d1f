"""``harness describe``: count what ratings hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.console import printed_table, shown
from harness.cli.options import PATH


@click.command()
@click.argument("path", type=PATH)
@click.option("--format", "format_", metavar="NAME", help="The format; guessed if absent.")
@click.option(
    "--duplicates",
    type=click.Choice(["error", "last"]),
    default="error",
    show_default=True,
    help="A pair rated twice: refuse, or keep the last.",
)
def describe(path: Path, format_: str | None, duplicates: Any) -> None:
    """Count users, items, ratings, density and Gini of the ratings in PATH."""
    from qrels.ratings.datasets import guess_format, read_ratings
    from qrels.ratings.statistics import describe as statistics_of

    ratings = read_ratings(path, format=format_, duplicates=duplicates)
    facts = statistics_of(ratings).to_frame().iloc[0].to_dict()
    with printed_table(
        "", "", title=f"{path} ({format_ or guess_format(path)})", header=False
    ) as add:
        for name, value in facts.items():
            add(str(name).replace("_", " "), shown(value))
