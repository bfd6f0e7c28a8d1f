"""Fuzz the two readers: ``python -m tests.fuzzing --lines 1000000 --seed 1``."""

from __future__ import annotations

import argparse
import sys
from random import Random
from time import perf_counter

from tests.fuzzing.comparison import READERS, Tally, compare_one

BETWEEN_PROGRESS = 5.0


def main() -> None:
    """Mutate so many lines, show progress, and stop at the first disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tally, random, start = Tally(), Random(arguments.seed), perf_counter()
    shown = start
    while tally.lines < arguments.lines:
        for reader in READERS:
            compare_one(reader, random, tally)
        if perf_counter() - shown > BETWEEN_PROGRESS:
            shown = perf_counter()
            print(f"{tally} ({shown - start:.0f} s)", file=sys.stderr)
    print(f"{tally}: no crash, no wrong read ({perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
