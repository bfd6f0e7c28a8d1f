"""Fuzz the readers: ``python -m tests.fuzzing --lines 1000000 --tables 5000 --seed 1``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.fuzzing.comparison import READERS, Tally, compare_one
from tests.fuzzing.tables import TableTally, compare_qrels_table, compare_run_table, compare_table

BETWEEN_PROGRESS = 5.0


def main() -> None:
    """Mutate so many lines and write so many tables; stop at the first disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    fuzz_tables(Random(arguments.seed), arguments.tables)
    fuzz_lines(Random(arguments.seed), arguments.lines)


def fuzz_tables(random: Random, n_tables: int) -> None:
    """Write so many tables each of ratings, runs and qrels, and read them back."""
    ratings = TableTally()
    runs = TableTally()
    qrels = TableTally()
    start = perf_counter()
    with TemporaryDirectory() as folder:
        while ratings.files < n_tables:
            path = Path(folder, "fuzzed.csv")
            compare_table(random, ratings, path)
            compare_run_table(random, runs, path)
            compare_qrels_table(random, qrels, path)
    seconds = perf_counter() - start
    print(
        f"{ratings.read} of {ratings.files} tables of ratings, {runs.read} of {runs.files} of runs "
        f"and {qrels.read} of {qrels.files} of qrels read, the others refused: no crash, no "
        f"changed meaning ({seconds:.0f} s)"
    )


def fuzz_lines(random: Random, n_lines: int) -> None:
    """Mutate so many lines of runs and qrels, and show progress."""
    tally = Tally()
    start = perf_counter()
    shown = start
    while tally.lines < n_lines:
        for reader in READERS:
            compare_one(reader, random, tally)
        if perf_counter() - shown > BETWEEN_PROGRESS:
            shown = perf_counter()
            print(f"{tally} ({shown - start:.0f} s)", file=sys.stderr)
    print(f"{tally}: no crash, no wrong read ({perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
