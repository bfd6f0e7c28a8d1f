"""Studies small enough to run in a second or two, and what they leave in their folders."""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pandas as pd

from harness.cli.main import main
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.report.ledger import LEDGER
from harness.study.collection import collect
from harness.study.parts import Parts
from harness.study.run import run_study
from harness.study.store import Store
from harness.study.study import Study
from harness.study.systems_run import SystemsRun
from qrels import splits
from runs.formats import format_run, runs_from_parquet
from runs.shared.progress import Bar, Progress, SilentProgress
from tests.conftest import figures_left_blank
from tests.exact_csv import read_exactly

ROOT = Path(__file__).parents[2]
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        *("lenskit.basic", "lenskit.training", "matplotlib.backends.backend_svg", "numba"),
        *("scipy.stats", "tests.harness.small"),
    ]
)

WORLD = """
name = "small"
seed = 3
[ratings]
format = "world"
threshold = 4.0
[ratings.world]
n_users = 60
n_items = 80
n_ratings = 1500
gini = 0.5
"""
SYSTEMS = """
[systems]
names = ["random", "popularity", "puresvd"]
depth = 20
[systems.settings.puresvd]
factors = 5
"""
METRICS = """
[metrics]
names = ["P", "nDCG"]
cutoffs = [5, 20]
"""
ANALYSES = """
[analyses.correlation]
[analyses.sparsity]
levels = [1.0, 0.5, 0.1]
samples = 5
replicates = 20
[analyses.popularity]
levels = [1.0, 0.9, 0.5]
[analyses.users]
sizes = [20]
repeats = 4
permutations = 99
[analyses.discrimination]
"""
VALIDITY = """
[analyses.validity]
levels = [0.5]
samples = 2
replicates = 4
"""
"""Of studies that have a truth, as those of worlds do."""

SAMPLED = """
[analyses]
names = ["sampled"]
[analyses.sampled]
studies = ["estimates", "ranks"]
negatives = 10
repeats = 4
estimators = ["uncorrected", "bv(gamma=0.1)"]
"""
NO_ANALYSES = """
[analyses]
names = []
"""
WHOLE = WORLD + SYSTEMS + METRICS + ANALYSES + VALIDITY
RANKED = WORLD + SYSTEMS + METRICS + SAMPLED

DRAWN = [name for name in splits() if name != "given"]
"""Splits that are drawn, not given."""

Lists = Mapping[str, Sequence[str]]
Judgements = Mapping[str, Mapping[str, int]]

JUDGEMENTS = {"u1": {"a": 1, "b": 0, "c": 2}, "u2": {"a": 0, "d": 1}, "u3": {"z": 1, "b": 0}}
FULL = {"u1": ["a", "b", "x"], "u2": ["d", "a"], "u3": ["y", "z"]}
PARTIAL = {"u1": ["x", "b", "a"], "u2": ["a", "d"]}
TREC = """
name = "given"
[runs]
paths = ["*.run"]
[qrels]
path = "test.qrels"
"""
TREC_METRICS = """
[metrics]
names = ["P", "nDCG", "bpref"]
cutoffs = [1, 2, 50]
"""


def run_text(text: str, base: Path, *, output: Path, n_jobs: int = 1) -> Path:
    """Run a study given as text, whose input paths count from a folder; give the study folder."""
    study = Study.parse(text, source="study.toml", base=base, changes={"output": output})
    return run_study(study, n_jobs=n_jobs, progress=SilentProgress()).parent


