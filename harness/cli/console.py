"""What commands print, and the codes that they exit with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from analyses.shared.analysis import Analysis
    from analyses.shared.publish import Results
    from runs.shared.progress import Progress

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


def answer_of_scores(
    analysis: Analysis[Any, Any],
    tables: Sequence[Path],
    *,
    seed: int,
    n_jobs: int,
    format_: str,
    output: Path | None,
    progress: Progress,
    only: Collection[str] = (),
    **asked: Any,
) -> None:
    """Ask an analysis of tables of scores, or a study's, publish the answer, and say cautions."""
    from analyses.shared.work import ScoresWork
    from harness.cli.options import given
    from harness.readers.scores import read_score_tables

    work = ScoresWork(read_score_tables(tables), seed=seed, n_jobs=n_jobs, progress=progress)
    found = analysis(work, given(analysis.settings, asked))
    publish({analysis.name: found}, format_, output, only)
    for caution in found.cautions():
        click.echo(f"Caution: {caution}", err=True)


def shown(value: Any) -> str:
    """Print a number with thousands apart, and at most four digits if it is not whole."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
