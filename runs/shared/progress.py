"""Progress: nothing by default, lines in a log, bars when a person watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Bar(Protocol):
    """One piece of work under way."""

    def advance(self, steps: int = 1) -> None:
        """Say that some steps are done."""


class Progress(Protocol):
    """Shows work under way: ``with progress("Judging", len(runs)) as bar:``."""

    def __call__(self, label: str, total: int) -> AbstractContextManager[Bar]:
        """Begin a piece of work of so many steps."""

    def note(self, message: str) -> None:
        """Say something once."""


class Silent:
    """Shows nothing."""

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Silent]:
        """Begin, in silence."""
        yield self

    def advance(self, steps: int = 1) -> None:
        """Pass over it."""

    def note(self, message: str) -> None:
        """Pass over it."""


class Lines:
    """Writes a line when a piece of work ends, for logs."""

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Silent]:
        """Write how long the work took."""
        start = time.perf_counter()
        yield Silent()
        self.note(f"{label}: {time.perf_counter() - start:.1f} s")

    def note(self, message: str) -> None:
        """Write a line to standard error."""
        print(message, file=sys.stderr, flush=True)


class Bars:
    """Draws bars on a terminal, with how far the work is and how long it will take."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Draw a bar until the work ends."""
        from rich import progress as rich

        columns = (
            rich.TextColumn("{task.description:<34}"),
            rich.BarColumn(bar_width=24),
            rich.MofNCompleteColumn(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
        )
        with rich.Progress(*columns, console=self._console) as bars:
            yield _RichBar(bars, bars.add_task(label, total=total))

    def note(self, message: str) -> None:
        """Write a line above the bars."""
        self._console.print(message, highlight=False, markup=False, soft_wrap=True)


class _RichBar:
    def __init__(self, bars: object, task: object) -> None:
        self._bars, self._task = bars, task

    def advance(self, steps: int = 1) -> None:
        self._bars.advance(self._task, steps)  # type: ignore[attr-defined]


def watched(*, quiet: bool) -> Progress:
    """Choose: nothing if asked to be quiet, bars on a terminal, lines in a log."""
    if quiet:
        return Silent()
    return Bars() if sys.stderr.isatty() else Lines()
