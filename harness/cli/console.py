"""What commands print, and the codes that they exit with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import QUIET

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from analyses.shared.publish import Results
    from analyses.shared.table import Table

EXIT_FAILED = 1
EXIT_MISUSED = 2
EXIT_BROKEN = 1
EXIT_NOT_PASSED = 3
"""Exit codes: the machine failed; the user made a mistake; a law is broken or a file changed; a
candidate does not pass beside its baseline."""

MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of results in which one number or name does not fit another."""


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Collect warnings about the input while the block runs, and print them at its end.

    Each is a line on standard error, without Python's place in the code; also after an error. With
    ``--quiet``, none is printed.
    """
    from runs import InputWarning
    from runs.shared.errors import warning_sentences

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            yield
    finally:
        context = click.get_current_context(silent=True)
        is_quiet = context is not None and context.meta.get(QUIET, False)
        if not is_quiet:
            for sentence in warning_sentences(caught):
                click.echo(f"Warning: {sentence}", err=True)


def explain_misfits(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command on study folders: errors of results that do not fit become an InputError.

    Errors are those of `MISFITS`, such as LookupError. Each file is checked when it is read;
    whether all fit together shows where they are used. With a user's plug-in, which is run, errors
    are raised as they are. The folders are the options ``studies`` or ``study`` of the command.
    """

    @wraps(command)
    def call(**options: Any) -> None:
        from runs.shared.errors import as_input_error

        folders = options["studies"] if "studies" in options else [options["study"]]
        folder_names = ", ".join(map(str, folders))
        sentence = (
            f"{folder_names}: the results do not fit together; `harness run` makes them again. If "
            "`harness verify` finds all files as they were written, please report this as a fault "
            "of the harness"
        )
        errors = () if options.get("plugins") else MISFITS
        with as_input_error(sentence, *errors):
            command(**options)

    return call


def print_tables(*tables: Table, format_: str = "text", in_records: bool = False) -> None:
    """Print tables in a format of `FORMATS`.

    Texts go to standard output. With ``in_records``, the text format prints a row as a record: its
    first cell, then a line for each other cell; titles are left out.
    """
    from analyses.shared.table import FORMATS

    if format_ != "text":
        click.echo(FORMATS[format_](tables), nl=False)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    with console.capture() as printed:
        for table in tables:
            # Texts of rich, as words in brackets would be its markup.
            rows = [[Text(format_cell(cell)) for cell in row] for row in table.rows]
            if in_records:
                _print_records(console, table.headings, rows)
            else:
                _print_grid(console, table, rows)
            if table.note:
                console.print(Text(table.note))
    # Where the output is no UTF-8, or nobody reads it, click knows what to do.
    click.echo(printed.get(), nl=False)


def _print_grid(console: Console, table: Table, rows: Sequence[Sequence[Text]]) -> None:
    """Print a table on a console of rich: its title, if it has one, its headings and the rows."""
    from rich import box
    from rich.table import Column
    from rich.table import Table as Grid
    from rich.text import Text

    title = Text(table.title) if table.title else None
    columns = [Column(Text(heading)) for heading in table.headings]
    grid = Grid(*columns, title=title, title_justify="left", box=box.SIMPLE)
    for row in rows:
        grid.add_row(*row)
    console.print(grid)


def _print_records(
    console: Console, headings: Sequence[str], rows: Sequence[Sequence[Text]]
) -> None:
    """Print rows as records on a console of rich: the first cell, then a line for each other one.

    A line has the heading and the cell, in two columns.
    """
    from rich.table import Column
    from rich.table import Table as Grid
    from rich.text import Text

    heading_width = 2 + max(map(len, headings))
    for name, *cells in rows:
        grid = Grid.grid(Column(min_width=heading_width), "", padding=(0, 2))
        for heading, cell in zip(headings[1:], cells, strict=True):
            grid.add_row(Text(f"  {heading}"), cell)
        console.print(name, grid, "", sep="\n")


def format_cell(value: Any) -> str:
    """Format a value: numbers with thousands apart, at most four digits if not whole."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def publish(
    results: Results, only: Collection[str] = (), *, main_result: str | None = None
) -> None:
    """Print results, by name, and write them into a folder if the command has one.

    ``results`` are by name. Format and folder are the options ``--format`` and ``--output`` of the
    command that runs. ``only`` has the names of tables to print as text, LaTeX or Markdown; by
    default all are. ``main_result`` is the name of the one of several results that CSV, which has
    one table, prints. The folder gets all tables and figures.
    """
    from analyses.shared.publish import PRINTED, write_results

    option_values = click.get_current_context().params
    folder = option_values["output"]
    if folder is not None:
        write_results(results, folder)
    format_ = option_values["format_"]
    if format_ == "csv" and main_result is not None:
        results = {main_result: results[main_result]}
    print_results = PRINTED[format_]
    click.echo(print_results(results, only), nl=False)


def print_cautions(cautions: Collection[str]) -> None:
    """Print cautions of a result on standard error, a line each."""
    for caution in cautions:
        click.echo(f"Caution: {caution}", err=True)


def write_and_print_path(noun: str, path: Path, content: bytes) -> None:
    """Write a file whole, and print its absolute path; the noun says what the file is."""
    from runs.shared.files import write_atomically

    write_atomically(path, content)
    click.echo(f"The {noun} is {path.resolve()}")
