"""Other worlds than the study's: drawn, learnt and scored in memory, and what is found in each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measures
from analyses.shared.work import OtherWorld, StudyWorld, Truth
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import available_metrics, find_metric
from harness.scoring.means import user_weights, weighted
from harness.scoring.score import score
from harness.study.collection import Collection, collect
from harness.study.provenance import home_of, made_by
from harness.study.score_parts import read_catalogue, true_catalogue, true_measures, true_scores
from harness.study.store import Store, content_key
from harness.study.study import Study
from harness.study.system_lists import home_of_system
from harness.study.work import StudyWork
from harness.study.workers import RUN, TRUE_RUN, OwnLists, restarts_in_silence, train_and_rank
from qrels.ratings.datasets.source import open_source
from qrels.ratings.world import like_settings, world_settings
from recommenders import file_of, is_user_system
from runs import InputError, InputWarning, Run
from runs.shared.parallel import processes
from runs.shared.progress import Clock, Cost, Progress, Silent

FOLDER = "worlds"


class Kept(NamedTuple):
    """Where what is found in a world is kept: the name of its part, and of the file."""

    part: str
    file: str


def place_of(world: OtherWorld) -> Kept:
    """Say where what is found in a world is kept."""
    name = f"{world.strength:g}-{world.density:g}-{world.seed}"
    return Kept(f"world-{name}", f"{FOLDER}/{name}.npz")


def with_world(study: Study, world: OtherWorld) -> Study:
    """Give the study in another world."""
    section = study.ratings
    if section is None or section.format != "world":
        raise InputError(
            'other worlds can only be drawn by a study of a world: format = "world" in [ratings].'
        )
    if study.runs is not None:
        raise InputError(
            "other worlds have no runs that were made elsewhere: leave out [runs], or train the "
            "systems in a study of their own."
        )
    checked = partial(world_settings, section.preset) if section.is_drawn else like_settings
    own = checked(section.world)
    if own.bias != world.bias and own.strength != 1:
        raise InputError(
            f"the study's world has `strength` {own.strength:g} with the bias {own.bias!r}, which "
            f"worlds with the bias {world.bias!r} do not start from: set one of them alike."
        )
    changes = {
        **section.world,
        "strength": own.strength * world.strength,
        "bias": world.bias,
        "fill": own.fill * world.density,
        "seed": world.seed,
    }
    checked(changes)
    ratings = section.model_copy(update={"world": changes})
    return study.model_copy(update={"ratings": ratings, "seed": world.seed})


class OtherWorlds:
    """What gives an analysis what it finds in other worlds, made or kept; see `Work.in_worlds`.

    Parameters
    ----------
    study, store
        The study, and its folder.
    n_jobs, progress
        See `Work`.
    """

    def __init__(self, study: Study, store: Store, n_jobs: int, progress: Progress) -> None:
        self.study = study
        self.store = store
        self.n_jobs = n_jobs
        self.progress = progress

    @property
    def key(self) -> str:
        """Key of all that the worlds have in common."""
        study = self.study
        sections = (study.ratings, study.split, study.systems, study.items, study.truth)
        own = [file_of(name) for name in study.systems.names if is_user_system(name)]
        files = [*own, *study.metrics.plugins, *study.items.files]
        like = None if study.ratings is None else study.ratings.like
        return content_key(
            *(None if s is None else s.model_dump(mode="json") for s in sections),
            study.metrics.model_dump(mode="json"),
            [sha256(path.read_bytes()).hexdigest() for path in files],
            *(() if like is None else (sha256(open_source(like).data).hexdigest(),)),
        )

    @property
    def makers(self) -> list[str | Path]:
        """Homes of the members that a world is studied with: split, systems, metrics."""
        study = self.study
        systems = [home_of_system(name) for name in study.systems.names]
        metrics = [home_of(metric.function) for metric in _metrics_of(study).values()]
        return [home_of(study.split.splitter.make), *systems, *metrics]

    @property
    def _needs_files(self) -> bool:
        """Tell whether making a world takes files, which are on this machine alone."""
        study = self.study
        like = None if study.ratings is None else study.ratings.like
        files = (*study.metrics.plugins, *study.items.files, *study.analyses.plugins)
        own = any(map(is_user_system, study.systems.names))
        return own or like is not None or bool([*files, *study.split.files])

    def __call__(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Make what is not kept, and give what was found in each world."""
        keys = {world: content_key(self.key, world, repr(study)) for world in worlds}
        by = made_by([__name__, home_of(type(study)), *self.makers])
        pending = [
            world
            for world in worlds
            if not self.store.is_complete(place_of(world).part, keys[world], by)
        ]
        tasks = (
            joblib.delayed(find_in)(with_world(self.study, world), study, world)
            for world in pending
        )
        own = self._needs_files
        workers = processes(self.n_jobs, return_as="generator_unordered", here=own)
        with self.progress("Training in other worlds", len(worlds)) as bar, restarts_in_silence():
            for _ in range(len(worlds) - len(pending)):
                bar.advance()
            for world, found, cost in workers(tasks):
                part, file = place_of(world)
                files = {file: to_evidence(found)}
                self.store.write(part, keys[world], files, cost=cost, made_by=by)
                bar.advance(done=f"strength {world.strength:g}, {cost.seconds:.1f} s")
        for world in worlds:
            yield read_evidence(self.store.folder / place_of(world).file, study.found)


