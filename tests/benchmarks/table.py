"""The table of the benchmarks, for the documentation, from what pytest-benchmark keeps.

``python -m tests.benchmarks.table FILE`` prints as CSV what the benchmarks `report` in a run with
``--benchmark-json=FILE``. This module imports little, as `tests.benchmarks.waits` needs it.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

ROWS = "rows"
"""Where rows lie among what pytest-benchmark keeps of a benchmark."""


def shown(seconds: float) -> str:
    """Show a number with two digits, or as a whole number."""
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"


def report(benchmark: Any, work: str, seconds: float, *, beside: str = "") -> None:
    """Print a row of the table, and keep it.

    Parameters
    ----------
    benchmark
        The fixture of pytest-benchmark.
    work
        What was measured.
    seconds
        CPU time of one thread.
    beside
        What else was measured in the same run, such as what a peer takes for the same.
    """
    print(f"\n{work}: {shown(seconds)} CPU-s; {beside}", flush=True)
    row = [work, shown(seconds), beside]
    benchmark.extra_info.setdefault(ROWS, []).append(row)


def main(name: str) -> None:
    """Print the rows of all benchmarks, and the files that measure them."""
    measured = json.loads(Path(name).read_text(encoding="utf-8"))["benchmarks"]
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["work", "CPU-s", "beside", "file"])
    for benchmark in measured:
        file = Path(benchmark["fullname"].partition("::")[0]).name
        for row in benchmark["extra_info"].get(ROWS, []):
            table.writerow([*row, file])


if __name__ == "__main__":
    main(*sys.argv[1:])
