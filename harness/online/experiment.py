"""Running a study of an experiment, simulated or logged: its record, its analyses, its report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeAlias

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

FACTS_FILE = "experiment.json"
HIDDEN_FILE = "ranks/hidden.parquet"
"""Files of the record: facts such as the test users, and the items that are hidden."""

TrainedModel: TypeAlias = NeighbourRecommender | SystemRecommender
"""A model that ranks hidden items."""


@dataclass(frozen=True)
class ExperimentRun(StudyRun):
    """A run of a study of an experiment; see `harness.study.study_run.StudyRun`.

    Results depend neither on the workers nor on the cluster that ranks.
    """

    study: ExperimentStudy
    cluster: str | None

    @cached_property
    def work(self) -> ExperimentWork:
        """What is analysed: the record of the experiment, read from the files of the study folder.

        Arms and periods without a file of ranks, whose models rank no hidden items, are left out of
        ranks and starts. A simulated experiment has a truth in its facts.
        """
        from pandas import DataFrame

        study = self.study
        store = self.parts.store
        facts = json.loads(store.read(FACTS_FILE))
        test_users = Numbering.of(facts.pop("test users"))
        if "truth" in facts:
            facts["truth"] = DataFrame(facts["truth"])
        logs = _logs(study, store)
        events = _events(logs)
        hidden_file = store.read(HIDDEN_FILE)
        hidden = hidden_from_parquet(hidden_file, users=events.users, items=events.items)
        _, _, starts = model_starts(logs)
        ranks = {}
        starts_of_ranked = {}
        for (arm, period), start in starts.items():
            name = ranks_name(arm, period)
            if (store.folder / name).exists():
                ranks[arm, period] = ranks_from_parquet(store.read(name), hidden)
                starts_of_ranked[arm, period] = start
        return ExperimentWork(
            name=study.name,
            seed=study.seed,
            progress=self.progress,
            settings=study.settings,
            logs=logs,
            events=events,
            test_users=test_users,
            ranks=ranks,
            starts=starts_of_ranked,
            click_arguments=facts,
        )

    @cached_property
    def inputs(self) -> list[dict[str, str]]:
        """Paths and checksums of the tables of a log; empty for a simulated experiment."""
        logs = self.study.experiment.logs
        paths = [] if logs is None else logs.files.values()
        return [{"path": str(path), "sha256": _digest(path)} for path in paths]

    def make(self) -> None:
        """Make the record and all analyses of it, or those that are not complete.

        Writes them into the study folder. A record is made anew if the section [experiment], the
        seed, the tables of a log or the deepest cut-off changed, an analysis if the record, the
        tables or settings changed.
        """
        study = self.study
        logs = study.experiment.logs
        checksums = [table["sha256"] for table in self.inputs]
        make_record = _simulated_record if logs is None else _record_of_logs
        key = self.parts.key(
            make_record,
            study.experiment.model_dump(mode="json", exclude={"logs"}),
            study.seed,
            None if logs is None else (logs.types, logs.first_year),
            checksums,
            max(study.settings.cutoffs),
        )
        self.parts.build(RECORD, key, partial(make_record, self))
        for analysis, settings in study.analyses.chosen():
            self.keep_analysis(
                analysis,
                settings,
                lambda: self.work,
                self.parts.kept_parts(RECORD),
                checksums,
                study.settings,
                makers=[ExperimentWork],
            )

    def facts(self) -> dict[str, Any]:
        """Describe the study for the manifest: what only studies of experiments know.

        Two sentences (lead, data), keys of results, checksums of the tables of a log, counts of
        lists, users and interactions, and the arms whose models were ranked.
        """
        facts = self.work.clicks.tables["facts"].set_index("fact")["value"]
        arms = list(dict.fromkeys(arm for arm, _ in self.work.ranks))
        n_arms = len(arms)
        n_lists = counted(facts["lists"], "list")
        size = f"{n_lists} shown to {counted(facts['users'], 'user')}"
        name = self.study.name
        seed = self.study.seed
        results = [analysis.key for analysis, _ in self.study.analyses.chosen()]
        return {
            "lead": f"Do offline metrics follow clicks? {n_arms} models, {size}; seed {seed}.",
            "data": f"Data: {name} ({size}); {n_arms} models; study seed {seed}.",
            "results": results,
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
    """Run a study of an experiment, or resume it; the result is the path of the report."""
    run = ExperimentRun(
        study=study,
        parts=Parts(Store(study.folder)),
        n_jobs=n_jobs,
        progress=progress,
        cluster=cluster,
    )
    return run_to_report(run, make=run.make, facts=run.facts, completed_study=run.completed_study)


def _simulated_record(run: ExperimentRun) -> dict[str, bytes]:
    """Simulate the experiment, and write the files of the record: contents by name.

    They are the log, the ranks of hidden items by every model, and facts with the truth. Hidden
    items are those that test users had before the experiment. Raises InputError if a model lists
    items that it may not.
    """
    study = run.study
    section = study.experiment
    assert section.world is not None
    with run.progress("Making the world", 1) as bar:
        world = make_click_world(section.world)
        history = world.interactions(world.history())
        bar.advance()
    test_users = _test_users(study, history)
    arms = [Arm(name, arm.untrained(seed=study.seed)) for name, arm in section.arms.items()]
    with run.progress("Running the experiment", 1) as bar, study.errors_at("experiment", "arms"):
        experiment = simulate(world, arms, section, test_users=test_users, n_jobs=run.n_jobs)
        bar.advance()
    models: list[tuple[Place, TrainedModel]] = []
    for name, models_of_arm in experiment.recommenders.items():
        for period, model in enumerate(models_of_arm):
            if isinstance(model, NeighbourRecommender | SystemRecommender):
                models.append(((name, period), model))
    _, hidden = split_users(history, test_users)
    files = _rank_files(run, hidden, models, len(models))
    for name, table in experiment.files().items():
        files[f"log/{name}"] = table
    return files | _facts_file(run, test_users, truth=experiment.truth.to_dict("list"))


def _record_of_logs(run: ExperimentRun) -> dict[str, bytes]:
    """Train each arm's model on the events before each of its versions became live, and rank.

    Hidden items are those that test users had before the first list; models do not learn from these
    users. The result are the files of the record, contents by name: ranks of hidden items, and
    facts. Raises InputError if the log has an arm for which the study has no model.
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
    is_test_event = np.isin(events.user, np.unique(hidden.user))
    training_events = events.select(~is_test_event)
    untrained = {
        name: arm.untrained(seed=study.seed) for name, arm in study.experiment.arms.items()
    }

    def train_models() -> Iterator[tuple[Place, TrainedModel]]:
        """Train the versions one by one: only one is in memory at a time."""
        for (arm, period), start in starts.items():
            history = training_events.select(training_events.time < start)
            yield (arm, period), untrained[arm].fit(history)

    remark = "The models of the log were trained anew, as the study describes them."
    files = _rank_files(run, hidden, train_models(), len(starts))
    return files | _facts_file(run, test_users, remarks=[remark])


