"""Running a study of an experiment, simulated or logged: its record, its analyses, its report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from analyses.online.arms import ExperimentWork, Place
from analyses.online.logs import Logs, model_starts
from harness.online.arm_models import NeighbourRecommender, SystemRecommender
from harness.online.click_world import make_click_world
from harness.online.experiment_file import ExperimentStudy
from harness.online.simulation import Arm, simulate
from harness.study.parts import Parts, content_key
from harness.study.store import Store
from harness.study.study_run import StudyRun, run_to_report
from harness.study.workers import file_stem
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import (
    hidden_from_parquet,
    hidden_to_parquet,
    ranks_from_parquet,
    ranks_to_parquet,
)
from runs import InputError, Numbering
from runs.shared.errors import counted
from runs.shared.parallel import on_cluster
from runs.shared.progress import Progress

RECORD = "experiment"
"""The part of the study that is the record of the experiment."""

FACTS = "experiment.json"
HIDDEN = "ranks/hidden.parquet"


@dataclass(frozen=True)
class ExperimentRun(StudyRun):
    """A run of a study of an experiment; see `harness.study.study_run.StudyRun`.

    Results depend neither on the workers nor on the cluster that ranks.
    """

    study: ExperimentStudy
    cluster: str | None

    @cached_property
    def work(self) -> ExperimentWork:
        """What is analysed: what is kept of the experiment, read back."""
        from pandas import DataFrame

        study, store = self.study, self.parts.store
        facts = json.loads(store.read(FACTS))
        logs = _logs(study, store)
        events = _events(logs)
        hidden = hidden_from_parquet(store.read(HIDDEN), users=events.users, items=events.items)
        _, _, starts = model_starts(logs)
        kept = [place for place in starts if (store.folder / ranks_name(*place)).exists()]
        return ExperimentWork(
            name=study.name,
            seed=study.seed,
            progress=self.progress,
            settings=study.settings,
            logs=logs,
            events=events,
            test_users=Numbering.of(facts.pop("test users")),
            ranks={at: ranks_from_parquet(store.read(ranks_name(*at)), hidden) for at in kept},
            starts={place: starts[place] for place in kept},
            known=facts | ({"truth": DataFrame(facts["truth"])} if "truth" in facts else {}),
        )

    @cached_property
    def inputs(self) -> list[dict[str, str]]:
        """Paths and checksums of the tables of a log."""
        logs = self.study.experiment.logs
        paths = [] if logs is None else logs.files.values()
        return [{"path": str(path), "sha256": _digest(path)} for path in paths]

    def make(self) -> None:
        """Make the record and all analyses of it, or what is left of them."""
        study = self.study
        logs = study.experiment.logs
        record = _simulated if logs is None else _logged
        key = self.parts.key(
            record,
            study.experiment.model_dump(mode="json", exclude={"logs"}),
            study.seed,
            None if logs is None else (logs.types, logs.first_year),
            [table["sha256"] for table in self.inputs],
            max(study.settings.cutoffs),
        )
        self.parts.build(RECORD, key, partial(record, self))
        for analysis, settings in study.analyses.chosen():
            self.keep_analysis(
                analysis,
                settings,
                lambda: self.work,
                self.parts.kept_parts(RECORD),
                [table["sha256"] for table in self.inputs],
                study.settings,
                makers=[ExperimentWork],
            )

    def facts(self) -> dict[str, Any]:
        """Describe the study for the manifest, as far as its kind alone knows it."""
        facts = self.work.clicks.tables["facts"].set_index("fact")["value"]
        arms = list(dict.fromkeys(arm for arm, _ in self.work.ranks))
        size = f"{counted(facts['lists'], 'list')} shown to {counted(facts['users'], 'user')}"
        name, seed = self.study.name, self.study.seed
        return {
            "lead": f"Do offline metrics follow clicks? {len(arms)} models, {size}; seed {seed}.",
            "data": f"Data: {name} ({size}); {len(arms)} models; study seed {seed}.",
            "results": [analysis.key for analysis, _ in self.study.analyses.chosen()],
            "inputs": self.inputs,
            "collection": {
                "lists": facts["lists"],
                "users": facts["users"],
                "interactions": facts["events"],
                "test users": len(self.work.test_users),
            },
            "systems": arms,
        }

    def completed_study(self) -> bytes:
        """Write the study with all defaults spelled out."""
        return self.study.to_toml(folder=self.folder)


def run_experiment_study(
    study: ExperimentStudy, *, n_jobs: int, progress: Progress, cluster: str | None = None
) -> Path:
    """Run a study of an experiment, or what is left of it; give the path of the report."""
    run = ExperimentRun(
        study=study,
        parts=Parts(Store(study.folder)),
        n_jobs=n_jobs,
        progress=progress,
        cluster=cluster,
    )
    return run_to_report(run, make=run.make, facts=run.facts, completed_study=run.completed_study)


def _simulated(run: ExperimentRun) -> dict[str, bytes]:
    """Simulate the experiment; give the files of the record."""
    study, section = run.study, run.study.experiment
    assert section.world is not None
    with run.progress("Making the world", 1) as bar:
        world = make_click_world(section.world)
        history = world.interactions(world.history())
        bar.advance()
    test_users = _test_users(study, history)
    arms = [Arm(n, own.served(seed=study.seed)) for n, own in section.arms.items()]
    with run.progress("Running the experiment", 1) as bar, study.errors_at("experiment", "arms"):
        experiment = simulate(world, arms, section, test_users=test_users, n_jobs=run.n_jobs)
        bar.advance()
    live = [
        ((name, period), model)
        for name, models in experiment.recommenders.items()
        for period, model in enumerate(models)
        if isinstance(model, NeighbourRecommender | SystemRecommender)
    ]
    files = _rank(run, split_users(history, test_users)[1], live, len(live))
    files |= {f"log/{name}": table for name, table in experiment.files().items()}
    return files | _facts(run, test_users, truth=experiment.truth.to_dict("list"))


def _logged(run: ExperimentRun) -> dict[str, bytes]:
    """Train each arm's model on what was known when each of its versions became live.

    Given are the files of the record.
    """
    study = run.study
    with run.progress("Reading the log", 1) as bar:
        logs = _logs(study, run.parts.store)
        events = _events(logs)
        arms, first_time, starts = model_starts(logs)
        bar.advance()
    unknown = [arm for arm in arms if arm not in study.experiment.arms]
    if unknown:
        raise InputError(
            f"the log has an arm {unknown[0]!r}, but the study has no model for it: add "
            f"[experiment.arms.{unknown[0]}]."
        )
    past = events.select(events.time < first_time)
    test_users = _test_users(study, past)
    _, hidden = split_users(past, test_users)
    others = events.select(~np.isin(events.user, np.unique(hidden.user)))
    served = {name: own.served(seed=study.seed) for name, own in study.experiment.arms.items()}
    trained = (
        (place, served[place[0]].fit(others.select(others.time < start)))
        for place, start in starts.items()
    )
    remark = "The models of the log were trained anew, as the study describes them."
    files = _rank(run, hidden, trained, len(starts))
    return files | _facts(run, test_users, remarks=[remark])


def _rank(
    run: ExperimentRun,
    test: Interactions,
    live: Iterable[tuple[Place, NeighbourRecommender | SystemRecommender]],
    n_models: int,
) -> dict[str, bytes]:
    """Rank hidden items by the model of each place; give the files."""
    files = {HIDDEN: hidden_to_parquet(test.select(test.is_first))}
    deepest = max(run.study.settings.cutoffs)
    with on_cluster(run.cluster), run.progress("Ranking hidden items", n_models) as bar:
        for place, model in live:
            ranks = model.hidden_ranks(test, deepest=deepest, n_jobs=run.n_jobs)
            files[ranks_name(*place)] = ranks_to_parquet(ranks)
            bar.advance()
    return files


def _facts(run: ExperimentRun, test_users: Numbering, **facts: Any) -> dict[str, bytes]:
    """Write down what else is kept; of logs no truth."""
    settings = [
        {"arm": name, "model": own.model, **own.settings}
        for name, own in run.study.experiment.arms.items()
    ]
    facts |= {"test users": test_users.ids.tolist(), "settings": settings}
    return {FACTS: json.dumps(facts, indent=1).encode()}


def _test_users(study: ExperimentStudy, events: Interactions) -> Numbering:
    users = study.experiment.users
    with study.errors_at("experiment", "users", "share"):
        return draw_test_users(events, share=users.share, max_users=users.most, seed=study.seed)


def _logs(study: ExperimentStudy, store: Store) -> Logs:
    """Give the files of the log that was given, or is kept."""
    names = ("recommendations", "interactions", "models")
    kept = {name: store.folder / f"log/{name}.parquet" for name in names}
    return study.experiment.logs or Logs(**kept)


def _events(logs: Logs) -> Interactions:
    return read_interactions(logs.interactions, rename=logs.types, first_year=logs.first_year)


def ranks_name(arm: str, period: int) -> str:
    """Name the file of the ranks of hidden items by an arm's model in a period (from 0)."""
    return f"ranks/{file_stem(arm)}-{period + 1}.parquet"


def _digest(path: Path) -> str:
    """Hash a file, which may be too large for the memory, or the Parquet files of a folder."""
    if path.is_dir():
        return content_key([_digest(part) for part in sorted(path.rglob("*.parquet"))])
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
