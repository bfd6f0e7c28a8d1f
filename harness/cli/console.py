"""What commands print, and the codes that they exit with."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from analyses.shared.publish import Results

FAILED, MISUSED = 1, 2
BROKEN = 1


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Say in the end what is remarkable about the input, without Python's places in the code."""
    from runs import InputWarning
    from runs.shared.errors import remarks_of

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            yield
    finally:
        of_input = [each for each in caught if issubclass(each.category, InputWarning)]
        for remark in remarks_of(of_input):
            click.echo(f"Warning: {remark}", err=True)
        for other in caught:
            if other not in of_input:
                warnings.showwarning(other.message, other.category, other.filename, other.lineno)


def print_table(rows: Iterable[Iterable[str]], *headings: str, title: str = "") -> None:
    """Print a table of rows; without headings, of two columns."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*(headings or ("", "")), show_header=bool(headings), box=box.SIMPLE)
    table.title, table.title_justify = Text(title) if title else None, "left"
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def publish(
    results: Results, format_: str, folder: Path | None, only: Collection[str] = ()
) -> None:
    """Write results into a folder, if there is one, and print them in a format."""
    from analyses.shared.publish import PRINTED, write_results

    if folder is not None:
        write_results(results, folder)
    click.echo(PRINTED[format_](results, only), nl=False)


def write_and_name(what: str, path: Path, content: bytes) -> None:
    """Write a file whole, and print where it is."""
    from runs.shared.files import write_whole

    write_whole(path, content)
    click.echo(f"The {what} is {path.resolve()}")
