"""Running a study of an experiment, simulated or logged: its record, its analyses, its report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from analyses.online.arms import ArmSettings, BothSides, Place, Record
from analyses.online.clicks import Known, Truth
from analyses.online.logs import Logs, model_starts
from harness.online.arm_models import NeighbourRecommender, SystemRecommender
from harness.online.click_world import make_click_world
from harness.online.experiment_file import ArmSection, ExperimentStudy
from harness.online.simulation import Arm, simulate
from harness.study.pipeline import make_analysis, make_part, run_source
from harness.study.provenance import made_by
from harness.study.store import Store, content_key
from harness.study.workers import file_stem
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import (
    HiddenItems,
    hidden_from_parquet,
    hidden_to_parquet,
    ranks_from_parquet,
    ranks_to_parquet,
)
from runs import InputError, Numbering
from runs.shared.parallel import on_cluster
from runs.shared.progress import Progress

RECORD = "experiment"
"""The part of the study that is the record of the experiment."""

FACTS = "experiment.json"
HIDDEN = "ranks/hidden.parquet"
TRUTH = ("users", "lists", "expected")


@dataclass(frozen=True)
class ExperimentSource:
    """An experiment as the source of a study; see `harness.study.pipeline.Source`.

    It is what its analyses use, too; see `ExperimentWork`. Results depend neither on the workers
    nor on the cluster that ranks.
    """

    study: ExperimentStudy
    store: Store
    n_jobs: int
    dask: str | None
    progress: Progress
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
            self._sides[key] = BothSides(self.record, settings, self.name, self.progress)
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
        own = logs and [logs.types, logs.first_year]
        digests = [own, *(table["sha256"] for table in self.inputs)]
        return content_key(experiment, self.study.seed, digests, asdict(self.study.hiding))

    def make(self) -> None:
        """Make the record and all analyses of it, or what is left of them."""
        key, made = self.record_key, made_by([__name__])
        make_part(self.store, RECORD, key, partial(make_record, self), made)
        for analysis, settings in self.study.analyses.wanted():
            make_analysis(self, analysis, settings, self, made_from=key, makers=[__name__])

    def facts(self) -> dict[str, Any]:
        """Give what the manifest says of this source alone."""
        facts = self.sides(self.study.settings).counted.facts
        arms = list(dict.fromkeys(arm for arm, _ in self.record.ranks))
        size = f"{facts.lists:,} lists shown to {facts.users:,} users"
        return {
            "lead": f"Do offline metrics follow clicks? {len(arms)} models, {size}; seed "
            f"{self.study.seed}.",
            "data": f"Data: {self.study.name} ({size}); {len(arms)} models; study seed "
            f"{self.study.seed}.",
            "results": self._analyses,
            "inputs": self.inputs,
            "collection": {
                "lists": facts.lists,
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
    """Run a study of an experiment, or what is left of it; give the path of the report."""
    return run_source(ExperimentSource(study, Store(study.folder), n_jobs, dask, progress), [])


def make_record(source: ExperimentSource) -> dict[str, bytes]:
    """Simulate the experiment, or train the models of a log; give the files of the record."""
    make = _simulated if source.study.experiment.logs is None else _logged
    return make(source)


def _simulated(source: ExperimentSource) -> dict[str, bytes]:
    study, section = source.study, source.study.experiment
    assert section.world is not None
    with source.progress("Making the world", 1) as bar:
        world = make_click_world(section.world)
        history = world.history().interactions(world)
        bar.advance()
    test_users = _test_users(study, history)
    arms = [Arm(name, own.served(seed=study.seed), own.weight) for name, own in study.arms.items()]
    with source.progress("Running the experiment", 1) as bar, study.errors_at("experiment", "arms"):
        experiment = simulate(world, arms, section, test_users=test_users, n_jobs=source.n_jobs)
        bar.advance()
    _, hidden = split_users(history, test_users)
    live = [
        ((name, period), model)
        for name, models in experiment.recommenders.items()
        for period, model in enumerate(models)
        if isinstance(model, NeighbourRecommender | SystemRecommender)
    ]
    files = _rank(source, "Ranking hidden items", hidden, live, len(live))
    files |= {f"log/{name}": table for name, table in experiment.files().items()}
    truth = {name: getattr(experiment.truth, name).tolist() for name in TRUTH}
    truth["arms"] = list(experiment.truth.arms)
    return files | _facts(test_users, study.arms, [], shares=experiment.shares, truth=truth)


def _logged(source: ExperimentSource) -> dict[str, bytes]:
    """Train each arm's model on what was known when each of its versions became live."""
    study = source.study
    with source.progress("Reading the log", 1) as bar:
        logs = _logs(study, source.store)
        events = _events(logs)
        arms, first_time, starts = model_starts(logs)
        bar.advance()
    unknown = [arm for arm in arms if arm not in study.arms]
    if unknown:
        raise InputError(
            f"the log has an arm {unknown[0]!r}, and the study says no model for it: add "
            f"[experiment.arms.{unknown[0]}]."
        )
    past = events.select(events.time < first_time)
    test_users = _test_users(study, past)
    _, hidden = split_users(past, test_users)
    others = events.select(~np.isin(events.user, np.unique(hidden.user)))
    served = {name: arm.served(seed=study.seed) for name, arm in study.arms.items()}
    trained = (
        (place, served[place[0]].fit(others.select(others.time < start)))
        for place, start in starts.items()
    )
    remark = "The models of the log were trained anew, as the study describes them."
    files = _rank(source, "Training and ranking", hidden, trained, len(starts))
    return files | _facts(test_users, study.arms, [remark])


