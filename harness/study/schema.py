"""The study file as a JSON schema, with which editors complete and check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analyses.shared.analysis import analyses_with_plugins
from harness.study.analyses_section import NAMES, STUDIES, Register
from harness.study.sections import METHOD, USUAL
from harness.study.study import Study
from harness.study.study_file import StudyFile
from qrels import Splitter, splits
from recommenders.shared.register import systems

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def study_schema(
    plugins: Sequence[Path] = (), *, study_class: type[StudyFile] = Study
) -> dict[str, Any]:
    """Describe every key of a study file as JSON schema: its type, range, default and meaning.

    Analyses are the built-in ones and those of the plug-in files. ``study_class`` is the class
    whose fields are the keys; splits and settings of systems are described for `Study` alone.
    Raises InputError for a plug-in file that is missing, fails or declares no analysis.
    """
    definitions: dict[str, Any] = {}
    schema = _schema_of(study_class, definitions)
    schema["properties"]["analyses"] = _analyses_schema(analyses_with_plugins(plugins), definitions)
    if study_class is Study:
        schema["properties"]["split"] = _split_schema(splits(), definitions)
        settings = definitions["SystemsSection"]["properties"]["settings"]
        settings["properties"] = {
            name: _schema_of(system.settings, definitions) for name, system in systems().items()
        }
    return {"$schema": DRAFT, **schema, "$defs": definitions}


def _split_schema(
    register: Mapping[str, Splitter[Any]], definitions: dict[str, Any]
) -> dict[str, Any]:
    """Describe the table [split]: a method with its options, or a user's file with its own.

    A table without a method has options of the usual one. ``register`` has the splitters by name;
    definitions that the schemas of their options refer to are added to ``definitions``.
    """
    method_of_file: dict[str, Any] = {METHOD: {"type": "string", "pattern": r"\.py$"}}
    tables = [{"type": "object", "required": [METHOD], "properties": method_of_file}]
    for name, splitter in register.items():
        table = _schema_of(splitter.settings, definitions)
        table["properties"] = {METHOD: {"const": name}, **table["properties"]}
        table |= {"title": name, "description": splitter.summary}
        if name != USUAL:
            table["required"] = [METHOD, *table.get("required", [])]
        tables.append(table)
    return {"anyOf": tables}


def _analyses_schema(register: Register, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe the table [analyses]: a section for each analysis, or for a group of them.

    ``register`` has the analyses by key; definitions that the schemas of their options refer to are
    added to ``definitions``.
    """
    names = _list_of_names(
        "Analyses to run; default: the usual ones, and those with a section of their own."
    )
    names["items"]["enum"] = list(dict.fromkeys(analysis.section for analysis in register.values()))
    sections: dict[str, Any] = {
        "plugins": {
            "description": "Python files that define analyses.",
            "type": "array",
            "items": {"type": "string"},
        },
        NAMES: names,
    }
    for analysis in register.values():
        settings = _schema_of(analysis.settings, definitions)
        settings.setdefault("description", analysis.summary)
        if analysis.group is None:
            sections[analysis.section] = settings
            continue
        if analysis.group not in sections:
            studies = _list_of_names("Studies of the group to run.")
            sections[analysis.group] = _table({STUDIES: studies})
        properties = sections[analysis.group]["properties"]
        properties[STUDIES]["items"]["enum"].append(analysis.name)
        properties |= settings["properties"]
    return _table(sections)


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _list_of_names(description: str) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": {"enum": []}, "uniqueItems": True}


def _schema_of(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe a model as JSON schema; move the definitions it refers to into ``definitions``."""
    schema = model.model_json_schema()
    definitions |= schema.pop("$defs", {})
    return schema
