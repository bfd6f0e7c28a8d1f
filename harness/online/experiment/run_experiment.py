"""Running an online study, or what is left of it, in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import __version__
from harness.online.experiment.experiment_page import Page, render_online_page
from harness.online.experiment.findings import Findings, find
from harness.online.experiment.numbered_outputs import files_of, frames_of, pictures_of
from harness.online.experiment.record import make_record, read_record
from harness.study.run import versions
from harness.study.store import Store, content_key
from runs import InputError
from runs.shared.clock import Clock
from runs.shared.files import write_whole
from runs.shared.progress import Progress

if TYPE_CHECKING:
    from harness.online.experiment.experiment_file import OnlineStudy


@dataclass(frozen=True)
class Run:
    """A study under way.

    Parameters
    ----------
    study, store
        What is studied, and its folder.
    n_jobs, dask
        Workers, and a cluster that ranks; results do not depend on them.
    progress
        Shows what is being done.
    """

    study: OnlineStudy
    store: Store
    n_jobs: int
    dask: str | None
    progress: Progress

    @property
    def record_key(self) -> str:
        """Key of what the experiment is made from."""
        study = self.study
        asked = study.model_dump(
            mode="json", include={"seed", "world", "experiment", "users", "search", "arms"}
        )
        logs = {} if study.logs is None else study.logs.model_dump(exclude_none=True)
        digests = {name: _digest(path) for name, path in logs.items()}
        return content_key(__version__, asked, digests, asdict(study.recall.hiding))

    def make(self) -> Page:
        """Make the record, unless it is there, analyse it, and write tables and figures."""
        key = self.record_key
        if not self.store.is_complete("experiment", key):
            clock = Clock()
            files = make_record(
                self.study,
                folder=self.store.folder,
                n_jobs=self.n_jobs,
                dask=self.dask,
                progress=self.progress,
            )
            self.store.write("experiment", key, files, cost=clock.cost())
        clock = Clock()
        with self.progress("Analysing", 1) as bar:
            record = read_record(self.study, self.store)
            found = find(
                self.study,
                record.logs,
                record.ranks,
                record.counts,
                shares=record.shares,
                truth=record.truth,
                off_policy=record.off_policy,
            )
            bar.advance()
        with self.progress("Drawing figures", 1) as bar:
            page = Page(found, record, frames_of(found, record), pictures_of(found, record))
            files = files_of(page.frames, page.pictures)
            settings = self.study.model_dump(mode="json", exclude={"output"})
            key = content_key(__version__, key, settings)
            self.store.write("analysis", key, files, cost=clock.cost())
            bar.advance()
        return page


def run_online_study(
    study: OnlineStudy, *, n_jobs: int, progress: Progress, dask: str | None = None
) -> Path:
    """Run an online study, or what is left of it; give the path of the report.

    Parameters
    ----------
    study
        What to do.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.
    dask
        A cluster that ranks hidden items; see `runs.shared.cluster.on_cluster`.

    Raises
    ------
    InputError
        If the study or its input breaks a rule.
    """
    store = Store(study.folder)
    with store.held():
        (store.folder / "manifest.json").unlink(missing_ok=True)
        write_whole(store.folder / "online.toml", study.to_toml())
        made = Run(study, store, n_jobs, dask, progress).make()
        manifest = manifest_of(study, store, made.found)
        content = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
        write_whole(store.folder / "manifest.json", content)
        page = render_online_page(study, made, store.folder / "figures", manifest)
        write_whole(store.folder / "report.html", page)
    return store.folder / "report.html"


def manifest_of(study: OnlineStudy, store: Store, found: Findings) -> dict[str, Any]:
    """Say what the study was made from, by what, and what it cost."""
    entries = {part: store.entry(part) for part in ("experiment", "analysis")}
    return {
        "online study": study.name,
        "seed": study.seed,
        "arms": list(found.experiment.models),
        "measures": len(found.experiment.measures),
        "seconds": _seconds(entries),
        "versions": versions(),
    }


def _seconds(entries: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        part: {"wall": entry.seconds, "cpu": entry.cpu_seconds}
        for part, entry in entries.items()
        if entry is not None
    }


def _digest(path: Path) -> str:
    """Hash a file, which may be too large for the memory.

    Raises
    ------
    InputError
        If it does not exist.
    """
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
