"""The table [analyses] of a study file: sections that the analyses themselves declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field, SerializeAsAny, ValidationError, model_serializer, model_validator

from analyses.shared.analysis import Analysis, AnalysisSettings, built_in_analyses, register_with
from harness.study.study_file import Origin, sentence_of
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.settings import Section

PLUGINS = "plugins"
STUDIES = "studies"
"""The key by which a group says which of its members are made."""

Register: TypeAlias = Mapping[str, Analysis[Any, Any]]
"""Analyses by key."""


class AnalysesSection(Section):
    """Which analyses are made, and how; the usual ones if the table is absent.

    Parameters
    ----------
    plugins
        Python files that declare an analysis each.
    asked
        Settings by the key of the analysis. In a file they stand in sections: one for each
        analysis, one for a group, which has the settings of all its members.
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
        return {PLUGINS: plugins, **sections} if plugins else sections

    def wanted(self) -> Iterator[tuple[Analysis[Any, Any], Any]]:
        """Give the analyses that are made, with their settings."""
        for key, analysis in register_with(self.plugins).items():
            if key in self.asked:
                yield analysis, self.asked[key]

    def anchored(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths that settings name absolute."""
        asked = {key: settings.anchored(anchor) for key, settings in self.asked.items()}
        return self.model_copy(update={"asked": asked})


def usual_analyses() -> AnalysesSection:
    """Give the analyses that are made if a study says nothing of them."""
    usual = (analysis for analysis in built_in_analyses().values() if analysis.is_usual)
    return AnalysesSection(asked={analysis.key: analysis.settings() for analysis in usual})


def read_sections(values: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """Read the sections of the analyses, each as its analysis declares it.

    Raises
    ------
    InputError
        If there is no such analysis or setting, or a value breaks its rule; with file and line.
    """
    plugins = tuple(origin.anchor(Path(path)) for path in values.get(PLUGINS, ()))
    with origin.named("analyses", PLUGINS):
        register = register_with(plugins)
    given = {name: section for name, section in values.items() if name != PLUGINS}
    asked: dict[str, AnalysisSettings] = {}
    for name, section in given.items():
        place = origin.place("analyses", name)
        members = {a.name: a for a in register.values() if a.section == name}
        if not members:
            known = list(dict.fromkeys(a.section for a in register.values()))
            raise InputError(f"{place}: there is no `{name}` in [analyses]; {nearest(name, known)}")
        if not isinstance(section, Mapping):
            raise InputError(f"{place}: `{name}` in [analyses] must be a table, got {section!r}.")
        is_group = any(a.group for a in members.values())
        asked |= (
            _read_group(name, members, section, origin)
            if is_group
            else {a.key: _read_one(a, section, origin) for a in members.values()}
        )
    if plugins and not given:
        asked = {a.key: a.settings() for a in register.values() if a.is_usual}
    return {PLUGINS: plugins, "asked": asked}


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
    wanted = values.get(STUDIES, usual)
    with origin.named(*table, STUDIES):
        _check_names(wanted, members, f"`{STUDIES}` in [analyses.{group}]")
    known = {name: set(member.settings.model_fields) for name, member in members.items()}
    every = sorted(set().union(*known.values()) | {STUDIES})
    for key in values:
        if key not in every:
            place = origin.place(*table, key)
            raise InputError(
                f"{place}: there is no `{key}` in [analyses.{group}]; {nearest(key, every)}"
            )
    return {
        members[name].key: _read_one(
            members[name], {k: v for k, v in values.items() if k in known[name]}, origin
        )
        for name in wanted
    }


def _check_names(wanted: Any, members: Register, subject: str) -> None:
    if not isinstance(wanted, list | tuple) or not wanted:
        raise InputError(f"{subject} must be a list of names, got {wanted!r}.")
    for name in wanted:
        if name not in members:
            raise InputError(
                f"{subject}: no study is called {name!r}; {nearest(str(name), list(members))}"
            )
        if list(wanted).count(name) > 1:
            raise InputError(f"{subject}: {name!r} is duplicated.")
