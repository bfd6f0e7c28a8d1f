"""Tables of a study file: [analyses], [items], [repeat], [split], [truth], presets of systems."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, SerializeAsAny, ValidationError, model_serializer, model_validator

from analyses.shared.analysis import (
    Analysis,
    AnalysisSettings,
    Need,
    analyses_with_plugins,
    built_in_analyses,
)
from analyses.shared.measure import Measure
from harness.metrics.shared.names import parse_name
from harness.study.study_file import Origin, refused, sentence_of
from qrels import SplitSettings, Splitter, find_split
from qrels.ratings.datasets.layouts import FileOptions
from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.splitter import is_user_split
from recommenders import system_set
from runs import InputError
from runs.run_file import RunFile
from runs.shared.errors import require_known, suggestion
from runs.shared.settings import Names, Section, Whole, accepted_by

SYSTEM, REPLICATE = "system", "replicate"

MetricNames = Annotated[Names, accepted_by(lambda names: [parse_name(name) for name in names])]
"""Names of metrics, perhaps with options and a depth."""


def tag_pattern(text: str) -> re.Pattern[str]:
    """Read the regular expression of a study."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression ({error}), got {text!r}") from None
    if SYSTEM not in pattern.groupindex:
        raise ValueError(f"must have a group (?P<{SYSTEM}>...), got {text!r}")
    return pattern


def systems_of(files: Sequence[RunFile], text: str) -> tuple[str, ...]:
    """Name the system of each run, as the pattern finds it in the tag."""
    pattern = tag_pattern(text)
    first: dict[tuple[str, str], RunFile] = {}
    names: list[str] = []
    for file in files:
        found = pattern.fullmatch(file.system)
        if found is None or not found[SYSTEM]:
            raise InputError(
                f"{file.path}: the tag {file.system!r} does not match `replicates`, {text!r}, "
                "which gives the system of each run."
            )
        names.append(found[SYSTEM])
        if REPLICATE not in pattern.groupindex:
            continue
        own = found[SYSTEM], found[REPLICATE] or ""
        if own in first:
            raise InputError(
                f"{file.path}: the tag {file.system!r} names the replicate {own[1]!r} of "
                f"{own[0]!r}, and so does {first[own].path}."
            )
        first[own] = file
    return tuple(names)


def numbered(files: Sequence[RunFile], text: str) -> list[RunFile]:
    """Number replicates that share a tag, which then name themselves.

    They may where the pattern does not tell replicates apart; other runs keep their tags.
    """
    if REPLICATE in tag_pattern(text).groupindex:
        return [*files]
    tags = [file.system for file in files]
    return [
        replace(file, system=f"{tag}-{1 + tags[:place].count(tag)}")
        if tags.count(tag) > 1
        else file
        for place, (file, tag) in enumerate(zip(files, tags, strict=True))
    ]


PLUGINS = "plugins"
NAMES = "names"
"""The key that says which analyses are made."""

STUDIES = "studies"
"""The key by which a group says which of its members are made."""

Register: TypeAlias = Mapping[str, Analysis[Any, Any]]
"""Analyses by key."""


