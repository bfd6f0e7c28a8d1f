"""What studies of worlds of 1, 10 and 25 million ratings cost, stage by stage, as CSV.

Run with ``python -m tests.benchmarks.growth [PRESET...]``. Ten systems that need no matrix of all
pairs of items are trained, and five analyses made, with one worker, in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

PRESETS = ("ml-1m", "ml-10m", "ml-25m")
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
STAGES = {"run": "training and ranking", "true-qrels": "truth", "true-scores": "truth"}
"""Parts of a study that are added up; others stand for themselves."""


def measure(preset: str, folder: Path) -> dict[str, float]:
    """Give CPU-s by stage and in all, and the memory of the largest process so far in GB."""
    names = ", ".join(f'"{name}"' for name in SYSTEMS)
    file = folder / f"{preset}.toml"
    file.write_text(STUDY.format(preset=preset, systems=names))
    command = [sys.executable, "-m", "harness", "run", str(file), "--jobs", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--output", str(folder / preset)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    manifest = json.loads((folder / preset / "manifest.json").read_text())
    costs: dict[str, float] = defaultdict(float)
    for part, seconds in manifest["seconds"].items():
        stage = "run" if part.startswith("run-") else part
        costs[STAGES.get(stage, stage)] += seconds["cpu"]
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    costs["making the world, reading, report"] = whole - sum(costs.values())
    facts = manifest["collection"]["ratings"]
    sizes = {f"number of {name}": facts[name] for name in ("users", "items", "ratings")}
    return {**sizes, **costs, "whole": whole, "GB": after.ru_maxrss / 1024**2}


def main() -> None:
    """Measure the presets that are named, or all, and print a row for each stage of each."""
    for preset in sys.argv[1:] or PRESETS:
        with TemporaryDirectory() as folder:
            for name, number in measure(preset, Path(folder)).items():
                shown = f"{number:.0f}" if number >= 1000 else f"{number:.3g}"
                print(preset, name, shown, sep=",", flush=True)


if __name__ == "__main__":
    main()
