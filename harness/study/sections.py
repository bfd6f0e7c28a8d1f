"""Tables of a study file: [items], [repeat], [split], [truth], presets of systems."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_serializer, model_validator

from analyses.shared.measure import Measure
from harness.metrics.shared.names import parse_name
from harness.study.study_file import Origin, refused, sentence_of
from qrels import SplitSettings, Splitter, find_split
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.splitter import is_user_split
from runs import InputError
from runs.run_file import RunFile
from runs.shared.settings import Names, Section, Whole, accepted_by

SYSTEM = "system"
REPLICATE = "replicate"
"""Names of the groups of the regular expression that reads tags of runs."""

MetricNames = Annotated[Names, accepted_by(lambda names: [parse_name(name) for name in names])]
"""Names of metrics, perhaps with options and a depth."""


def parse_tag_pattern(text: str) -> re.Pattern[str]:
    """Compile the regular expression of `replicates`; refuse one without a group for the system.

    Raises ValueError, which pydantic words.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression ({error}), got {text!r}") from None
    if SYSTEM not in pattern.groupindex:
        raise ValueError(f"must have a group (?P<{SYSTEM}>...), got {text!r}")
    return pattern


def system_names(files: Sequence[RunFile], text: str) -> tuple[str, ...]:
    """Read the name of the system of each run from its tag, by a regular expression.

    ``text`` is the expression, which must match the whole tag: its group "system" is the name, and
    its group "replicate", which it may lack, tells runs of the system apart. Raises InputError if a
    tag does not match, or two tags name the same replicate of a system.
    """
    pattern = parse_tag_pattern(text)
    file_by_replicate: dict[tuple[str, str], RunFile] = {}
    names: list[str] = []
    for file in files:
        match = pattern.fullmatch(file.system)
        if match is None or not match[SYSTEM]:
            raise InputError(
                f"{file.path}: the tag {file.system!r} does not match `replicates`, {text!r}, "
                "which gives the system of each run."
            )
        system = match[SYSTEM]
        names.append(system)
        if REPLICATE not in pattern.groupindex:
            continue
        replicate = match[REPLICATE] or ""
        if (system, replicate) in file_by_replicate:
            raise InputError(
                f"{file.path}: the tag {file.system!r} names the replicate {replicate!r} of "
                f"{system!r}, and so does {file_by_replicate[system, replicate].path}."
            )
        file_by_replicate[system, replicate] = file
    return tuple(names)


def number_replicates(files: Sequence[RunFile], text: str) -> list[RunFile]:
    """Append a number from 1 to the tag of each run that shares its tag with others.

    Numbers follow the order of the files: "bm25-1", "bm25-2". Runs may share a tag where ``text``,
    the regular expression of tags, has no group for replicates; where it has one, all tags stay as
    they are. Files on the disk do not change.
    """
    if REPLICATE in parse_tag_pattern(text).groupindex:
        return list(files)
    tags = [file.system for file in files]
    numbered_files = []
    for position, file in enumerate(files):
        tag = file.system
        if tags.count(tag) > 1:
            number = 1 + tags[:position].count(tag)
            file = replace(file, system=f"{tag}-{number}")
        numbered_files.append(file)
    return numbered_files


TABLE_FIELDS = ("features", "popularity", "propensities")
"""Fields of [items] that may name a table."""


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
        values = [getattr(self, name) for name in TABLE_FIELDS]
        return [value for value in values if isinstance(value, Path)]


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
    def _seeds_or_settings(self) -> Self:
        """Refuse to repeat with both seeds and settings, and trials without other settings."""
        if self.seeds > 1 and self.settings > 1:
            raise ValueError("`seeds` and `settings` are repeated in two studies, not in one")
        if self.trials is not None and self.settings == 1:
            raise ValueError("`trials` are for other settings: set `settings`, such as 10, too")
        return self


METHOD = "method"
USUAL = "user-random"
"""Name of the split of a study that names none."""