class AnalysesSection(Section):
    """Which analyses are made, and how.

    In a file ``names`` says which are made: by default the usual ones, and every other that has a
    section. Sections set options: there is one for each analysis, and one for a group, which has
    the settings of all its members.

    Parameters
    ----------
    plugins
        Python files that declare an analysis each.
    asked
        Settings of the analyses that are made, by key.
    """

    plugins: tuple[Path, ...] = Field((), description="Python files that define analyses.")
    asked: dict[str, SerializeAsAny[AnalysisSettings]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_sections(cls, values: Any) -> Any:
        """Read sections; what is read already is left as it is."""
        if isinstance(values, Mapping) and "asked" not in values:
            return read_sections(values, Origin("the study", ""))
        return values

    @model_serializer
    def _as_sections(self) -> dict[str, Any]:
        sections: dict[str, Any] = {}
        for analysis, settings in self.wanted():
            section = sections.setdefault(analysis.section, {})
            if analysis.group is not None:
                section.setdefault(STUDIES, []).append(analysis.name)
            section |= settings.model_dump(mode="json", exclude_none=True)
        plugins = [str(path) for path in self.plugins]
        return {NAMES: list(sections), **({PLUGINS: plugins} if plugins else {}), **sections}

    def wanted(self) -> Iterator[tuple[Analysis[Any, Any], Any]]:
        """Give the analyses that are made, with their settings."""
        for key, analysis in analyses_with_plugins(self.plugins, self.asked).items():
            if key in self.asked:
                yield analysis, self.asked[key]

    def with_absolute_paths(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths that settings name absolute."""
        asked = {key: settings.with_absolute_paths(anchor) for key, settings in self.asked.items()}
        return self.model_copy(update={"asked": asked})


def usual_analyses() -> AnalysesSection:
    """Give the analyses that are made if a study says nothing."""
    return AnalysesSection(asked=_usual(built_in_analyses(), ()))


def read_sections(
    values: Mapping[str, Any], origin: Origin, *, made: Collection[Need] = ()
) -> dict[str, Any]:
    """Read the sections of the analyses, each as its analysis declares it."""
    plugins = tuple(origin.anchor(Path(path)) for path in values.get(PLUGINS, ()))
    with origin.named("analyses", PLUGINS):
        given = {name: section for name, section in values.items() if name not in (PLUGINS, NAMES)}
        names = values.get(NAMES)
        register = analyses_with_plugins(
            plugins, [*given, *(names if isinstance(names, list) else ())]
        )
    read = {name: _read_section(name, section, register, origin) for name, section in given.items()}
    if NAMES in values:
        with origin.named("analyses", NAMES):
            _check_names(values[NAMES], _sections(register), f"`{NAMES}` in [analyses]", "analysis")
        chosen = [
            read[name] if name in read else _read_section(name, {}, register, origin)
            for name in values[NAMES]
        ]
    else:
        chosen = [_usual(register, made), *read.values()]
    return {PLUGINS: plugins, "asked": {key: s for each in chosen for key, s in each.items()}}


def _usual(register: Register, made: Collection[Need]) -> dict[str, AnalysisSettings]:
    return {a.key: a.settings() for a in register.values() if a.runs_by_default(made)}


def _sections(register: Register) -> list[str]:
    return list(dict.fromkeys(analysis.section for analysis in register.values()))


def _read_section(
    name: str, section: Any, register: Register, origin: Origin
) -> dict[str, AnalysisSettings]:
    """Read the settings of an analysis, or of the members of a group, by key.

    Each member of a group is set by the keys that it knows.
    """
    table = ("analyses", name)
    members: Register = {a.name: a for a in register.values() if a.section == name}
    if not members:
        known = _sections(register)
        raise InputError(
            f"{origin.place(*table)}: there is no `{name}` in [analyses]; {suggestion(name, known)}"
        )
    if not isinstance(section, Mapping):
        place = origin.place(*table)
        raise InputError(f"{place}: `{name}` in [analyses] must be a table, got {section!r}.")
    values = dict(section)
    if any(a.group for a in members.values()):
        members, values = _members_of_group(name, members, section, origin)
    read: dict[str, AnalysisSettings] = {}
    for analysis in members.values():
        fields = analysis.settings.model_fields
        own = {k: v for k, v in values.items() if k in fields or analysis.group is None}
        try:
            read[analysis.key] = analysis.settings.model_validate(own)
        except ValidationError as error:
            raise InputError(sentence_of(error, origin, analysis.settings, table=table)) from None
    return read


def _members_of_group(
    group: str, members: Register, section: Mapping[str, Any], origin: Origin
) -> tuple[Register, dict[str, Any]]:
    """Give the members of a group that are wanted, and what sets them."""
    values = dict(section)
    wanted = values.pop(STUDIES, [name for name, a in members.items() if not a.on_request])
    subject = f"`{STUDIES}` in [analyses.{group}]"
    with origin.named("analyses", group, STUDIES):
        if not wanted:
            raise InputError(f"{subject} must not be empty, got {wanted!r}.")
        _check_names(wanted, members, subject, "study")
    known = sorted({STUDIES, *(key for a in members.values() for key in a.settings.model_fields)})
    for key in values:
        if key not in known:
            with origin.named("analyses", group, key):
                hint = suggestion(key, known)
                raise InputError(f"there is no `{key}` in [analyses.{group}]; {hint}")
    return {name: members[name] for name in wanted}, values


def _check_names(wanted: Any, known: Collection[str], subject: str, kind: str) -> None:
    """Refuse what is no list of different names that are known."""
    if not isinstance(wanted, list | tuple):
        raise InputError(f"{subject} must be a list of names, got {wanted!r}.")
    require_known(f"{subject}: no {kind} is called", wanted, list(known))
    for name in wanted:
        if list(wanted).count(name) > 1:
            raise InputError(f"{subject}: {name!r} is duplicated.")


PATHS = ("features", "popularity", "propensities")


class ItemsSection(Section):
    """Properties of items that some metrics need."""

    features: Path | None = Field(
        None,
        description="Table of item features with a row for each item: columns of numbers, or of "
        "categories separated by |.",
    )
    columns: Names = Field(
        (), description="Feature columns of the table; default: all but the first."
    )
    popularity: Path | None = Field(
        None, description="Table of item popularity; default: counts of training ratings."
    )
    propensities: Literal["world"] | Path | None = Field(
        None,
        description='Table of observation probabilities of items, in (0, 1]; or "world": those '
        "of a simulated world, for users to whom the item is relevant.",
    )

    @property
    def files(self) -> list[Path]:
        """The tables that are read."""
        return [path for name in PATHS if isinstance(path := getattr(self, name), Path)]


class RepeatSection(Section):
    """Repetitions of the whole study with different random seeds."""

    seeds: Whole = Field(
        1,
        ge=1,
        le=1000,
        description="Number of repetitions. Each has another random seed, split and training, and "
        "its own folder in seeds/. The first has the seed of the study.",
    )

    settings: Whole = Field(
        1,
        ge=1,
        le=1000,
        description="Number of repetitions with other settings of the systems, drawn from the "
        "ranges that `harness tune` searches, each with its own folder in settings/. The first has "
        "the settings of the study.",
    )
    trials: Path | None = Field(
        None,
        description="Folder of tables that `harness tune` wrote: settings are drawn from trials "
        "whose score is at most 10 % below the best.",
    )

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if self.seeds > 1 and self.settings > 1:
            raise ValueError("`seeds` and `settings` are repeated in two studies, not in one")
        if self.trials is not None and self.settings == 1:
            raise ValueError("`trials` are for other settings: set `settings`, such as 10, too")
        return self


METHOD = "method"
USUAL = "user-random"


class SplitSection(Section):
    """The split into training and test ratings: a method, and its settings.

    In a study file, the settings are keys beside the method.
    """

    method: str = Field(USUAL, description="Name of a split, or a Python file that defines one.")
    settings: SplitSettings

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, values: Any) -> Any:
        """Read a table; what is read already is left as it is."""
        if isinstance(values, Mapping) and not isinstance(values.get("settings"), SplitSettings):
            return read_split(values, Origin("the study", ""))
        return values

    @model_serializer
    def _as_table(self) -> dict[str, Any]:
        return {METHOD: self.method, **self.settings.model_dump(mode="json", exclude_none=True)}

    @property
    def splitter(self) -> Splitter[Any]:
        """The split that is meant."""
        return find_split(self.method)

    @property
    def files(self) -> list[Path]:
        """The user's file that declares the split, if one does."""
        return [Path(self.method)] if is_user_split(self.method) else []

    @property
    def parts(self) -> SplitFiles | None:
        """Files of the parts, if they are given and not drawn."""
        return self.settings.find_parts()

    def within_training(self) -> SplitSection:
        """Give what splits the training part again, or tests the validation part that is given.

        Where parts are given and none of them is for validation, that is the usual split.
        """
        if self.parts is not None and self.parts.validation is None:
            return usual_split()
        return self.model_copy(update={"settings": self.settings.within_training()})


def usual_split() -> SplitSection:
    """Give the split of a study that says nothing of it."""
    return SplitSection(method=USUAL, settings=find_split(USUAL).settings())


def read_split(values: Mapping[str, Any], origin: Origin) -> Mapping[str, Any]:
    """Read the settings of a split as its method declares them."""
    method = values.get(METHOD, USUAL)
    if not isinstance(method, str):
        return {METHOD: method}
    with origin.named("split", METHOD):
        method = str(origin.anchor(Path(method))) if is_user_split(method) else method
        splitter = find_split(method)
    own = {name: value for name, value in values.items() if name != METHOD}
    try:
        settings = splitter.settings.model_validate(own)
    except ValidationError as error:
        raise InputError(sentence_of(error, origin, splitter.settings, table=("split",))) from None
    settings = settings.with_absolute_paths(origin.anchor)
    with origin.named("split", "folder"):
        settings.find_parts()  # It refuses a folder that does not hold them.
    return {METHOD: method, "settings": settings}


QRELS = "qrels"
"""The format of truth that is TREC's."""

Candidates = Literal["judged", "all"]


class TruthSection(FileOptions):
    """What the systems are truly judged by: everything, or items drawn at random.

    Neither training nor tuning sees it. The options of [ratings] say how a file is read; ``format``
    may be "qrels", too. A simulated world has a truth without a word about it.
    """

    path: Path | None = Field(
        None, description="File of the true judgements; not needed for a simulated world."
    )
    threshold: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Lowest true rating, or lowest grade of the qrels, that counts as relevant; "
        "default: the threshold of [ratings], or grade 1.",
    )
    candidates: Candidates | None = Field(
        None,
        description="Rankings to evaluate with the truth: of the items with a true judgement only "
        '("judged", the default for a file), or of all items ("all", the default for a world).',
    )
    references: MetricNames = Field(
        ("nDCG@10", "P@10"),
        min_length=1,
        description="Reference measures: they order the systems by the true judgements.",
    )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The references; a name without a depth stands for whole lists."""
        return tuple(Measure(name.label, name.cutoff) for name in map(parse_name, self.references))

    @property
    def judged_lists(self) -> Candidates:
        """Which lists are judged."""
        return self.candidates or ("all" if self.path is None else "judged")

    @property
    def is_qrels(self) -> bool:
        """Whether the file says, or its name does, that it is a qrels file."""
        if self.format is None and self.path is not None:
            return any(ending in (".qrels", ".qrel") for ending in self.path.suffixes)
        return self.format == QRELS


FOLDER = files("harness.study").joinpath("presets")


def with_preset(section: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a section of systems by the preset that it names; what it says itself holds.

    Settings of systems that are not among its names are left out.
    """
    preset = _read(section["preset"])
    names = section.get("names", preset["names"])
    try:
        chosen = system_set(names) if isinstance(names, str) else tuple(names)
    except (InputError, TypeError):
        chosen = ()
    own = {name: value for name, value in preset["settings"].items() if name in chosen}
    given = section.get("settings", {})
    made = {**section, "names": names}
    if isinstance(given, dict):
        both = {n: own[n] | v for n, v in given.items() if n in own and isinstance(v, dict)}
        made["settings"] = own | given | both
    return made


def _read(name: Any) -> dict[str, Any]:
    known = sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir())
    if name not in known:
        raise refused(f"there is no preset {name!r}; there are {', '.join(known)}", "preset")
    return tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
