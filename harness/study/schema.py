"""The study file as a JSON schema, with which editors complete and check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analyses.shared.analysis import analyses_with_plugins
from harness.study.sections import METHOD, NAMES, STUDIES, USUAL, Register
from harness.study.study import Study
from harness.study.study_file import StudyFile
from qrels import Splitter, splits
from recommenders import systems

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def study_schema(plugins: Sequence[Path] = (), *, kind: type[StudyFile] = Study) -> dict[str, Any]:
    """Describe every key of a study file: its type, range, default and meaning."""
    definitions: dict[str, Any] = {}
    schema = _without_definitions(kind, definitions)
    schema["properties"]["analyses"] = _of_analyses(analyses_with_plugins(plugins), definitions)
    if kind is Study:
        schema["properties"]["split"] = _of_split(splits(), definitions)
        section = definitions["SystemsSection"]["properties"]["settings"]
        section["properties"] = {
            name: _without_definitions(s.settings, definitions) for name, s in systems().items()
        }
    return {"$schema": DRAFT, **schema, "$defs": definitions}


def _of_split(register: Mapping[str, Splitter[Any]], definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe the table [split]: a method with its options, or a user's file with its own."""
    file: dict[str, Any] = {METHOD: {"type": "string", "pattern": r"\.py$"}}
    tables = [{"type": "object", "required": [METHOD], "properties": file}]
    for name, splitter in register.items():
        table = _without_definitions(splitter.settings, definitions)
        table["properties"] = {METHOD: {"const": name}, **table["properties"]}
        table |= {"title": name, "description": splitter.summary}
        tables.append(table if name == USUAL else table | {"required": [METHOD]})
    return {"anyOf": tables}


def _of_analyses(register: Register, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe the table [analyses]: a section for each analysis, or for a group of them."""
    sections: dict[str, Any] = {
        "plugins": {
            "description": "Python files that define analyses.",
            "type": "array",
            "items": {"type": "string"},
        },
        NAMES: _names(
            "Analyses to run; default: the usual ones, and those with a section of their own."
        ),
    }
    sections[NAMES]["items"]["enum"] = list(dict.fromkeys(a.section for a in register.values()))
    for analysis in register.values():
        own = _without_definitions(analysis.settings, definitions)
        own.setdefault("description", analysis.summary)
        if analysis.group is None:
            sections[analysis.section] = own
            continue
        studies = _names("Studies of the group to run.")
        group = sections.setdefault(analysis.group, _table({STUDIES: studies}))
        group["properties"][STUDIES]["items"]["enum"].append(analysis.name)
        group["properties"] |= own["properties"]
    return _table(sections)


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _names(description: str) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": {"enum": []}, "uniqueItems": True}


def _without_definitions(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe a model; what it refers to is put aside."""
    schema = model.model_json_schema()
    definitions |= schema.pop("$defs", {})
    return schema
