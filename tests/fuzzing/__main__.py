"""Fuzz the readers: ``python -m tests.fuzzing --lines 1000000 --tables 5000 --seed 1``."""

from __future__ import annotations

import argparse
import sys
from random import Random
from time import perf_counter

from tests.fuzzing.comparison import READERS, Tally, compare_one
from tests.fuzzing.tables import TableTally, compare_table

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
    """Write so many tables of ratings, and read them back."""
    tally = TableTally()
    start = perf_counter()
    while tally.files < n_tables:
        compare_table(random, tally)
    seconds = perf_counter() - start
    print(
        f"{tally.read} of {tally.files} tables of ratings read, {len(tally.refusals)} refused: "
        f"no crash, no changed meaning ({seconds:.0f} s)"
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
