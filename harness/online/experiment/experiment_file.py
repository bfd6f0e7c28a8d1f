"""The file of an online study: a simulated experiment or logs, what is measured, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from analyses.online.clicks.click_question import parse_duration
from analyses.recall.grids import BETAS, CUTOFFS
from analyses.recall.stratification import Stratification
from harness.online.simulation.click_world import ClickWorldSettings
from harness.online.simulation.simulation_settings import SimulationSettings
from harness.study.study import NAME, StudyFile, read_text
from recommenders.kernels.embeddings.settings import EmbeddingSettings
from recommenders.kernels.hidden.hiding import Hiding
from runs import InputError
from runs.shared.settings import Section, Whole, without_repetition

LONGEST = 2**53
"""Milliseconds that are no duration any more."""


def milliseconds(text: str) -> int:
    """Read a duration.

    Raises
    ------
    ValueError
        If it has no number or no unit.

    Examples
    --------
    >>> milliseconds("30 min"), milliseconds("1.5 h")
    (1800000, 5400000)
    """
    try:
        length = parse_duration(text)
    except InputError:
        raise ValueError(
            f"a duration is a number and a unit (ms, s, min, h, d), as '30 min', got {text!r}"
        ) from None
    if length >= LONGEST:
        raise ValueError(f"a duration must be below 2^53 ms, got {text!r}")
    return length


def _duration(text: str) -> str:
    milliseconds(text)
    return text


Duration = Annotated[str, AfterValidator(_duration)]
Betas = Annotated[
    tuple[Annotated[float, Field(ge=0)], ...],
    Field(min_length=1),
    AfterValidator(without_repetition),
]
Depths = Annotated[
    tuple[Annotated[int, Field(strict=True, ge=1)], ...],
    Field(min_length=1),
    AfterValidator(without_repetition),
]


class LogsSection(Section):
    """Logs of an experiment that took place; see `harness clicks`."""

    recommendations: Path = Field(description="Lists that were shown, Parquet or CSV.")
    interactions: Path = Field(description="What users did, Parquet or CSV.")
    models: Path | None = Field(None, description="When which version of a model was live.")
    assignment: Path | None = Field(None, description="Arm of each user, where it is known.")


class UsersSection(Section):
    """Test users, whose items are hidden and whom no model learns from."""

    share: float = Field(0.1, gt=0, le=1, description="Share of the users who are tested.")
    most: Whole = Field(100_000, ge=1, description="Test users at most.")
    least_items: Whole = Field(2, ge=1, description="Distinct items that a test user needs.")


class ArmSection(Section):
    """What an arm serves."""

    model: Literal["als-knn", "item-cosines", "lottery"] = "item-cosines"
    weight: float = Field(1.0, gt=0, description="How many users it gets, relative to others.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Of als-knn: see EmbeddingSettings; neighbours; power."
    )


class SearchSection(Section):
    """A search for models of clearly different quality, before the experiment."""

    models: Whole = Field(10, ge=3, le=79, description="Models that become arms.")
    trials: Whole = Field(30, ge=3, description="Settings that are tried.")
    factors: Depths = Field((4, 8, 16, 32, 64, 128), description="Lengths of vectors to try.")
    cutoff: Whole = Field(5, ge=1, description="Of the recall that trials are scored by.")
    beta: float = Field(0.5, ge=0, description="Exponent of popularity in that recall.")


class RecallSection(Section):
    """The recall variants that are measured."""

    betas: Betas = Field(BETAS, description="Exponents of popularity.")
    cutoffs: Depths = Field(CUTOFFS, description="Lengths of the lists.")
    weights: Literal["uniform", "stratified"] = Field("uniform", description="Of the users.")
    first_item: Literal["miss", "skip"] = Field("miss", description="In leave last one out.")
    smoothing: Literal["add-one", "drop"] = Field("add-one", description="Of the popularity.")
    popularity: Literal["events", "users"] = Field("events", description="What it counts.")
    clip: float | None = Field(None, gt=0, description="Upper bound on an item's weight.")
    repeats: Literal["first", "all"] = Field("first", description="Events hidden of a pair.")
    exclude_seen: Annotated[bool, Field(strict=True)] = Field(
        True, description="Whether what a model is shown of a user is no candidate."
    )
    reachable: Literal["positive", "all"] = Field(
        "positive", description="Whether scores must be above 0 to be recommended."
    )
    metrics: tuple[Literal["RR", "nDCG"], ...] = Field(
        ("RR", "nDCG"), description="Other metrics of the same ranks, at beta 0."
    )

    @property
    def stratification(self) -> Stratification:
        """How hidden items are weighed."""
        return Stratification(
            weights=self.weights,
            first_item=self.first_item,
            smoothing=self.smoothing,
            clip=self.clip,
        )

    @property
    def hiding(self) -> Hiding:
        """How items are hidden."""
        return Hiding(
            repeats=self.repeats,
            exclude_seen=self.exclude_seen,
            reachable=self.reachable,
            deepest=max(self.cutoffs),
            lists="profile",
        )

    @model_validator(mode="after")
    def _can_be_found(self) -> RecallSection:
        try:
            _ = self.hiding
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self


class RatesSection(Section):
    """How click-through rates are counted."""

    clicks: Literal["explicit", "implicit"] = Field(
        "explicit", description="Clicks that name their list, or what the user does soon after."
    )
    window: Duration | None = Field(None, description="How soon, for implicit clicks: '30 min'.")
    credit: Literal["all", "last"] = Field("all", description="Lists that an event credits.")
    over_time: Literal["thesis", "pooled"] = Field("thesis", description="Mean over periods.")
    zone: str = Field("UTC", description="IANA name of the zone of days and weeks.")
    robots_per_day: Whole | None = Field(
        None, ge=1, description="Users with more lists in a day are robots and left out."
    )

    @model_validator(mode="after")
    def _has_window(self) -> RatesSection:
        if (self.clicks == "implicit") != (self.window is not None):
            raise ValueError('`window` goes with `clicks = "implicit"`, and only with it')
        return self


class InferenceSection(Section):
    """How sure findings are."""

    replicates: Whole = Field(200, ge=2, description="Resampled sets of users and periods.")
    resampled: Literal["users", "users and periods"] = Field(
        "users and periods", description="What intervals of correlations are over."
    )
    permutations: Whole = Field(10_000, ge=1, description="Orders of the rates.")
    subsets: Whole = Field(200, ge=1, description="Subsets of the arms of each size.")


class OnlineStudy(StudyFile):
    """Whether offline metrics follow click-through rates."""

    name: str = Field(pattern=f"^{NAME}$")
    seed: Whole = Field(20261121, ge=0, lt=2**63)
    output: Path | None = Field(None, description="The study folder; online-NAME by default.")
    world: ClickWorldSettings | None = None
    experiment: SimulationSettings | None = None
    logs: LogsSection | None = None
    users: UsersSection = UsersSection()
    search: SearchSection | None = None
    arms: dict[str, ArmSection] = Field(default_factory=dict)
    recall: RecallSection = RecallSection()
    rates: RatesSection = RatesSection()
    inference: InferenceSection = InferenceSection()

    @model_validator(mode="after")
    def _fits_together(self) -> OnlineStudy:
        if (self.logs is None) == (self.world is None):
            raise ValueError("an online study begins with [world] or with [logs]")
        if self.logs is not None and (self.experiment or self.search):
            raise ValueError(
                "[experiment] and [search] are of simulated worlds; with [logs], "
                "[arms.NAME] says what model each arm served"
            )
        served = [name for name, arm in self.arms.items() if arm.model != "lottery"]
        n_arms = len(served) + (self.search.models if self.search else 0)
        if n_arms < 3:
            raise ValueError(
                f"at least 3 models are compared, got {n_arms}: name them as [arms.NAME], or "
                "[search] for some"
            )
        for name, arm in self.arms.items():
            check_arm(name, arm)
        return self

    @property
    def folder(self) -> Path:
        """The study folder."""
        return self.output or Path(f"online-{self.name}")


SETTINGS: Mapping[str, tuple[str, ...]] = {
    "als-knn": tuple(asdict(EmbeddingSettings())),
    "item-cosines": ("neighbours", "shrinkage"),
    "lottery": ("power",),
}
"""Settings of the models of arms."""


def check_arm(name: str, arm: ArmSection) -> None:
    """Refuse settings that a model does not have.

    Raises
    ------
    ValueError
        If there are some.
    """
    known = SETTINGS[arm.model]
    for setting in arm.settings:
        if setting not in known:
            raise ValueError(
                f"[arms.{name}]: {arm.model} has no setting {setting!r}; there are "
                f"{', '.join(known)}"
            )


def read_online_study(path: Path, *, changes: Mapping[str, Any] | None = None) -> OnlineStudy:
    """Read the file of an online study; the paths in it count from its folder.

    Raises
    ------
    InputError
        If it is missing, not TOML, or breaks a rule; with line, key, rule and value.
    """
    text = read_text(path)
    return parse_online_study(text, source=str(path), base=path.parent, changes=changes)


def demo_online_study(*, changes: Mapping[str, Any] | None = None) -> OnlineStudy:
    """Give the study that runs when no file is named: twelve arms in a simulated world."""
    text = files("harness.online").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_online_study(text, source="demo.toml", base=Path(), changes=changes)


def parse_online_study(
    text: str, *, source: str, base: Path, changes: Mapping[str, Any] | None = None
) -> OnlineStudy:
    """Make an online study of TOML text.

    Parameters
    ----------
    text
        The TOML.
    source
        Its name, for errors.
    base
        The folder that relative input paths count from.
    changes
        Top-level values that replace those of the text.
    """
    study = OnlineStudy.parse(text, source=source, changes=changes or {})
    if study.logs is None:
        return study
    paths = study.logs.model_dump(exclude_none=True)
    anchored = {name: (base / path).resolve() for name, path in paths.items()}
    return study.model_copy(update={"logs": study.logs.model_copy(update=anchored)})
