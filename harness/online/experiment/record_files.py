"""What a study keeps of an experiment: its log, the models' ranks, and the truth; as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from analyses.online.clicks.click_result import Known
from analyses.online.clicks.rates import Truth
from analyses.online.logs.interactions import Intake
from analyses.online.logs.read_log import Logs, read_logs

from analyses.online.arms.both_sides import Place, Record
from harness.online.experiment.experiment_file import ArmSection, ExperimentStudy
from harness.online.simulation.arms import Arm, NeighbourRecommender, SystemRecommender
from harness.online.simulation.click_world import interactions_of, make_click_world
from harness.online.simulation.log_writing import log_files
from harness.online.simulation.simulation import simulate
from harness.study.store import Store
from harness.study.system_parts import file_stem
from qrels.interactions.held_out_users import draw_test_users, split_users
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

LOG = "log"
FACTS = "experiment.json"
HIDDEN = "ranks/hidden.parquet"
TABLES = ("users", "slates", "expected")
"""Of the truth, by arm and period."""


@dataclass(frozen=True)
class ExperimentRun:
    """A study and its folder; results depend neither on workers nor on the cluster that ranks."""

    study: ExperimentStudy
    store: Store
    n_jobs: int
    dask: str | None
    progress: Progress


def make_record(run: ExperimentRun) -> dict[str, bytes]:
    """Simulate the experiment, or train the models of a log; give the files of the record."""
    return _simulated(run) if run.study.experiment.logs is None else _logged(run)


def _simulated(run: ExperimentRun) -> dict[str, bytes]:
    study, section = run.study, run.study.experiment
    assert section.world is not None
    with run.progress("Making the world", 1) as bar:
        world = make_click_world(section.world)
        history = interactions_of(world.history())
        bar.advance()
    test_users = _test_users(study, history)
    served = study.arms.items()
    arms = [Arm(name, own.served(seed=study.seed), own.weight) for name, own in served]
    with run.progress("Running the experiment", 1) as bar, study.errors_at("experiment", "arms"):
        experiment = simulate(world, arms, section, test_users=test_users, n_jobs=run.n_jobs)
        bar.advance()
    hidden = hidden_before(history, experiment.boundaries[0], test_users=test_users)
    live = [
        ((name, period), model)
        for name, models in zip(experiment.arms, experiment.recommenders, strict=True)
        for period, model in enumerate(models)
        if isinstance(model, NeighbourRecommender | SystemRecommender)
    ]
    files = _rank(run, "Ranking hidden items", hidden, live, len(live))
    files |= {f"{LOG}/{name}": table for name, table in log_files(experiment).items()}
    truth = experiment.truth
    return files | _facts(
        test_users,
        study.arms,
        [],
        shares=dict(zip(experiment.arms, experiment.shares.tolist(), strict=True)),
        truth={"arms": truth.arms} | {name: getattr(truth, name).tolist() for name in TABLES},
    )


def _logged(run: ExperimentRun) -> dict[str, bytes]:
    """Train each arm's model on what was known when each of its versions became live."""
    study = run.study
    with run.progress("Reading the log", 1) as bar:
        logs = _read_logs(study)
        bar.advance()
    events = interactions_of(logs.events)
    unknown = [arm for arm in logs.slates.arms if arm not in study.arms]
    if unknown:
        raise InputError(
            f"the log has an arm {unknown[0]!r}, and the study says no model for it: add "
            f"[experiment.arms.{unknown[0]}]."
        )
    test_users = _test_users(study, events.select(events.time < logs.facts.first_time))
    hidden = hidden_before(events, logs.facts.first_time, test_users=test_users)
    others = events.select(~np.isin(events.user, np.unique(hidden.user)))
    served = {name: arm.served(seed=study.seed) for name, arm in study.arms.items()}
    starts = starts_of(logs)
    trained = (
        (place, served[place[0]].fit(others.select(others.time < start)))
        for place, start in starts.items()
    )
    remark = "The models of the log were trained anew, as the study describes them."
    files = _rank(run, "Training and ranking", hidden, trained, len(starts))
    return files | _facts(test_users, study.arms, [remark])


def _rank(
    run: ExperimentRun,
    doing: str,
    hidden: Interactions,
    live: Iterable[tuple[Place, NeighbourRecommender | SystemRecommender]],
    n_models: int,
) -> dict[str, bytes]:
    """Rank hidden items by the model of each place; give the files."""
    hiding = run.study.hiding
    items = HiddenItems.of(hidden, repeats=hiding.repeats == "all")
    files = {HIDDEN: hidden_to_parquet(items)}
    with on_cluster(run.dask), run.progress(doing, n_models) as bar:
        for place, model in live:
            ranks = model.hidden_ranks(hidden, hiding, n_jobs=run.n_jobs)
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


def _read_logs(study: ExperimentStudy) -> Logs:
    section = study.experiment.logs
    assert section is not None
    beside = {"models": section.models, "assignment": section.assignment}
    intake = Intake(types=section.types, merged=section.merged)
    return read_logs(section.recommendations, section.interactions, **beside, intake=intake)


def read_record(study: ExperimentStudy, store: Store) -> Record:
    """Read a record back from the study folder."""
    facts = json.loads(store.read(FACTS))
    logs = _kept_logs(study, store)
    numbering = {"users": logs.slates.users, "items": logs.slates.items}
    hidden = hidden_from_parquet(store.read(HIDDEN), **numbering)
    starts = starts_of(logs)
    kept = [place for place in starts if (store.folder / ranks_name(*place)).exists()]
    truth = facts["truth"] and Truth(
        tuple(facts["truth"]["arms"]), *(np.array(facts["truth"][name]) for name in TABLES)
    )
    return Record(
        logs=logs,
        events=interactions_of(logs.events),
        test_users=Numbering.of(facts["test users"]),
        ranks={at: ranks_from_parquet(store.read(ranks_name(*at)), hidden) for at in kept},
        starts={place: starts[place] for place in kept},
        shares=facts["shares"],
        known=Known(tuple(facts["settings"]), truth, tuple(facts["remarks"])),
    )


def _kept_logs(study: ExperimentStudy, store: Store) -> Logs:
    if study.experiment.logs is not None:
        return _read_logs(study)
    tables = ("recommendations", "interactions", "models", "assignment")
    kept: dict[str, Any] = {name: store.folder / LOG / f"{name}.parquet" for name in tables}
    return read_logs(**kept)


def starts_of(logs: Logs) -> dict[Place, int]:
    """Say when the model of each arm and period became live."""
    if logs.models is None:
        return {(arm, 0): logs.facts.first_time for arm in logs.slates.arms}
    models = logs.models
    names = models.arms.ids[models.arm].tolist()
    places = zip(names, models.numbers.tolist(), strict=True)
    return dict(zip(places, models.valid_from.tolist(), strict=True))


def ranks_name(arm: str, period: int) -> str:
    """Name the file of the ranks of hidden items by an arm's model in a period (from 0).

    Examples
    --------
    >>> ranks_name("als-01", 0)
    'ranks/als-01-1.parquet'
    """
    return f"ranks/{file_stem(arm)}-{period + 1}.parquet"


def hidden_before(events: Interactions, start: int, *, test_users: Numbering) -> Interactions:
    """Give what the test users did before a time: what is hidden, the same for all models."""
    _, test = split_users(events.select(events.time < start), test_users)
    return test
