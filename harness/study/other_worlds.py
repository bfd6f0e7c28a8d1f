"""Other worlds than the study's: drawn, learnt and scored in memory, and what is found in each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measures
from analyses.shared.work import OtherWorld, StudyWorld, Truth
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import available_metrics, find_metric
from harness.scoring.means import weighted
from harness.study.collection import collect
from harness.study.provenance import home_of, made_by
from harness.study.score_parts import ScoreParts, read_catalogue
from harness.study.store import Store, content_key
from harness.study.study import Study
from harness.study.system_lists import home_of_system, training_of
from harness.study.work import StudyWork
from harness.study.workers import RUN, TRUE_RUN, OwnLists, restarts_in_silence, train_and_rank
from qrels.ratings.datasets.source import open_source
from qrels.ratings.world import like_settings, world_settings
from recommenders import file_of, is_user_system
from runs import InputError, InputWarning
from runs.shared.parallel import processes
from runs.shared.progress import Clock, Cost, Progress, Silent

FOLDER = "worlds"


def place_of(world: OtherWorld) -> tuple[str, str]:
    """Say where what is found in a world is kept: the name of its part, and of the file."""
    name = f"{world.strength:g}-{world.density:g}-{world.seed}"
    return f"world-{name}", f"{FOLDER}/{name}.npz"


def with_world(study: Study, world: OtherWorld) -> Study:
    """Give the study in another world."""
    section = study.ratings
    if section is None or section.format != "world":
        raise InputError(
            'other worlds need a study of a simulated world: format = "world" in [ratings].'
        )
    if study.runs is not None:
        raise InputError(
            "other worlds have no runs by other programs: leave out [runs], or train the systems "
            "in a study of their own."
        )
    checked = partial(world_settings, section.preset) if section.is_drawn else like_settings
    own = checked(section.world)
    if own.bias != world.bias and own.strength != 1:
        raise InputError(
            f"the study's world has `strength` {own.strength:g} with the bias {own.bias!r}, which "
            f"differs from the bias {world.bias!r} of the worlds: set both to the same."
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


@dataclass(frozen=True)
class OtherWorlds:
    """What gives an analysis what it finds in other worlds, made or kept; see `Work.in_worlds`.

    Parameters
    ----------
    study, store
        The study, and its folder.
    n_jobs, progress
        See `Work`.
    """

    study: Study
    store: Store
    n_jobs: int
    progress: Progress

    @property
    def _files(self) -> list[Path]:
        """Files that making a world takes, but those of the ratings that it is like."""
        study = self.study
        own = [file_of(name) for name in study.systems.names if is_user_system(name)]
        return [*own, *study.metrics.plugins, *study.items.files]

    @property
    def _like(self) -> Path | None:
        return None if self.study.ratings is None else self.study.ratings.like

    @property
    def key(self) -> str:
        """Key of all that the worlds have in common."""
        study = self.study
        sections = (study.ratings, study.split, study.systems, study.items, study.truth)
        return content_key(
            *(None if s is None else s.model_dump(mode="json") for s in sections),
            study.metrics.model_dump(mode="json"),
            [sha256(path.read_bytes()).hexdigest() for path in self._files],
            "" if self._like is None else sha256(open_source(self._like).data).hexdigest(),
        )

    @property
    def makers(self) -> list[str | Path]:
        """Homes of the members that a world is studied with: split, systems, metrics."""
        study = self.study
        systems = [home_of_system(name) for name in study.systems.names]
        metrics = [home_of(metric.function) for metric in _metrics_of(study).values()]
        return [home_of(study.split.splitter.make), *systems, *metrics]

    def __call__(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Make what is not kept, and give what was found in each world."""
        keys = {world: content_key(self.key, world, repr(study)) for world in worlds}
        by = made_by([__name__, home_of(type(study)), *self.makers])
        complete = self.store.is_complete
        pending = [w for w in worlds if not complete(place_of(w)[0], keys[w], by)]
        find = joblib.delayed(find_in)
        tasks = (find(with_world(self.study, world), study, world) for world in pending)
        # Files are on this machine alone.
        files = (self._like, *self._files, *self.study.analyses.plugins, *self.study.split.files)
        workers = processes(self.n_jobs, return_as="generator_unordered", here=any(files))
        with self.progress("Training in other worlds", len(worlds)) as bar, restarts_in_silence():
            for _ in range(len(worlds) - len(pending)):
                bar.advance()
            for world, found, cost in workers(tasks):
                part, file = place_of(world)
                content = {file: to_evidence(found)}
                self.store.write(part, keys[world], content, cost=cost, made_by=by)
                bar.advance(done=f"strength {world.strength:g}, {cost.seconds:.1f} s")
        for world in worlds:
            yield read_evidence(self.store.folder / place_of(world)[1], study.found)


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
    known, split = collection.judged_truly, collection.split
    assert split is not None, "see `with_world`"
    asked = None
    if known is not None and known.has_own_lists:
        asked = OwnLists(known.users, known.listed(len(split.train.items)))
    trained = [
        train_and_rank(**training_of(study, name, split), lists=asked)
        for name in study.systems.labels.values()
    ]
    runs = [made[RUN].value for made in trained]
    reported = [m for m in study.measures.reported if not metrics[m.metric].needs]
    measures = Measures(reported, reported=reported, grid=())
    parts = ScoreParts(study, collection, metrics, metrics, measures, Silent())
    catalogue = read_catalogue(study.items, collection)
    weights = parts.weights(collection.qrels)
    truth = None
    if known is not None and study.truth is not None:
        lists = [made[TRUE_RUN].value for made in trained] if asked else []
        own = lists or [known.usual_lists(run) for run in runs]
        truth = Truth(parts.truly_judged(own, known, catalogue), study.truth.measures, known.origin)
    return StudyWork(
        name=study.name,
        seed=study.seed,
        collection=collection,
        runs=runs,
        scores=weighted(parts.judged(runs, catalogue), weights),
        metrics=metrics,
        catalogue=catalogue,
        weights=weights,
        known_truth=truth,
    )


def _metrics_of(study: Study) -> dict[str, Metric]:
    """Find the metrics of a study and of its truth by name; its files are read where it runs."""
    available = available_metrics(study.metrics.plugins)
    references = () if study.truth is None else study.truth.measures
    names = (*(measure.metric for measure in references), *study.measures.metrics)
    return {name: find_metric(name, available) for name in names}
