"""The same study in other simulated worlds, each an ordinary study in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analyses.shared.work import OtherWorld, StudyWorld
from harness.study.sections import AnalysesSection, RepeatSection
from harness.study.study import Study
from harness.study.systems_run import SystemsRun
from harness.study.workers import restarts_in_silence
from qrels.ratings.world import like_settings, world_settings
from runs import InputError
from runs.shared.parallel import delayed, is_on_cluster, process_pool

FOLDER = "worlds"
"""The folder of the studies of other worlds."""


def with_world(study: Study, world: OtherWorld) -> Study:
    """Describe the study in another world, of the report measures alone and without analyses."""
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
    name = f"{world.strength:g}-{world.density:g}-{world.seed}"
    return study.model_copy(
        update={
            "ratings": section.model_copy(update={"world": changes}),
            "seed": world.seed,
            "output": study.folder / FOLDER / name,
            "analyses": AnalysesSection(asked={}, plugins=study.analyses.plugins),
            "repeat": RepeatSection(),
        }
    )


@dataclass(frozen=True)
class OtherWorlds:
    """Runs a study in other worlds, and finds in each what is asked; see `Work.in_worlds`.

    Parameters
    ----------
    run
        The run of the study.
    find
        Runs a study, and finds in it what is asked.
    """

    run: SystemsRun
    find: Callable[[Study, StudyWorld], Any]

    def __call__(self, worlds: Sequence[OtherWorld], question: StudyWorld) -> Iterator[Any]:
        """Run the study in each world, and give what is found there, in their order."""
        study = self.run.study
        find = delayed(self.find)
        tasks = (find(with_world(study, world), question) for world in worlds)
        # Files are on this machine alone; on a cluster the systems of each study are trained.
        n_jobs = 1 if is_on_cluster() else self.run.n_jobs
        workers = process_pool(n_jobs, return_as="generator", in_this_process=True)
        with self.run.progress("Studying other worlds", len(worlds)) as bar, restarts_in_silence():
            for world, found in zip(worlds, workers(tasks), strict=True):
                bar.advance(done=f"strength {world.strength:g}")
                yield found
