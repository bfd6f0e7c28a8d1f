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
from harness.study.store import with_portable_paths
from runs import InputError
from runs.shared.documents import StudyName
from runs.shared.errors import as_input_error, prefixed_errors
from runs.shared.settings import Section, Whole, broken_rule
from runs.tables.sniff import trec_kind

NOT_TOML = (ValueError, RecursionError)
"""Errors of the TOML reader: of syntax, numbers of thousands of digits, nesting thousands deep."""


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

    def to_absolute(self, path: Path) -> Path:
        """Make a path absolute: relative ones count from the folder of the file.

        Raises InputError for what cannot be a path.
        """
        with as_input_error(f"{str(path)!r} cannot be a path", ValueError, RuntimeError):
            return (self.base / os.path.expanduser(path)).resolve()

    def errors_at(self, *location: str) -> AbstractContextManager[None]:
        """Begin errors of the block with the file and the line of a key: its tables, then it."""
        return prefixed_errors(self.place(*location))

    def place(self, *location: str) -> str:
        """Name the file and, if the key or its table is found, the line: "a.toml, line 3"."""
        line = _line_of(self.text, location)
        return f"{self.source}, line {line}" if line else self.source


def folder_of_study(output: Path | None, name: str) -> Path:
    """Name the folder of a study: the one that it asks for, or else study-NAME."""
    return output or Path(f"study-{name}")