def _rank(
    source: ExperimentSource,
    doing: str,
    hidden: Interactions,
    live: Iterable[tuple[Place, NeighbourRecommender | SystemRecommender]],
    n_models: int,
) -> dict[str, bytes]:
    """Rank hidden items by the model of each place; give the files."""
    hiding = source.study.hiding
    items = HiddenItems.of(hidden, repeats=hiding.repeats == "all")
    files = {HIDDEN: hidden_to_parquet(items)}
    with on_cluster(source.dask), source.progress(doing, n_models) as bar:
        for place, model in live:
            ranks = model.hidden_ranks(hidden, hiding, n_jobs=source.n_jobs)
            files[ranks_name(*place)] = ranks_to_parquet(ranks)
            bar.advance()
    return files


def _facts(
    test_users: Numbering,
    arms: Mapping[str, ArmSection],
    remarks: Sequence[str],
    *,
    shares: Mapping[str, float] | None = None,
    truth: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Write down what else is kept; of logs neither shares nor truth."""
    facts = {
        "test users": test_users.ids.tolist(),
        "shares": shares,
        "truth": truth,
        "settings": [
            {"arm": name, "model": own.model, **own.settings} for name, own in arms.items()
        ],
        "remarks": remarks,
    }
    return {FACTS: json.dumps(facts, indent=1).encode()}


def _test_users(study: ExperimentStudy, events: Interactions) -> Numbering:
    with study.errors_at("experiment", "users", "share"):
        return draw_test_users(events, **study.experiment.users.model_dump(), seed=study.seed)


def _logs(study: ExperimentStudy, store: Store) -> Logs:
    """Give the files of the log that was given, or is kept."""
    section = study.experiment.logs
    if section is not None:
        given = section.recommendations, section.interactions, section.models
        return Logs(*given, rename=section.types, first_year=section.first_year)
    log = store.folder / "log"
    tables = [log / f"{name}.parquet" for name in ("recommendations", "interactions", "models")]
    return Logs(tables[0], tables[1], tables[2])


def _events(logs: Logs) -> Interactions:
    return read_interactions(logs.interactions, rename=logs.rename, first_year=logs.first_year)


def read_record(study: ExperimentStudy, store: Store) -> Record:
    """Read a record back from the study folder."""
    facts = json.loads(store.read(FACTS))
    logs = _logs(study, store)
    events = _events(logs)
    hidden = hidden_from_parquet(store.read(HIDDEN), users=events.users, items=events.items)
    _, _, starts = model_starts(logs)
    kept = [place for place in starts if (store.folder / ranks_name(*place)).exists()]
    truth = facts["truth"] and Truth(
        tuple(facts["truth"]["arms"]), *(np.array(facts["truth"][name]) for name in TRUTH)
    )
    return Record(
        logs=logs,
        events=events,
        test_users=Numbering.of(facts["test users"]),
        ranks={at: ranks_from_parquet(store.read(ranks_name(*at)), hidden) for at in kept},
        starts={place: starts[place] for place in kept},
        shares=facts["shares"],
        known=Known(study.name, tuple(facts["settings"]), truth, tuple(facts["remarks"])),
    )


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
