"""A file of settings: TOML that is checked, and knows where each of its keys stands."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, Field, PrivateAttr, ValidationError
from pydantic_core import PydanticCustomError

from analyses.shared.figure_options import FigureOptions
from harness.readers.columns import trec_kind
from harness.study.store import with_portable_paths
from runs import InputError
from runs.shared.documents import StudyName
from runs.shared.errors import as_input_error, prefixed_errors
from runs.shared.settings import Section, Whole, broken_rule

NOT_TOML = (ValueError, RecursionError)
"""Errors of a syntax, of a number of thousands of digits, and of nesting thousands deep."""


Changes: TypeAlias = Mapping[str, Any] | None
"""Top-level values in place of those of a file."""


@dataclass(frozen=True)
class Origin:
    """Where a study was read; it plays no part in whether two studies are equal.

    Parameters
    ----------
    source
        Name of the file.
    text
        Its content.
    base
        The folder that relative input paths count from.
    """

    source: str = field(compare=False)
    text: str = field(compare=False)
    base: Path = field(default=Path(), compare=False)

    def anchor(self, path: Path) -> Path:
        """Make a path absolute."""
        with as_input_error(f"{str(path)!r} cannot be a path", ValueError, RuntimeError):
            return (self.base / os.path.expanduser(path)).resolve()

    def named(self, *location: str) -> AbstractContextManager[None]:
        """Put the file and the line of a key before what is found wrong with it."""
        return prefixed_errors(self.place(*location))

    def place(self, *location: str) -> str:
        r"""Name the file and, if the key is found, its line."""
        line = _line_of(self.text, list(location))
        return f"{self.source}, line {line}" if line else self.source


class StudyFile(Section):
    """A study as a file describes it, which knows where its keys stand."""

    name: StudyName = Field(description="Name of the study.")
    seed: Whole = Field(20261121, ge=0, lt=2**63, description="Random seed.")
    output: Path | None = Field(None, description="Study folder; default: study-NAME.")
    figures: FigureOptions = Field(FigureOptions(), description="How all figures are drawn.")
    _origin: Origin | None = PrivateAttr(default=None)

    def __init__(self, /, **values: Any) -> None:
        read = values.pop("_origin", None)
        origin = read or Origin("the study", "")
        try:
            super().__init__(**self.prepared(values, origin))
        except ValidationError as error:
            raise InputError(sentence_of(error, origin, type(self))) from None
        self._origin = read

    @property
    def folder(self) -> Path:
        """The study folder."""
        return self.output or Path(f"study-{self.name}")

    def errors_at(self, *location: str) -> AbstractContextManager[None]:
        """Put the file and the line of a key before what is found wrong with it."""
        return nullcontext() if self._origin is None else self._origin.named(*location)

    @classmethod
    def read(cls, path: Path, *, changes: Changes = None) -> Self:
        """Read a study file; the paths of inputs in it count from its folder."""
        return cls.parse(read_text(path), source=str(path), base=path.parent, changes=changes)

    @classmethod
    def demo(cls, *, changes: Changes = None) -> Self:
        """Give the study that runs when no file is named, which is beside the class."""
        text = files(cls.__module__.rpartition(".")[0]).joinpath("demo.toml").read_text("utf-8")
        return cls.parse(text, source="demo.toml", changes=changes)

    @classmethod
    def parse(cls, text: str, *, source: str, base: Path = Path(), changes: Changes = None) -> Self:
        """Make a study of TOML text.

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
        try:
            values = tomllib.loads(text)
        except NOT_TOML as error:
            finding = f"not a TOML file: {str(error).rstrip('.')}."
            if kind := trec_kind(text.encode()):
                finding = f"this is {kind}, not a study file; `harness evaluate` scores runs."
            elif source.endswith((".csv", ".tsv", ".dat", ".data", ".inter", ".gz")):
                finding += f" `harness init {source}` writes a study file for ratings."
            raise InputError(f"{source}: {finding}") from None
        origin = Origin(source, text, base)
        study = cls(**{**values, **(changes or {}), "_origin": origin})
        return study.with_absolute_paths(origin.anchor).model_copy(update={"output": study.output})

    @classmethod
    def prepared(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read what other modules know how to read; by default nothing."""
        return values

    def to_toml(self, *, without: Collection[str] = (), folder: Path | None = None) -> bytes:
        """Write the study with every default spelled out, as TOML; some tables may be left out.

        For a file in a folder, paths of inputs count from there, and where that is is not said.
        """
        import tomli_w

        values = self.model_dump(mode="json", exclude_none=True, exclude={*without, "output"})
        if folder is not None:
            values = with_portable_paths(values, folder)
        is_told = self.output is not None and not (folder and self.output.is_absolute())
        output = {"output": str(self.output)} if is_told else {}
        return tomli_w.dumps(output | values).encode()


def read_text(path: Path) -> str:
    """Read the text of a study file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: the study file does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the study file cannot be read ({error}).") from None


def tables_in(path: Path) -> set[str]:
    """Name the tables and keys on top of a study file; none, if it is not TOML."""
    try:
        return set(tomllib.loads(read_text(path)))
    except NOT_TOML:
        return set()


def sentence_of(
    error: ValidationError, origin: Origin, root: type[BaseModel], *, table: Sequence[str] = ()
) -> str:
    """Turn the first finding of pydantic into a sentence with file, line, key, rule and value."""
    finding = error.errors()[0]
    inner = [str(part) for part in finding["loc"] if not isinstance(part, int)]
    inner += finding.get("ctx", {}).get("within", [])
    location = [*table, *inner]
    place = origin.place(*location)
    key = f"`{location[-1]}`" if location else ""
    within = f" in [{'.'.join(location[:-1])}]" if len(location) > 1 else ""
    if finding["type"] == "extra_forbidden":
        return f"{place}: there is no {key}{within}; {_known_keys(inner, root)}"
    if finding["type"] == "missing":
        return f"{place}: {key}{within} is missing."
    if finding["type"] == "model_type":
        return f"{place}: {key}{within} must be a table, got {finding['input']!r}."
    return f"{place}: {broken_rule(key + within, finding)}"


def refused(rule: str, *location: str) -> PydanticCustomError:
    """Say in a validator of a whole model which of its keys breaks a rule."""
    return PydanticCustomError("value_error", "{rule}", {"rule": rule, "within": list(location)})


def _known_keys(location: list[str], root: type[BaseModel]) -> str:
    section = root
    for part in location[:-1]:
        annotation = section.model_fields[part].annotation
        candidates = getattr(annotation, "__args__", (annotation,))
        section = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    close = get_close_matches(location[-1], section.model_fields, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there are {', '.join(f'`{key}`' for key in section.model_fields) or 'no keys'}."


def _line_of(text: str, location: list[str]) -> int | None:
    """Find the line of a key, or of the table that should hold it; None if there is none."""
    table, best = "", None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        key = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            table = header[1].replace('"', "").replace("'", "")
            if location and table == ".".join(location):
                return number
            if len(location) > 1 and table == ".".join(location[:-1]):
                best = number
        elif key and location:
            name = key[1].strip("\"'")
            if ".".join(part for part in (table, name) if part) == ".".join(location):
                return number
    return best
