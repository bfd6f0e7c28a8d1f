"""The table [analyses] of a study file: which analyses are made, and how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field, SerializeAsAny, ValidationError, model_serializer, model_validator

from analyses.shared.analysis import (
    Analysis,
    AnalysisSettings,
    Need,
    analyses_with_plugins,
    built_in_analyses,
)
from harness.study.study_file import Origin, sentence_of
from runs import InputError
from runs.shared.errors import require_known, suggestion
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
    settings_by_key
        Settings of the analyses that are made, by key.
    """

    plugins: tuple[Path, ...] = Field((), description="Python files that define analyses.")
    settings_by_key: dict[str, SerializeAsAny[AnalysisSettings]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_sections(cls, values: Any) -> Any:
        """Read the sections of a file; what is read already is left as it is."""
        if isinstance(values, Mapping) and "settings_by_key" not in values:
            return read_sections(values, Origin("the study", ""))
        return values

    @model_serializer
    def _as_sections(self) -> dict[str, Any]:
        """Write the sections as a file has them: names, plug-ins if any, a section of each.

        Members of a group share a section, in which `studies` lists them.
        """
        sections: dict[str, Any] = {}
        for analysis, settings in self.chosen():
            section = sections.setdefault(analysis.section, {})
            if analysis.group is not None:
                section.setdefault(STUDIES, []).append(analysis.name)
            section |= settings.model_dump(mode="json", exclude_none=True)
        table: dict[str, Any] = {NAMES: list(sections)}
        if self.plugins:
            table[PLUGINS] = [str(path) for path in self.plugins]
        return table | sections

    def chosen(self) -> Iterator[tuple[Analysis[Any, Any], Any]]:
        """List the analyses that are made, with their settings."""
        for key, analysis in analyses_with_plugins(self.plugins, self.settings_by_key).items():
            if key in self.settings_by_key:
                yield analysis, self.settings_by_key[key]

    def with_absolute_paths(self, to_absolute: Callable[[Path], Path]) -> Self:
        """Make the paths that settings name absolute."""
        absolute_settings = {
            key: settings.with_absolute_paths(to_absolute)
            for key, settings in self.settings_by_key.items()
        }
        return self.model_copy(update={"settings_by_key": absolute_settings})


def usual_analyses() -> AnalysesSection:
    """Choose the analyses that are made if a study names none."""
    return AnalysesSection(settings_by_key=_usual_settings(built_in_analyses(), ()))


def read_sections(
    values: Mapping[str, Any], origin: Origin, *, available_needs: Collection[Need] = ()
) -> dict[str, Any]:
    """Read the table [analyses]: names, plug-ins, and the section of each analysis.

    Parameters
    ----------
    values
        The table.
    origin
        Where it is from, for errors and relative paths.
    available_needs
        Needs that the study meets, so that usual analyses with these needs are made, too.

    Returns
    -------
    Fields of an `AnalysesSection`: the plug-in files, and the settings of the analyses that are
    made, by key; defaults where no section sets them.

    Raises
    ------
    InputError
        If there is no analysis of a name, or a setting breaks a rule; names file and line.
    """
    plugins = tuple(origin.to_absolute(Path(path)) for path in values.get(PLUGINS, ()))
    sections = {name: section for name, section in values.items() if name not in (PLUGINS, NAMES)}
    names = values.get(NAMES)
    with origin.errors_at("analyses", PLUGINS):
        names_in_list = names if isinstance(names, list) else []
        register = analyses_with_plugins(plugins, [*sections, *names_in_list])
    settings_by_section = {
        name: _read_section(name, section, register, origin) for name, section in sections.items()
    }
    settings_by_key: dict[str, AnalysisSettings] = {}
    if NAMES in values:
        with origin.errors_at("analyses", NAMES):
            _check_names(names, _section_names(register), f"`{NAMES}` in [analyses]", "analysis")
        for name in values[NAMES]:
            if name in settings_by_section:
                settings_by_key |= settings_by_section[name]
            else:
                settings_by_key |= _read_section(name, {}, register, origin)
    else:
        settings_by_key |= _usual_settings(register, available_needs)
        for settings in settings_by_section.values():
            settings_by_key |= settings
    return {PLUGINS: plugins, "settings_by_key": settings_by_key}


def _usual_settings(
    register: Register, available_needs: Collection[Need]
) -> dict[str, AnalysisSettings]:
    """Make the default settings, by key, of the analyses that a study makes unless it names some.

    Of analyses with needs (such as a truth), those whose needs are all available.
    """
    return {
        analysis.key: analysis.settings()
        for analysis in register.values()
        if analysis.runs_by_default(available_needs)
    }


def _section_names(register: Register) -> list[str]:
    """List the names of the sections of analyses and groups."""
    return list(dict.fromkeys(analysis.section for analysis in register.values()))


def _read_section(
    name: str, section: Any, register: Register, origin: Origin
) -> dict[str, AnalysisSettings]:
    """Read the settings of an analysis, or of the members of a group, by key.

    ``name`` is that of the section, ``section`` its table, ``register`` all analyses by key. Each
    member of a group is set by the options that it has; `studies` in the table says which members
    are made.

    Raises InputError if no analysis has this section, or it is not a table, or a setting breaks a
    rule.
    """
    place = origin.place("analyses", name)
    members: Register = {
        analysis.name: analysis for analysis in register.values() if analysis.section == name
    }
    if not members:
        hint = suggestion(name, _section_names(register))
        raise InputError(f"{place}: there is no `{name}` in [analyses]; {hint}")
    if not isinstance(section, Mapping):
        raise InputError(f"{place}: `{name}` in [analyses] must be a table, got {section!r}.")
    options = dict(section)
    if any(analysis.group for analysis in members.values()):
        members, options = _members_of_group(name, members, section, origin)
    settings_by_key: dict[str, AnalysisSettings] = {}
    for analysis in members.values():
        fields = analysis.settings.model_fields
        if analysis.group is None:
            option_values = options
        else:
            option_values = {key: value for key, value in options.items() if key in fields}
        try:
            settings_by_key[analysis.key] = analysis.settings.model_validate(option_values)
        except ValidationError as error:
            table = ("analyses", name)
            raise InputError(sentence_of(error, origin, analysis.settings, table=table)) from None
    return settings_by_key


def _members_of_group(
    group: str, members: Register, section: Mapping[str, Any], origin: Origin
) -> tuple[Register, dict[str, Any]]:
    """Choose the members of a group that are made, and collect the options that set them.

    ``members`` are all analyses of the group, by name; ``section`` is its table. The table says by
    `studies` (`STUDIES`) which are made: by default those that are not on request alone. Returns
    these, by name, and the table without `studies`. Raises InputError if no member is chosen, none
    has a name in the list, or no member has an option of the table.
    """
    options = dict(section)
    usual = [name for name, analysis in members.items() if not analysis.on_request]
    names = options.pop(STUDIES, usual)
    subject = f"`{STUDIES}` in [analyses.{group}]"
    with origin.errors_at("analyses", group, STUDIES):
        if not names:
            raise InputError(f"{subject} must not be empty, got {names!r}.")
        _check_names(names, members, subject, "study")
    valid_keys = {STUDIES}
    for analysis in members.values():
        valid_keys |= analysis.settings.model_fields.keys()
    for key in options:
        if key not in valid_keys:
            with origin.errors_at("analyses", group, key):
                hint = suggestion(key, sorted(valid_keys))
                raise InputError(f"there is no `{key}` in [analyses.{group}]; {hint}")
    return {name: members[name] for name in names}, options


def _check_names(names: Any, valid_names: Collection[str], subject: str, noun: str) -> None:
    """Refuse what is not a list, or has a name twice or one that is not valid.

    ``subject`` begins the sentences: "`names` in [analyses]"; ``noun`` is what has a name. Raises
    InputError.
    """
    if not isinstance(names, list | tuple):
        raise InputError(f"{subject} must be a list of names, got {names!r}.")
    require_known(f"{subject}: no {noun} is called", names, list(valid_names))
    for name in names:
        if list(names).count(name) > 1:
            raise InputError(f"{subject}: {name!r} is duplicated.")
