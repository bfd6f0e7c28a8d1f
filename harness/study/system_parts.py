"""The parts of a study that are of one system each: their names in the ledger, and their files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class SystemPart:
    """A part of a study that every system has, or may have: the beginning and end of its names."""

    name: str
    folder: str
    suffix: str

    def of(self, system: str) -> str:
        """Name the part in the ledger.

        Examples
        --------
        >>> RUN.of("bm25/tuned")
        'run-bm25%2Ftuned'
        """
        return f"{self.name}-{file_stem(system)}"

    def file(self, system: str) -> str:
        """Name its file.

        Examples
        --------
        >>> RUN.file("bm25/tuned")
        'runs/bm25%2Ftuned.parquet'
        """
        return f"{self.folder}/{file_stem(system)}.{self.suffix}"


RUN = SystemPart("run", "runs", "parquet")
"""What a system recommends."""

RANKS = SystemPart("ranks", "ranks", "npz")
"""Where it ranks the relevant items among all candidates."""

HIDDEN = SystemPart("hidden", "hidden", "npz")
"""Where it ranks items that are hidden in turn."""

TRUE_RUN = SystemPart("true-run", "truth/runs", "parquet")
"""Its lists that the truth judges."""

WHOLE = SystemPart("ranks-all", "ranks/all", "npz")
"""Its ranks of all candidates of some users."""


def file_stem(system: str) -> str:
    """Write what a file name may not hold in the manner of URLs: two systems never share a file."""
    return re.sub(r"[^\w+=@.-]", lambda match: quote(match[0], safe=""), system)
