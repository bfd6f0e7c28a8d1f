"""The arms of an experiment: models by their settings, named or found by a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.online.simulation.arms import Arm
from harness.online.simulation.logging_policy import LoggingPolicy
from harness.online.simulation.served_models import NeighbourModel
from qrels.interactions.interactions import Interactions
from recommenders.kernels.embeddings.settings import EmbeddingSettings
from recommenders.kernels.item_cosines import ItemCosines
from runs import Numbering
from runs.shared.progress import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from harness.online.arm_search.arm_search import Search
    from harness.online.experiment.experiment_file import ArmSection, ExperimentStudy


@dataclass(frozen=True)
class Embedded:
    """Learns neighbours by the cosine of embedded items.

    Parameters
    ----------
    settings
        How items are embedded.
    seed
        Of the vectors to begin with.
    """

    settings: EmbeddingSettings
    seed: int

    def __call__(self, history: Interactions) -> csr_array[Any]:
        """Learn the votes of items for items."""
        from recommenders.kernels.embeddings.model import similarity

        return similarity(history, self.settings, seed=self.seed)


def arm_of(name: str, section: ArmSection, *, seed: int) -> Arm:
    """Make an arm as a study file describes it.

    Raises
    ------
    InputError
        If a setting is out of range.
    """
    return Arm(name, _model(section, seed=seed), section.weight)


def _model(section: ArmSection, *, seed: int) -> NeighbourModel | LoggingPolicy:
    if section.model == "lottery":
        return LoggingPolicy(**section.settings)
    if section.model == "item-cosines":
        return NeighbourModel(ItemCosines(**section.settings))
    return NeighbourModel(Embedded(EmbeddingSettings(**section.settings), seed))


def settings_frame(study: ExperimentStudy, found: Search | None) -> list[dict[str, object]]:
    """Give the settings of all arms, a row each (table 4.1)."""
    rows: list[dict[str, object]] = [
        {"arm": name, "model": arm.model, **arm.settings} for name, arm in study.arms.items()
    ]
    for number, settings in enumerate(found.models if found else (), start=1):
        values = {each.name: getattr(settings, each.name) for each in fields(settings)}
        rows.append({"arm": searched_name(number), "model": "als-knn", **values})
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
    *,
    test_users: Numbering,
    table: Path,
    n_jobs: int,
    progress: Progress,
) -> Search | None:
    """Search for models of different quality, if the study asks for it."""
    section = study.experiment.search
    if section is None:
        return None
    from harness.online.arm_search.arm_search import SPACE, search_models
    from recommenders import Choice

    with study.placed("experiment", "search"):
        return search_models(
            history,
            section,
            {**SPACE, "factors": Choice(section.factors)},
            seed=study.seed,
            n_jobs=n_jobs,
            test_users=test_users,
            table=table,
            progress=progress,
        )


def all_arms(study: ExperimentStudy, found: Search | None) -> list[Arm]:
    """Give the arms that the study names, then those that were found."""
    named = [arm_of(name, section, seed=study.seed) for name, section in study.arms.items()]
    searched = [
        Arm(searched_name(number), NeighbourModel(Embedded(settings, study.seed)))
        for number, settings in enumerate(found.models if found else (), start=1)
    ]
    return [*named, *searched]


def served_models(study: ExperimentStudy) -> Mapping[str, NeighbourModel]:
    """Give the models of the arms of a log, by name; those that draw their lists have none."""
    models = {name: _model(section, seed=study.seed) for name, section in study.arms.items()}
    return {name: model for name, model in models.items() if isinstance(model, NeighbourModel)}
