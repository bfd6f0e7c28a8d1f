"""The settings of a study file in words: section by section, with values, defaults and meanings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
"""A JSON schema, or a part of one."""

LONGEST_DEFAULT = 60
"""Maximum number of characters of a default."""

UNBOUNDED = 2**40
"""Bounds from here on are those of the numbers of the machine."""

BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
}
"""Words for the bounds of a JSON schema."""


@dataclass(frozen=True)
class SettingDescription:
    """A setting in words.

    Parameters
    ----------
    name
        Its key.
    values
        What it may be, such as "integer from 1"; words in backticks are values themselves.
    default
        Its default as a study file has it; "" if nothing is set.
    is_required
        Whether it must be set.
    meaning
        What it does.
    """

    name: str
    values: str
    default: str
    is_required: bool
    meaning: str


@dataclass(frozen=True)
class SettingsSection:
    """A section of a study file, or one of the variants of a section.

    Parameters
    ----------
    name
        Its name, such as "analyses.sparsity"; "" for the top of the file.
    variant
        Value of the setting that chooses it, such as the method of a split; "" without variants.
    meaning
        What it is about.
    settings
        Its settings, without those of the sections in it.
    """

    name: str
    variant: str
    meaning: str
    settings: tuple[SettingDescription, ...]


def settings_sections(
    schema: Schema, *, name: str = "", definitions: Schema | None = None
) -> Iterator[SettingsSection]:
    """Describe a section of a study file by its schema, then the sections in it.

    Settings of systems are left out: there is a section for each system.

    Parameters
    ----------
    schema
        JSON schema of the section; see `harness.study.schema.study_schema`.
    name
        Name of the section; "" for the whole file.
    definitions
        What references in the schema mean; by default those of the schema.
    """
    known: Schema = schema.get("$defs", {}) if definitions is None else definitions
    simple_fields: dict[str, Schema] = {}
    inner_sections: dict[str, tuple[Schema, bool]] = {}
    for key, field in schema.get("properties", {}).items():
        inner = _section_in(field, known)
        if inner is None or key == "settings":
            simple_fields[key] = field
        else:
            inner_sections[key] = inner
    meaning = _first_paragraph(schema)
    required = schema.get("required", ())
    yield SettingsSection(name, "", meaning, _describe_all(simple_fields, required, known))
    for key, (inner_schema, has_names) in inner_sections.items():
        inner_name = f"{name}.{key}" if name else key
        variants = [one for one in inner_schema.get("anyOf", ()) if "title" in one]
        for variant in variants:
            settings = _describe_all(variant["properties"], variant.get("required", ()), known)
            yield SettingsSection(inner_name, variant["title"], variant["description"], settings)
        if not variants:
            if has_names:
                inner_name = f"{inner_name}.NAME"
            yield from settings_sections(inner_schema, name=inner_name, definitions=known)


def describe_settings(schema: Schema) -> tuple[SettingDescription, ...]:
    """Describe the settings of a section that has no sections in it, by its schema."""
    known = schema.get("$defs", {})
    return _describe_all(schema["properties"], schema.get("required", ()), known)


def _describe_all(
    fields: Mapping[str, Schema], required: Any, known: Schema
) -> tuple[SettingDescription, ...]:
    """Describe settings by their schemas; ``required`` has the names of those without a default."""
    return tuple(
        SettingDescription(
            name=name,
            values=values_in_words(field, known),
            default=default_as_text(field),
            is_required=name in required,
            meaning=field.get("description", ""),
        )
        for name, field in fields.items()
    )


def _section_in(field: Schema, known: Schema) -> tuple[Schema, bool] | None:
    """Find the section that a field holds, and whether there is one for each of several names.

    Returns None for a field that is no section.
    """
    choices = [
        _resolved(choice, known) for choice in field.get("anyOf", field.get("allOf", (field,)))
    ]
    if sum("properties" in choice for choice in choices) > 1:
        return field, False
    for choice in choices:
        if "properties" in choice:
            return choice, False
        of_names = choice.get("additionalProperties")
        if isinstance(of_names, Mapping) and "properties" in _resolved(of_names, known):
            return _resolved(of_names, known), True
    return None


def _resolved(schema: Schema, known: Schema) -> Schema:
    """Follow a reference to where a schema is defined."""
    if "$ref" not in schema:
        return schema
    resolved: Schema = known[schema["$ref"].rpartition("/")[2]]
    return resolved


def _first_paragraph(schema: Schema) -> str:
    text: str = schema.get("description", "")
    return text.partition("\n\n")[0]


def default_as_text(field: Schema) -> str:
    """Write a default as a study file has it; "" if nothing is set.

    Examples
    --------
    >>> default_as_text({"default": True}), default_as_text({"default": [1, 2]})
    ('true', '[1, 2]')
    """
    value = field.get("default")
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < LONGEST_DEFAULT else f"{text[:LONGEST_DEFAULT]} ..."


def values_in_words(field: Schema, known: Schema) -> str:
    """Describe in words what a setting may be.

    Examples
    --------
    >>> values_in_words({"type": "integer", "minimum": 1, "maximum": 5}, {})
    'integer from 1 to 5'
    >>> values_in_words({"anyOf": [{"enum": ["drop", "keep"]}, {"type": "null"}]}, {})
    '`drop` or `keep`'
    >>> values_in_words({"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}, {})
    'array, each: number above 0'
    """
    field = {**_resolved(field, known), **field}
    if "anyOf" in field:
        choices = [choice for choice in field["anyOf"] if choice.get("type") != "null"]
        return " or ".join(values_in_words(choice, known) for choice in choices)
    if "const" in field or "enum" in field:
        *others, last = [f"`{choice}`" for choice in field.get("enum", [field.get("const")])]
        return f"{', '.join(others)} or {last}" if others else last
    words = ["path" if field.get("format") == "path" else field.get("type", "text")]
    for key, phrase in BOUNDS.items():
        if key in field and abs(field[key]) < UNBOUNDED:
            words.append(phrase.format(f"{field[key]:g}"))
    whole = " ".join(words)
    each = values_in_words(field["items"], known) if field.get("items") else ""
    return f"{whole}, each: {each}" if each not in ("", "string") else whole
