"""The worlds of the thesis: studies/thesis2021.toml with other random seeds, and all together.

Run with ``python -m tests.benchmarks.thesis_worlds FOLDER``, as `make replications` does. FOLDER
gets a study folder for each world, and the folder `TOGETHER` with the tables over all of them. The
seed of a world is that of the world, of the experiment, and of the study, so that worlds share
nothing but their settings.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import tomli_w

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies/thesis2021.toml"

N_WORLDS = 10
"""Number of worlds; their seeds are 1 to 10."""

TOGETHER = "study-thesis2021"
"""Folder of the tables over all worlds."""

ARMS_FILE = "thesis2021-arms.csv"
"""Click rates of the arms of each world, and how far they are apart."""


def world_study(seed: int) -> str:
    """Write the study file of a world."""
    tables = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    tables["name"] = f"world-{seed}"
    tables["seed"] = seed
    tables["experiment"]["seed"] = seed
    tables["experiment"]["world"]["seed"] = seed
    return tomli_w.dumps(tables)


def click_rates(arms: pd.DataFrame) -> dict[str, float]:
    """Look up the click rate of each arm of a world, the largest standard error, and a distance.

    ``arms``: columns arm, rate and error. The distance, under "least distance", is the smallest of
    two arms next to each other by rate, in standard errors of their difference.
    """
    falling = arms.sort_values("rate", ascending=False, kind="stable")
    differences = -falling["rate"].diff()
    variances = falling["error"] ** 2
    standard_errors = (variances + variances.shift()) ** 0.5
    by_arm: dict[str, float] = {}
    for arm, rate in zip(arms["arm"], arms["rate"], strict=True):
        by_arm[str(arm)] = float(rate)
    by_arm["largest error"] = float(arms["error"].max())
    by_arm["least distance"] = float((differences / standard_errors).min())
    return by_arm


def harness(*arguments: str) -> None:
    """Run a command of the harness in a process of its own."""
    subprocess.run([sys.executable, "-m", "harness", *arguments], cwd=ROOT, check=True)


def main() -> None:
    """Run the studies of all worlds, or what is left of them, and put them together."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    study_folders = []
    rates = []
    for seed in range(1, N_WORLDS + 1):
        study = folder / f"world-{seed}.toml"
        study.write_text(world_study(seed), encoding="utf-8")
        study_folder = folder / f"world-{seed}"
        harness("run", str(study), "--jobs", "1", "--output", str(study_folder))
        study_folders.append(str(study_folder))
        arms = pd.read_csv(study_folder / "tables/arms.csv")
        rates.append({"world": seed, **click_rates(arms)})
    together = folder / TOGETHER
    harness("online", *study_folders, "--output", str(together))
    pd.DataFrame(rates).to_csv(together / ARMS_FILE, index=False, float_format="%.3g")


if __name__ == "__main__":
    main()
