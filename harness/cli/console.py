"""What commands print, and the codes that they exit with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from analyses.shared.publish import Results

FAILED, MISUSED = 1, 2
BROKEN = 1


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Say in the end what is remarkable about the input, without Python's places in the code."""
    from runs import InputWarning
    from runs.shared.remarks import remarks_of

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


@contextmanager
def printed_table(
    *headings: str, title: str = "", header: bool = True
) -> Iterator[Callable[..., None]]:
    """Print a table of the rows that are added."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        *headings,
        title=Text(title) if title else None,
        title_justify="left",
        show_header=header,
        box=box.SIMPLE,
    )
    yield lambda *cells: table.add_row(*map(Text, cells))
    Console().print(table)


def publish(
    results: Results, format_: str, folder: Path | None, only: Collection[str] = ()
) -> None:
    """Write results into a folder, if there is one, and print them in a format."""
    from analyses.shared.publish import PRINTED, write_results

    if folder is not None:
        write_results(results, folder)
    click.echo(PRINTED[format_](results, only), nl=False)


def shown(value: Any) -> str:
    """Print a number with thousands apart, and at most four digits if it is not whole."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