class Recorded:
    """Progress that keeps what is begun, done and said."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.done: list[str] = []
        self.notes: list[str] = []

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        """Begin a piece of work."""
        self.begun.append((label, total))
        yield Bar(lambda steps=1, *, done="": self.done.extend([done] * steps))

    def note(self, message: str) -> None:
        """Keep what is said."""
        self.notes.append(message)


def systems_run(
    text: str,
    base: Path,
    *,
    metrics: Sequence[str] = ("P",),
    references: Sequence[str] = (),
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> SystemsRun:
    """Give a run of a study, whose folder is `study` in that of its inputs; nothing is made."""
    study = Study.parse(text, source="study.toml", base=base, changes={"output": base / "study"})
    return SystemsRun(
        study=study,
        parts=Parts(Store(base / "study")),
        n_jobs=n_jobs,
        progress=progress or SilentProgress(),
        collection=collect(study),
        metrics={name: find_metric(name, built_in_metrics()) for name in metrics},
        references={name: find_metric(name, built_in_metrics()) for name in references},
    )


def start(*arguments: str | Path, **surroundings: Any) -> BaseProcess:
    """Start the harness as a process of its own, which takes its imports from one for all.

    What surrounds it may be a folder to work in, a file for what is printed, further folders to
    import from, a session of its own, and figures that are left blank.
    """
    process = PROCESSES.Process(target=_main, args=[*map(str, arguments)], kwargs=surroundings)
    process.start()
    return process


def _main(
    *arguments: str,
    folder: Path | None = None,
    output: Path | None = None,
    paths: Sequence[Path] = (),
    in_session: bool = False,
    blank_figures: bool = False,
) -> None:
    sys.path[:0] = map(str, paths)
    if folder is not None:
        os.chdir(folder)
    if output is not None:
        printed = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed, stream.fileno())
    if in_session:
        os.setsid()
        # If these tests run where signals are ignored, the harness hears them, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with figures_left_blank() if blank_figures else nullcontext():
            main(arguments)
    finally:
        # As Python ends: a process that is forked would wait for its workers, and leave out the
        # rest.
        shutdown: Callable[[], None] = vars(threading)["_shutdown"]
        shutdown()
        atexit._run_exitfuncs()


def run_apart(*arguments: str | Path, folder: Path, paths: Sequence[Path] = ()) -> tuple[int, str]:
    """Run the harness as `start` does, in a folder; give its exit code and what it printed."""
    output = folder / "printed.txt"
    process = start(*arguments, folder=folder, output=output, paths=paths)
    process.join()
    assert process.exitcode is not None
    return process.exitcode, output.read_text(encoding="utf-8")


def wait_for_parts(n_parts: int, process: BaseProcess, folder: Path) -> None:
    """Wait until the ledger of a running study has so many pages, or the process ends."""
    while len(list((folder / LEDGER).glob("*.json"))) < n_parts and process.is_alive():
        time.sleep(0.005)


def contents(folder: Path, pattern: str) -> dict[str, bytes]:
    """Content by name of the files that match."""
    files = (path for path in sorted(folder.glob(pattern)) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def every_file(folder: Path) -> dict[str, bytes]:
    """Content by name of what a study wrote, but for its ledger and what holds times or names."""
    whole = contents(folder, "**/*")
    apart = (LEDGER, "manifest.json", "report.html", "study.toml")
    return {name: content for name, content in whole.items() if not name.startswith(apart)}


def made_at(folder: Path) -> dict[str, int]:
    """When each part was last entered in the ledger, in nanoseconds."""
    return {page.stem: page.stat().st_mtime_ns for page in (folder / LEDGER).glob("*.json")}


def made_again(folder: Path, before: Mapping[str, int]) -> set[str]:
    """Name the parts that were entered in the ledger since then."""
    return {part for part, moment in made_at(folder).items() if before.get(part) != moment}


def undrawn(parts: set[str]) -> set[str]:
    """Leave out the parts that are drawn of results."""
    return {part for part in parts if not part.startswith("drawn-")}


def read_frame(folder: Path, name: str) -> pd.DataFrame:
    """Read a table of a study folder, to the last bit."""
    return read_exactly(folder / f"tables/{name}.csv")


def manifest_of(folder: Path) -> dict[str, object]:
    manifest: dict[str, object] = json.loads((folder / "manifest.json").read_bytes())
    return manifest


def write_run(folder: Path, tag: str, lists: Lists, *, name: str | None = None) -> Path:
    """Write ranked lists as a TREC run file."""
    path = folder / (name or f"{tag}.run")
    path.write_text(
        "".join(
            f"{user} Q0 {item} {rank} {100 - rank} {tag}\n"
            for user, items in lists.items()
            for rank, item in enumerate(items, start=1)
        )
    )
    return path


def as_trec(run: Path | bytes) -> str:
    """Give the lines of a run that a study wrote."""
    content = run if isinstance(run, bytes) else run.read_bytes()
    file = runs_from_parquet("a run of the study", content)[0]
    return format_run(file.to_run(file.users, file.items), file.users, file.items).decode()


def write_qrels(folder: Path, judgements: Judgements) -> Path:
    """Write grades as the TREC qrels file that the study of given runs names."""
    path = folder / "test.qrels"
    path.write_text(
        "".join(
            f"{user} 0 {item} {grade}\n"
            for user, grades in judgements.items()
            for item, grade in grades.items()
        )
    )
    return path


def write_collection(folder: Path) -> None:
    """Write two runs, one of which lacks a user, and their qrels."""
    folder.mkdir(exist_ok=True)
    write_run(folder, "full", FULL)
    write_run(folder, "partial", PARTIAL)
    write_qrels(folder, JUDGEMENTS)


def write_ratings(path: Path, *, n_users: int = 8, n_items: int = 10) -> Path:
    """Write ratings with times: user u rates every item but one; half stars occur."""
    rows = [
        f"u{user},i{item},{0.5 + (3 * user + 7 * item) % 10 / 2},{100 * item + user}\n"
        for user in range(n_users)
        for item in range(n_items)
        if item != user
    ]
    path.write_text("userId,movieId,rating,timestamp\n" + "".join(rows))
    return path
