"""What every study goes through, whatever it begins with: parts, analyses, manifest, report."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from analyses.shared.analysis import Analysis
from analyses.shared.evidence import read_evidence
from analyses.shared.figure_options import FigureOptions
from harness.report.checks import checks_of
from harness.report.page import render_report
from harness.report.study_folder import ANSWER, FinishedStudy, evidence_name
from harness.study.inputs import checksum
from harness.study.provenance import ROOT, home_of, made_by, versions_of
from harness.study.store import (
    FIGURES,
    Store,
    content_key,
    portable,
    result_files,
    with_portable_paths,
)
from harness.study.study_file import StudyFile
from harness.version import __version__
from runs.shared.files import write_whole
from runs.shared.progress import Clock, Progress

REPORTED = (
    *("numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "joblib"),
    *("lenskit", "torch", "scikit-learn", "implicit"),
)
"""Distributions whose versions the manifest names."""


class Source(Protocol):
    """What a study begins with, and makes of it in its folder: systems judged, or an experiment."""

    @property
    def study(self) -> StudyFile:
        """What is studied."""

    @property
    def store(self) -> Store:
        """The study folder."""

    @property
    def n_jobs(self) -> int:
        """Workers; results do not depend on it."""

    @property
    def progress(self) -> Progress:
        """Shows what is being done."""

    @property
    def parts(self) -> list[str]:
        """Names of all parts of the study in the ledger, its analyses among them."""

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out."""

    def make(self) -> None:
        """Make all parts, or what is left of them."""

    def facts(self) -> Mapping[str, Any]:
        """Give what the manifest says of this source alone."""


def run_source(source: Source, remarks: Sequence[str]) -> Path:
    """Make a study, or what is left of it, in its folder, and its manifest and report."""
    folder = source.store.folder
    for warning in remarks:
        source.progress.note(f"Warning: {warning}")
    # A look that there is not is refused before the work.
    with source.study.errors_at(FIGURES), source.study.figures.look():
        pass
    with source.store.held():
        # What refuses to be made leaves a finished study finished.
        source.make()
        source.store.unfinish()
        write_whole(folder / "study.toml", source.as_run())
        source.store.remove_others(set(source.parts))
        manifest = json.dumps(_manifest(source, remarks), indent=1, ensure_ascii=False)
        write_whole(folder / "manifest.json", manifest.encode())
        finished = FinishedStudy(folder, json.loads(manifest))
        write_whole(folder / "report.html", render_report(finished))
    for sentence in finished.result(ANSWER).findings() if ANSWER in finished.kinds else ():
        source.progress.note(f"Answer: {sentence}")
    for check in checks_of(finished):
        if check.sentence not in remarks:
            source.progress.note(f"To bear in mind: {check.sentence}")
    return folder / "report.html"


def make_part(
    store: Store,
    part: str,
    key: str,
    build: Callable[[], Mapping[str, bytes]],
    made_by: Mapping[str, str],
) -> None:
    """Build and write a part, unless it is complete."""
    if store.is_complete(part, key, made_by):
        return
    clock = Clock()
    files = build()
    store.write(part, key, files, cost=clock.cost(), made_by=made_by)


def make_analysis(
    source: Source,
    analysis: Analysis[Any, Any],
    settings: Any,
    work: Any,
    *,
    made_from: str,
    makers: Iterable[str | Path],
) -> None:
    """Make an analysis, unless it is complete."""
    read = [checksum(path)["sha256"] for path in settings.files()]
    asked = settings.model_dump(mode="json")
    key = content_key(made_from, analysis.key, asked, work.seed, *read)
    by = made_by([home_of(analysis.make), home_of(result_files), *makers])
    store, options = source.store, source.study.figures

    def build() -> dict[str, bytes]:
        if store.is_made(analysis.key, key, by):
            # Figures alone are to look otherwise.
            result = read_evidence(store.folder / evidence_name(analysis.key), analysis.result)
        else:
            with source.study.errors_at("analyses", analysis.section):
                result = analysis(work, settings)
        # What a user's analysis shows is kept.
        is_users = not analysis.make.__module__.startswith("analyses.")
        with source.progress("Drawing figures", 1) as bar:
            files = result_files(analysis.key, result, options, is_users=is_users)
            bar.advance()
        return files

    make_part(store, analysis.key, key, build, drawn_by(by, options))


def drawn_by(made_by: Mapping[str, str], options: FigureOptions) -> dict[str, str]:
    """Add to what made a part how its figures look, if that is said."""
    look = {FIGURES: content_key(options.given)} if options.given else {}
    return {**made_by, **look}


def _manifest(source: Source, remarks: Sequence[str]) -> dict[str, Any]:
    """Say what the study was made from, by what, and what it cost."""
    study = source.study
    entries = {part: source.store.ledger.entry(part) for part in source.parts}
    made = {part: entry for part, entry in entries.items() if entry is not None}
    facts, folder = dict(source.facts()), source.store.folder
    read = [each["path"] for each in facts["inputs"] if "path" in each]
    paths = {path: portable(path, folder) for path in sorted(read, key=len, reverse=True)}
    return {
        "study": study.name,
        "seed": study.seed,
        FIGURES: study.figures.given,
        **facts,
        "inputs": with_portable_paths(facts["inputs"], folder),
        "warnings": [_with(paths, remark) for remark in remarks],
        "seconds": {p: {"wall": e.seconds, "cpu": e.cpu_seconds} for p, e in made.items()},
        "made by": {part: entry.made_by for part, entry in made.items()},
        "workers": source.n_jobs,
        "versions": versions(),
        "host": machine(),
    }


def _with(paths: Mapping[str, str], text: str) -> str:
    """Put other paths in the place of those in a text."""
    for path, other in paths.items():
        text = text.replace(path, other)
    return text


def machine() -> dict[str, Any]:
    """Say on what the study was made; nothing is made again where this differs."""
    from threadpoolctl import threadpool_info

    named = ("internal_api", "version", "architecture")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "blas": sorted({" ".join(str(info.get(key, "")) for key in named) for info in blas}),
    }


def versions() -> dict[str, str]:
    """Give the versions of Python, the harness, its commit, and what computes for it."""
    commit = _commit()
    return {
        "python": platform.python_version(),
        "harness": __version__,
        **({"commit": commit} if commit else {}),
        **versions_of(*REPORTED),
    }


def _commit() -> str | None:
    """Give the git commit of the harness, marked if files differ from it; None outside of git."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
