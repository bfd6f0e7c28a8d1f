"""What studies of worlds of 1 and 10 million ratings cost, stage by stage, as CSV.

Run with ``python -m tests.benchmarks.growth FOLDER [PRESET...]``; ``ml-25m`` is a preset, too, and
takes an hour more and 9 GB. Ten systems that need no matrix of all pairs of items are trained, and
five analyses made, with one worker, in a process of its own. The folder keeps the studies: what is
interrupted goes on, and its time is added up.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep, time

import psutil

from qrels.ratings.world import world_settings
from tests.benchmarks.table import shown

PRESETS = ("ml-1m", "ml-10m")
STUDY = """
name = "growth"
[ratings]
format = "world"
preset = "{preset}"
[systems]
names = [{systems}]
[analyses]
names = ["correlation", "sparsity", "popularity", "users", "discrimination"]
"""
SYSTEMS = (
    "random",
    "popularity",
    "puresvd",
    "svd",
    "wrmf",
    "bprmf",
    "krichene-x",
    "lda",
    "plsa",
    "als-knn",
)
STAGES = {
    "run": "training and ranking",
    "true-qrels": "truth",
    "true-scores": "truth",
    "drawn": "tables and figures",
}
"""Parts of a study that are added up, by the first word of their names; others stand alone."""

REST, WHOLE = "making the world, reading, report", "all"
EVERY = 0.5
"""Seconds between two looks at the process."""


@dataclass
class Stage:
    """CPU-s, and the most memory of the process in GB."""

    cpu: float = 0.0
    memory: float = 0.0


def watch(command: list[str], record: Path) -> None:
    """Run a command, and add a row of time, CPU-s and GB to a file at every look at it."""
    with (
        psutil.Popen(command, stdout=subprocess.DEVNULL) as study,
        record.open("a", buffering=1) as file,
    ):
        while study.poll() is None:
            with study.oneshot():
                cpu, memory = study.cpu_times(), study.memory_info().rss / 1024**3
            file.write(f"{time():.1f},{cpu.user + cpu.system:.2f},{memory:.4f}\n")
            sleep(EVERY)
    if study.returncode:
        raise subprocess.CalledProcessError(study.returncode, command)


def stages_of(folder: Path, record: Path) -> dict[str, Stage]:
    """Give what the stages of a study cost, finished or not, by its ledger and the looks at it."""
    stages: dict[str, Stage] = defaultdict(Stage)
    spans: list[tuple[float, float, Stage]] = []
    for page in sorted((folder / ".ledger").glob("*.json"), key=lambda page: page.stat().st_mtime):
        entry, end = json.loads(page.read_text()), page.stat().st_mtime
        kind = page.stem.partition("-")[0]
        stage = stages[STAGES.get(page.stem) or STAGES.get(kind, page.stem)]
        stage.cpu += entry["cpu_seconds"]
        spans.append((end - entry["seconds"], end, stage))
    rest, whole = stages[REST], stages[WHOLE]
    before = 0.0
    for moment, cpu, memory in csv.reader(record.read_text().splitlines()):
        during = (stage for start, end, stage in spans if start <= float(moment) <= end)
        for stage in (next(during, rest), whole):
            stage.memory = max(stage.memory, float(memory))
        # A study that was interrupted begins at 0 again.
        whole.cpu += float(cpu) - before if float(cpu) >= before else float(cpu)
        before = float(cpu)
    rest.cpu = 2 * whole.cpu - sum(stage.cpu for stage in stages.values())
    return stages


def measure(preset: str, folder: Path) -> dict[str, Stage]:
    """Make a study, or what is left of it, and give the cost of each stage."""
    names = ", ".join(f'"{name}"' for name in SYSTEMS)
    file, record = folder / f"{preset}.toml", folder / f"{preset}.csv"
    file.write_text(STUDY.format(preset=preset, systems=names))
    command = [sys.executable, "-m", "harness", "run", str(file), "--jobs", "1"]
    watch([*command, "--output", str(folder / preset)], record)
    return stages_of(folder / preset, record)


def main() -> None:
    """Measure the presets that are named, or all, and print a row for each stage.

    Two or more are compared: the cost of a stage grows with a power of the number of ratings.
    """
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    presets = sys.argv[2:] or PRESETS
    measured = [measure(preset, folder) for preset in presets]
    table = csv.writer(sys.stdout, lineterminator="\n")
    costs = [f"{preset}: {unit}" for preset in presets for unit in ("CPU-s", "GB")]
    table.writerow(["stage", *costs, "grows with the power"])
    n_ratings = [world_settings(preset, {}).n_ratings for preset in presets]
    for stage in sorted(measured[-1], key=lambda stage: measured[-1][stage].cpu):
        found = [stages[stage] for stages in measured]
        numbers = [number for cost in found for number in (shown(cost.cpu), f"{cost.memory:.1f}")]
        table.writerow([stage, *numbers, power(found, n_ratings)])


def power(costs: Sequence[Stage], n_ratings: Sequence[int]) -> str:
    """Give the power with which CPU time grows, from the first to the last; "" of one alone."""
    if len(costs) < 2:
        return ""
    return f"{math.log(costs[-1].cpu / costs[0].cpu) / math.log(n_ratings[-1] / n_ratings[0]):.2f}"


if __name__ == "__main__":
    main()
