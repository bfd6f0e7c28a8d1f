"""What commands print, and the codes that they exit with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from analyses.shared.publish import Results
    from analyses.shared.table import Table

FAILED, MISUSED = 1, 2
BROKEN = 1

MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of results in which one number or name does not fit another."""


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Say in the end what is remarkable about the input, without Python's places in the code."""
    from runs import InputWarning
    from runs.shared.errors import warning_sentences

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            yield
    finally:
        for remark in warning_sentences(caught):
            click.echo(f"Warning: {remark}", err=True)


def reads_studies(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command on study folders say in a sentence that their results do not fit together.

    Each file is checked when it is read; whether all fit together shows where they are used. Errors
    in a user's plug-in, which is run, are shown as they are.
    """

    @wraps(command)
    def call(**options: Any) -> None:
        from runs.shared.errors import as_input_error

        folders = options["studies"] if "studies" in options else [options["study"]]
        named = ", ".join(map(str, folders))
        finding = (
            f"{named}: the results do not fit together; `harness run` makes them again. If "
            "`harness verify` finds all files as they were written, please report this as a fault "
            "of the harness"
        )
        errors = () if options.get("plugins") else MISFITS
        with as_input_error(finding, *errors):
            command(**options)

    return call


def print_tables(*tables: Table, format_: str = "text", in_records: bool = False) -> None:
    """Print tables; as text, a row may be a record with a line for each of its cells."""
    from analyses.shared.table import FORMATS

    if format_ != "text":
        click.echo(FORMATS[format_](tables), nl=False)
        return
    from rich import box
    from rich import table as rich
    from rich.console import Console
    from rich.text import Text

    console = Console()
    with console.capture() as printed:
        for table in tables:
            rows = [[Text(shown(cell)) for cell in row] for row in table.rows]
            if not in_records:
                title = Text(table.title) if table.title else None
                # Texts of rich, as words in brackets would be its markup.
                headings = [rich.Column(Text(heading)) for heading in table.headings]
                grid = rich.Table(*headings, title=title, title_justify="left", box=box.SIMPLE)
                for row in rows:
                    grid.add_row(*row)
                console.print(grid)
            else:
                width = 2 + max(map(len, table.headings))
                for name, *cells in rows:
                    grid = rich.Table.grid(rich.Column(min_width=width), "", padding=(0, 2))
                    for heading, cell in zip(table.headings[1:], cells, strict=True):
                        grid.add_row(Text(f"  {heading}"), cell)
                    console.print(name, grid, "", sep="\n")
            if table.note:
                console.print(Text(table.note))
    # Where the output is no UTF-8, or nobody reads it, click knows what to do.
    click.echo(printed.get(), nl=False)


def shown(value: Any) -> str:
    """Print a number with thousands apart, and at most four digits if it is not whole."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def publish(results: Results, only: Collection[str] = ()) -> None:
    """Write and print results as the options `published` of the command say."""
    from analyses.shared.publish import PRINTED, write_results

    asked = click.get_current_context().params
    if asked["output"] is not None:
        write_results(results, asked["output"])
    click.echo(PRINTED[asked["format_"]](results, only), nl=False)


def write_and_name(what: str, path: Path, content: bytes) -> None:
    """Write a file whole, and print where it is."""
    from runs.shared.files import write_atomically

    write_atomically(path, content)
    click.echo(f"The {what} is {path.resolve()}")
