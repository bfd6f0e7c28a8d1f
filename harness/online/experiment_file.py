"""The file of a study of an experiment, simulated or logged: what it begins with."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from analyses.online.arms import ArmSettings
from analyses.online.logs import Logs
from analyses.shared.analysis import Need, members_of
from harness.online.arm_models import NeighbourModel, SystemModel
from harness.online.click_world import ClickWorldSettings
from harness.online.simulation import SimulationSettings
from harness.recall import ALS_KNN, ITEM_COSINES, model_settings, similarity_of
from harness.study.analyses_section import NAMES, STUDIES, AnalysesSection, read_sections
from harness.study.study_file import Origin, StudyFile
from recommenders.shared.register import find_system, read_settings
from runs import InputError
from runs.shared.settings import Section, Whole

GROUP = "online"
"""The group of analyses of an experiment."""


class UsersSection(Section):
    """Test users, whose items are hidden and whom no model learns from."""

    share: float = Field(0.1, gt=0, le=1, description="Share of the users who are test users.")
    most: Whole = Field(100_000, ge=1, description="Maximum number of test users.")


class ArmSection(Section):
    """The model of an arm."""

    model: str = Field(
        "item-cosines", description="Model: als-knn, item-cosines, or a name of a system."
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the model.")

    @property
    def is_neighbours(self) -> bool:
        """Whether it is a model of items that vote for each other; else it is a system."""
        return self.model in (ITEM_COSINES, ALS_KNN)

    def untrained(self, *, seed: int) -> NeighbourModel | SystemModel:
        """Make the model, which has not learnt anything yet."""
        if not self.is_neighbours:
            return SystemModel(self.model, self.settings, seed)
        settings = model_settings(self.model, self.settings)
        return NeighbourModel(similarity_of(settings, seed=seed, n_jobs=1))

    def check(self) -> None:
        """Refuse, with InputError, an unknown model, wrong settings, and some systems.

        These are systems that cannot score users whom they were not trained on.
        """
        if self.is_neighbours:
            model_settings(self.model, self.settings)
            return
        read_settings(self.model, self.settings)
        if not find_system(self.model).scores_histories:
            raise InputError(f"{self.model} can only score users that it was trained on.")


class ExperimentSection(SimulationSettings):
    """An experiment: simulated in a world, or the logs of a real one."""

    world: ClickWorldSettings | None = None
    logs: Logs | None = None
    users: UsersSection = UsersSection()
    arms: dict[str, ArmSection] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> ExperimentSection:
        """Refuse, with ValueError, sections that do not fit together.

        An experiment has a world or logs, not both; logs have no settings of a simulation; there
        are at least three arms, whose models and settings exist.
        """
        if (self.logs is None) == (self.world is None):
            raise ValueError(
                "an experiment needs [experiment.world] or [experiment.logs], and not both"
            )
        simulation_settings = self.model_fields_set & {*SimulationSettings.model_fields}
        if self.logs is not None and simulation_settings:
            raise ValueError(
                f"`{min(simulation_settings)}` needs a simulated world; with [experiment.logs], "
                "[experiment.arms.NAME] gives the model of each arm"
            )
        if len(self.arms) < 3:
            raise ValueError(
                f"an experiment needs at least 3 models, got {len(self.arms)}: name them as "
                "[experiment.arms.NAME]"
            )
        for name, arm in self.arms.items():
            try:
                arm.check()
            except InputError as error:
                sentence = str(error).rstrip(".")
                raise ValueError(f"[experiment.arms.{name}]: {sentence}") from None
        return self


class ExperimentStudy(StudyFile):
    """A study of an experiment: whether offline metrics follow clicks."""

    experiment: ExperimentSection
    analyses: AnalysesSection

    @property
    def settings(self) -> ArmSettings:
        """How the arms are compared, which all its analyses share."""
        all_settings = self.analyses.settings_by_key.values()
        return next(settings for settings in all_settings if isinstance(settings, ArmSettings))

    @classmethod
    def read_tables(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the settings of the analyses; all those of experiments are made by default.

        ``values`` are the tables of the study file. Sections of other analyses add these. Those of
        experiments are a group with one section, [analyses.online], whose key `STUDIES` lists them;
        the key `NAMES` of [analyses] lists the sections. Raises InputError, with file and line, if
        a setting breaks a rule.
        """
        tables = values.get("analyses", {})
        group_names = [
            member.name for member in members_of(GROUP) if Need.EXPERIMENT in member.needs
        ]
        group = {STUDIES: group_names, **tables.get(GROUP, {})}
        sections = [name for name, table in tables.items() if isinstance(table, dict)]
        names = list(dict.fromkeys([GROUP, *sections]))
        analyses = {NAMES: names, **tables, GROUP: group}
        return {**values, "analyses": read_sections(analyses, origin)}

    @model_validator(mode="after")
    def _has_what_is_needed(self) -> ExperimentStudy:
        """Refuse, with ValueError, analyses that need something else than an experiment."""
        for analysis, _ in self.analyses.chosen():
            if Need.EXPERIMENT not in analysis.needs:
                raise ValueError(f"an experiment has no scores, which {analysis.key!r} needs")
        return self
