"""Progress of work, shown as lines in a log or bars on a terminal; and the time that work takes."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from textwrap import fill
from typing import Protocol

LOGGER = logging.getLogger("harness")
"""Gets what is done: with its time (INFO), and which parts of a study are made or kept (DEBUG)."""

SECONDS_OF_SILENCE = 60.0
"""After so long a log gets a line with how far the work is."""


@dataclass(frozen=True)
class Bar:
    """One piece of work under way: ``advance(steps=1, done="")`` adds steps, and names the last."""

    advance: Callable[..., None]


class Progress(Protocol):
    """Shows work under way: ``with progress("Judging", len(runs)) as bar:``."""

    def __call__(self, label: str, total: int) -> AbstractContextManager[Bar]:
        """Begin a piece of work of so many steps."""

    def note(self, message: str) -> None:
        """Show a message once."""


class SilentProgress:
    """Shows nothing; tells the logger `harness` what is done."""

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Begin a piece of work; at its end, log how many seconds it took."""
        clock = Clock()
        yield Bar(lambda steps=1, *, done="": None)
        LOGGER.info("%s: %.1f s", label, clock.cost().seconds)

    def note(self, message: str) -> None:
        """Log a message."""
        LOGGER.info(message)


class ProgressLines:
    """Writes lines for logs: when a piece of work ends, and each minute until then.

    ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Write lines of progress with ``label`` while the block runs.

        Yields the object by which the block says that steps are done. There is a line for each step
        that has a name, one after each minute, and one at the end. A line says how many of
        ``total`` steps are done; the last one, how many seconds all took. ``self._clock`` tells the
        time in seconds, and ``self.note`` writes a line.
        """
        start = self._clock()
        last_line = start
        n_done = 0

        def advance(steps: int = 1, *, done: str = "") -> None:
            """Count steps as done, and write a line if the last has a name or a minute is over."""
            nonlocal last_line, n_done
            n_done += steps
            now = self._clock()
            if done or now - last_line >= SECONDS_OF_SILENCE:
                last_line = now
                name = f"{done}; " if done else ""
                self.note(f"{label}: {name}{n_done:,} of {total:,}")

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
        """Draw a bar with ``label`` and ``total`` steps on the console until the block ends.

        Yields the object by which the block says that steps are done.
        """
        from rich import progress as rich

        with rich.Progress(
            rich.TextColumn("{task.description:<34}"),
            rich.BarColumn(bar_width=24),
            rich.MofNCompleteColumn(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
            console=self._console,
        ) as bars:
            task = bars.add_task(label, total=total)
            yield Bar(lambda steps=1, *, done="": bars.advance(task, steps))

    def note(self, message: str) -> None:
        """Write a line above the bars, broken between words where it is longer than the screen."""
        width = self._console.width
        lines = fill(message, width, break_long_words=False, break_on_hyphens=False)
        self._console.print(lines, highlight=False, markup=False, soft_wrap=True)


def choose_progress(*, quiet: bool) -> Progress:
    """Choose how to show progress: not at all if quiet, else bars on a terminal, lines in a log."""
    if quiet:
        return SilentProgress()
    return ProgressBars() if sys.stderr.isatty() else ProgressLines()


@dataclass(frozen=True)
class Cost:
    """Seconds that a piece of work took: of wall time, and of CPU time of its process."""

    seconds: float
    cpu_seconds: float


class Clock:
    """Measures wall time and CPU time from the moment when it is made."""

    def __init__(self) -> None:
        self._wall_start = time.perf_counter()
        self._cpu_start = time.process_time()

    def cost(self) -> Cost:
        """Measure the cost so far."""
        return Cost(
            seconds=time.perf_counter() - self._wall_start,
            cpu_seconds=time.process_time() - self._cpu_start,
        )
