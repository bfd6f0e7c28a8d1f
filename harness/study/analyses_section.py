"""The table [analyses] of a study file: sections that the analyses themselves declare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field, SerializeAsAny, ValidationError, model_serializer, model_validator

from analyses.shared.analysis import (
    Analysis,
    AnalysisSettings,
    built_in_analyses,
    gone_from,
    register_with,
)
from harness.study.study_file import Origin, sentence_of
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.settings import Section

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

    plugins: tuple[Path, ...] = Field((), description="Python files that declare analyses.")
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
        for key, analysis in register_with(self.plugins).items():
            if key in self.asked:
                yield analysis, self.asked[key]

    def anchored(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths that settings name absolute."""
        asked = {key: settings.anchored(anchor) for key, settings in self.asked.items()}
        return self.model_copy(update={"asked": asked})


def usual_analyses(made: Collection[str] = ()) -> AnalysesSection:
    """Give the analyses that are made if a study, which makes what some need, says nothing."""
    return AnalysesSection(asked=_usual(built_in_analyses(), made))


def read_sections(
    values: Mapping[str, Any], origin: Origin, *, made: Collection[str] = ()
) -> dict[str, Any]:
    """Read the sections of the analyses, each as its analysis declares it.

    Parameters
    ----------
    values, origin
        What is read, and where it stands.
    made
        What the study makes that an analysis may need.

    Raises
    ------
    InputError
        If there is no such analysis or setting, or a value breaks its rule; with file and line.
    """
    plugins = tuple(origin.anchor(Path(path)) for path in values.get(PLUGINS, ()))
    with origin.named("analyses", PLUGINS):
        register = register_with(plugins)
    given = {name: section for name, section in values.items() if name not in (PLUGINS, NAMES)}
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


def _usual(register: Register, made: Collection[str]) -> dict[str, AnalysisSettings]:
    return {a.key: a.settings() for a in register.values() if a.is_usual_with(made)}


def _sections(register: Register) -> list[str]:
    return list(dict.fromkeys(analysis.section for analysis in register.values()))


def _read_section(
    name: str, section: Any, register: Register, origin: Origin
) -> dict[str, AnalysisSettings]:
    """Read the settings of an analysis, or of the members of a group, by key."""
    place = origin.place("analyses", name)
    members = {a.name: a for a in register.values() if a.section == name}
    if not members:
        known = _sections(register)
        raise InputError(f"{place}: there is no `{name}` in [analyses]; {nearest(name, known)}")
    if not isinstance(section, Mapping):
        raise InputError(f"{place}: `{name}` in [analyses] must be a table, got {section!r}.")
    if any(a.group for a in members.values()):
        return _read_group(name, members, section, origin)
    return {a.key: _read_one(a, section, origin) for a in members.values()}


def _read_one(
    analysis: Analysis[Any, Any], values: Mapping[str, Any], origin: Origin
) -> AnalysisSettings:
    table = ("analyses", analysis.section)
    try:
        settings: AnalysisSettings = analysis.settings.model_validate(dict(values))
    except ValidationError as error:
        raise InputError(sentence_of(error, origin, analysis.settings, table=table)) from None
    return settings


def _read_group(
    group: str, members: Register, values: Mapping[str, Any], origin: Origin
) -> dict[str, AnalysisSettings]:
    """Read the settings of the members that are wanted, each from the keys that it knows."""
    table = ("analyses", group)
    usual = [name for name, member in members.items() if not member.on_request]
    wanted, gone = values.get(STUDIES, usual), gone_from(group)
    with origin.named(*table, STUDIES):
        for name in wanted if isinstance(wanted, list | tuple) else ():
            if name in gone:
                raise InputError(gone[name])
        if not wanted:
            raise InputError(f"`{STUDIES}` in [analyses.{group}] must name one, got {wanted!r}.")
        _check_names(wanted, members, f"`{STUDIES}` in [analyses.{group}]", "study")
    known = {name: set(member.settings.model_fields) for name, member in members.items()}
    every = sorted(set().union(*known.values()) | {STUDIES})
    for key in values:
        if key not in every:
            place = origin.place(*table, key)
            if key in gone:
                raise InputError(f"{place}: {gone[key]}")
            raise InputError(
                f"{place}: there is no `{key}` in [analyses.{group}]; {nearest(key, every)}"
            )
    return {
        members[name].key: _read_one(
            members[name], {k: v for k, v in values.items() if k in known[name]}, origin
        )
        for name in wanted
    }


def _check_names(wanted: Any, known: Collection[str], subject: str, kind: str) -> None:
    """Refuse what is no list of different names that are known."""
    if not isinstance(wanted, list | tuple):
        raise InputError(f"{subject} must be a list of names, got {wanted!r}.")
    for name in wanted:
        if name not in known:
            raise InputError(
                f"{subject}: no {kind} is called {name!r}; {nearest(str(name), list(known))}"
            )
        if list(wanted).count(name) > 1:
            raise InputError(f"{subject}: {name!r} is duplicated.")
