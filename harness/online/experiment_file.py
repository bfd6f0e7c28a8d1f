"""The file of a study of an experiment, simulated or logged: what it begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from analyses.online.arms import ArmSettings
from analyses.shared.analysis import members_of
from harness.online.arm_models import NeighbourModel, SystemModel
from harness.online.click_world import ClickWorldSettings
from harness.online.simulation import SimulationSettings
from harness.study.sections import NAMES, STUDIES, AnalysesSection, read_sections
from harness.study.study_file import Origin, StudyFile, read_text
from recommenders import find_system, read_settings
from recommenders.kernels.embeddings import EmbeddingSettings
from recommenders.kernels.hidden_ranks import Hiding, Reachable, Repeats
from recommenders.kernels.neighbours import ItemCosines
from runs import InputError
from runs.shared.settings import Section, Whole

GROUP, NEEDED = "online", "experiment"
"""The group of analyses of an experiment, and what its members say that they need."""


class LogsSection(Section):
    """Logs of an experiment that took place; see `harness clicks`."""

    removed: ClassVar[Mapping[str, str]] = {
        "assignment": "users who were shown lists by two arms are left out and counted",
        "merged": "give the ids of one person one name before the log is read",
    }

    recommendations: Path = Field(
        description="Lists that were shown: Parquet, CSV, or a folder of Parquet files."
    )
    interactions: Path = Field(description="What users did: a file or folder, too.")
    models: Path | None = Field(None, description="When which version of a model was live.")
    types: dict[str, str] | None = Field(
        None, description="New names of types of interactions; '' leaves them out."
    )
    first_year: Whole | None = Field(
        None, ge=1, le=9999, description="Refuse times before this year; default: 2000."
    )

    @property
    def files(self) -> dict[str, Path]:
        """Give the tables that there are, by name."""
        return {name: value for name, value in self if isinstance(value, Path)}


class UsersSection(Section):
    """Test users, whose items are hidden and whom no model learns from."""

    share: float = Field(0.1, gt=0, le=1, description="Share of the users who are test users.")
    most: Whole = Field(100_000, ge=1, description="Maximum number of test users.")
    least_items: Whole = Field(2, ge=1, description="Distinct items that a test user needs.")


class ArmSection(Section):
    """What an arm serves."""

    model: str = Field(
        "item-cosines", description="als-knn, item-cosines, or a system of the harness or of yours."
    )
    weight: float = Field(1.0, gt=0, description="How many users it gets, relative to others.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the model.")

    def served(self, *, seed: int) -> NeighbourModel | SystemModel:
        """Make the model, which has not learnt anything yet."""
        if self.model == "item-cosines":
            return NeighbourModel(ItemCosines(**self.settings))
        if self.model == "als-knn":
            from recommenders.kernels.embeddings import similarity

            asked = EmbeddingSettings(**self.settings)
            return NeighbourModel(partial(similarity, settings=asked, seed=seed, n_jobs=1))
        return SystemModel(self.model, self.settings, seed)


class HidingSection(Section):
    """How the items of test users are hidden from the models."""

    repeats: Repeats = Field("first", description="Events hidden of a pair.")
    exclude_seen: Annotated[bool, Field(strict=True)] = Field(
        True, description="Whether what a model is shown of a user is no candidate."
    )
    reachable: Reachable = Field(
        "positive", description="Whether scores must be above 0 to be recommended."
    )


class ExperimentSection(SimulationSettings):
    """An experiment: a world and how it goes there, or the logs of one that took place."""

    world: ClickWorldSettings | None = None
    logs: LogsSection | None = None
    users: UsersSection = UsersSection()
    arms: dict[str, ArmSection] = Field(default_factory=dict)
    hiding: HidingSection = HidingSection()

    @model_validator(mode="after")
    def _fits_together(self) -> ExperimentSection:
        if (self.logs is None) == (self.world is None):
            raise ValueError(
                "an experiment begins with [experiment.world] or with [experiment.logs]"
            )
        simulated = self.model_fields_set & {*SimulationSettings.model_fields}
        if self.logs is not None and simulated:
            raise ValueError(
                f"`{min(simulated)}` is of simulated worlds; with [experiment.logs], "
                "[experiment.arms.NAME] says what model each arm served"
            )
        if len(self.arms) < 3:
            raise ValueError(
                f"at least 3 models are compared, got {len(self.arms)}: name them as "
                "[experiment.arms.NAME]"
            )
        for name, arm in self.arms.items():
            if arm.model not in SETTINGS:
                _require_system(name, arm)
                continue
            known = SETTINGS[arm.model]
            unknown = [setting for setting in arm.settings if setting not in known]
            if unknown:
                raise ValueError(
                    f"[experiment.arms.{name}]: {arm.model} has no setting {unknown[0]!r}; there "
                    f"are {', '.join(known)}"
                )
        return self


def _require_system(name: str, arm: ArmSection) -> None:
    """Refuse what is no system, or none that scores what a stranger did, or wrong settings."""
    try:
        read_settings(arm.model, arm.settings)
        if not find_system(arm.model).scores_histories:
            raise InputError(f"{arm.model} scores none but those it learned from.")
    except InputError as error:
        raise ValueError(f"[experiment.arms.{name}]: {str(error).rstrip('.')}") from None


class ExperimentStudy(StudyFile):
    """A study of an experiment: whether offline metrics follow clicks."""

    experiment: ExperimentSection
    analyses: AnalysesSection

    @property
    def arms(self) -> Mapping[str, ArmSection]:
        """The arms that are named, with what they serve."""
        return self.experiment.arms

    @property
    def settings(self) -> ArmSettings:
        """How the arms are compared, which all its analyses share."""
        return next(each for each in self.analyses.asked.values() if isinstance(each, ArmSettings))

    @property
    def hiding(self) -> Hiding:
        """How items are hidden, as deep as recall is measured."""
        chosen = self.experiment.hiding.model_dump()
        return Hiding(**chosen, deepest=max(self.settings.cutoffs))

    @classmethod
    def prepared(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the settings of the analyses; all those of experiments are made by default."""
        every = [member.name for member in members_of(GROUP) if NEEDED in member.needs]
        given = values.get("analyses", {})
        sections = [name for name in given if isinstance(given[name], dict)]
        group = {STUDIES: every} | given.get(GROUP, {})
        analyses = {NAMES: list({GROUP: None, **dict.fromkeys(sections)})} | given | {GROUP: group}
        return values | {"analyses": read_sections(analyses, origin)}

    @model_validator(mode="after")
    def _has_what_is_needed(self) -> ExperimentStudy:
        for analysis, _ in self.analyses.wanted():
            if NEEDED not in analysis.needs:
                raise ValueError(f"an experiment has no scores, which {analysis.key!r} needs")
        try:
            _ = self.hiding
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self


