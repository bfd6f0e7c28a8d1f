"""Running a study of an experiment, or what is left of it, in its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import BothSides, Record
from harness.online.experiment.experiment_file import ExperimentStudy
from harness.online.experiment.record_files import ExperimentRun, make_record, read_record
from harness.study.pipeline import make_analysis, make_part, run_source
from harness.study.provenance import made_by
from harness.study.store import Store, content_key
from runs import InputError
from runs.shared.progress import Progress

RECORD = "experiment"
"""The part of the study that is the record of the experiment."""


@dataclass(frozen=True)
class ExperimentSource(ExperimentRun):
    """An experiment as the source of a study; see `harness.study.pipeline.Source`.

    It is what its analyses use, too; see `ExperimentWork`.
    """

    _sides: dict[str, BothSides] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    @property
    def seed(self) -> int:
        """Key of all that is random."""
        return self.study.seed

    @cached_property
    def record(self) -> Record:
        """The record, read back: what is analysed is what is kept."""
        return read_record(self.study, self.store)

    def sides(self, settings: ArmSettings) -> BothSides:
        """Give both sides of the experiment, which analyses with equal settings share."""
        key = settings.model_dump_json()
        if key not in self._sides:
            keys: dict[str, Any] = {"name": self.name, "seed": self.seed, "progress": self.progress}
            self._sides[key] = BothSides(self.record, settings, **keys)
        return self._sides[key]

    @property
    def parts(self) -> list[str]:
        """Names of all parts of the study in the ledger, its analyses among them."""
        return [RECORD, *self._analyses]

    @property
    def _analyses(self) -> list[str]:
        return [analysis.key for analysis, _ in self.study.analyses.wanted()]

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out."""
        return self.study.to_toml(folder=self.store.folder)

    @cached_property
    def inputs(self) -> list[dict[str, str]]:
        """Paths and checksums of the tables of a log."""
        logs = self.study.experiment.logs
        paths = [] if logs is None else logs.files.values()
        return [{"path": str(path), "sha256": _digest(path)} for path in paths]

    @property
    def record_key(self) -> str:
        """Key of what the experiment is made from."""
        experiment = self.study.experiment.model_dump(mode="json", exclude={"hiding", "logs"})
        logs = self.study.experiment.logs
        digests = [logs and logs.types, *(table["sha256"] for table in self.inputs)]
        return content_key(experiment, self.study.seed, digests, asdict(self.study.hiding))

    def make(self) -> None:
        """Make the record and all analyses of it, or what is left of them."""
        key, made = self.record_key, made_by([__name__])
        make_part(self.store, RECORD, key, partial(make_record, self), made)
        for analysis, settings in self.study.analyses.wanted():
            make_analysis(self, analysis, settings, self, made_from=key, makers=[__name__])

    def facts(self) -> dict[str, Any]:
        """Give what the manifest says of this source alone."""
        facts = self.record.logs.facts
        arms = list(dict.fromkeys(arm for arm, _ in self.record.ranks))
        size = f"{facts.slates:,} lists shown to {facts.users:,} users"
        return {
            "lead": f"Do offline metrics follow clicks? {len(arms)} models, {size}; seed "
            f"{self.study.seed}.",
            "data": f"Data: {self.study.name} ({size}); {len(arms)} models; study seed "
            f"{self.study.seed}.",
            "results": self._analyses,
            "inputs": self.inputs,
            "collection": {
                "lists": facts.slates,
                "users": facts.users,
                "interactions": facts.events,
                "test users": len(self.record.test_users),
            },
            "systems": arms,
            "notes": [],
        }


def run_experiment_study(
    study: ExperimentStudy, *, n_jobs: int, progress: Progress, dask: str | None = None
) -> Path:
    """Run a study of an experiment, or what is left of it; give the path of the report.

    Results depend neither on the workers nor on the cluster that ranks; see
    `runs.shared.parallel.on_cluster`.

    Raises
    ------
    InputError
        If the study or its input breaks a rule.
    """
    return run_source(ExperimentSource(study, Store(study.folder), n_jobs, dask, progress), [])


def _digest(path: Path) -> str:
    """Hash a file, which may be too large for the memory, or the Parquet files of a folder.

    Raises
    ------
    InputError
        If it does not exist.
    """
    if path.is_dir():
        return content_key([_digest(part) for part in sorted(path.rglob("*.parquet"))])
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
