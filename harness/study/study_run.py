"""What every run of a study goes through, whatever it begins with: parts, manifest, report."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import getattr_static
from pathlib import Path
from typing import Any, TypeVar

from analyses.shared.analysis import Analysis
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.figure_options import FigureOptions
from analyses.shared.publish import as_csv, figure_files, map_texts
from analyses.shared.result import Result, figures_of
from analyses.shared.sentences import plural
from analyses.shared.table import escape_formula
from harness.report.checks import checks_of
from harness.report.kept_result import keep_result
from harness.report.manifest import MANIFEST, read_manifest
from harness.report.page import render_report
from harness.report.study_folder import ANSWER, FinishedStudy, evidence_name, kept_name
from harness.study.parts import Files, Key, Parts
from harness.study.reachable_code import Maker, versions_of
from harness.study.source_files import ROOT
from harness.study.store import portable, with_portable_paths
from harness.study.study_file import StudyFile
from harness.version import __version__
from runs.shared.files import write_within
from runs.shared.progress import Progress

ResultT = TypeVar("ResultT", bound=Result)

FIGURES = "figures"
"""The section of the options of figures, and its key in the manifest."""

REPORTED = (
    *("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "joblib"),
    *("lenskit", "torch", "scikit-learn", "implicit"),
)
"""Distributions whose versions the manifest names."""


@dataclass(frozen=True)
class StudyRun:
    """A run of a study in its folder: what all that makes its parts have in common.

    Parameters
    ----------
    study
        The study.
    parts
        Its parts, in its folder.
    n_jobs
        Number of worker processes, on which no result depends.
    progress
        Shows what is being done.
    """

    study: StudyFile
    parts: Parts
    n_jobs: int
    progress: Progress

    @property
    def folder(self) -> Path:
        """The study folder."""
        return self.parts.folder

    def keep_analysis(
        self,
        analysis: Analysis[Any, ResultT],
        settings: Any,
        work: Callable[[], Any],
        *made_from: Any,
        makers: Iterable[Maker],
    ) -> None:
        """Keep what an analysis finds, and what is drawn of it.

        Parameters
        ----------
        analysis, settings
            The analysis.
        work
            Reads what it may use.
        made_from
            What it uses, as `Parts.key` takes it.
        makers
            What it uses of code, beside its own.
        """
        arguments = (settings, self.study.seed, *made_from)
        key = self.parts.key(analysis.make, *arguments, makers=makers)

        def find() -> ResultT:
            with self.study.errors_at("analyses", analysis.section):
                return analysis(work(), settings)

        # What a user's analysis shows is kept.
        is_users = not analysis.make.__module__.startswith("analyses.")
        self.keep_result(analysis.key, key, analysis.result, find, is_users=is_users)

    def keep_result(
        self,
        name: str,
        key: Key,
        kind: type[ResultT],
        find: Callable[[], ResultT],
        *,
        is_users: bool = False,
    ) -> None:
        """Keep a result, and what is drawn of it, as two parts.

        Parameters
        ----------
        name, key
            The name of the result, which its part has too, and the key of the part.
        kind
            Class of the result.
        find
            Computes the result.
        is_users
            Whether a user's file defines the class: then what it shows is kept, too, as the file
            may be gone, or another, when it is read.
        """
        self.parts.build(name, key, lambda: {evidence_name(name): to_evidence(find())})
        self.keep_drawn(name, kind, of=name, is_users=is_users)

    def keep_drawn(self, name: str, kind: type[Result], *, of: str, is_users: bool = False) -> None:
        """Keep what is drawn of a result, which is in a part."""
        path = self.folder / evidence_name(name)
        options: FigureOptions = self.study.figures
        write = users_result_files if is_users else result_files
        evidence = [part.files[evidence_name(name)] for part in self.parts.kept(of)]
        key = self.parts.key(
            write, name, evidence, options.set_options, makers=drawing_methods(kind)
        )

        def draw() -> Files:
            with self.progress("Drawing figures", 1) as bar:
                files = write(name, read_evidence(path, kind), options)
                bar.advance()
            return files

        self.parts.build(f"drawn-{name}", key, draw)


def drawing_methods(kind: type[Result]) -> list[Maker]:
    """List the methods of a class of results that its files in the study folder are made by."""
    names = ["frames", "caption"]
    for face in figures_of(kind):
        names += [face.method, face.part or "", plural(face.panels or "")]
    # Fields of the class are no methods.
    methods = (getattr_static(kind, name, None) for name in dict.fromkeys(names))
    return [m for m in methods if callable(m) or isinstance(m, property | cached_property)]


def result_files(name: str, result: Result, options: FigureOptions) -> Files:
    """Write the tables and figures of a result, by their names in the study folder."""
    files: Files = {}
    for table, frame in result.frames().items():
        files[f"tables/{table}.csv"] = as_csv(map_texts(frame, escape_formula)).encode()
    for face in figures_of(type(result)):
        if face.applies_to(result):
            drawn = figure_files(result, face, kinds=("svg",), usual=options)
            files |= {
                f"figures/{face.file_stem}.{ending}": content for ending, content in drawn.items()
            }
    return files


def users_result_files(name: str, result: Result, options: FigureOptions) -> Files:
    """Write the same of the result of a user's analysis, and whatever else it shows."""
    return {kept_name(name): keep_result(result), **result_files(name, result, options)}


