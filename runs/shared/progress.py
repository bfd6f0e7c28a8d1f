"""Progress: nothing by default, lines in a log, bars when a person watches; and costs of work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from textwrap import fill
from typing import Protocol

SECONDS_OF_SILENCE = 60.0
"""After so long a log is told how far the work is."""


class Bar(Protocol):
    """One piece of work under way."""

    def advance(self, steps: int = 1, *, done: str = "") -> None:
        """Say that some steps are done, and what is."""


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

    def advance(self, steps: int = 1, *, done: str = "") -> None:
        """Pass over it."""

    def note(self, message: str) -> None:
        """Pass over it."""


class Lines:
    """Writes a line when a piece of work ends, and each minute until then, for logs.

    The clock gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Write how long the work took."""
        start = self._clock()
        yield _LineBar(self, label, total, self._clock)
        self.note(f"{label}: {self._clock() - start:.1f} s")

    def note(self, message: str) -> None:
        """Write a line to standard error."""
        print(message, file=sys.stderr, flush=True)


class _LineBar:
    """Writes what is done as it is named; of what is not, how far the work is, each minute."""

    def __init__(self, lines: Lines, label: str, total: int, clock: Callable[[], float]) -> None:
        self._lines, self._label, self._total, self._clock = lines, label, total, clock
        self._steps, self._told = 0, clock()

    def advance(self, steps: int = 1, *, done: str = "") -> None:
        self._steps += steps
        now = self._clock()
        if done or now - self._told >= SECONDS_OF_SILENCE:
            self._told = now
            named = f"{done}; " if done else ""
            self._lines.note(f"{self._label}: {named}{self._steps:,} of {self._total:,}")


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
        """Write a line above the bars, broken between words where it is longer than the screen."""
        width = self._console.width
        lines = fill(message, width, break_long_words=False, break_on_hyphens=False)
        self._console.print(lines, highlight=False, markup=False, soft_wrap=True)


class _RichBar:
    def __init__(self, bars: object, task: object) -> None:
        self._bars, self._task = bars, task

    def advance(self, steps: int = 1, *, done: str = "") -> None:
        self._bars.advance(self._task, steps)  # type: ignore[attr-defined]


def watched(*, quiet: bool) -> Progress:
    """Choose: nothing if asked to be quiet, bars on a terminal, lines in a log."""
    if quiet:
        return Silent()
    return Bars() if sys.stderr.isatty() else Lines()


@dataclass(frozen=True)
class Cost:
    """Seconds that a piece of work took: of wall time, and of CPU time of its process."""

    seconds: float
    cpu_seconds: float


class Clock:
    """Measures from when it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def cost(self) -> Cost:
        """Give the cost so far."""
        return Cost(time.perf_counter() - self._wall, time.process_time() - self._cpu)
