"""What users wait for, as they run it: time, CPU time and memory of whole commands, as CSV.

``python -m tests.benchmarks.waits FOLDER`` writes the inputs to the folder
(`tests.benchmarks.inputs_of_waits`) and runs every command there, in processes of their own; what
peers take for the same (`tests.benchmarks.peers`) is a row like all others. Commands below `SHORT`
seconds run three times: that of the least CPU time is shown. All take half an hour; a quiet
machine gives true figures.

This module imports little: a process counts the memory of the one that starts it as its own.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tests.benchmarks.table import shown

REPOSITORY = Path(__file__).parents[2]

SHORT = 20.0
"""Seconds of CPU time below which a command is repeated."""

ROUNDS = 3


CLICKS = "harness clicks {log}/recommendations {log}/interactions --window '30 min' --jobs 1"


@dataclass(frozen=True)
class Wait:
    """A command as a user types it, and what it does.

    Parameters
    ----------
    work
        What it does, for readers.
    command
        For a shell, in the folder with the inputs.
    is_repeatable
        Whether it does the same work a second time.
    """

    work: str
    command: str
    is_repeatable: bool = True


@dataclass(frozen=True)
class Cost:
    """Seconds, CPU-s of all processes of a command, and MB of the largest of them."""

    seconds: float
    cpu_seconds: float
    memory: float


WAITS = (
    Wait("the demo, the first run of a fresh clone", "harness run --output first", False),
    Wait("the demo", "harness run --output demo", False),
    Wait("... when it is finished", "harness run --output demo"),
    Wait("... its table of discriminative power", "harness table demo table3"),
    Wait("28 systems on the world ml-1m", "harness run study-28.toml", False),
    Wait("... when it is finished", "harness run study-28.toml"),
    Wait("three lines evaluated", "harness evaluate three.run --qrels three.qrels"),
    Wait("... beside: numpy imported", "python -c 'import numpy'"),
    Wait("200 runs of 50 x 1,000 evaluated", "harness evaluate runs/*.run --qrels runs/qrels"),
    Wait("... by pytrec_eval", "python -m tests.benchmarks.peers evaluate-runs"),
    Wait("10 million ratings described", "harness describe ratings.csv"),
    Wait(
        "... and a study file written",
        "harness init ratings.csv --output new.toml --overwrite",
    ),
    Wait("... read by pandas", "python -m tests.benchmarks.peers read-ratings"),
    Wait("50 TREC runs compared by 18 measures", "harness discriminate trec-50/*.csv --jobs 1"),
    Wait("... 100 runs", "harness discriminate trec-100/*.csv --jobs 1"),
    Wait("clicks of a log of 10 million interactions", CLICKS.format(log="log-10")),
    Wait("... of 100 million", CLICKS.format(log="log-100")),
    Wait("recall of hidden items of 10 million", "harness recall log-10/interactions --jobs 1"),
    Wait("ease trained on the world ml-1m", "python -m tests.benchmarks.peers train-ease"),
    Wait("... of which: the world was drawn", "python -m tests.benchmarks.peers draw-world"),
)


def main(folder: str) -> None:
    """Write the inputs, run the commands, and print the table."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        sys.exit(f"{folder} must be empty: a finished study would not be run again.")
    run_once("python -m tests.benchmarks.inputs_of_waits .", place)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["work", "command", "seconds", "CPU-s", "memory in MB"])
    for wait in WAITS:
        cost = run(wait, place)
        costs = [shown(cost.seconds), shown(cost.cpu_seconds), f"{cost.memory:.0f}"]
        table.writerow([wait.work, wait.command, *costs])
        sys.stdout.flush()


def run(wait: Wait, folder: Path) -> Cost:
    """Run a command in the folder: what it costs, in the round of the least CPU time.

    An unsuccessful command raises RuntimeError.
    """
    costs = [run_once(wait.command, folder)]
    if wait.is_repeatable and costs[0].cpu_seconds < SHORT:
        costs += [run_once(wait.command, folder) for _ in range(ROUNDS - 1)]
    return min(costs, key=lambda cost: cost.cpu_seconds)


def run_once(command: str, folder: Path) -> Cost:
    """Run a command once in the folder."""
    scripts = Path(sys.executable).parent
    variables = {
        **os.environ,
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        # Loops are compiled by the first command that needs them.
        "NUMBA_CACHE_DIR": str(folder.resolve() / "kernels"),
    }
    # Modules are compiled once, as they are for users.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    start = monotonic()
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command}: exit code {process.returncode}\n{message}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)


if __name__ == "__main__":
    main(*sys.argv[1:])