def run_to_report(
    run: StudyRun,
    *,
    make: Callable[[], None],
    facts: Callable[[], Mapping[str, Any]],
    as_run: Callable[[], bytes],
    remarks: Sequence[str] = (),
) -> Path:
    """Make the parts of a study, or what is left of them, and its manifest and report.

    Parameters
    ----------
    run
        The run.
    make
        Makes the parts.
    facts
        Gives what the manifest says of this kind of study alone, once the parts are made.
    as_run
        Writes the study file with all defaults spelled out.
    remarks
        Warnings about the input.

    Returns
    -------
    Path
        Path of the report.
    """
    folder, store = run.folder, run.parts.store
    for remark in remarks:
        run.progress.note(f"Warning: {remark}")
    # A look that there is not is refused before the work.
    with run.study.errors_at(FIGURES), run.study.figures.style_context():
        pass
    with store.held():
        # What refuses to be made leaves a finished study finished.
        make()
        store.unfinish()
        write_within(folder, "study.toml", as_run())
        store.remove_others(set(run.parts.names))
        manifest = json.dumps(_manifest(run, facts(), remarks), indent=1, ensure_ascii=False)
        write_within(folder, MANIFEST, manifest.encode())
        finished = FinishedStudy(folder, read_manifest(folder))
        write_within(folder, "report.html", render_report(finished))
    for sentence in finished.result(ANSWER).findings() if ANSWER in finished.kinds else ():
        run.progress.note(f"Answer: {sentence}")
    for check in checks_of(finished):
        if check.sentence not in remarks:
            run.progress.note(f"To bear in mind: {check.sentence}")
    return folder / "report.html"


def _manifest(run: StudyRun, facts: Mapping[str, Any], remarks: Sequence[str]) -> dict[str, Any]:
    """Describe what the study was made from, by what, and what it cost."""
    study, folder = run.study, run.folder
    ledger = run.parts.store.ledger
    entries = {name: ledger.entry(name) for name in run.parts.names}
    made = {name: entry for name, entry in entries.items() if entry is not None}
    paths_read = [each["path"] for each in facts["inputs"] if "path" in each]
    longest_first = sorted(paths_read, key=len, reverse=True)
    portable_paths = {path: portable(path, folder) for path in longest_first}
    return {
        "study": study.name,
        "seed": study.seed,
        FIGURES: study.figures.set_options,
        **facts,
        "inputs": with_portable_paths(facts["inputs"], folder),
        "warnings": [_with_paths(portable_paths, remark) for remark in remarks],
        "seconds": {
            name: {"wall": entry.seconds, "cpu": entry.cpu_seconds} for name, entry in made.items()
        },
        "made by": {name: entry.made_by for name, entry in made.items()},
        "workers": run.n_jobs,
        "versions": versions(),
        "host": machine(),
    }


def _with_paths(paths: Mapping[str, str], text: str) -> str:
    """Put other paths in the place of those in a text."""
    for path, other in paths.items():
        text = text.replace(path, other)
    return text


def machine() -> dict[str, Any]:
    """Describe on what the study was made; nothing is made again where this differs."""
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "blas": sorted({" ".join(str(info.get(key, "")) for key in keys) for info in blas}),
    }


def versions() -> dict[str, str]:
    """Look up the versions of Python, the harness, its commit, and what computes for it."""
    commit = _commit()
    return {
        "python": platform.python_version(),
        "harness": __version__,
        **({"commit": commit} if commit else {}),
        **versions_of(*REPORTED),
    }


@cache
def _commit() -> str | None:
    """Ask git for the commit of the harness, marked if files differ; None outside of git.

    It is that of the first study of a process: what is imported stays what it was.
    """
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
