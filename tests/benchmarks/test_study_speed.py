"""A whole study from run files and qrels, on the world ``ml-1m``: CPU time.

Run with ``pytest tests/benchmarks/test_study_speed.py -s --benchmark-only``. 21 systems rank by the
world's own popularity and taste, each with another share of them and of noise; the study reads
their files, scores 77 measures, and makes correlation, sparsity (1,000 samples), popularity and
discrimination (exact), with bands, tables, figures and the report, in a process of its own. How
CPU time grows with systems, users and measures is shown as exponents.
"""

import math
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.study.collection import Collection, collect
from harness.study.study import Study
from qrels.trec import format_qrels
from runs import Run, top_items
from runs.formats import format_run
from tests.benchmarks.table import report, shown

N_SYSTEMS, DEPTH = 21, 100
WORLD = """
name = "world"
[ratings]
format = "world"
preset = "ml-1m"
"""
STUDY = """
name = "whole"
[runs]
paths = ["runs/*.run"]
[qrels]
path = "test.qrels"
relevance_level = 4
"""
ANALYSES = {
    "without bands": """
[analyses]
names = ["correlation", "sparsity", "popularity", "discrimination"]
[analyses.correlation]
replicates = 0
[analyses.sparsity]
replicates = 0
[analyses.popularity]
replicates = 0
[analyses.discrimination]
replicates = 0
""",
    "with bands": """
[analyses]
names = ["correlation", "sparsity", "popularity", "discrimination"]
""",
    "all analyses": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run files and qrels of the world."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "runs").mkdir()
    world = collect(Study.parse(WORLD, source="world", base=folder, changes={}))
    (folder / "test.qrels").write_bytes(format_qrels(world.qrels, world.topics, world.items))
    for number in range(N_SYSTEMS):
        content = format_run(ranked(world, number), world.topics, world.items)
        (folder / "runs" / f"{number}.run").write_bytes(content)
    return folder


def ranked(world: Collection, number: int) -> Run:
    """Rank what is not in training by popularity, true taste and noise."""
    if world.split is None or world.truth is None:
        raise ValueError("a world has ratings and a truth.")
    generator = np.random.default_rng(number)
    counts = np.log1p(world.split.train.item_counts())
    seen = world.split.train.matrix()
    weight, noise = generator.uniform(0.2, 1.0), generator.uniform(0.3, 1.5)
    known = world.truth.items.numbers(world.items.ids)
    lists = []
    for users in np.array_split(world.split.test_users, 8):
        people = world.truth.users.numbers(world.split.train.users.ids[users])
        scores = weight * counts + world.truth.ratings(people)[:, known]
        scores += noise * generator.normal(size=scores.shape)
        scores[seen[users].nonzero()] = -np.inf
        lists.append(top_items(scores, depth=DEPTH))
    return Run(f"s{number:02}", np.concatenate(lists))


def cpu_seconds_of_study(study: str, output: Path) -> float:
    """Run a study, given as the text of a file beside the runs, with one worker: its CPU-s."""
    path = output.with_suffix(".toml")
    path.write_text(study)
    command = [sys.executable, "-m", "harness", "run", str(path), "--output", str(output)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--quiet", "--jobs", "1"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (output / "report.html").is_file()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("analyses", ANALYSES)
def test_a_whole_study(analyses: str, folder: Path, benchmark: Any) -> None:
    output = folder / analyses.replace(" ", "-")
    arguments = (STUDY + ANALYSES[analyses], output)
    seconds = benchmark.pedantic(cpu_seconds_of_study, args=arguments, rounds=1)
    report(
        benchmark,
        f"a study of {N_SYSTEMS} runs of 6,040 users, 77 measures, {analyses}",
        seconds,
    )


def test_growth(folder: Path, benchmark: Any) -> None:
    """Compare a study with one of fewer systems, users or measures."""
    study = STUDY + ANALYSES["with bands"]
    write_half_of_users(folder)
    smaller_studies = {
        "systems": (study.replace("*.run", "?.run"), N_SYSTEMS / 10),
        "users": (study.replace("test.qrels", "half.qrels"), 2.0),
        "measures": (study + '[metrics]\nnames = ["P", "AP", "nDCG"]\n', 7 / 3),
    }
    arguments = (study, folder / "whole")
    whole = benchmark.pedantic(cpu_seconds_of_study, args=arguments, rounds=1)
    for name, (smaller_study, ratio) in smaller_studies.items():
        seconds = cpu_seconds_of_study(smaller_study, folder / name)
        exponent = math.log(whole / seconds) / math.log(ratio)
        report(
            benchmark,
            f"... with bands, of 1 / {ratio:.1f} of the {name}",
            seconds,
            beside=f"of all, measured just before, {shown(whole)}: grows with the power "
            f"{exponent:.2f} of their number",
        )


def write_half_of_users(folder: Path) -> None:
    """Write the judgements of every second user as ``half.qrels``."""
    lines = (folder / "test.qrels").read_text().splitlines(keepends=True)
    users = list(dict.fromkeys(line.split()[0] for line in lines))
    kept_users = set(users[::2])
    kept_lines = [line for line in lines if line.split()[0] in kept_users]
    (folder / "half.qrels").write_text("".join(kept_lines))
