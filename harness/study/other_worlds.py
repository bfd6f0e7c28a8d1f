"""The same study in other simulated worlds, each an ordinary study in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analyses.shared.work import OtherWorld, StudyWorld
from harness.study.analyses_section import AnalysesSection
from harness.study.sections import RepeatSection
from harness.study.study import Study
from harness.study.systems_run import SystemsRun
from harness.study.workers import restarts_in_silence
from qrels.ratings.world import like_settings, world_settings
from runs import InputError
from runs.shared.parallel import delayed, is_on_cluster, process_pool

WORLDS_FOLDER = "worlds"
"""The folder of the studies of other worlds."""


def with_world(study: Study, world: OtherWorld) -> Study:
    """Describe the study in another world, without analyses, in a folder of its own.

    The world has the settings of the study's, but its strength and fill are multiplied by those of
    ``world``, and bias and seed are replaced; the seed is that of the study, too.

    Raises
    ------
    InputError
        If the study does not begin with a simulated world, has runs by other programs, multiplies
        another bias, or the settings of the world are out of range.
    """
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
    check_settings = partial(world_settings, section.preset) if section.is_drawn else like_settings
    study_world = check_settings(section.world)
    if study_world.bias != world.bias and study_world.strength != 1:
        raise InputError(
            f"the study's world has `strength` {study_world.strength:g} with the bias "
            f"{study_world.bias!r}, which differs from the bias {world.bias!r} of the worlds: set "
            "both to the same."
        )
    settings = {
        **section.world,
        "strength": study_world.strength * world.strength,
        "bias": world.bias,
        "fill": study_world.fill * world.density,
        "seed": world.seed,
    }
    check_settings(settings)
    ratings_section = section.model_copy(update={"world": settings})
    folder_name = f"{world.strength:g}-{world.density:g}-{world.seed}"
    no_analyses = AnalysesSection(settings_by_key={}, plugins=study.analyses.plugins)
    changes = {
        "ratings": ratings_section,
        "seed": world.seed,
        "output": study.folder / WORLDS_FOLDER / folder_name,
        "analyses": no_analyses,
        "repeat": RepeatSection(),
    }
    return study.model_copy(update=changes)


@dataclass(frozen=True)
class OtherWorlds:
    """Runs a study in other worlds, and computes in each what is asked; see `Work.in_worlds`.

    Parameters
    ----------
    run
        The run of the study.
    compute
        Runs a study, and computes in it what is asked.
    """

    run: SystemsRun
    compute: Callable[[Study, StudyWorld], Any]

    def __call__(self, worlds: Sequence[OtherWorld], question: StudyWorld) -> Iterator[Any]:
        """Run the study in each world; yield what ``question`` computes there, in their order.

        Worlds are studied in parallel processes; on a cluster one after the other.
        """
        study = self.run.study
        compute = delayed(self.compute)
        tasks = (compute(with_world(study, world), question) for world in worlds)
        # Files are on this machine alone; on a cluster the systems of each study are trained.
        n_jobs = 1 if is_on_cluster() else self.run.n_jobs
        workers = process_pool(n_jobs, return_as="generator", in_this_process=True)
        with self.run.progress("Studying other worlds", len(worlds)) as bar, restarts_in_silence():
            for world, answer in zip(worlds, workers(tasks), strict=True):
                bar.advance(done=f"strength {world.strength:g}")
                yield answer