def _rank_files(
    run: ExperimentRun,
    test: Interactions,
    models: Iterable[tuple[Place, TrainedModel]],
    n_models: int,
) -> dict[str, bytes]:
    """Rank hidden items by the model of each arm and period, and write the files.

    ``test`` are the events of test users; the first of a user and an item is hidden. ``models`` has
    arm and period (from 0) of each model. Ranks go down to the deepest cut-off of the study. The
    files are the hidden items, and their ranks by each model: contents by name.
    """
    files = {HIDDEN_FILE: hidden_to_parquet(test.select(test.is_first))}
    deepest = max(run.study.settings.cutoffs)
    with on_cluster(run.cluster), run.progress("Ranking hidden items", n_models) as bar:
        for (arm, period), model in models:
            ranks = model.hidden_ranks(test, deepest=deepest, n_jobs=run.n_jobs)
            files[ranks_name(arm, period)] = ranks_to_parquet(ranks)
            bar.advance()
    return files


def _facts_file(run: ExperimentRun, test_users: Numbering, **facts: Any) -> dict[str, bytes]:
    """Write facts, the test users and the settings of the arms as a JSON file, by its name.

    Facts are the truth of a simulated experiment, or remarks on a log.
    """
    facts["test users"] = test_users.ids.tolist()
    facts["settings"] = [
        {"arm": name, "model": arm.model, **arm.settings}
        for name, arm in run.study.experiment.arms.items()
    ]
    return {FACTS_FILE: json.dumps(facts, indent=1).encode()}


def _test_users(study: ExperimentStudy, events: Interactions) -> Numbering:
    """Draw the test users from those of the events, as the section "users" asks."""
    users = study.experiment.users
    with study.errors_at("experiment", "users", "share"):
        return draw_test_users(events, share=users.share, max_users=users.most, seed=study.seed)


def _logs(study: ExperimentStudy, store: Store) -> Logs:
    """Look up the files of the log: those of the study file, or those of the simulation."""
    if study.experiment.logs is not None:
        return study.experiment.logs
    folder = store.folder / "log"
    return Logs(
        recommendations=folder / "recommendations.parquet",
        interactions=folder / "interactions.parquet",
        models=folder / "models.parquet",
    )


def _events(logs: Logs) -> Interactions:
    """Read the interactions of a log."""
    return read_interactions(logs.interactions, rename=logs.types, first_year=logs.first_year)


def ranks_name(arm: str, period: int) -> str:
    """Name the file of the ranks of hidden items by an arm's model in a period (from 0)."""
    return f"ranks/{file_stem(arm)}-{period + 1}.parquet"


def _digest(path: Path) -> str:
    """Hash a file, which may be too large for the memory, or the Parquet files of a folder.

    Raises InputError if the file does not exist.
    """
    if path.is_dir():
        return content_key([_digest(part) for part in sorted(path.rglob("*.parquet"))])
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path}: the file does not exist.") from None
