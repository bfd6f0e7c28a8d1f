"""A fault, and how it is planted."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True)
class Fault:
    """What is written in place of what, and the tests that should see it."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]

    def planted_in(self, text: str) -> str:
        """Write what is wrong in place of what is right, which occurs once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file}: not once in the file:\n{self.old}")
        return text.replace(self.old, self.new)

    @contextmanager
    def planted(self, tree: Path) -> Iterator[None]:
        """Plant the fault in a copy of the tree, and take it out again."""
        path = tree / self.file
        right = path.read_text(encoding="utf-8")
        path.write_text(self.planted_in(right), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(right, encoding="utf-8")


def read_faults() -> list[Fault]:
    """Read the list of faults."""
    return [Fault(**table) for table in tomllib.loads(FAULTS.read_text("utf-8"))["fault"]]
