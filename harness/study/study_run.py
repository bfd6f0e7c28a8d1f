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
from harness.report.checks import FINISHED, closing_notes
from harness.report.kept_result import keep_result
from harness.report.manifest import MANIFEST, read_manifest
from harness.report.page import render_report
from harness.report.study_folder import FinishedStudy, evidence_name, kept_name
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

REPORTED_DISTRIBUTIONS = (
    *("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "joblib"),
    *("lenskit", "torch", "scikit-learn", "implicit"),
)
"""Distributions whose versions the manifest names."""


@dataclass(frozen=True)
class StudyRun:
    """A run of a study in its folder.

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
        """Run an analysis, and write its result with tables and figures, unless complete.

        It is complete if the study folder has the result under the key of its settings, the seed,
        its input and its code. Errors of the analysis begin with the line of its section.

        Parameters
        ----------
        analysis, settings
            The analysis, and its settings.
        work
            Reads what it may use; called only if the analysis is run.
        made_from
            What it is computed from: arrays, settings, parts in the study folder (`Parts.key`).
        makers
            Functions and classes that it uses, beside its own code.
        """
        key = self.parts.key(analysis.make, settings, self.study.seed, *made_from, makers=makers)

        def analyse() -> ResultT:
            """Run the analysis; errors begin with the line of its section."""
            with self.study.errors_at("analyses", analysis.section):
                return analysis(work(), settings)

        is_users = not analysis.make.__module__.startswith("analyses.")
        self.keep_result(analysis.key, key, analysis.result, analyse, is_users=is_users)

    def keep_result(
        self,
        name: str,
        key: Key,
        result_class: type[ResultT],
        compute: Callable[[], ResultT],
        *,
        is_users: bool = False,
    ) -> None:
        """Write a result and its tables and figures as two parts, unless they are complete.

        Parameters
        ----------
        name, key
            The name of the result, which its part has too, and the key of the part.
        result_class
            Class of the result.
        compute
            Computes the result.
        is_users
            Whether a user's file defines the class: then what it shows is kept, too, as the file
            may be gone, or another, when it is read.
        """
        self.parts.build(name, key, lambda: {evidence_name(name): to_evidence(compute())})
        self.keep_tables_and_figures(name, result_class, part=name, is_users=is_users)

    def keep_tables_and_figures(
        self, name: str, result_class: type[Result], *, part: str, is_users: bool = False
    ) -> None:
        """Write the tables and figures of a result, unless they are complete.

        Parameters
        ----------
        name
            The name of the result.
        result_class
            Its class.
        part
            Name of the part whose files hold the result.
        is_users
            Whether a user's file defines the class; see `keep_result`.
        """
        path = self.folder / evidence_name(name)
        options: FigureOptions = self.study.figures
        write = users_result_files if is_users else result_files
        checksums = [
            kept_part.files[evidence_name(name)] for kept_part in self.parts.kept_parts(part)
        ]
        makers = drawing_methods(result_class)
        key = self.parts.key(write, name, checksums, options.set_options, makers=makers)

        def draw() -> Files:
            """Read the result and write its tables and figures."""
            with self.progress("Drawing figures", 1) as bar:
                files = write(name, read_evidence(path, result_class), options)
                bar.advance()
            return files

        self.parts.build(f"drawn-{name}", key, draw)


def drawing_methods(result_class: type[Result]) -> list[Maker]:
    """List the methods of a class of results that make its files in the study folder.

    These are its frames, its caption, and for each figure the method that draws it, the part of the
    result that it shows, and the values of its panels. Properties are listed as such, unread;
    fields of the class are left out.
    """
    names = ["frames", "caption"]
    for figure in figures_of(result_class):
        names += [figure.method, figure.part or "", plural(figure.panels or "")]
    unique_names = dict.fromkeys(names)
    members = [getattr_static(result_class, name, None) for name in unique_names]
    # Fields of the class are no methods.
    return [
        member
        for member in members
        if callable(member) or isinstance(member, property | cached_property)
    ]


def result_files(name: str, result: Result, options: FigureOptions) -> Files:
    """Write the tables (CSV) and figures of a result, by their names in the study folder.

    A figure has an SVG, a PDF and its caption; if it has faint bands, also an SVG with a panel for
    each curve. ``name``, the key of the result, is not used here. Texts that a spreadsheet would
    take for a formula are escaped. Figures that do not apply to the result, or are not for the
    page of a report, are left out.
    """
    files: Files = {}
    for table, frame in result.frames().items():
        text = as_csv(map_texts(frame, escape_formula))
        files[f"tables/{table}.csv"] = text.encode()
    for figure in figures_of(type(result)):
        if figure.on_page and figure.applies_to(result):
            images = figure_files(
                result, figure, kinds=("svg", "pdf"), usual=options, with_panels=True
            )
            for ending, content in images.items():
                files[f"figures/{figure.file_stem}.{ending}"] = content
    return files


def users_result_files(name: str, result: Result, options: FigureOptions) -> Files:
    """Write the tables and figures of the result of a user's analysis, and all else it shows."""
    return {kept_name(name): keep_result(result), **result_files(name, result, options)}


def run_to_report(
    run: StudyRun,
    *,
    make: Callable[[], None],
    facts: Callable[[], Mapping[str, Any]],
    completed_study: Callable[[], bytes],
    remarks: Sequence[str] = (),
) -> Path:
    """Make the parts of a study that are missing, and write its manifest and report.

    Prints remarks on the input, the answer of the study, and cautions that were not remarked on;
    also that nothing is to do, if no part is missing.
    Parts that the study no longer has are removed from its folder.

    Raises InputError before the work for figure options that matplotlib refuses, and if another
    process uses the folder; later, if a part is refused.

    Parameters
    ----------
    run
        The run.
    make
        Makes the parts.
    facts
        Collects what the manifest says of this kind of study alone, once the parts are made.
    completed_study
        Writes the study file with all defaults spelled out.
    remarks
        Warnings about the input.

    Returns
    -------
    Path
        Path of the report.
    """
    folder = run.folder
    store = run.parts.store
    for remark in remarks:
        run.progress.note(f"Warning: {remark}")
    # A style that does not exist is refused before the work.
    with run.study.errors_at(FIGURES), run.study.figures.style_context():
        pass
    with store.locked():
        # If a part is refused, a finished study stays finished.
        make()
        if run.parts.names and not run.parts.written_names:
            run.progress.note(FINISHED)
        store.unfinish()
        write_within(folder, "study.toml", completed_study())
        store.remove_others(set(run.parts.names))
        manifest = json.dumps(_manifest(run, facts(), remarks), indent=1, ensure_ascii=False)
        write_within(folder, MANIFEST, manifest.encode())
        finished = FinishedStudy(folder, read_manifest(folder))
        write_within(folder, "report.html", render_report(finished))
    for note in closing_notes(finished, remarks):
        run.progress.note(note)
    return folder / "report.html"


def _manifest(run: StudyRun, facts: Mapping[str, Any], remarks: Sequence[str]) -> dict[str, Any]:
    """Describe for the manifest what the study was made from, by what, and what it cost.

    ``facts`` are those of its kind of study, with its "inputs", a dictionary for each file. Paths
    are written relative to the study folder, in the remarks (warnings about the input) too. Costs
    are seconds by part of the study.
    """
    study = run.study
    ledger = run.parts.store.ledger
    entries = {}
    for name in run.parts.names:
        entry = ledger.entry(name)
        if entry is not None:
            entries[name] = entry
    paths_read = [file["path"] for file in facts["inputs"] if "path" in file]
    # A path may begin with another.
    longest_first = sorted(paths_read, key=len, reverse=True)
    portable_paths = {path: portable(path, run.folder) for path in longest_first}
    portable_inputs = with_portable_paths(facts["inputs"], run.folder)
    warnings = [_replace_paths(remark, portable_paths) for remark in remarks]
    seconds = {
        name: {"wall": entry.seconds, "cpu": entry.cpu_seconds} for name, entry in entries.items()
    }
    makers = {name: entry.made_by for name, entry in entries.items()}
    return {
        "study": study.name,
        "seed": study.seed,
        FIGURES: study.figures.set_options,
        **facts,
        "inputs": portable_inputs,
        "warnings": warnings,
        "seconds": seconds,
        "made by": makers,
        "workers": run.n_jobs,
        "versions": versions(),
        "host": machine(),
    }


def _replace_paths(text: str, replacements: Mapping[str, str]) -> str:
    """Replace each path in a text by another."""
    for path, replacement in replacements.items():
        text = text.replace(path, replacement)
    return text


def machine() -> dict[str, Any]:
    """Describe the operating system, processor and BLAS that made the study.

    A BLAS is named by its library, version and architecture. No part of a study is made again where
    this differs.
    """
    from threadpoolctl import threadpool_info

    blas_libraries = set()
    for library in threadpool_info():
        if library["user_api"] == "blas":
            keys = ("internal_api", "version", "architecture")
            blas_libraries.add(" ".join(str(library.get(key, "")) for key in keys))
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "blas": sorted(blas_libraries),
    }


def versions() -> dict[str, str]:
    """Look up the versions of Python, of the harness (and its commit), and of main dependencies.

    Without a git checkout there is no commit; packages that are not installed are left out.
    """
    of_harness = {"python": platform.python_version(), "harness": __version__}
    commit = _commit()
    if commit:
        of_harness["commit"] = commit
    return of_harness | versions_of(*REPORTED_DISTRIBUTIONS)


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
