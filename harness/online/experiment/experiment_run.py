"""A run of a study of an experiment: what is asked, where, and by which workers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.online.experiment.experiment_file import ExperimentStudy
from harness.study.store import Store
from runs.shared.progress import Progress


@dataclass(frozen=True)
class ExperimentRun:
    """A study and its folder; results depend neither on workers nor on the cluster that ranks."""

    study: ExperimentStudy
    store: Store
    n_jobs: int
    dask: str | None
    progress: Progress
