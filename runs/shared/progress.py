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


@dataclass(frozen=True)
class Bar:
    """One piece of work under way: ``advance(steps=1, done="")`` says what is done."""

    advance: Callable[..., None]


class Progress(Protocol):
    """Shows work under way: ``with progress("Judging", len(runs)) as bar:``."""

    def __call__(self, label: str, total: int) -> AbstractContextManager[Bar]:
        """Begin a piece of work of so many steps."""

    def note(self, message: str) -> None:
        """Say something once."""


class SilentProgress:
    """Shows nothing."""

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Begin, in silence."""
        yield Bar(lambda steps=1, *, done="": None)

    def note(self, message: str) -> None:
        """Pass over it."""


class ProgressLines:
    """Writes a line when a piece of work ends, and each minute until then, for logs.

    The clock gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Write what is done as it is named, or how far it is, and how long the work took."""
        start = told = self._clock()
        n_done = 0

        def advance(steps: int = 1, *, done: str = "") -> None:
            nonlocal told, n_done
            n_done += steps
            now = self._clock()
            if done or now - told >= SECONDS_OF_SILENCE:
                told = now
                self.note(f"{label}: {f'{done}; ' if done else ''}{n_done:,} of {total:,}")

        yield Bar(advance)
        self.note(f"{label}: {self._clock() - start:.1f} s")

    def note(self, message: str) -> None:
        """Write a line to standard error."""
        print(message, file=sys.stderr, flush=True)


class ProgressBars:
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
            task = bars.add_task(label, total=total)
            yield Bar(lambda steps=1, *, done="": bars.advance(task, steps))

    def note(self, message: str) -> None:
        """Write a line above the bars, broken between words where it is longer than the screen."""
        width = self._console.width
        lines = fill(message, width, break_long_words=False, break_on_hyphens=False)
        self._console.print(lines, highlight=False, markup=False, soft_wrap=True)


def choose_progress(*, quiet: bool) -> Progress:
    """Choose: nothing if asked to be quiet, bars on a terminal, lines in a log."""
    if quiet:
        return SilentProgress()
    return ProgressBars() if sys.stderr.isatty() else ProgressLines()


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