class StudyFile(Section):
    """A study as a file describes it, which knows where its keys stand."""

    name: StudyName = Field(description="Name of the study.")
    seed: Whole = Field(20261121, ge=0, lt=2**63, description="Random seed.")
    output: Path | None = Field(None, description="Study folder; default: study-NAME.")
    figures: FigureOptions = Field(FigureOptions(), description="How all figures are drawn.")
    _origin: Origin | None = PrivateAttr(default=None)

    def __init__(self, /, **values: Any) -> None:
        """Check the tables of a study file, by name; "_origin" says where they are from.

        Raises InputError for the first value that breaks a rule, with the file and line if there
        are such.
        """
        origin_of_file = values.pop("_origin", None)
        origin = origin_of_file or Origin("the study", "")
        try:
            super().__init__(**self.read_tables(values, origin))
        except ValidationError as error:
            raise InputError(sentence_of(error, origin, type(self))) from None
        self._origin = origin_of_file

    @property
    def folder(self) -> Path:
        """The study folder."""
        return folder_of_study(self.output, self.name)

    def errors_at(self, *location: str) -> AbstractContextManager[None]:
        """Begin errors of the block with the file and the line of a key, if there is a file."""
        return nullcontext() if self._origin is None else self._origin.errors_at(*location)

    @classmethod
    def read(cls, path: Path, *, changes: Changes = None) -> Self:
        """Read a study file; the paths of inputs in it count from its folder."""
        return cls.parse(read_text(path), source=str(path), base=path.parent, changes=changes)

    @classmethod
    def demo(cls, *, changes: Changes = None) -> Self:
        """Read the study that runs when no file is named: demo.toml in the package of the class."""
        package = cls.__module__.rpartition(".")[0]
        text = files(package).joinpath("demo.toml").read_text("utf-8")
        return cls.parse(text, source="demo.toml", changes=changes)

    @classmethod
    def parse(cls, text: str, *, source: str, base: Path = Path(), changes: Changes = None) -> Self:
        """Make a study from TOML text.

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

        Raises
        ------
        InputError
            If the text is not TOML, or a value breaks a rule. If the text looks like a run or
            qrels, or the name of the source like that of a table of ratings, the sentence says what
            to do.
        """
        try:
            values = tomllib.loads(text)
        except NOT_TOML as error:
            trec_format = trec_kind(text.encode())
            syntax_error = str(error).rstrip(".")
            finding = f"not a TOML file: {syntax_error}."
            if trec_format:
                finding = (
                    f"this is {trec_format}, not a study file; `harness evaluate` scores runs."
                )
            elif source.endswith((".csv", ".tsv", ".dat", ".data", ".inter", ".gz")):
                finding += f" `harness init {source}` writes a study file for ratings."
            raise InputError(f"{source}: {finding}") from None
        origin = Origin(source, text, base)
        study = cls(**{**values, **(changes or {}), "_origin": origin})
        absolute_study = study.with_absolute_paths(origin.to_absolute)
        return absolute_study.model_copy(update={"output": study.output})

    @classmethod
    def read_tables(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the sections that other modules define, before they are checked; by default none."""
        return values

    def to_toml(self, *, without: Collection[str] = (), folder: Path | None = None) -> bytes:
        """Write the study as TOML with every default spelled out, without some tables.

        If the folder of the file is given, paths of inputs are relative to it, and an absolute
        study folder is left out.
        """
        import tomli_w

        values = self.model_dump(mode="json", exclude_none=True, exclude={*without, "output"})
        if folder is not None:
            values = with_portable_paths(values, folder)
        if self.output is not None and not (folder and self.output.is_absolute()):
            values = {"output": str(self.output), **values}
        return tomli_w.dumps(values).encode()


def read_text(path: Path) -> str:
    """Read the text of a study file; a missing or unreadable one is an InputError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: the study file does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the study file cannot be read ({error}).") from None


def tables_in(path: Path) -> set[str]:
    """List the tables and keys on top of a study file; empty if it is not TOML."""
    try:
        return set(tomllib.loads(read_text(path)))
    except NOT_TOML:
        return set()


def sentence_of(
    error: ValidationError, origin: Origin, root: type[BaseModel], *, table: Sequence[str] = ()
) -> str:
    """Word the first finding of pydantic: a sentence with file, line, key, rule and value.

    Parameters
    ----------
    error
        What pydantic raised.
    origin
        Where the values are from.
    root
        The model whose rules they break.
    table
        The tables that hold the values of the model, from the outermost.
    """
    finding = error.errors()[0]
    # Positions in a list have no line.
    keys_in_model = [str(key) for key in finding["loc"] if not isinstance(key, int)]
    keys_in_model += finding.get("ctx", {}).get("within", [])
    location = [*table, *keys_in_model]
    place = origin.place(*location)
    key = f"`{location[-1]}`" if location else ""
    tables = ".".join(location[:-1])
    within = f" in [{tables}]" if tables else ""
    if finding["type"] == "extra_forbidden":
        return f"{place}: there is no {key}{within}; {_hint_of_keys(keys_in_model, root)}"
    if finding["type"] == "missing":
        return f"{place}: {key}{within} is missing."
    if finding["type"] == "model_type":
        return f"{place}: {key}{within} must be a table, got {finding['input']!r}."
    return f"{place}: {broken_rule(key + within, finding)}"


def refused(rule: str, *location: str) -> PydanticCustomError:
    """Make the error of a validator of a whole model, whose key breaks a rule.

    ``rule`` is a sentence without a full stop; ``location`` are the tables of the key, and the key.
    """
    return PydanticCustomError("value_error", "{rule}", {"rule": rule, "within": list(location)})


def _hint_of_keys(location: Sequence[str], root: type[BaseModel]) -> str:
    """Word which key may be meant by one that a model does not have, or which keys there are.

    ``location`` are the tables in the model ``root``, from the outermost, and the unknown key. The
    result is a clause: "did you mean `seed`?", or "there are `name`, `seed`."
    """
    section = root
    for table in location[:-1]:
        annotation = section.model_fields[table].annotation
        # A table that may be missing is a union with None.
        alternatives = getattr(annotation, "__args__", (annotation,))
        section = next(
            alternative
            for alternative in alternatives
            if isinstance(alternative, type) and issubclass(alternative, BaseModel)
        )
    similar = get_close_matches(location[-1], section.model_fields, n=1)
    if similar:
        return f"did you mean `{similar[0]}`?"
    keys = ", ".join(f"`{key}`" for key in section.model_fields) or "no keys"
    return f"there are {keys}."


def _line_of(text: str, location: Sequence[str]) -> int | None:
    """Find the line of a key in TOML text, or of the table that should hold it.

    ``location`` are the tables from the outermost, and the key, which may be a table itself. Lines
    count from 1. None if neither is there.
    """
    table = ""
    table_line = None
    name = ".".join(location)
    name_of_table = ".".join(location[:-1])
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        assignment = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            table = header[1].replace('"', "").replace("'", "")
            if location and table == name:
                return number
            if len(location) > 1 and table == name_of_table:
                table_line = number
        elif assignment and location:
            key = assignment[1].strip("\"'")
            full_name = ".".join(part for part in (table, key) if part)
            if full_name == name:
                return number
    return table_line
