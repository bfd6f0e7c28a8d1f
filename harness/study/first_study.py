"""The first study of a data set: a commented file that says what was found, and runs as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from harness.study.data_description import DataDescription
from harness.study.run import check
from harness.study.study import SYSTEMS, parse_study
from qrels.ratings.datasets.options import FileOptions
from recommenders import require_memory
from runs import InputError

WIDTH = 96
COMMENT_FROM = 40
"""The column where comments begin, if there is room."""


def first_study(data: DataDescription, *, file: Path, systems: Sequence[str] | None = None) -> str:
    """Write a study of ratings as the text of a file.

    Parameters
    ----------
    data
        The ratings, as they were recognised.
    file
        Where the text will be; the path of the ratings counts from its folder.
    systems
        Names of the systems; by default those of a study that names none, without those that would
        need more memory than they may.

    Raises
    ------
    InputError
        If the systems cannot be studied.
    """
    text = "\n".join(_lines(data, file, systems)) + "\n"
    check(parse_study(text, source=str(file), base=file.parent, changes={}))
    return text


def _lines(data: DataDescription, file: Path, systems: Sequence[str] | None) -> Iterator[str]:
    path = Path(data.section.path or "").resolve()
    yield f"# A study of {path.name}, as it was found. Run it with: harness run {file.name}"
    yield "# What is not said has a default; `harness schema` describes every key to an editor."
    yield _line("name", _study_name(path))
    yield ""
    place = _relative(path, file.resolve().parent), "counts from the folder of this file"
    yield "[ratings]"
    if not data.is_split:
        yield _line("path", *place)
    yield from _reading(data)
    yield from _relevance(data)
    yield ""
    yield "[split]"
    if data.is_split:
        yield _line("method", "given", "what is tested is what the data's test file holds")
        yield _line("folder", *place)
        if data.folds:
            yield _line("fold", data.folds[0], f"there are {', '.join(map(str, data.folds))}")
    else:
        yield _line("method", "user-random", "a fifth of the ratings of each user is tested")
    yield ""
    yield "[systems]"
    if systems is None:
        systems, left_out = _fitting(data)
        yield from _comments(*(f"{name} is left out: {why}" for name, why in left_out.items()))
    yield _line("names", list(systems))


def _reading(data: DataDescription) -> Iterator[str]:
    """Say how the file is read, as far as that is not the default."""
    yield from _comments(*data.notes)
    section = data.section
    if section.separator is None:
        yield _line("format", data.format)
    usual = FileOptions().of_file
    for name, value in section.of_file.items():
        if name not in ("format", "implicit") and value != usual[name]:
            yield _line(name, value)
    for name in ("user_min", "item_min"):
        if getattr(section, name):
            yield _line(name, getattr(section, name))


def _relevance(data: DataDescription) -> Iterator[str]:
    """Say which ratings are relevant, and what other thresholds would make of them."""
    if data.is_implicit:
        yield _line("implicit", True, "everything in the file is relevant: no threshold")
        return
    shares = data.facts()["distribution"]
    yield from _comments(f"Ratings from the threshold on are relevant. They are {shares}.")
    yield from _comments(*map(str, data.thresholds))
    yield _line("threshold", data.threshold)


def _fitting(data: DataDescription) -> tuple[list[str], dict[str, str]]:
    """Name the usual systems that memory allows, and say what the others would need."""
    left_out: dict[str, str] = {}
    for name in SYSTEMS:
        try:
            require_memory(name, {}, data.train)
        except InputError as error:
            left_out[name] = str(error)
    return [name for name in SYSTEMS if name not in left_out], left_out


def _comments(*sentences: str) -> Iterator[str]:
    """Write sentences as comments, each from a line of its own on."""
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _line(key: str, value: Any, comment: str = "") -> str:
    line = f"{key} = {_toml(value)}"
    return f"{line:<{COMMENT_FROM}} # {comment}" if comment else line


def _toml(value: Any) -> str:
    """Write a value in one line."""
    import tomli_w

    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(part)}' for key, part in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


def _study_name(path: Path) -> str:
    """Make a name of a file's, with nothing in it that the name of a study may not have."""
    stem = path.name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "ratings"


def _relative(path: Path, folder: Path) -> str:
    """Give a path from a folder, if it is below it; else from the root."""
    whole = path.resolve()
    return os.path.relpath(whole, folder) if whole.is_relative_to(folder) else str(whole)
