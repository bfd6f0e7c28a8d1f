"""Progress that is counted: each piece of work must be done to its end, and to no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runs.shared.progress import Bar


class Full:
    """Shows nothing, and keeps what work there was: its label, and of how many steps."""

    def __init__(self) -> None:
        self.work: list[tuple[str, int]] = []
        self.notes: list[str] = []

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Begin a piece of work; when it ends all its steps must be done."""
        n_done = 0

        def advance(steps: int = 1, *, done: str = "") -> None:
            nonlocal n_done
            n_done += steps

        yield Bar(advance)
        assert n_done == total, f"{label}: {n_done} of {total} steps"
        self.work.append((label, total))

    def note(self, message: str) -> None:
        """Keep it."""
        self.notes.append(message)