def find_in(study: Study, asked: StudyWorld, world: OtherWorld) -> tuple[OtherWorld, Any, Cost]:
    """Find in a world what is asked of it."""
    clock = Clock()
    with warnings.catch_warnings():
        # What is odd about the study's own world has been said.
        warnings.simplefilter("ignore", InputWarning)
        found = asked(work_of(study))
    return world, found, clock.cost()


def work_of(study: Study) -> StudyWork:
    """Train the systems of a study of a world, and score its report measures, in memory.

    What is measured where systems rank hidden items is left out: nothing is hidden by a truth.
    """
    collection, metrics = collect(study), _metrics_of(study)
    lists = list(_train(study, collection))
    runs = [run for run, _ in lists]
    reported = [m for m in study.measures.reported if not metrics[m.metric].needs]
    catalogue = read_catalogue(study.items, collection)
    weights = user_weights(collection.qrels, study.metrics.average)
    scores = score(
        runs,
        collection.qrels,
        Measures(reported, reported=reported, grid=()),
        metrics,
        users=collection.topics.ids,
        catalogue=catalogue,
    )
    work = StudyWork(
        name=study.name,
        seed=study.seed,
        n_jobs=1,
        progress=Silent(),
        collection=collection,
        runs=runs,
        scores=weighted(scores, weights),
        metrics=metrics,
        catalogue=catalogue,
        ranks={},
        weights=weights,
    )
    return replace(work, known_truth=_truth_of(study, collection, lists, work))


def _metrics_of(study: Study) -> dict[str, Metric]:
    """Find the metrics of a study and of its truth by name; its files are read where it runs."""
    available = available_metrics(study.metrics.plugins)
    references = () if study.truth is None else study.truth.measures
    names = (*(measure.metric for measure in references), *study.metric_labels)
    return {name: find_metric(name, available) for name in names}


def _train(study: Study, collection: Collection) -> Iterator[tuple[Run, Run | None]]:
    """Train each system; give its lists for the topics, and other ones for the truth if it asks."""
    split, systems, known = collection.split, study.systems, collection.judged_truly
    if split is None:
        return
    asked = None
    if known is not None and known.has_own_lists:
        asked = OwnLists(known.users, known.listed(len(split.train.items)))
    for name in systems.labels.values():
        trained = train_and_rank(
            name,
            dict(systems.settings.get(name, {})),
            split.train,
            split.test_users,
            seed=study.seed,
            depth=systems.depth,
            candidates=systems.candidates_in(split),
            positives=systems.positives_of(name),
            lists=asked,
        )
        yield trained[RUN].value, trained[TRUE_RUN].value if asked else None


def _truth_of(
    study: Study, collection: Collection, lists: Sequence[tuple[Run, Run | None]], scored: StudyWork
) -> Truth | None:
    """Score by the truth what the study scores."""
    known = collection.judged_truly
    if known is None or study.truth is None:
        return None
    judged = [known.usual_lists(run) if own is None else own for run, own in lists]
    references = study.truth.measures
    scores = true_scores(
        judged,
        known,
        true_measures(scored.scores.measures, scored.metrics, references),
        scored.metrics,
        true_catalogue(scored.catalogue, known, collection.split),
    )
    return Truth(scores, references, known.origin)