SETTINGS: Mapping[str, tuple[str, ...]] = {
    "als-knn": tuple(asdict(EmbeddingSettings())),
    "item-cosines": ("neighbours", "shrinkage"),
}
"""Settings of the models of arms."""


def read_experiment_study(
    path: Path, *, changes: Mapping[str, Any] | None = None
) -> ExperimentStudy:
    """Read the file of a study of an experiment; the paths in it count from its folder."""
    text = read_text(path)
    return parse_experiment_study(text, source=str(path), base=path.parent, changes=changes)


def demo_experiment_study(*, changes: Mapping[str, Any] | None = None) -> ExperimentStudy:
    """Give the study that runs when no file is named: twelve arms in a simulated world."""
    text = files("harness.online").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_experiment_study(text, source="demo.toml", base=Path(), changes=changes)


def parse_experiment_study(
    text: str, *, source: str, base: Path, changes: Mapping[str, Any] | None = None
) -> ExperimentStudy:
    """Make a study of an experiment of TOML text; see `StudyFile.parse`."""
    study = ExperimentStudy.parse(text, source=source, changes=changes or {}, base=base)
    section = study.experiment
    if section.logs is None:
        return study
    anchor = Origin(source, text, base).anchor
    paths = {name: anchor(path) for name, path in section.logs.files.items()}
    logs = section.logs.model_copy(update=paths)
    return study.model_copy(update={"experiment": section.model_copy(update={"logs": logs})})