class SplitSection(Section):
    """The split into training and test ratings: a method, and its settings.

    In a study file, the settings are keys beside the method.
    """

    method: str = Field(USUAL, description="Name of a split, or a Python file that defines one.")
    settings: SplitSettings

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, values: Any) -> Any:
        """Read the table of a file; what is read already is left as it is."""
        if isinstance(values, Mapping) and not isinstance(values.get("settings"), SplitSettings):
            return read_split(values, Origin("the study", ""))
        return values

    @model_serializer
    def _as_table(self) -> dict[str, Any]:
        return {METHOD: self.method, **self.settings.model_dump(mode="json", exclude_none=True)}

    def find_splitter(self) -> Splitter[Any]:
        """Look up the split by its name, or in the user's file that declares it."""
        return find_split(self.method)

    @property
    def files(self) -> list[Path]:
        """The user's file that declares the split, if one does."""
        return [Path(self.method)] if is_user_split(self.method) else []

    def find_parts(self) -> SplitFiles | None:
        """Find the files of the parts; None if parts are drawn, not given."""
        return self.settings.find_parts()

    def within_training(self) -> SplitSection:
        """Describe the split of the training part for validation.

        It is the same split again; if parts are given as files, their validation part, or without
        one the usual split.
        """
        parts = self.find_parts()
        if parts is not None and parts.validation is None:
            return usual_split()
        return self.model_copy(update={"settings": self.settings.within_training()})


def usual_split() -> SplitSection:
    """Choose the split of a study that names none, with its default settings."""
    return SplitSection(method=USUAL, settings=find_split(USUAL).settings())


def read_split(values: Mapping[str, Any], origin: Origin) -> Mapping[str, Any]:
    """Read the table [split]: a method, and settings as the method declares them.

    Returns fields of a `SplitSection`; a method that is not a text is left to its check. Raises
    InputError with file and line if there is no such split, a setting breaks a rule, or a folder
    lacks the files of a given split.
    """
    method = values.get(METHOD, USUAL)
    if not isinstance(method, str):
        return {METHOD: method}
    with origin.errors_at("split", METHOD):
        if is_user_split(method):
            method = str(origin.to_absolute(Path(method)))
        splitter = find_split(method)
    option_values = {name: value for name, value in values.items() if name != METHOD}
    try:
        settings = splitter.settings.model_validate(option_values)
    except ValidationError as error:
        raise InputError(sentence_of(error, origin, splitter.settings, table=("split",))) from None
    settings = settings.with_absolute_paths(origin.to_absolute)
    with origin.errors_at("split", "folder"):
        settings.find_parts()  # It refuses a folder that does not hold them.
    return {METHOD: method, "settings": settings}


QRELS = "qrels"
"""The format of truth that is TREC's."""

Candidates = Literal["judged", "all"]


class TruthSection(RatingOptions):
    """What the systems are truly judged by: everything, or items drawn at random.

    Neither training nor tuning sees it. The options of [ratings] say how a file is read; ``format``
    may be "qrels", too. A simulated world has a truth without this table.
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
        names = [parse_name(text) for text in self.references]
        return tuple(Measure(name.label, name.cutoff) for name in names)

    @property
    def judged_lists(self) -> Candidates:
        """Which lists are judged."""
        return self.candidates or ("all" if self.path is None else "judged")

    @property
    def is_qrels(self) -> bool:
        """Whether the file has the format of qrels: by ``format``, else by the end of its name."""
        if self.format is None and self.path is not None:
            return any(suffix in (".qrels", ".qrel") for suffix in self.path.suffixes)
        return self.format == QRELS


PRESETS_FOLDER = files("harness.study").joinpath("presets")


def with_preset(section: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a table [systems] by the preset that it names; what the table has itself holds.

    Settings are merged by system and key. A preset has names of systems, and settings by name.
    Its settings for systems that are not among the names of the table (a list, or the name of a set
    of systems) are left out. Values of a wrong type stay as they are, for a later check.
    Raises PydanticCustomError, which the validation of the section words, for an unknown preset.
    """
    # Studies of runs by other programs need no recommenders.
    from recommenders.shared.register import system_set

    preset = _read_preset(section["preset"])
    names = section.get("names", preset["names"])
    try:
        chosen_systems = system_set(names) if isinstance(names, str) else tuple(names)
    except (InputError, TypeError):
        # The check of the section refuses such names.
        chosen_systems = ()
    settings = {
        name: options for name, options in preset["settings"].items() if name in chosen_systems
    }
    completed = {**section, "names": names}
    option_values = section.get("settings", {})
    if isinstance(option_values, dict):
        for name, options in option_values.items():
            if name in settings and isinstance(options, dict):
                settings[name] = settings[name] | options
            else:
                settings[name] = options
        completed["settings"] = settings
    return completed


def _read_preset(name: Any) -> dict[str, Any]:
    """Read the file of a preset: names of systems and their settings.

    Refuses another name for pydantic, which words the error.
    """
    names = sorted(file.name.removesuffix(".toml") for file in PRESETS_FOLDER.iterdir())
    if name not in names:
        raise refused(f"there is no preset {name!r}; there are {', '.join(names)}", "preset")
    return tomllib.loads(PRESETS_FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
