"""Kill studies at random moments, and compare what they leave with an undisturbed one.

``python -m tests.harness.study.kills --kills 50 --seed 1``: a study is started and killed again
until it ends, then the next is begun, until so many processes were killed. The exit code is 1 if a
byte of any file differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.harness.small import WHOLE, every_file, made_at, start


def main() -> int:
    """Kill so many times, and say how far the studies were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with TemporaryDirectory() as base:
        return kill(Path(base), n_kills=arguments.kills, random=Random(arguments.seed))


def kill(base: Path, *, n_kills: int, random: Random) -> int:
    """Kill within the time of an undisturbed study; say what was found."""
    begin = perf_counter()
    whole = base / "undisturbed"
    if run_for(whole, seconds=None) != 0:
        raise RuntimeError("the undisturbed study fails")
    seconds, wanted = perf_counter() - begin, every_file(whole)
    reached: Counter[int] = Counter()
    n_studies, n_differing, killed = 0, 0, 0
    while killed < n_kills:
        folder, limit = base / str(n_studies), random.uniform(0, seconds)
        while (code := run_for(folder, seconds=limit if killed < n_kills else None)) is None:
            killed += 1
            reached[len(made_at(folder))] += 1
            limit = random.uniform(0, seconds)
        n_differing += code != 0 or every_file(folder) != wanted
        n_studies += 1
    by_part = ", ".join(f"{n} at {parts}" for parts, n in sorted(reached.items()))
    print(
        f"{killed} kills of {n_studies} studies in {perf_counter() - begin:.0f} s (undisturbed: "
        f"{seconds:.1f} s, {len(wanted)} files). Parts in the ledger when killed: {by_part}.\n"
        f"{n_differing} studies differ from the undisturbed one."
    )
    return 1 if n_differing else 0


def run_for(folder: Path, *, seconds: float | None) -> int | None:
    """Run the study for so long, to its end if None; give its exit code, or None if killed."""
    text = folder.with_suffix(".toml")
    text.write_text(WHOLE)
    process = start("run", text, "--output", folder, "--jobs", "1", "--quiet")
    process.join(seconds)
    if not process.is_alive():
        return process.exitcode
    process.kill()
    process.join()
    return None


if __name__ == "__main__":
    sys.exit(main())
