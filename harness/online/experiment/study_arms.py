"""The arms of an experiment: models by their settings, named or found by a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from harness.online.simulation.arms import Arm, Lottery, NeighbourModel, SystemModel
from qrels.interactions.interactions import Interactions
from recommenders.kernels.embeddings.settings import EmbeddingSettings
from recommenders.kernels.neighbourhoods.item_cosines import ItemCosines
from runs import Numbering
from runs.shared.progress import Progress

if TYPE_CHECKING:
    from harness.online.arm_search import Search
    from harness.online.experiment.experiment_file import ArmSection, ExperimentStudy


def _model(section: ArmSection, *, seed: int) -> NeighbourModel | SystemModel | Lottery:
    if section.model == "lottery":
        return Lottery()
    if section.model == "item-cosines":
        return NeighbourModel(ItemCosines(**section.settings))
    if section.model == "als-knn":
        return NeighbourModel.embedded(EmbeddingSettings(**section.settings), seed=seed)
    return SystemModel(section.model, section.settings, seed)


def settings_frame(study: ExperimentStudy, found: Search | None) -> list[dict[str, object]]:
    """Give the settings of all arms, a row each (table 4.1)."""
    rows: list[dict[str, object]] = [
        {"arm": name, "model": arm.model, **arm.settings} for name, arm in study.arms.items()
    ]
    for number, settings in enumerate(found.models if found else (), start=1):
        rows.append({"arm": searched_name(number), "model": "als-knn", **asdict(settings)})
    return rows


def searched_name(number: int) -> str:
    """Name an arm that a search found, the best first.

    Examples
    --------
    >>> searched_name(3)
    'als-03'
    """
    return f"als-{number:02}"


def find_models(
    study: ExperimentStudy,
    history: Interactions,
    test_users: Numbering,
    *,
    n_jobs: int,
    progress: Progress,
) -> Search | None:
    """Search for models of different quality, if the study asks for it."""
    section = study.experiment.search
    if section is None:
        return None
    from harness.online.arm_search import search_models

    with study.errors_at("experiment", "search"):
        return search_models(
            history,
            section,
            section.space,
            seed=study.seed,
            n_jobs=n_jobs,
            test_users=test_users,
            progress=progress,
        )


def all_arms(study: ExperimentStudy, found: Search | None) -> list[Arm]:
    """Give the arms that the study names, then those that were found."""
    seed = study.seed
    named = [Arm(name, _model(arm, seed=seed), arm.weight) for name, arm in study.arms.items()]
    searched = [
        Arm(searched_name(number), NeighbourModel.embedded(settings, seed=seed))
        for number, settings in enumerate(found.models if found else (), start=1)
    ]
    return [*named, *searched]


def served_models(study: ExperimentStudy) -> Mapping[str, NeighbourModel | SystemModel]:
    """Give the models of the arms of a log, by name; those that draw their lists have none."""
    models = {name: _model(section, seed=study.seed) for name, section in study.arms.items()}
    return {name: model for name, model in models.items() if not isinstance(model, Lottery)}
